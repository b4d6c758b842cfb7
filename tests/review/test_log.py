"""Several reviewers: who gets what, who said what, what came of it."""

import re

import numpy as np
import pandas as pd
import pytest

from alignset.cli import main
from alignset.review.answers import read_answer_log
from alignset.review.join import join
from alignset.review.log import (
    answers_path,
    current_answers,
    no_answers,
    read_answers,
    settle,
    write_answers,
)
from alignset.review.problems import SheetError
from alignset.review.sheet import Reviews, Sheet, share_sheet

TABLE = pd.DataFrame({"pid": [f"{i:03d}" for i in range(100)], "obs": ["no", "yes"] * 50})


@pytest.fixture
def drawn(tmp_path, capsys):
    """A folder with a table and the sheets of two people."""
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    argv = ["--label", "obs", "--id", "pid", "--reviewers", "anna, ben", "--twice", 0.2]
    argv += ["-o", tmp_path / "sheet.csv"]
    assert run("sample", tmp_path / "table.csv", "--n", 50, *argv) == 0
    return tmp_path


def run(*argv):
    return main([str(word) for word in argv])


def fill(path, answers, **columns):
    """Answer rows by id; return the ids on the sheet."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows["reviewed"] = [answers(pid) for pid in rows["pid"]]
    rows.assign(**columns).to_csv(path, index=False)
    return rows["pid"].tolist()


def always(value):
    return lambda pid: value


def reviews(answers, reviewer="anna", wave=1, name="the sheet"):
    rows = [
        {"id": key, "reviewed": value, "probability": 0.5, "stratum": "1", "wave": wave,
         "reviewer": reviewer, "time": "", "comment": "", "line": 2 + k}
        for k, (key, value) in enumerate(answers.items())
    ]  # fmt: skip
    return Reviews("pid", pd.DataFrame(rows), name)


@pytest.mark.parametrize(("people", "twice"), [(1, 0), (2, 0.2), (3, 0.5), (5, 1.0), (2, 0)])
def test_every_row_has_a_reviewer_and_a_share_has_two(people, twice):
    rows = pd.DataFrame({"row": range(101), "stratum": "1", "wave": 1, "probability": 0.5})
    sheet, names = Sheet(rows.assign(reviewed=""), ("a", "b")), [f"p{i}" for i in range(people)]
    shared = share_sheet(sheet, names, twice=twice, random_state=3)
    count = pd.concat([own.rows["row"] for own in shared.values()]).value_counts()
    assert len(count) == 101
    assert (count == 2).sum() == int(np.ceil(101 * twice))
    assert count.max() <= 2
    sizes = [len(own) for own in shared.values()]
    assert max(sizes) - min(sizes) <= (2 if people > 2 else 12)
    again = share_sheet(sheet, names, twice=twice, random_state=3)
    assert all(shared[name].rows.equals(again[name].rows) for name in names)


@pytest.mark.parametrize(
    ("names", "twice", "said"),
    [
        (["anna", "Anna"], 0, "two reviewers have the same name"),
        (["a/b"], 0, "a reviewer cannot be called 'a/b'"),
        ([".."], 0, "a reviewer cannot be called '..'"),
        (["anna"], 0.2, "rows can be reviewed twice by two people"),
        (["anna", "ben"], 20, "twice must lie in [0, 1], got 20"),
    ],
)
def test_names_and_shares_that_cannot_be_are_refused(names, twice, said):
    rows = pd.DataFrame({"row": [1], "stratum": "1", "wave": 1, "probability": 0.5})
    with pytest.raises(ValueError, match=re.escape(said)):
        share_sheet(Sheet(rows.assign(reviewed=""), ()), names, twice=twice, random_state=0)


def test_two_reviewers_agree_disagree_and_are_adjudicated(drawn, capsys):
    a, b = drawn / "sheet.anna.csv", drawn / "sheet.ben.csv"
    first = set(fill(a, always("yes"), comment="=sure"))
    both = sorted(first & set(pd.read_csv(b, dtype=str)["pid"]))
    assert len(both) == 10
    said = {both[0]: "no", both[1]: "cannot tell", both[2]: ""}
    fill(b, lambda pid: said.get(pid, "yes"), time="2026-01-02T03:04:05Z")
    out = drawn / "reviewed.csv"
    capsys.readouterr()
    assert run("join", a, b, drawn / "table.csv", "-o", out) == 0
    printed = capsys.readouterr().out
    assert "48 rows reviewed, 0 where the reviewer could not tell, 0 without" in printed
    assert "2 disputed" in printed
    assert printed.endswith(
        f"next: alignset disputes {answers_path(out)} {out} --label obs --id pid -o disputes.csv\n"
    )
    table = pd.read_csv(out, dtype=str, keep_default_na=False).set_index("pid")
    assert table.loc[both[:3], "review_state"].tolist() == ["disputed", "disputed", "agreed"]
    assert table.loc[both[:3], "reviewed"].tolist() == ["", "", "yes"]
    log = read_answers(drawn / "reviewed.answers.csv")
    assert log.columns.tolist() == [
        *("id", "reviewer", "answer", "time", "comment", "sheet", "wave", "adjudicated"),
    ]
    assert len(log) == 59
    assert set(log["comment"]) == {"=sure", ""}
    assert set(log.loc[log["reviewer"] == "ben", "time"]) == {"2026-01-02T03:04:05Z"}
    assert set(log["sheet"]) == {"sheet.anna.csv", "sheet.ben.csv"}
    # somebody decides; the sheet needs no design, for the table has it
    settled = drawn / "other" / "decided.csv"
    settled.parent.mkdir()
    settled.write_text(f"pid,reviewed\n{both[0]},no\n{both[1]},cannot tell\n")
    argv = ["--adjudicated", "--reviewer", "eve", "-o", out, "--overwrite"]
    assert run("join", settled, out, "--label", "obs", *argv) == 0
    table = pd.read_csv(out, dtype=str, keep_default_na=False).set_index("pid")
    assert table.loc[both[:2], "review_state"].tolist() == ["agreed", "cannot tell"]
    assert table.loc[both[:2], "reviewed"].tolist() == ["no", ""]
    log = read_answers(drawn / "reviewed.answers.csv")
    assert log.loc[log["adjudicated"] == "yes", "reviewer"].tolist() == ["eve", "eve"]
    assert set(log["wave"]) == {"1"}
    assert len(log) == 61
    assert table["probability"].ne("").sum() == 50


def test_half_filled_sheets_are_joined_one_after_the_other(drawn, capsys):
    a, out = drawn / "sheet.anna.csv", drawn / "r.csv"
    ids = fill(a, lambda pid: "yes" if pid < "050" else "")
    half = sum(pid < "050" for pid in ids)
    assert 0 < half < len(ids)
    assert run("join", a, drawn / "table.csv", "-o", out) == 0
    fill(a, lambda pid: "yes" if pid < "050" else "no")
    assert run("join", a, out, "-o", out, "--overwrite") == 0
    assert run("join", a, out, "-o", out, "--overwrite") == 0  # nothing new is fine
    capsys.readouterr()
    assert run("join", drawn / "sheet.ben.csv", out, "-o", drawn / "x.csv") == 1
    assert "has an answer, so there is nothing to add" in capsys.readouterr().err
    log = read_answers(drawn / "r.answers.csv")
    assert len(log) == len(ids)
    assert (log["answer"] == "yes").sum() == half
    # another answer by the same person is refused, and kept apart once it replaces the first
    fill(a, always("no"))
    assert run("join", a, out, "-o", out, "--overwrite") == 1
    err = capsys.readouterr().err
    assert f"{half} rows cannot be joined" in err
    assert "'no' differs from the same reviewer's earlier answer, 'yes'; keep one, or" in err
    assert run("join", a, out, "-o", out, "--overwrite", "--replace") == 0
    log = read_answers(drawn / "r.answers.csv")
    assert len(log) == len(ids) + half
    assert set(current_answers(log)["answer"]) == {"no"}
    table = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert table["reviewed"].value_counts().to_dict() == {"": 100 - len(ids), "no": len(ids)}
    assert table["review_state"].value_counts().to_dict() == {
        "": 50, "agreed": len(ids), "open": 50 - len(ids),
    }  # fmt: skip


def test_a_log_is_not_lost_by_joining_to_the_wrong_table(drawn, capsys):
    out = drawn / "r.csv"
    fill(drawn / "sheet.anna.csv", always("yes"))
    fill(drawn / "sheet.ben.csv", always("yes"))
    assert run("join", drawn / "sheet.anna.csv", drawn / "table.csv", "-o", out) == 0
    argv = [drawn / "sheet.ben.csv", drawn / "table.csv", "-o", out, "--overwrite"]
    assert run("join", *argv) == 1
    assert "answers that would be lost; join the sheet to" in capsys.readouterr().err
    assert run("join", drawn / "sheet.ben.csv", out, "-o", drawn / "both.csv") == 0
    assert len(read_answers(drawn / "both.answers.csv")) == 60


def test_reviewers_are_named_by_option_column_or_file(drawn, capsys):
    a, b = drawn / "sheet.anna.csv", drawn / "sheet.ben.csv"
    fill(a, always("yes"))
    fill(b, always("yes"), reviewer="")
    (drawn / "x.csv").write_text(b.read_text())
    out = drawn / "r.csv"
    argv = [a, drawn / "x.csv", drawn / "table.csv", "-o", out, "--reviewer", f"cleo={a}"]
    assert run("join", *argv) == 0
    assert set(read_answers(answers_path(out))["reviewer"]) == {"cleo", "x"}
    assert run("join", a, drawn / "table.csv", "-o", drawn / "q.csv", "--reviewer", "z=no.csv") == 2
    assert "write NAME=FILE, with one of" in capsys.readouterr().err


def test_two_names_for_one_person_are_pointed_out(tmp_path, capsys):
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    argv = ["--label", "obs", "--id", "pid", "-o", tmp_path / "sheet.csv"]
    run("sample", tmp_path / "table.csv", "--n", 10, *argv)
    fill(tmp_path / "sheet.csv", always("yes"))
    (tmp_path / "filled2.csv").write_text((tmp_path / "sheet.csv").read_text())
    run("join", tmp_path / "sheet.csv", tmp_path / "table.csv", "-o", tmp_path / "a.csv")
    capsys.readouterr()
    run("join", tmp_path / "filled2.csv", tmp_path / "a.csv", "-o", tmp_path / "b.csv")
    assert (
        "note: 10 rows have answers by more than one of sheet, filled2; if these are one person, "
        "join again with --reviewer NAME"
    ) in capsys.readouterr().out


def test_a_table_without_its_log_keeps_its_answers():
    first = join(TABLE, reviews({"000": "yes", "001": "no"}), label="obs")
    again = join(first.table, reviews({"000": "yes"}, "ben"), label="obs")
    assert again.frame()["reviewed"].tolist()[:2] == ["yes", "no"]
    with pytest.raises(SheetError, match="'no' differs from the table's 'reviewed', 'yes'"):
        join(first.table, reviews({"000": "no"}, "ben"), label="obs")
    replaced = join(first.table, reviews({"000": "no"}, "ben"), label="obs", replace=True)
    assert replaced.frame()["reviewed"].tolist()[:2] == ["no", "no"]
    assert replaced.log[["answer", "sheet"]].to_numpy().tolist() == [
        ["yes", "(table)"],
        ["no", "the sheet"],
    ]


def test_a_comment_that_came_later_is_kept():
    first = join(TABLE, reviews({"000": "yes"}), label="obs")
    later = reviews({"000": "yes"})
    later.rows["comment"] = "looked again"
    second = join(first.table, later, label="obs", log=first.log)
    assert second.log["comment"].tolist() == ["", "looked again"]
    assert join(second.table, later, label="obs", log=second.log).n_new == 0


def entries(*rows):
    log = no_answers()
    for k, (who, answer, final) in enumerate(rows):
        log.loc[k] = ["7", who, answer, "", "", "", "1", final]
    return log


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("a", "yes", "")], ("agreed", "yes")),
        ([("a", "yes", ""), ("b", "yes", "")], ("agreed", "yes")),
        ([("a", "yes", ""), ("b", "no", "")], ("disputed", None)),
        ([("a", "yes", ""), ("b", "cannot tell", "")], ("disputed", None)),
        ([("a", "cannot tell", ""), ("b", "cannot tell", "")], ("cannot tell", None)),
        ([("a", "yes", ""), ("b", "no", ""), ("e", "no", "yes")], ("agreed", "no")),
        ([("e", "no", "yes"), ("b", "yes", "")], ("agreed", "no")),
        ([("e", "no", "yes"), ("f", "yes", "yes")], ("agreed", "yes")),
        ([("e", "cannot tell", "yes"), ("b", "yes", "")], ("cannot tell", None)),
        ([("a", "yes", ""), ("b", "no", ""), ("a", "no", "")], ("agreed", "no")),
    ],
)
def test_what_comes_of_answers(rows, expected):
    assert tuple(settle(entries(*rows))["7"]) == expected


def test_a_log_comes_back_as_it_was(tmp_path):
    log = entries(("=x", "-1", ""), ('a "b"\nc', "NA", "yes"), ("'", "007", ""))
    write_answers(log, tmp_path / "t.answers.csv")
    pd.testing.assert_frame_equal(read_answers(tmp_path / "t.answers.csv"), log, check_dtype=False)


def test_a_row_is_not_given_another_design_once_it_is_answered():
    first = join(TABLE, reviews({"000": "yes", "001": None}), label="obs")
    later = reviews({"000": "yes", "001": "no"}, wave=2)
    said = "the table has it from wave 1, drawn with probability 0.5, and here it is of wave 2"
    with pytest.raises(SheetError, match=said):
        join(first.table, later, label="obs", log=first.log)


def test_a_sheet_of_another_name_takes_the_design_that_the_table_has(drawn, capsys):
    fill(drawn / "sheet.anna.csv", always("yes"))
    out = drawn / "r.csv"
    assert run("join", drawn / "sheet.anna.csv", drawn / "table.csv", "-o", out) == 0
    before = pd.read_csv(out)
    # a design of another draw also has the row, and is not taken for its own
    argv = ["--label", "obs", "--id", "pid", "-o", drawn / "all.csv"]
    assert run("sample", drawn / "table.csv", "--n", 100, *argv) == 0
    row = pd.read_csv(drawn / "sheet.anna.csv", dtype=str)["pid"][0]
    (drawn / "decided.csv").write_text(f"pid,reviewed\n{row},no\n")
    argv = ["--label", "obs", "--adjudicated", "-o", out, "--overwrite"]
    assert run("join", drawn / "decided.csv", out, *argv) == 0
    after = pd.read_csv(out)
    pd.testing.assert_frame_equal(after[["probability", "wave"]], before[["probability", "wave"]])
    assert after.set_index("pid").loc[int(row), "reviewed"] == "no"


def test_a_sheet_can_have_a_column_for_each_reviewer(tmp_path):
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    argv = ["--label", "obs", "--id", "pid", "-o", tmp_path / "sheet.csv"]
    run("sample", tmp_path / "table.csv", "--n", 4, *argv)
    rows = pd.read_csv(tmp_path / "sheet.csv", dtype=str)[["pid"]]
    rows["reviewed.anna"] = ["yes", "yes", "", ""]
    rows["reviewed ben"] = ["yes", "no", "no", ""]
    rows.to_csv(tmp_path / "sheet.csv", index=False)
    assert (
        run("join", tmp_path / "sheet.csv", tmp_path / "table.csv", "-o", tmp_path / "o.csv") == 0
    )
    table = pd.read_csv(tmp_path / "o.csv", dtype=str).set_index("pid")
    assert table.loc[rows["pid"], "review_state"].tolist() == [
        *("agreed", "disputed", "agreed", "open"),
    ]
    assert set(read_answers(tmp_path / "o.answers.csv")["reviewer"]) == {"anna", "ben"}


def test_a_name_in_capitals_is_the_same_person():
    first = join(TABLE, reviews({"000": "yes"}, "anna"), label="obs")
    with pytest.raises(SheetError, match="differs from the same reviewer's earlier answer"):
        join(first.table, reviews({"000": "no"}, "Anna"), label="obs", log=first.log)


def a_log(*rows):
    log = no_answers()
    for number, (row, who, answer, final) in enumerate(rows):
        log.loc[number] = [row, who, answer, "", "", "sheet.csv", "1", final]
    return log


def test_a_log_without_zeros_does_not_hide_a_dispute():
    # a spreadsheet program has saved 007 as 7; read as another row, the last answer would win
    before = join(TABLE, reviews({"007": "yes"}), label="obs")
    saved = before.log.assign(id="7")
    after = join(before.frame(), reviews({"007": "no"}, "ben"), label="obs", log=saved)
    assert after.n_disputed == 1
    assert after.log["id"].tolist() == ["007", "007"]
    assert pd.isna(after.frame()["reviewed"][7])


def test_an_answer_that_is_no_class_is_refused_and_not_lost():
    log = a_log(("007", "anna", "maybe", ""))
    with pytest.raises(
        ValueError, match=r"has 'maybe' for row '007', which is no answer; write 'no'"
    ):
        join(TABLE, reviews({"008": "no"}), label="obs", log=log)


def test_a_log_that_a_spreadsheet_program_had_is_read_alike(tmp_path):
    log = a_log(("7", "anna", "Cannot  Tell", ""), ("8", "eve ", "yes", " YES"))
    log.to_csv(tmp_path / "t.answers.csv", index=False)
    read = read_answers(tmp_path / "t.answers.csv")
    assert read["answer"].tolist() == ["cannot tell", "yes"]
    assert read["adjudicated"].tolist() == ["", "yes"]
    assert read["reviewer"].tolist() == ["anna", "eve"]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (("7", "eve", "yes", "maybe"), "has 'maybe' in column 'adjudicated', line 3; write yes"),
        (("", "eve", "yes", ""), "has nothing in column 'id', line 3"),
        (("7", "eve", " ", ""), "has nothing in column 'answer', line 3"),
    ],
)
def test_entries_that_nobody_made_are_refused(tmp_path, row, told):
    a_log(("8", "anna", "yes", ""), row).to_csv(tmp_path / "t.answers.csv", index=False)
    with pytest.raises(ValueError, match=re.escape(told)):
        read_answers(tmp_path / "t.answers.csv")


def test_ids_that_are_alike_are_refused_because_an_answer_would_belong_to_two_rows():
    log = a_log(("1", "anna", "yes", ""))
    with pytest.raises(ValueError, match="nobody knows whose an answer is"):
        read_answer_log(log, ["1", "1.0", "2"], ["no", "yes"])
