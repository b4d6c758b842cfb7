"""Odd tables through the commands: ids keep their zeros, and every change is told."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from commands import run, train_quickly

from alignset import load_model
from alignset.cli import main
from alignset.fitting.held_out import Settings
from alignset.tables.files import read_table, write_table

N, REVIEWED = 180, 90


def hospital(seed=0):
    """A table as a registry exports it: padded ids, German dates, units, codes, odd labels."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, N)
    true = np.where(rng.random(N) < 1 / (1 + np.exp((55 - age) / 8)), "yes", "no")
    told = np.where(rng.random(N) < 0.15, np.where(true == "yes", "no", "yes"), true)
    day = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D")
    frame = pd.DataFrame(
        {
            "pid": [f"{i:08d}" for i in range(49461, 49461 + N)],
            "age": age,
            "visit": day.strftime("%d.%m.%Y"),
            "sat": [f"{v:.1f}%" for v in rng.normal(95, 2, N)],
            "icd": [f"{'EIJ'[i % 3]}{i % 40 + 10}.{i % 9}" for i in range(N)],
            "site": np.where(rng.random(N) < 0.2, None, rng.choice(["a", "b"], N)),
            "told": told.astype(object),
        }
    )
    frame.loc[2, "sat"] = "n.d."
    frame.loc[3, "told"] = f"{frame.loc[3, 'told'].title()} "
    frame["reviewed"] = pd.Series(true).where(np.arange(N) < REVIEWED)
    return frame


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    train_quickly(monkeypatch)


def write(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False, sep=";", encoding="cp1252")
    else:
        write_table(frame, path)
    return path


ROLES = ["--label", "told", "--truth", "reviewed", "--id", "pid"]
FEW = ["--configs", "1", "--folds", "2", "--jobs", "1", "--method", "observed_linear"]
SUFFIXES = ("csv", "xlsx", "parquet")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model of the CSV, grouped by ranges of age, and what fitting it said."""
    place = tmp_path_factory.mktemp("odd")
    for suffix in SUFFIXES:
        write(hospital(), place / f"t.{suffix}")
        write(hospital(seed=1), place / f"new.{suffix}")
    import contextlib
    import io

    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        quick = partial(Settings, hidden=4, max_epochs=3, n_boot=50)
        patch.setattr("alignset.cli.fit.Settings", quick)
        grouped = ["--group", "age", "--bin", "age=40,65", "--missing-group", "unknown"]
        told = [place / "t.csv", *ROLES, *grouped, "--group", "site", *FEW, "--out", place / "m"]
        assert main(["fit", *map(str, told)]) == 0
    return place, out.getvalue()


def test_a_fit_says_first_what_becomes_of_the_columns(made):
    lines = made[1].splitlines()
    assert lines[0].startswith("note: column 'told': ")
    assert lines[0].endswith(".")
    assert lines[1].startswith("note: column 'site' is missing in ")
    assert lines[2] == (
        "columns: 2 numbers, 1 date, 1 column of ICD-10 codes, 1 category; `--dry-run` lists them"
    )
    assert "note: column 'visit': text is read as dates, day first." in lines
    assert (
        "note: column 'sat': text is read as numbers with '%'; 1 unreadable cell counts as "
        "missing, such as 'n.d.'." in lines
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_ids_keep_their_zeros_in_every_command_that_knows_a_model(made, tmp_path, capsys, suffix):
    place, _ = made
    table, ids = place / f"new.{suffix}", hospital(seed=1)["pid"].tolist()
    for out in ("p.csv", "p.xlsx", "p.parquet"):
        code, said, err = run(capsys, "predict", place / "m", table, "-o", tmp_path / out)
        assert (code, err) == (0, "")
        assert "cells that are no number or date count as missing: 1, such as 'n.d.'" in said
        assert read_table(tmp_path / out, as_text=["pid"])["pid"].tolist() == ids
    if suffix == "xlsx":  # each of the slow commands with one format
        code, said, err = run(capsys, "audit", place / "m", table, "-o", tmp_path / "a.csv")
        assert (code, err) == (0, "")
        assert sorted(read_table(tmp_path / "a.csv", as_text=["pid"])["pid"]) == ids
    if suffix == "parquet":
        page = tmp_path / "r.html"
        code, _, err = run(capsys, "report", place / "m", "--table", table, "-o", page, "--top", 3)
        assert (code, err) == (0, "")
        assert "000494" in page.read_text() or "000495" in page.read_text()
    told = ["threshold", place / "m", table, "--target", "tpr=0.8", "--dry-run", "--json"]
    code, said, err = run(capsys, *told)
    assert code == 0
    assert 0 < json.loads(said)["threshold"] < 1
    assert err.startswith("note: column 'told': ")  # standard output is JSON and nothing else


def test_predictions_do_not_depend_on_the_file_format(made, tmp_path, capsys):
    found = []
    for suffix in SUFFIXES:
        told = ["predict", made[0] / "m", made[0] / f"new.{suffix}", "-o", tmp_path / "p.csv"]
        assert run(capsys, *told, "--overwrite")[0] == 0
        found.append((tmp_path / "p.csv").read_bytes())
    assert len(set(found)) == 1


def test_nothing_of_a_single_row_is_in_the_folder(made):
    held = b"".join(path.read_bytes() for path in (made[0] / "m").iterdir())
    codes = hospital()["icd"].value_counts()
    for cell in ("n.d.", "00049461", "01.01.2019", *codes[codes < 5].index.str.replace(".", "")):
        assert cell.encode() not in held
    manifest = load_model(made[0] / "m").manifest
    assert (manifest["schema"], manifest["bins"]) == (5, {"age": [40.0, 65.0]})
    assert manifest["missing_group"] == "unknown"
    groups = set(manifest["groups"])
    assert {"below 40 & unknown", "65 or more & a"} <= groups


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_sheet_is_drawn_and_joined_whatever_the_format(tmp_path, capsys, suffix):
    frame = hospital().drop(columns="reviewed")
    table = write(frame, tmp_path / f"t.{suffix}")
    sheet = tmp_path / ("s.xlsx" if suffix == "xlsx" else "s.csv")
    told = ["--label", "told", "--id", "pid", "--n", "30", "-o", sheet]
    code, said, err = run(capsys, "sample", table, *told, "--group", "age", "--bin", "age=65")
    assert (code, err) == (0, "")
    assert said.startswith("note: column 'told': ")
    drawn = read_table(sheet, as_text=True)
    assert set(drawn["pid"].str.lstrip("'")) <= set(frame["pid"])
    drawn["reviewed"] = "YES"
    write_table(drawn, sheet, overwrite=True)
    code, said, err = run(
        capsys, "join", sheet, table, "--label", "told", "-o", tmp_path / f"j.{suffix}"
    )
    assert (code, err) == (0, "")
    joined = read_table(tmp_path / f"j.{suffix}", as_text=["pid"])
    assert joined["pid"].tolist() == frame["pid"].tolist()
    assert joined["reviewed"].dropna().tolist() == ["yes"] * 30


def test_a_dry_run_lists_every_column_and_writes_nothing(tmp_path, capsys):
    table = write(hospital(), tmp_path / "t.csv")
    code, said, err = run(capsys, "fit", table, *ROLES, "--dry-run")
    assert (code, err) == (0, "")
    rows = [line.split()[0] for line in said.splitlines()[1:]]
    assert rows[:6] == ["column", "age", "visit", "sat", "icd", "site"]
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
    code, _, err = run(capsys, "fit", table, *ROLES)
    assert (code, "Missing option '--out'" in err) == (2, True)


@pytest.mark.parametrize("command", ["plan", "sample", "fit"])
def test_numbers_as_groups_are_refused_with_ranges_to_use(tmp_path, capsys, command):
    table = write(hospital(), tmp_path / "t.csv")
    draw = ["--n", "9", "-o", tmp_path / "s.csv", "--overwrite"]
    known = ["--truth", "reviewed"]
    more = {"plan": [], "sample": [*draw, *known], "fit": ["--dry-run", *known]}
    told = [command, table, "--label", "told", *more[command]]
    code, _, err = run(capsys, *told, "--group", "age")
    assert code == 1
    assert "different numbers, too many to be groups; make ranges of them with --bin age=" in err
    ranges = err.partition("--bin ")[2].partition(",  ")[0].partition(", or")[0]
    code, _, err = run(capsys, *told, "--group", "age", "--bin", ranges)
    assert (code, err) == (0, "")
    code, _, err = run(capsys, *told, "--group", "site")
    assert (code, "is missing in" in err) == (1, True)
    code, said, err = run(capsys, *told, "--group", "site", "--missing-group", "unknown")
    assert (code, err) == (0, "")
    assert "rows, which are the group 'unknown'." in said


def test_none_and_na_are_labels_when_asked(tmp_path, capsys):
    frame = hospital()
    names = {"yes": "NA", "no": "None"}
    frame["told"] = frame["told"].str.strip().str.lower().map(names)
    frame["reviewed"] = frame["reviewed"].map(names)
    table = write(frame, tmp_path / "t.csv")
    code, _, err = run(capsys, "fit", table, *ROLES, "--dry-run")
    assert (code, "--keep-na told" in err) == (1, True)
    kept = ["--keep-na", "told", "--keep-na", "reviewed"]
    code, _, err = run(capsys, "fit", table, *ROLES, *kept, *FEW, "--out", tmp_path / "m")
    assert (code, err) == (0, "")
    assert load_model(tmp_path / "m").classes.tolist() == ["NA", "None"]
    code, _, err = run(capsys, "predict", tmp_path / "m", table, "-o", tmp_path / "p.csv")
    assert (code, err) == (0, "")
    found = read_table(tmp_path / "p.csv", as_text=True)
    assert "label_confidence" in found  # so the labels were read as words, without asking


def test_every_command_that_reads_a_table_can_be_told_how(made, tmp_path, capsys):
    frame = hospital(seed=1).drop(columns="reviewed")
    text = frame.to_csv(index=False, sep="~")
    (tmp_path / "t.csv").write_bytes(text.encode("utf-16-le"))
    told = ["--sep", "~", "--encoding", "utf-16-le", "--decimal", "."]
    out = ["-o", tmp_path / "o.csv", "--overwrite"]
    for argv in (
        ["plan", tmp_path / "t.csv", "--label", "told"],
        ["sample", tmp_path / "t.csv", "--label", "told", "--n", "9", *out],
        ["predict", made[0] / "m", tmp_path / "t.csv", *out],
        ["audit", made[0] / "m", tmp_path / "t.csv"],
    ):
        code, _, err = run(capsys, *argv, *told)
        assert (code, err) == (0, ""), argv
    code, _, err = run(capsys, "plan", tmp_path / "t.csv", "--label", "told", "--sep", "ab")
    assert (code, err) == (1, "error: --sep takes one mark such as ';', '|' or tab, got 'ab'.\n")


def codes(path, ops, *, reviewed=True):
    """A table with codes that look like numbers, of which 5.10 and 5.1 are two."""
    rng = np.random.default_rng(0)
    true = np.where(np.array(ops * (N // len(ops))) == "5.10", "yes", "no")
    told = np.where(rng.random(N) < 0.15, np.where(true == "yes", "no", "yes"), true)
    frame = pd.DataFrame({"age": rng.integers(18, 90, N), "ops": ops * (N // len(ops))})
    frame["told"] = told
    if reviewed:
        frame["reviewed"] = pd.Series(true).where(np.arange(N) < REVIEWED)
    frame.to_csv(path, index=False)
    return path


OPS = ["--label", "told", "--truth", "reviewed", "--categorical", "ops"]


def test_a_column_called_categorical_is_read_as_text(tmp_path, capsys):
    table = codes(tmp_path / "t.csv", ["5.10", "5.1", "7", " 7", "NA"])
    code, said, err = run(capsys, "fit", table, *OPS, "--dry-run")
    assert (code, err) == (0, "")
    assert next(line for line in said.splitlines() if line.startswith("ops")).split() == [
        "ops", "category,", "3", "values", "4", "levels",
    ]  # fmt: skip
    code, said, _ = run(capsys, "fit", table, *OPS, "--keep-na", "ops", "--dry-run")
    assert "category, 4 values" in said


def test_a_model_reads_codes_of_a_later_table_as_text(tmp_path, capsys):
    table, model = codes(tmp_path / "t.csv", ["5.10", "5.1", "7"]), tmp_path / "m"
    code, _, err = run(capsys, "fit", table, *OPS, *FEW, "--out", model)
    assert (code, err) == (0, "")
    assert load_model(model).preprocessing.categories[0].levels == ("5.1", "5.10", "7")
    later, out = codes(tmp_path / "l.csv", ["5.10", "5.1", "7.0"], reviewed=False), "p.csv"
    code, said, err = run(capsys, "predict", model, later, "-o", tmp_path / out)
    assert (code, err) == (0, "")
    assert "note: column 'ops': '7.0' is read as '7'." in said
    assert "count as other" not in said
    ill = read_table(tmp_path / out)["p_yes"].to_numpy().reshape(-1, 3)
    assert (ill[:, 0] > ill[:, 1] + 0.2).all()


def test_a_later_date_that_can_be_read_both_ways_is_refused(made, tmp_path, capsys):
    later = hospital(seed=1)
    later.loc[4, "visit"] = "08/01/2023"
    table = write(later, tmp_path / "l.csv")
    code, _, err = run(capsys, "predict", made[0] / "m", table, "-o", tmp_path / "p.csv")
    assert code == 1
    assert err == (
        "error: column 'visit' holds '08/01/2023' in data row 5; it takes dates such as "
        "31.01.2020 or 2020-01-31, and with another mark nothing says which number is the day.\n"
    )
