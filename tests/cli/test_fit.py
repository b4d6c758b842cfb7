import json
import re
import signal
import subprocess
import sys
from html import unescape

import numpy as np
import pandas as pd
import pytest
from commands import run, train_quickly
from sklearn.metrics import roc_auc_score

from alignset import load_model
from alignset.fitting.plain import PLAIN
from alignset.model import folder


def write_table(path, n=150, reviewed=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    true = np.where(x > 0, "yes", "no")
    frame = pd.DataFrame({"person": np.arange(n) + 1000, "x": x, "z": rng.normal(size=n)})
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["told"] = np.where(rng.random(n) < 0.2, np.where(x > 0, "no", "yes"), true)
    frame["reviewed"] = pd.Series(true).where(np.arange(n) < reviewed)
    frame.to_csv(path, index=False)
    return frame


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    train_quickly(monkeypatch)


def arguments(table, out):
    return ["fit", table, "--label", "told", "--truth", "reviewed", "--group", "sex", "--out", out]


FEW = ["--configs", "1", "--folds", "2", "--jobs", "1"]
QUICK = [*FEW, "--method", "joint"]


def test_fit_writes_a_model_folder_and_says_which_model_to_use(tmp_path, capsys):
    frame = write_table(tmp_path / "t.csv")
    code, out, err = run(
        capsys, *arguments(tmp_path / "t.csv", tmp_path / "m"), *QUICK, "--seed", "3"
    )
    assert (code, err) == (0, "")
    first, *lines = out.splitlines()
    assert first == "columns: 2 numbers, 1 category; 1 left out; `--dry-run` lists them"
    assert lines[0] == "150 rows, 60 reviewed; 3 features, 2 classes, 2 groups"
    assert lines[1].startswith("note: 'person' is different in every row, like an identifier,")
    # networks of three epochs may be off in a group, and fit then says that it recalibrates it
    lines = [line for line in lines if "are recalibrated" not in line]
    assert re.fullmatch(
        r"reviewed 60, worth \d+ for log loss, \d+ for AUROC, \d+ for AUEOC, \d+ for '\w+' "
        r"found at 0\.5: the observed labels of 90 other rows count too",
        lines[14],
    )
    assert lines[2].startswith("note: the folder holds, in evaluation.json, the group, both labels")
    assert lines[3].split() == ["group", "reviewed", "wrong", "noise", "rate", "(95", "%)",
                                "modelled"]  # fmt: skip
    assert lines[6].split()[:4] == ["held", "out", "log", "loss"]
    assert "found at 0.5 (95 %)" in lines[6]
    assert [line.split()[0] for line in lines[7:14]] == ["joint", *PLAIN]
    assert lines[-2:] == [
        f"model: {tmp_path / 'm'}", f"next: alignset report {tmp_path / 'm'} -o report.html"
    ]  # fmt: skip
    model = load_model(tmp_path / "m")
    assert model.manifest["comparison"]["sentence"] == lines[-6]
    for line, part in zip(lines[-5:-2], ("conclusion", "evidence", "caveat"), strict=True):
        assert line == f"{part}: {model.manifest['advice'][part]}"
    assert model.manifest["seed"] == 3
    assert model.manifest["data"]["rows"] == 150
    assert model.manifest["command"].startswith("alignset fit t.csv --label told ")
    assert "--out m " in model.manifest["command"]
    written = [path.read_bytes() for path in (tmp_path / "m").iterdir()]
    assert not any(str(tmp_path).encode() in content for content in written)
    assert "--group sex" in model.manifest["command"]
    assert model.predict_proba(frame).shape == (150, 2)

    code, _, err = run(capsys, *arguments(tmp_path / "t.csv", tmp_path / "m"), *QUICK)
    assert code == 1
    assert err == (f"error: {tmp_path / 'm'} exists; name another folder, or pass --overwrite.\n")
    code, _, _ = run(
        capsys, *arguments(tmp_path / "t.csv", tmp_path / "m"), *QUICK,
        "--overwrite", "--method", "standard-plus", "--id", "person", "--threshold", "0.3",
    )  # fmt: skip
    assert code == 0
    manifest = load_model(tmp_path / "m").manifest
    assert manifest["search"]["method"] == "standard_plus"
    assert manifest["comparison"]["threshold"] == 0.3


def test_a_blend_says_what_it_is_made_of(tmp_path, capsys):
    frame = write_table(tmp_path / "t.csv")
    told = [*arguments(tmp_path / "t.csv", tmp_path / "m"), *FEW, "--method", "blend"]
    code, out, err = run(capsys, *told)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.split() == CANDIDATES]
    manifest = load_model(tmp_path / "m").manifest
    told = [line.split() for line in lines[at + 1 : at + 1 + len(manifest["candidates"])]]
    assert [row[:2] for row in told] == [
        [row["labels"], row["learner"]] for row in manifest["candidates"]
    ]
    assert told[-1][:3] == ["blend", "all", "1.00"]
    assert ["both", "trees"] in [row[:2] for row in told]
    assert lines[at + 1 + len(told)] == manifest["explained"]
    assert lines[at - 1].split()[0] == "m"  # the noise rates come first
    assert "--method blend" in manifest["command"]
    assert load_model(tmp_path / "m").predict_proba(frame).shape == (150, 2)
    assert lines[-6].startswith(("Keep Blend: on 60 held-out", "Keep Blend: the 60 held", "Use "))


def test_by_default_it_fits_what_it_recommends_and_never_says_two_things(tmp_path, capsys):
    write_table(tmp_path / "t.csv")
    code, out, err = run(capsys, *arguments(tmp_path / "t.csv", tmp_path / "m"), *FEW)
    assert (code, err) == (0, "")
    manifest = load_model(tmp_path / "m").manifest
    assert "--method auto" in manifest["command"]
    assert manifest["method"] == manifest["comparison"]["recommended"]
    assert "instead" not in out
    assert "\nKeep " in out
    code, said, err = run(capsys, "report", tmp_path / "m", "-o", tmp_path / "r.html")
    assert (code, err) == (0, "")
    page = unescape((tmp_path / "r.html").read_text(encoding="utf-8")).replace("\u00a0", " ")
    assert page.count(manifest["comparison"]["sentence"]) == 2
    assert manifest["advice"]["conclusion"] in page
    assert f"conclusion: {manifest['advice']['conclusion']}" in said
    assert f"conclusion: {manifest['advice']['conclusion']}" in out
    assert not re.search(r"Use [\w ]+ instead|not firm", page)


def test_with_too_few_reviewed_rows_auto_is_the_blend_and_says_so(tmp_path, capsys):
    write_table(tmp_path / "t.csv", reviewed=12)
    code, out, _ = run(capsys, *arguments(tmp_path / "t.csv", tmp_path / "m"), *FEW)
    assert code == 0
    assert load_model(tmp_path / "m").manifest["method"] == "blend"
    assert "note: nothing was compared, so --method auto fitted the blend." in out
    assert "conclusion: Do not use it yet except to choose labels to review: only 12 rows" in out


CANDIDATES = ["labels", "learner", "weight", "log", "loss", "AUROC"]


def test_a_group_that_nobody_reviewed_has_no_rate(tmp_path, capsys):
    frame = write_table(tmp_path / "t.csv")
    frame.loc[[100, 101], "sex"] = "x"
    frame.to_csv(tmp_path / "t.csv", index=False)
    code, out, _ = run(capsys, *arguments(tmp_path / "t.csv", tmp_path / "m"), *QUICK)
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.startswith("x ")]
    assert line.split() == ["x", "0", "0"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--label", "tld"], "the table has no column 'tld'; did you mean 'told'?"),
        (["--method", "magic"], "no method 'magic'; there are blend, alignment, "),
        (["--group", "z"], "column 'z' holds 150 different numbers, too many to be groups"),
        (["--device", "cuda"], "there is no CUDA device; pass --device cpu."),
        (["--ignore", "nix"], "the table has no column 'nix'"),
        (["--id", "told"], "column 'told' is given as label and as id"),
    ],
)
def test_bad_options_are_refused_and_nothing_is_written(tmp_path, capsys, change, said):
    write_table(tmp_path / "t.csv")
    code, out, err = run(capsys, *arguments(tmp_path / "t.csv", tmp_path / "m"), *QUICK, *change)
    assert (code, out) == (1, "")
    assert said in err
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: f.assign(told="no"), "column 'told' has one class, 'no', in all 150 rows"),
        (lambda f: f.assign(reviewed=None), "no row is reviewed: column 'reviewed' is empty"),
        (lambda f: f.assign(reviewed=f["told"].where(f.index > 0, "?")),
         "column 'reviewed' holds '?' in data row 1, which is not a known label"),
        (lambda f: f.assign(reviewed=np.where(f["x"] > 0, "yes", "no")),
         "all 150 rows are reviewed, so the observed labels add nothing"),
        (lambda f: f.assign(z=f["z"].where(f.index > 0, np.inf)),
         "column 'z' holds inf in data row 1; it takes finite numbers"),
        (lambda f: f.assign(z=f["z"].astype(str).where(f.index > 0, "tall")),
         "column 'z' holds numbers in 149 of 150 rows but text in the others, first 'tall'"),
        (lambda f: f.assign(copy=f["told"]), "column 'copy' repeats the label column"),
    ],
)  # fmt: skip
def test_bad_tables_are_refused_and_nothing_is_written(tmp_path, capsys, spoil, said):
    spoil(write_table(tmp_path / "t.csv")).to_csv(tmp_path / "t.csv", index=False)
    code, out, err = run(capsys, *arguments(tmp_path / "t.csv", tmp_path / "m"), *QUICK)
    assert (code, out) == (1, "")
    assert err.startswith(f"error: {said}")
    assert err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_a_full_disk_leaves_nothing(tmp_path, capsys, monkeypatch):
    write_table(tmp_path / "t.csv", reviewed=12)

    def full(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder.Path, "write_bytes", full)
    code, _, err = run(capsys, *arguments(tmp_path / "t.csv", tmp_path / "m"), *QUICK)
    assert (code, err) == (
        1,
        f"error: the disk is full: {tmp_path / 'm'} was not written, and nothing was changed; "
        "free some space.\n",
    )
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


PROGRAM = """
import signal

from alignset.cli import program
from alignset.engine import Trainer

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` has it ignored
train = Trainer.train

def say_and_train(*args, **kwargs):
    print("training", flush=True)
    return train(*args, **kwargs)

Trainer.train = say_and_train
program()
"""
"""The command line, which says when a training begins."""


def test_ctrl_c_leaves_nothing(tmp_path):
    write_table(tmp_path / "t.csv", n=3000, reviewed=900)
    argv = [str(a) for a in arguments(tmp_path / "t.csv", tmp_path / "m")]
    job = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *argv, *QUICK, "--configs", "2"],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert job.stdout.readline().startswith("columns: ")
    assert job.stdout.readline() == "training\n"
    job.send_signal(signal.SIGINT)
    out, err = job.communicate(timeout=300)
    assert (job.returncode, out.replace("training\n", "")) == (130, "")
    assert err.strip() == "interrupted"
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


LOST = """
import os
import signal

import alignset.cli
from alignset.engine import Trainer

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        [None for _ in range(1000)]  # Python raises the interrupt here, and drops it

train = Trainer.train

def interrupt_and_train(*args, **kwargs):
    Finalized()
    return train(*args, **kwargs)

Trainer.train = interrupt_and_train
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
alignset.cli.program()
"""
"""The command line, whose Ctrl-C meets a finalizer."""


def test_ctrl_c_is_not_lost_in_a_finalizer(tmp_path):
    write_table(tmp_path / "t.csv", reviewed=12)
    argv = [str(a) for a in arguments(tmp_path / "t.csv", tmp_path / "m")]
    job = subprocess.run(
        [sys.executable, "-c", LOST, *argv, *QUICK], capture_output=True, text=True, check=False
    )
    assert (job.returncode, job.stderr.strip()) == (130, "interrupted")
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_the_folder_is_described_as_json(tmp_path, capsys):
    write_table(tmp_path / "t.csv", reviewed=12)
    assert run(capsys, *arguments(tmp_path / "t.csv", tmp_path / "m"), *QUICK)[0] == 0
    manifest = json.loads((tmp_path / "m" / "manifest.json").read_text())
    assert manifest["comparison"] is None
    assert any("too few to compare" in note for note in manifest["notes"])


def test_an_ensemble_is_one_model(tmp_path, capsys):
    write_table(tmp_path / "t.csv")
    quick = ("--method", "joint", "--configs", "3", "--folds", "2", "--seed", "3", "--jobs", "1")
    code, _, err = run(
        capsys, *arguments(tmp_path / "t.csv", tmp_path / "m"), *quick, "--ensemble", "2"
    )
    assert (code, err) == (0, "")
    assert load_model(tmp_path / "m").manifest["search"]["averaged"] == 2
    code, _, err = run(
        capsys, *arguments(tmp_path / "t.csv", tmp_path / "n"), *quick, "--ensemble", "9"
    )
    assert code == 1
    assert "ensemble" in err
    assert "9" in err


def test_nothing_about_single_rows_is_kept_if_it_is_not_wanted(tmp_path, capsys):
    write_table(tmp_path / "t.csv")
    told = [*arguments(tmp_path / "t.csv", tmp_path / "m"), *FEW, "--method", "observed_linear"]
    code, out, _ = run(capsys, *told, "--no-evaluation")
    assert code == 0
    assert "note: the folder holds nothing about single rows." in out
    names = {path.name for path in (tmp_path / "m").iterdir()}
    assert "evaluation.json" not in names
    assert load_model(tmp_path / "m").evaluation is None
    assert "--no-evaluation" in load_model(tmp_path / "m").manifest["command"]
    code, _, err = run(capsys, "threshold", tmp_path / "m", "--target", "tpr=0.8")
    assert code == 1
    assert "it was written with `alignset fit --no-evaluation`, which leaves them out;" in err
    assert run(capsys, "report", tmp_path / "m", "-o", tmp_path / "r.html")[0] == 0
    html = unescape((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "Linear on reviewed labels" in html  # models have their titles all the same
    assert "reviewed_linear" not in html


def test_without_groups_aueoc_is_blank_and_it_is_said_why(tmp_path, capsys):
    write_table(tmp_path / "t.csv")
    told = [word for word in arguments(tmp_path / "t.csv", tmp_path / "m") if word != "sex"]
    told.remove("--group")
    code, out, _ = run(capsys, *told, *FEW, "--method", "observed_linear")
    assert code == 0
    assert "note: AUEOC is left blank: it compares groups," in out
    assert "1.000 (1.000 to 1.000)" not in out
    assert "for AUEOC" not in out
    scores = load_model(tmp_path / "m").manifest["comparison"]["scores"]
    assert scores["observed_linear"]["aueoc"]["estimate"] is None


def test_names_and_dates_of_single_people_are_in_no_file(tmp_path, capsys):
    frame = write_table(tmp_path / "t.csv")
    frame["name"] = [f"Jane Doe {i}" if i % 3 else "clinic" for i in range(len(frame))]
    frame["born"] = [f"19{20 + i % 60}-01-{10 + i % 13}" for i in range(len(frame))]
    frame.loc[5, "born"] = "1903-07-21"
    frame.to_csv(tmp_path / "t.csv", index=False)
    told = arguments(tmp_path / "t.csv", tmp_path / "m")
    quick = (*told, *FEW, "--method", "observed_linear")
    code, _, err = run(capsys, *quick)
    assert (code, err.startswith("error: text has too many values")) == (1, True)
    code, _, err = run(capsys, *quick, "--text", "levels")
    assert (code, err) == (0, "")
    code, _, err = run(capsys, "export", tmp_path / "m", "--onnx", tmp_path / "m" / "m.onnx")
    assert (code, err) == (0, "")
    for path in (tmp_path / "m").iterdir():
        assert b"Doe" not in path.read_bytes()
        assert b"1903-07" not in path.read_bytes()


@pytest.mark.parametrize("names", [("v1", "c0"), ("v0", "probability"), ("alignset:v1", "w")])
def test_any_name_of_a_column_can_be_exported_or_is_refused(tmp_path, capsys, names):
    frame = write_table(tmp_path / "t.csv").rename(columns=dict(zip("xz", names, strict=True)))
    frame.to_csv(tmp_path / "t.csv", index=False)
    told = arguments(tmp_path / "t.csv", tmp_path / "m")
    assert run(capsys, *told, *FEW, "--method", "observed_linear")[0] == 0
    code, _, err = run(capsys, "export", tmp_path / "m", "--onnx", tmp_path / "m.onnx")
    refused = {"probability", "alignset:v1"} & set(names)
    assert code == len(refused)
    assert ("has a name that the ONNX graph needs for itself" in err) == bool(refused)


def test_rows_of_a_person_are_held_out_together_and_have_ids_of_their_own(tmp_path, capsys):
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(60), 5)
    mark = rng.normal(size=(60, 3))[person]  # tells people apart, and says nothing else
    true = rng.integers(0, 2, 60)[person]
    frame = pd.DataFrame(mark, columns=list("abc")).assign(
        patient=[f"P{i:04d}" for i in person],
        visit=[f"V{i:05d}" for i in range(300)],
        observed=np.where(rng.random(300) < 0.1, 1 - true, true),
        truth=np.where(rng.random(300) < 0.5, true, np.nan),
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    told = ["--label", "observed", "--truth", "truth", "--id", "visit", "--method", "both_trees"]
    asked = ["fit", tmp_path / "t.csv", *told, "--out", tmp_path / "m"]
    assert run(capsys, *asked, "--person", "patient")[0] == 0
    model = load_model(tmp_path / "m")
    assert (model.columns.id, model.columns.person) == ("visit", "patient")
    kept = model.evaluation
    assert len(np.unique(kept.unit)) < len(kept)
    area = roc_auc_score(kept.true, kept.scores[kept.asked][:, 1])
    assert 0.2 < area < 0.8  # with visits as people, trees know every patient again
    place = tmp_path / "p.csv"
    assert run(capsys, "predict", tmp_path / "m", tmp_path / "t.csv", "-o", place)[0] == 0
    assert pd.read_csv(place)["visit"].is_unique
