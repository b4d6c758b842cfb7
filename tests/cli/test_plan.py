import json

import numpy as np
import pandas as pd
import pytest

from alignset.cli import main


def run(capsys, *argv):
    code = main([str(word) for word in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


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
    assert "within 0.05 either way (95% intervals)" in out


def test_a_budget_adds_two_columns(capsys, table):
    argv = ["plan", table, "--label", "obs", "--group", "sex", "--budget", 60]
    code, out, _ = run(capsys, *argv, "--allocation", "even", "--floor", 1)
    assert code == 0
    assert out.splitlines()[0].endswith("budget  +- with it")


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
