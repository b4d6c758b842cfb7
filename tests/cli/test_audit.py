import json
import re

import numpy as np
import pandas as pd
import pytest
from commands import run

from alignset.estimator import NoisyLabelClassifier
from alignset.estimator.as_model import predictor_of
from alignset.model.fitted import Model
from alignset.model.folder import save_model
from alignset.tables.columns import Columns
from alignset.tables.preprocess import fit_preprocessing


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 400
    age, sex = rng.integers(20, 90, n), rng.choice(["f", "m"], n)
    true = (age + 15 * rng.normal(size=n) > 60).astype(int)
    told = np.where(rng.random(n) < np.where(sex == "f", 0.15, 0.3), 1 - true, true)
    frame = pd.DataFrame({"pid": np.arange(n) + 900, "sex": sex, "age": age, "told": told})
    on_sheet = rng.random(n) < 0.3
    frame["reviewed"] = pd.array(np.where(on_sheet, true, -1), dtype="Int64")
    frame["reviewed"] = frame["reviewed"].where(on_sheet)
    frame["probability"] = np.where(on_sheet, 0.3, np.nan)
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory, frame):
    """A model folder trained on the table."""
    reading = fit_preprocessing(frame, {"age": "number", "sex": "category"})
    clf = NoisyLabelClassifier(n_configs=1, max_epochs=5, random_state=0)
    y_true = [None if pd.isna(v) else v for v in frame["reviewed"]]
    clf.fit(reading.transform(frame), frame["told"], y_true=y_true, groups=frame["sex"])
    columns = Columns("told", ("age", "sex"), "reviewed", ("sex",), "pid", "probability")
    model = Model(predictor_of(clf), reading, clf.classes_, clf.groups_, columns, {})
    path = tmp_path_factory.mktemp("models") / "model"
    save_model(model, path)
    return path


@pytest.fixture
def table(tmp_path, frame):
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def test_audit_prints_rates_a_verdict_an_action_and_doubtful_rows(capsys, folder, table):
    code, out, err = run(capsys, "audit", folder, table, "--top", 3)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split()[:4] == ["group", "rows", "reviewed", "wrong"]
    assert [line.split()[0] for line in lines[1:3]] == ["f", "m"]
    assert "weighted by selection probability, 95% intervals" in out
    assert "verdict: " in out
    assert "what helps most: " in out
    assert lines[-5].split() == ["pid", "group", "observed", "confidence", "predicted", "reviewed"]


def test_audit_tells_how_good_a_score_is_and_what_the_review_is_worth(
    capsys, folder, tmp_path, frame
):
    path = tmp_path / "scored.csv"
    frame.assign(risk=1 / (1 + np.exp((60 - frame["age"]) / 15))).to_csv(path, index=False)
    argv = ["audit", folder, path, "--score", "risk", "--threshold", 0.5, "--top", 0]
    code, out, err = run(capsys, *argv)
    assert (code, err) == (0, "")
    heads = [line.split() for line in out.splitlines() if line.startswith("measure")]
    assert heads == [["measure", "group", "estimate", "from", "to", "reviewed", "worth"]]
    for name in ("prevalence of '", "auroc ", "tpr ", "fpr ", "ppv ", "npv "):
        lines = [line for line in out.splitlines() if line.startswith(name)]
        assert len([line for line in lines if " minus " not in line]) == 3
    assert "tpr, f minus m" in out  # the larger group is what others are compared with
    assert re.search(
        r"^reviewed \d+, worth \d+ for prevalence of '\w+', \d+ for auroc, \d+ for tpr", out, re.M
    )
    assert "not corrected for their number" in out
    told = json.loads(run(capsys, *argv, "--json")[1])["measures"]
    auroc = next(row for row in told if row["measure"] == "auroc" and row["group"] == "all")
    assert auroc["worth"] >= auroc["reviewed"] == frame["reviewed"].count()
    assert auroc["low"] <= auroc["estimate"] <= auroc["high"]


def test_proposals_that_go_nowhere_are_said(capsys, folder, table):
    _, out, _ = run(capsys, "audit", folder, table, "--next", 5, "--top", 0)
    assert out.endswith(
        "proposed for review: 5 rows; write them with --sheet next.csv\n"
        f"next: alignset audit {folder} {table} --next 50 --sheet next.csv\n"
    )


def test_audit_as_json(capsys, folder, table, frame):
    code, out, _ = run(capsys, "audit", folder, table, "--json", "--next", 5, "--top", 2)
    found = json.loads(out)
    assert code == 0
    assert found["verdict"] in ("green", "amber", "red")
    assert [rate["group"] for rate in found["noise_rates"]] == ["f", "m"]
    assert all(0 <= rate["low"] <= rate["high"] <= 1 for rate in found["noise_rates"])
    assert sum(rate["reviewed"] for rate in found["noise_rates"]) == frame["reviewed"].count()
    assert len(found["two_sample_tests"]) == 2
    assert len(found["most_doubtful"]) == 2
    assert len(found["next"]) == 5
    assert all(0 < row["probability"] <= 1 for row in found["next"])


def test_ranked_rows_and_the_next_sheet_are_written(capsys, tmp_path, folder, table, frame):
    ranked, sheet, tasks = (tmp_path / name for name in ("ranked.csv", "next.csv", "next.json"))
    argv = ["--next", 12, "--sheet", sheet, "--label-studio", tasks, "--show", "age"]
    code, out, _ = run(capsys, "audit", folder, table, "-o", ranked, *argv)
    assert code == 0
    assert f"{ranked}: 400 rows, the most doubtful first" in out
    assert f"{sheet}: 12 rows to review\n" in out
    assert "not for reviewers: wave 2, selection" in out
    rows = pd.read_csv(ranked)
    assert rows["confidence"].is_monotonic_increasing
    assert set(rows["pid"]) == set(frame["pid"])
    proposed = pd.read_csv(sheet)
    assert len(proposed) == len(json.loads(tasks.read_text())) == 12
    assert not frame.set_index("pid")["reviewed"].notna()[proposed["pid"]].any()


def test_a_proposed_sheet_joins_the_table(capsys, tmp_path, folder, table):
    sheet, out = tmp_path / "next.csv", tmp_path / "more.csv"
    run(capsys, "audit", folder, table, "--next", 12, "--sheet", sheet)
    rows = pd.read_csv(sheet, dtype=str, keep_default_na=False)
    rows.assign(reviewed="1").to_csv(sheet, index=False)
    code, said, err = run(capsys, "join", sheet, table, "--label", "told", "-o", out)
    assert (code, err) == (0, "")
    assert "12 rows reviewed" in said
    assert set(pd.read_csv(out)["wave"].dropna()) == {2}
    code, said, err = run(capsys, "audit", folder, out, "--next", 3, "--json")
    assert (code, err) == (0, "")
    assert {row["wave"] for row in json.loads(said)["next"]} == {3}


@pytest.mark.parametrize("made", ["ranked.csv", "next.csv", "next.json"])
def test_nothing_is_written_over_without_asking(capsys, tmp_path, folder, table, made):
    (tmp_path / made).write_text("mine")
    argv = ["audit", folder, table, "-o", tmp_path / "ranked.csv", "--next", 5]
    argv += ["--sheet", tmp_path / "next.csv", "--label-studio", tmp_path / "next.json"]
    code, out, err = run(capsys, *argv)
    assert (code, out) == (1, "")
    assert err == f"error: {tmp_path / made} exists; name another file, or pass --overwrite.\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([made, "table.csv"])
    assert (tmp_path / made).read_text() == "mine"


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["--truth", "true"], 1, "the table has no column 'true'; it has pid, sex, age, told,"),
        (["--next", "999"], 1, "next must be from 1 to "),
        (["--sheet", "next.csv"], 2, "--sheet needs --next N."),
        (["--next", "5", "--label-studio", "t.json"], 2, "--label-studio needs --sheet."),
        (["--next", "-1"], 2, "--next must not be negative."),
        (["--score", "risk"], 1, "the table has no column 'risk'; it has pid, sex, age,"),
        (["--threshold", "0.5"], 1, "threshold needs a score to judge: a column, or the model's"),
        (["-o", "ranked.html"], 1, "ranked.html has no known format"),
    ],
)
def test_mistakes_are_told_and_leave_no_file(capsys, tmp_path, folder, table, argv, code, said):
    found, out, err = run(capsys, "audit", folder, table, *argv)
    assert (found, out) == (code, "")
    assert said in err
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


def test_a_table_that_lacks_a_feature_is_told(capsys, tmp_path, folder, frame):
    path = tmp_path / "less.csv"
    frame.drop(columns="age").to_csv(path, index=False)
    code, _, err = run(capsys, "audit", folder, path)
    assert code == 1
    assert "the table has no column 'age'" in err


def test_an_unknown_true_label_is_told(capsys, tmp_path, folder, frame):
    path = tmp_path / "odd.csv"
    frame.assign(reviewed=frame["reviewed"].mask(frame["reviewed"] == 1, 7)).to_csv(
        path, index=False
    )
    code, _, err = run(capsys, "audit", folder, path)
    assert code == 1
    assert "column 'reviewed' holds 7 in data row " in err
    assert "known labels are 0, 1, and rows that were not reviewed are left empty." in err


def test_no_model_is_told(capsys, tmp_path, table):
    code, _, err = run(capsys, "audit", tmp_path / "none", table)
    assert code == 1
    assert "none" in err
