import json
import shlex

import numpy as np
import pandas as pd
import pytest
from commands import run

from alignset.cli import main


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": np.repeat(["f", "m", "x"], [300, 200, 1])})
    frame["obs"] = rng.choice(["no", "yes"], len(frame), p=[0.8, 0.2])
    frame.to_csv(path, index=False)
    return path


def test_plan_prints_groups_cells_warnings_and_the_paper(capsys, table):
    code, out, err = run(capsys, "plan", table, "--label", "obs", "--group", "sex")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["group", "rows", "needed", "at", "worst"]
    assert [line.split()[:2] for line in lines[1:4]] == [["f", "300"], ["m", "200"], ["x", "1"]]
    assert lines[5].split() == ["group", "observed", "rows", "needed", "at", "worst"]
    assert "warning: group 'x' has one row" in out
    assert "Tjandra & Wiens (2023)" in out
    assert "within 0.05 either way (95% intervals, in 90% of reviews)" in out


def test_the_expected_half_width_is_said_as_such_and_takes_fewer_rows(capsys, table):
    argv = ["plan", table, "--label", "obs", "--group", "sex"]
    sure = json.loads(run(capsys, *argv, "--json")[1])
    hoped = json.loads(run(capsys, *argv, "--expected", "--json")[1])
    surer = json.loads(run(capsys, *argv, "--assurance", "0.99", "--json")[1])
    assert hoped["total"] < sure["total"] < surer["total"]
    assert (sure["assurance"], hoped["assurance"]) == (0.9, None)
    said = run(capsys, *argv, "--expected")[1]
    assert "(95% intervals, expected: about half of all reviews keep it)" in " ".join(said.split())


@pytest.fixture
def scored(tmp_path):
    """A table with a score, of which 60 rows were reviewed."""
    path, rng = tmp_path / "scored.csv", np.random.default_rng(0)
    n = 900
    true = rng.integers(0, 2, n)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "risk": 0.3 * true + rng.random(n)})
    frame["obs"] = np.where(rng.random(n) < 0.08, 1 - true, true)
    frame["reviewed"] = pd.array(np.where(np.arange(n) % 15 == 0, true, -1), dtype="Int64")
    frame["reviewed"] = frame["reviewed"].where(frame["reviewed"] >= 0)
    frame.to_csv(path, index=False)
    return path


def test_a_measure_of_a_score_is_planned(capsys, scored):
    argv = ["plan", scored, "--label", "obs", "--group", "sex", "--measure", "tpr"]
    argv += ["--score", "risk", "--threshold", 0.7, "--precision", 0.1, "--guess", 0.08]
    code, out, err = run(capsys, *argv)
    assert (code, err) == (0, "")
    assert "+- expected  +- in 90%  +- without observed labels" in out.splitlines()[0]
    assert "to know TPR at 0.7 of each group within 0.1 either way" in out
    assert "as guessed" in out
    assert "observed labels are believed right in 92% of rows" in out
    assert "at most half" in out
    first = run(capsys, *argv, "--truth", "reviewed")[1]
    assert "more rows to know TPR" in first
    assert "learned from the rows reviewed so far" in first
    told = json.loads(run(capsys, *argv, "--between", "f", "m", "--json")[1])
    assert told["groups"][0]["group"] == "TPR at 0.7, m minus f"
    assert told["total"] == sum(cell["needed"] for cell in told["cells"])


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["--measure", "tpr"], 1, "tpr needs score, the column of the score it is about."),
        (["--measure", "tpr", "--score", "risk"], 1, "tpr needs threshold"),
        (["--measure", "auroc", "--score", "risk", "--budget", "9"], 2, "--budget is for the"),
        (["--score", "risk", "--between", "f", "x"], 1, "between must be two of the groups f, m,"),
        (["--score", "risk", "--assurance", "9"], 1, "assurance must lie in (0, 1), got 9.0"),
    ],
)
def test_aims_that_cannot_be_are_told(capsys, scored, argv, code, said):
    found, out, err = run(capsys, "plan", scored, "--label", "obs", "--group", "sex", *argv)
    assert (found, out) == (code, "")
    assert said in err


def test_a_budget_adds_two_columns(capsys, table):
    argv = ["plan", table, "--label", "obs", "--group", "sex", "--budget", 60]
    code, out, _ = run(capsys, *argv, "--allocation", "even", "--floor", 1)
    assert code == 0
    assert out.splitlines()[0].endswith("budget  +- expected")


def test_plan_as_json(capsys, table):
    argv = ["plan", table, "--label", "obs", "--group", "sex", "--budget", "60", "--json"]
    code, out, _ = run(capsys, *argv, "--guess", "no=0.1", "--guess", "yes=0.3")
    found = json.loads(out)
    assert code == 0
    assert found["guess"] == {"no": 0.1, "yes": 0.3}
    assert [g["group"] for g in found["groups"]] == ["f", "m", "x"]
    assert sum(cell["within_budget"] for cell in found["cells"]) == 60
    assert found["total"] == sum(g["needed"] for g in found["groups"])
    assert len(found["warnings"]) == 1


def test_the_exact_interval_asks_for_more(capsys, table):
    argv = ["plan", table, "--label", "obs", "--json"]
    wilson = json.loads(run(capsys, *argv)[1])["total"]
    exact = json.loads(run(capsys, *argv, "--interval", "exact")[1])["total"]
    assert exact > wilson


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["--label", "obz"], 1, "has no column 'obz'; did you mean 'obs'? it has sex, obs."),
        (["--label", "obs", "--guess", "x"], 2, "write --guess 0.2, or --guess no=0.1"),
        (["--label", "obs", "--precision", "5"], 1, "precision must lie in (0, 0.5), got 5.0"),
        (["--label", "obs", "--budget", "999"], 1, "budget must be from 1 to 501 (all rows), got"),
        ([], 2, "Missing option '--label'"),
    ],
)
def test_mistakes_are_told_without_a_traceback(capsys, table, argv, code, said):
    found, out, err = run(capsys, "plan", table, *argv)
    assert (found, out) == (code, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; a table needs a header and rows."),
        ("obs,sex\n", "has columns but no rows."),
        ("obs,obs\n1,0\n", "has 2 columns named 'obs'; give every column a name of its own."),
        ("obs,sex\n1,f\n1,m\n", "column 'obs' has one class, 1, in all 2 rows; a label needs"),
    ],
)
def test_bad_files_are_told(capsys, tmp_path, text, said):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    code, out, err = run(capsys, "plan", path, "--label", "obs")
    assert (code, out) == (1, "")
    assert said in err


def test_a_missing_file_is_told(capsys, tmp_path):
    code, _, err = run(capsys, "plan", tmp_path / "none.csv", "--label", "obs")
    assert code == 1
    assert "there is no file" in err


def test_blanks_are_made_up_for_and_paid_for(capsys, table):
    argv = ["plan", table, "--label", "obs", "--precision", "0.1"]
    plain = json.loads(run(capsys, *argv, "--json")[1])
    assert plain["to_send"] == plain["total"]
    assert plain["cost"] is None
    more = ["--nonresponse", "0.2", "--cost", "2.5"]
    sent = json.loads(run(capsys, *argv, *more, "--json")[1])
    assert sent["total"] == plain["total"]
    # each cell is rounded up by itself
    assert 0 <= sent["to_send"] - sent["total"] / 0.8 < 1 + len(sent["cells"])
    assert sent["cost"] == 2.5 * sent["to_send"]
    out = run(capsys, *argv, *more)[1]
    assert f"Send out {sent['to_send']} rows: 20% are expected" in " ".join(out.split())
    assert "at 2.5 each" in out


@pytest.mark.parametrize(("option", "value"), [("--nonresponse", "1"), ("--cost", "-1")])
def test_impossible_outlays_are_refused(capsys, table, option, value):
    code, _, err = run(capsys, "plan", table, "--label", "obs", option, value)
    assert code == 1
    assert value in err


def test_it_ends_with_the_command_that_draws_the_rows(capsys, tmp_path):
    rows = {"told": ["no", "yes"] * 200, "sex": ["f", "f", "m", "m"] * 100}
    path = tmp_path / "my table.csv"
    pd.DataFrame({**rows, "risk": np.linspace(0, 1, 400)}).to_csv(path, index=False)
    told = ["plan", path, "--label", "told", "--group", "sex", "--precision", "0.1"]
    more = ["--measure", "tpr", "--score", "risk", "--threshold", "0.5", "--precision", "0.2"]
    for given in (told, [*told, *more]):
        assert main([str(word) for word in given]) == 0
        line = capsys.readouterr().out.splitlines()[-1]
        start, *words = shlex.split(line.removeprefix("next: "))
        assert (start, words[0]) == ("alignset", "sample")
        place = ["-o", str(tmp_path / f"sheet{len(given)}.csv")]
        assert main([*words[: words.index("-o")], *place]) == 0
        capsys.readouterr()


GUESS = ["--guess", "no=0.05", "--guess", "yes=0.3"]


@pytest.mark.parametrize(
    ("words", "column"),
    [
        (["--budget", 60], "within_budget"),
        (["--budget", 60, "--floor", 3, "--allocation", "even"], "within_budget"),
        (["--budget", 60, "--allocation", "neyman", *GUESS], "within_budget"),
        (["--precision", 0.06], "needed"),
        (["--precision", 0.07, *GUESS, "--expected", "--level", 0.9], "needed"),
        (["--precision", 0.1, "--assurance", 0.8, "--interval", "exact"], "needed"),
    ],
)
def test_the_command_of_the_last_line_draws_what_was_planned(
    capsys, monkeypatch, table, words, column
):
    monkeypatch.chdir(table.parent)
    argv = ["plan", table.name, "--label", "obs", "--group", "sex", *words]
    planned = pd.DataFrame(json.loads(run(capsys, *argv, "--json")[1])["cells"])
    last = run(capsys, *argv)[1].splitlines()[-1]
    command = shlex.split(last.removeprefix("next: alignset "))
    assert run(capsys, *command)[0] == 0
    rows = pd.read_csv(table).loc[pd.read_csv("sheet.csv")["row"]]
    drawn = rows.value_counts(["sex", "obs"])
    wanted = planned.set_index(["group", "label"])[column]
    assert drawn.reindex(wanted.index, fill_value=0).tolist() == wanted.tolist()


def test_the_command_of_the_last_line_reads_the_table_in_the_same_way(
    capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"age": np.arange(200) % 90, "obs": ["no", "no", "no", "yes"] * 50})
    frame["age"] = frame["age"].where(frame["age"] > 2)
    frame.to_csv("t.csv", sep="~", index=False)
    how = ["--sep", "~", "--bin", "age=40,60", "--missing-group", "unknown"]
    argv = ["plan", "t.csv", "--label", "obs", "--group", "age", *how, "--precision", 0.1]
    last = run(capsys, *argv, "--nonresponse", 0.2)[1].splitlines()[-1]
    assert run(capsys, *shlex.split(last.removeprefix("next: alignset ")))[0] == 0
    sent = json.loads(run(capsys, *argv, "--nonresponse", 0.2, "--json")[1])["to_send"]
    assert len(pd.read_csv("sheet.csv")) == sent


def test_rows_are_shared_out_in_one_way(capsys, tmp_path, table):
    argv = ["sample", table, "--n", 60, "--label", "obs", "--precision", 0.1]
    for words in (["--allocation", "even"], ["--measure", "prevalence"]):
        code, _, err = run(capsys, *argv, *words, "-o", tmp_path / "s.csv")
        assert code == 2
        assert "--precision says how to share rows out; so does --allocation or --measure" in err
