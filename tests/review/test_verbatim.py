"""Cells nobody touched come out of `sample` and `join` as they went in, text for text."""

import csv
import gzip
import json

import pandas as pd
import pytest
from commands import run

ODD = [
    ["8.930", "5.10", "2E3", "None", "1", "TRUE", "12,500", " padded", "=1+1"],
    ["8.93", "5.1", "2000", "NA", "", "FALSE", "1,000", "N/A", "-2.50E-3"],
    ["9", "5.2", "7", "null", "3", "true", "900", "", "-1,250.0"],
    ["1.0", "5.20", "8", "n/a", "4", "False", "12", '"quoted"', "a\nb"],
]
"""Cells that a program which takes them for numbers or gaps would write in another way."""
NAMES = ["lab", "ops", "dose", "dx", "visits", "flag", "cost", "note", "sum"]
SHOWN = [word for name in NAMES for word in ("--show", name)]


def write_odd(path, *, separator=",", encoding="utf-8", end="\n", labels=("no", "yes")):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding=encoding, newline="") as stream:
        rows = csv.writer(stream, delimiter=separator, lineterminator=end)
        rows.writerow(["pid", "obs", *NAMES])
        rows.writerows([f"00{i}", labels[i % 2], *row] for i, row in enumerate(ODD))
    return path


def read_text(path, *, separator=",", encoding="utf-8"):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding=encoding, newline="") as stream:
        head, *rows = csv.reader(stream, delimiter=separator)
    return [dict(zip(head, row, strict=True)) for row in rows]


def draw(capsys, table, *words):
    """Draw every row; return the sheet."""
    sheet = table.with_name("sheet.csv")
    argv = ["--n", 4, "--label", "obs", "--id", "pid", *words, "-o", sheet]
    code, _, err = run(capsys, "sample", table, *argv)
    assert (code, err) == (0, "")
    return sheet


def fill_in(sheet, answer="yes"):
    frame = pd.read_csv(sheet, dtype=str, keep_default_na=False)
    frame.assign(reviewed=answer).to_csv(sheet, index=False)
    return sheet


def test_a_sheet_shows_cells_as_the_table_has_them(capsys, tmp_path):
    table = write_odd(tmp_path / "t.csv")
    shown = {row["pid"]: row for row in read_text(draw(capsys, table, *SHOWN))}
    for i, row in enumerate(ODD):
        held = ["'=1+1" if cell == "=1+1" else cell for cell in row]  # no spreadsheet computes it
        assert [shown[f"00{i}"][name] for name in NAMES] == held


def test_a_group_is_shown_as_it_is_written(capsys, tmp_path):
    table = write_odd(tmp_path / "t.csv")
    words = ["--group", "visits", "--missing-group", "unknown", "--show", "visits"]
    shown = {row["pid"]: row["visits"] for row in read_text(draw(capsys, table, *words))}
    assert shown == {"000": "1", "001": "", "002": "3", "003": "4"}


def test_label_studio_sees_the_same_cells(capsys, tmp_path):
    table, tasks = write_odd(tmp_path / "t.csv"), tmp_path / "tasks.json"
    draw(capsys, table, *SHOWN, "--label-studio", tasks)
    texts = [task["data"]["text"] for task in json.loads(tasks.read_text())]
    assert any("ops: 5.10\n" in text and "dx: None\n" in text for text in texts)


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz"])
def test_a_joined_table_keeps_every_cell(capsys, tmp_path, name):
    table = write_odd(tmp_path / "t.csv")
    sheet, out = fill_in(draw(capsys, table, *SHOWN)), tmp_path / name
    code, said, err = run(capsys, "join", sheet, table, "-o", out)
    assert (code, err) == (0, "")
    assert "note: column" not in said
    rows = read_text(out)
    assert [[row[name] for name in NAMES] for row in rows] == ODD
    assert [row["pid"] for row in rows] == ["000", "001", "002", "003"]
    assert {row["reviewed"] for row in rows} == {"yes"}
    code, _, err = run(capsys, "join", sheet, out, "-o", tmp_path / "again.csv")
    assert (code, err) == (0, "")
    assert read_text(tmp_path / "again.csv") == rows


@pytest.mark.parametrize(
    ("separator", "encoding", "end"),
    [(";", "cp1252", "\r\n"), ("\t", "utf-16", "\n"), ("|", "utf-8-sig", "\r\n")],
)
def test_a_joined_table_has_the_form_of_the_table(capsys, tmp_path, separator, encoding, end):
    form = {"separator": separator, "encoding": encoding, "end": end}
    table = write_odd(tmp_path / "t.csv", **form, labels=("nein", "möglich"))
    sheet, out = fill_in(draw(capsys, table), "möglich"), tmp_path / "out.csv"
    assert run(capsys, "join", sheet, table, "-o", out)[0] == 0
    rows = read_text(out, separator=separator, encoding=encoding)
    assert [[row[name] for name in NAMES] for row in rows] == ODD
    assert {row["reviewed"] for row in rows} == {"möglich"}
    head = f"pid{separator}obs".encode(encoding)
    assert out.read_bytes().startswith(head)
    assert out.read_bytes().decode(encoding).count("\r\n") == (5 if end == "\r\n" else 0)


def test_numbers_that_a_join_adds_have_the_decimal_mark_of_the_table(capsys, tmp_path):
    table = tmp_path / "t.csv"
    rows = "".join(f"{i};{'no' if i % 3 else 'yes'};{i},50\n" for i in range(9))
    table.write_text(f"sep=;\npid;obs;lab\n{rows}")
    sheet, out = tmp_path / "sheet.csv", tmp_path / "out.csv"
    run(capsys, "sample", table, "--n", 4, "--label", "obs", "--id", "pid", "-o", sheet)
    assert run(capsys, "join", fill_in(sheet), table, "-o", out)[0] == 0
    first, *lines = out.read_text().splitlines()
    assert first == "sep=;"
    drawn = [line for line in lines if line.endswith("agreed")]
    assert {line.split(";")[6] for line in drawn} == {"0,3333333333333333", "0,5"}
    code, said, err = run(capsys, "sample", out, "--n", 4, "--label", "obs", "--truth", "reviewed",
                          "-o", tmp_path / "next.csv")  # fmt: skip
    assert (code, err) == (0, "")
    assert "wave 2" in said


def test_true_labels_are_spelled_as_observed_ones(capsys, tmp_path):
    table = write_odd(tmp_path / "t.csv", labels=("FALSE", "TRUE"))
    sheet, out = fill_in(draw(capsys, table), "True"), tmp_path / "out.csv"
    assert run(capsys, "join", sheet, table, "-o", out)[0] == 0
    assert {row["reviewed"] for row in read_text(out)} == {"TRUE"}
    assert [row["obs"] for row in read_text(out)] == ["FALSE", "TRUE"] * 2


def test_a_format_that_knows_numbers_says_what_it_changes(capsys, tmp_path):
    table = write_odd(tmp_path / "t.csv")
    sheet = fill_in(draw(capsys, table))
    code, said, _ = run(capsys, "join", sheet, table, "-o", tmp_path / "out.parquet")
    assert code == 0
    assert "note: out.parquet holds numbers as numbers, so 5.10 is 5.1 there" in said
    frame = pd.read_parquet(tmp_path / "out.parquet")
    assert frame["ops"].tolist() == [5.1, 5.1, 5.2, 5.2]


def test_a_disputed_row_is_shown_as_it_is_written(capsys, tmp_path):
    table = write_odd(tmp_path / "t.csv")
    sheet = draw(capsys, table)
    frame = pd.read_csv(sheet, dtype=str, keep_default_na=False)
    for who, answer in (("anna", "yes"), ("ben", "no")):
        frame.assign(reviewed=answer).to_csv(tmp_path / f"sheet.{who}.csv", index=False)
    both, out = tmp_path / "both.csv", tmp_path / "disputes.csv"
    sheets = [tmp_path / "sheet.anna.csv", tmp_path / "sheet.ben.csv"]
    assert run(capsys, "join", *sheets, table, "-o", both)[0] == 0
    argv = [both.with_name("both.answers.csv"), both, "--label", "obs", "--id", "pid"]
    code, _, err = run(capsys, "disputes", *argv, "--show", "ops", "--show", "dx", "-o", out)
    assert (code, err) == (0, "")
    shown = {row["pid"]: (row["ops"], row["dx"]) for row in read_text(out)}
    assert shown == {f"00{i}": (row[1], row[3]) for i, row in enumerate(ODD)}
    page = ["-o", tmp_path / "d.html", "--choice", "yes", "--choice", "no"]
    _, said, _ = run(capsys, "review", out, *page)
    assert said.endswith(" TABLE --adjudicated -o reviewed.csv\n")
