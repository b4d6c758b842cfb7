import json

import numpy as np
import pandas as pd
import pytest
from commands import run

from alignset.review.sidecar import read_sheet_design


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    frame = pd.DataFrame({"pid": np.arange(100) + 500, "obs": ["no", "no", "yes", "no"] * 25})
    frame.assign(sex=["f", "m"] * 50, age=40).to_csv(path, index=False)
    return path


def test_from_sheet_to_reviewed_table(capsys, tmp_path, table):
    sheet, out = tmp_path / "sheet.csv", tmp_path / "reviewed.csv"
    argv = ["--label", "obs", "--group", "sex", "--id", "pid", "--show", "age", "-o", sheet]
    code, said, err = run(capsys, "sample", table, "--n", 20, *argv)
    assert (code, err) == (0, "")
    assert said.splitlines() == [
        f"{sheet}: 20 rows to review",
        f"{tmp_path / 'sheet.design.json'}: how they were drawn, not for reviewers: wave 1, "
        "selection probabilities 0.2 to 0.2",
        f"next: alignset review {sheet}",
    ]
    rows = pd.read_csv(sheet, dtype=str, keep_default_na=False)
    assert rows.columns.tolist() == ["pid", "age", "reviewed"]
    rows["reviewed"] = ["yes"] * 8 + ["no"] * 9 + ["cannot tell"] * 2 + [""]
    rows.to_csv(sheet, index=False)
    code, said, _ = run(capsys, "join", sheet, table, "--label", "obs", "-o", out)
    assert code == 0
    assert said.splitlines() == [
        f"{out}: 17 rows reviewed, 2 where the reviewer could not tell, 1 without an answer",
        f"{tmp_path / 'reviewed.answers.csv'}: 19 answers, 19 of them new, by sheet",
        f"next: alignset fit {out} --label obs --truth reviewed --group sex --id pid "
        "--probability probability --out model",
    ]
    joined = pd.read_csv(out).set_index("pid")
    assert joined["reviewed"].notna().sum() == 17
    assert joined["probability"].notna().sum() == 20
    first = int(rows["pid"][0])
    assert joined.loc[first, "reviewed"] == "yes"


def test_label_studio_tasks_come_with_their_interface(capsys, tmp_path, table):
    sheet, tasks = tmp_path / "sheet.csv", tmp_path / "tasks.json"
    argv = ["--label", "obs", "-o", sheet, "--label-studio", tasks]
    code, said, _ = run(capsys, "sample", table, "--n", 5, *argv)
    assert code == 0
    assert "</View>\nnext: alignset review" in said
    assert len(json.loads(tasks.read_text())) == 5


def test_the_same_seed_draws_the_same_rows(capsys, tmp_path, table):
    texts = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        path = tmp_path / f"{name}.csv"
        run(capsys, "sample", table, "--n", 5, "-o", path, "--seed", seed)
        texts.append(path.read_text())
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("made", ["sheet.csv", "tasks.json"])
def test_nothing_is_written_over_without_asking(capsys, tmp_path, table, made):
    (tmp_path / made).write_text("mine")
    sheet, tasks = tmp_path / "sheet.csv", tmp_path / "tasks.json"
    argv = ["sample", table, "--n", 5, "-o", sheet, "--label-studio", tasks]
    code, out, err = run(capsys, *argv)
    assert (code, out) == (1, "")
    assert err == f"error: {tmp_path / made} exists; name another file, or pass --overwrite.\n"
    assert (tmp_path / made).read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["table.csv", made])
    assert run(capsys, *argv, "--overwrite")[0] == 0
    assert (tmp_path / made).read_text() != "mine"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--n", "999"], "n must be from 1 to 100 (the rows not yet reviewed), got 999."),
        (["--n", "5", "--label", "obz"], "the table has no column 'obz'; did you mean 'obs'?"),
        (["--n", "5", "--id", "sex"], "column 'sex' holds 'f' more than once"),
        (["--n", "5", "--show-label"], "show_label needs label, the column to show."),
    ],
)
def test_mistakes_leave_no_file(capsys, tmp_path, table, argv, said):
    code, out, err = run(capsys, "sample", table, *argv, "-o", tmp_path / "sheet.csv")
    assert (code, out) == (1, "")
    assert said in err
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


def test_a_sheet_has_to_be_text(capsys, tmp_path, table):
    code, _, err = run(capsys, "sample", table, "--n", 5, "-o", tmp_path / "s.parquet")
    assert code == 1
    assert err == "error: s.parquet must end in .csv, .tsv or .xlsx, which reviewers can fill in.\n"


def test_an_unknown_answer_leaves_no_table(capsys, tmp_path, table):
    sheet, out = tmp_path / "sheet.csv", tmp_path / "reviewed.csv"
    run(capsys, "sample", table, "--n", 5, "--label", "obs", "-o", sheet)
    rows = pd.read_csv(sheet, dtype=str, keep_default_na=False)
    rows.assign(reviewed="maybe").to_csv(sheet, index=False)
    code, _, err = run(capsys, "join", sheet, table, "--label", "obs", "-o", out)
    assert code == 1
    assert err.count("'maybe' is no answer; write 'no', 'yes' or 'cannot tell', or leave it") == 5
    assert not out.exists()
    out.write_text("mine")
    code, _, err = run(capsys, "join", sheet, table, "--label", "obs", "-o", out)
    assert err == f"error: {out} exists; name another file, or pass --overwrite.\n"
    assert out.read_text() == "mine"


def test_a_measure_shares_rows_out_by_what_they_can_tell(capsys, tmp_path):
    rng, path, sheet = np.random.default_rng(0), tmp_path / "scored.csv", tmp_path / "sheet.csv"
    frame = pd.DataFrame({"obs": rng.integers(0, 2, 800), "sex": rng.choice(["f", "m"], 800)})
    frame.assign(risk=rng.random(800)).to_csv(path, index=False)
    argv = ["sample", path, "--n", 150, "--label", "obs", "-o", sheet, "--overwrite"]
    aim = ["--measure", "tpr", "--score", "risk", "--threshold", 0.4]
    code, said, err = run(capsys, *argv, *aim, "--group", "sex", "--guess", "0=0.02", "--guess",
                          "1=0.3")  # fmt: skip
    assert (code, err) == (0, "")
    assert "150 rows to review" in said
    rows = read_sheet_design(tmp_path / "sheet.design.json").rows.astype({"id": int})
    assert rows["probability"].nunique() > 4
    seen = frame["obs"][rows["id"]]
    assert seen.mean() > frame["obs"].mean() + 0.05  # a yes is wrong more often
    code, _, err = run(capsys, *argv, "--score", "risk")
    assert code == 2
    assert "--score needs --measure." in err


def test_a_sheet_that_shows_the_observed_label_says_so(table, tmp_path, capsys):
    argv = ["sample", table, "--n", "9", "--label", "obs"]
    _, said, _ = run(capsys, *argv, "--show", "obs", "-o", tmp_path / "a.csv")
    assert "note: reviewers see 'obs', the observed label, and may follow it;" in said
    _, said, _ = run(capsys, *argv, "--show-label", "-o", tmp_path / "b.csv")
    assert "may follow it" not in said
