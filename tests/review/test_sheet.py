import json
import re

import numpy as np
import pandas as pd
import pytest

from alignset.review.cells import read_cell, write_cell
from alignset.review.join import join
from alignset.review.label_studio import LABEL_STUDIO_CONFIG, write_label_studio
from alignset.review.problems import SheetError
from alignset.review.reading import read_reviews
from alignset.review.sample import sample
from alignset.review.sheet import write_sheet
from alignset.tables.files import write_table

TABLE = pd.DataFrame(
    {"pid": np.arange(60) + 7000, "obs": ["no", "yes", "no"] * 20, "note": ['a, "b"\nc'] * 60}
)
HEADER = "row,stratum,wave,probability,reviewed\n"


@pytest.fixture
def sheet():
    return sample(TABLE, n=6, label="obs", id="pid", show=["note"], random_state=0)


def answered(sheet, answers):
    """What Label Studio exports after annotators chose these answers, one list per task."""
    return [
        {"id": i + 1, "data": data, "annotations": [annotation(value) for value in values]}
        for i, (data, values) in enumerate(zip(sheet, answers, strict=True))
    ]


def annotation(value, cancelled=False):
    chosen = {"from_name": "reviewed", "to_name": "row", "type": "choices"}
    result = [] if value is None else [chosen | {"value": {"choices": [value]}}]
    return {"id": 1, "result": result, "was_cancelled": cancelled, "lead_time": 3.1}


def test_a_csv_comes_back_as_it_was_filled_in(tmp_path, sheet):
    path = tmp_path / "sheet.csv"
    write_table(sheet.rows, path)
    filled = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert filled["note"].tolist() == ['a, "b"\nc'] * 6
    filled["reviewed"] = ["yes", "no", "Cannot  tell", "", "yes", " no "]
    filled.to_csv(path, index=False)
    found = read_reviews(path)
    rows = found.frame()
    assert found.id_column == "pid"
    assert rows["id"].tolist() == sheet.rows["pid"].astype(str).tolist()
    assert rows["reviewed"].tolist() == ["yes", "no", "cannot tell", None, "yes", "no"]
    assert rows["probability"].tolist() == sheet.rows["probability"].tolist()
    assert rows["stratum"].tolist() == sheet.rows["stratum"].tolist()
    assert (found.n_cannot_tell, found.n_open) == (1, 1)


def test_what_a_spreadsheet_saves_is_understood(tmp_path):
    path = tmp_path / "sheet.csv"
    text = "pid;stratum;wave;probability;reviewed\r\n7000.0;2;1;0,25;yes\r\n"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    found = read_reviews(path)
    assert found.id_column == "pid"
    first = found.frame().iloc[0]
    assert first.tolist()[:5] == ["7000.0", "yes", 0.25, "2", 1]
    assert (first["reviewer"], first["line"]) == ("sheet", 2)
    table = pd.DataFrame({"pid": [6999, 7000], "obs": ["no", "yes"]})
    assert join(table, found, label="obs").frame()["reviewed"].tolist()[1] == "yes"


def test_label_studio_tasks_have_data_and_choices(tmp_path, sheet):
    path = tmp_path / "tasks.json"
    write_label_studio(sheet, path)
    tasks = json.loads(path.read_text())
    assert len(tasks) == 6
    data = tasks[0]["data"]
    assert data["row"] == str(sheet.rows["pid"].iloc[0])
    assert data["choices"] == [{"value": "no"}, {"value": "yes"}, {"value": "cannot tell"}]
    assert data["text"] == f'pid: {data["row"]}\nnote: a, "b"\nc'
    assert "obs" not in json.dumps(tasks)
    for name in ("text", "choices"):
        assert f'value="${name}"' in LABEL_STUDIO_CONFIG
        assert name in data


def test_a_label_studio_export_comes_back(tmp_path, sheet):
    path = tmp_path / "tasks.json"
    write_label_studio(sheet, path)
    write_sheet(sheet, tmp_path / "sheet.csv")
    data = [task["data"] for task in json.loads(path.read_text())]
    answers = [["yes"], ["no"], ["cannot tell"], [], [None], ["no", "no"]]
    export = answered(data, answers)
    export[1]["annotations"].append(annotation("yes", cancelled=True))
    path.write_text(json.dumps(export))
    found = read_reviews(path)
    rows = found.frame()
    assert rows["reviewed"].tolist() == ["yes", "no", "cannot tell", None, None, "no"]
    assert rows["id"].tolist() == sheet.rows["pid"].astype(str).tolist()
    assert rows["probability"].tolist() == sheet.rows["probability"].tolist()
    assert (found.n_cannot_tell, found.n_open) == (1, 2)


def test_the_short_export_comes_back_too(tmp_path, sheet):
    path = tmp_path / "tasks.json"
    write_label_studio(sheet, path)
    data = [task["data"] for task in json.loads(path.read_text())]
    short = [{**d, "id": i, "annotator": 1, "lead_time": 2.0} for i, d in enumerate(data)]
    short[0]["reviewed"] = "yes"
    short[1]["reviewed"] = {"choices": ["no"]}
    short[2]["reviewed"] = {"choices": []}
    path.write_text(json.dumps(short))
    assert read_reviews(path).frame()["reviewed"].tolist()[:4] == ["yes", "no", None, None]


def test_tasks_nobody_answered_can_be_read(tmp_path, sheet):
    write_label_studio(sheet, tmp_path / "tasks.json")
    assert read_reviews(tmp_path / "tasks.json").n_open == 6


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("s.csv", "", "{} is empty; a table needs a header and rows."),
        ("s.csv", HEADER, "{} has columns but no rows."),
        ("s.csv", "row,told\n1,yes\n", "{} has no column 'reviewed'; it has row, told."),
        (
            "s.csv",
            HEADER + "1,1,1,0,yes\n",
            "{} has probability '0' and wave '1' for row '1'; leave those columns as "
            "`alignset sample` wrote them.",
        ),
        (
            "s.csv",
            HEADER + "1,1,x,0.5,yes\n",
            "{} has probability '0.5' and wave 'x' for row '1'; leave those columns as "
            "`alignset sample` wrote them.",
        ),
        (
            "s.json",
            "{",
            "{} is not JSON: Expecting property name enclosed in double quotes: line 1 "
            "column 2 (char 1).",
        ),
        ("s.json", "{}", "{} is not a Label Studio export, which is a list of tasks."),
        ("s.json", "[]", "{} is not a Label Studio export, which is a list of tasks."),
        (
            "s.json",
            '[{"data": {"text": "x"}}]',
            "{} has a task that `alignset sample` did not write: row or id_column is missing.",
        ),
        ("s.xls", "x", "s.xls is not a review sheet; sheets end in .csv, .tsv, .xlsx or .json."),
    ],
)
def test_what_is_no_sheet_is_refused(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_text(text)
    expected = said.replace("{}", str(path), 1)
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        read_reviews(path)


def test_two_answers_by_one_annotator_are_refused_and_by_two_are_a_dispute(tmp_path, sheet):
    path = tmp_path / "tasks.json"
    write_label_studio(sheet, path)
    write_sheet(sheet, tmp_path / "sheet.csv")
    data = [task["data"] for task in json.loads(path.read_text())]
    export = answered(data[:1], [["yes", "no"]])
    path.write_text(json.dumps(export))
    with pytest.raises(SheetError, match=r"row '70\d\d': it has two answers, 'yes' and 'no'; keep"):
        join(TABLE, read_reviews(path), label="obs")
    for number, one in enumerate(export[0]["annotations"]):
        one |= {"completed_by": number, "created_at": "2026-01-01T00:00:00Z"}
    path.write_text(json.dumps(export))
    joined = join(TABLE, read_reviews(path), label="obs")
    assert joined.n_disputed == 1
    assert joined.log["reviewer"].tolist() == ["annotator 0", "annotator 1"]
    assert joined.log["time"].tolist() == ["2026-01-01T00:00:00Z"] * 2


def test_two_answers_of_one_line_each_are_found_together(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(HEADER + "1,1,1,0.5,yes\n1,1,1,0.5,no\n2,1,1,0.5,ys\n77,1,1,0.5,yes\n")
    with pytest.raises(SheetError) as caught:
        join(TABLE, read_reviews(path), label="obs")
    assert str(caught.value).splitlines() == [
        "3 rows cannot be joined:",
        "  s.csv, line 3, row '1': it has two answers, 'yes' and 'no'; keep one, or say who gave "
        "which in a column 'reviewer'",
        "  s.csv, line 4, row '2': 'ys' is no answer; did you mean 'yes'? write 'no', 'yes' or "
        "'cannot tell', or leave it empty",
        "  s.csv, line 5, row '77': the table has no such row; join the sheet to the table it is "
        "of",
    ]


def test_twenty_problems_are_listed_and_the_others_counted(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(HEADER + "".join(f"{i},1,1,0.5,perhaps\n" for i in range(50)))
    with pytest.raises(SheetError) as caught:
        join(TABLE, read_reviews(path), label="obs")
    lines = str(caught.value).splitlines()
    assert lines[0] == "50 rows cannot be joined:"
    assert len(lines) == 22
    assert lines[-1] == "  and 30 more"


def test_a_sheet_that_is_not_there_or_no_text_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_reviews(tmp_path / "none.csv")
    (tmp_path / "s.csv").write_bytes(HEADER.encode() + b"1,1,1,0.5,\x81\n")
    with pytest.raises(ValueError, match=r"is not UTF-8 text: byte 0x81 in line 2; save it as UTF"):
        read_reviews(tmp_path / "s.csv")


def test_ids_and_answers_stay_as_they_are_written(tmp_path):
    path = tmp_path / "s.tsv"
    path.write_text("pid;stratum;wave;probability;reviewed\n007;01;1,0;0,5;NA\n1e3;2;1;1;\n",
                    encoding="utf-16")  # fmt: skip
    rows = read_reviews(path).frame()
    assert rows["id"].tolist() == ["007", "1e3"]
    assert rows["stratum"].tolist() == ["01", "2"]
    assert rows["reviewed"].tolist() == ["NA", None]
    assert rows["probability"].tolist() == [0.5, 1.0]


def test_a_remark_in_a_column_without_a_name_does_not_matter(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(HEADER.replace("\n", ",\n") + "1,1,1,0.5,yes,I am sure\n")
    assert read_reviews(path).frame()["reviewed"].tolist() == ["yes"]


def test_a_file_that_exists_is_not_written_over(tmp_path, sheet):
    outputs = (("s.csv", write_table, sheet.rows), ("t.json", write_label_studio, sheet))
    for name, write, what in outputs:
        path = tmp_path / name
        path.write_text("mine")
        said = f"^{re.escape(str(path))} exists; name another file, or pass --overwrite.$"
        with pytest.raises(ValueError, match=said):
            write(what, path)
        assert path.read_text() == "mine"
        write(what, path, overwrite=True)
        assert path.read_text() != "mine"
    with pytest.raises(ValueError, match=r"tasks.txt must end in .json"):
        write_label_studio(sheet, tmp_path / "tasks.txt")
    with pytest.raises(ValueError, match="there is no folder"):
        write_label_studio(sheet, tmp_path / "none" / "tasks.json")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.csv", "t.json"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_write_leaves_nothing(tmp_path, sheet, monkeypatch, error):
    def stop(self, text, **options):
        with self.open("w") as stream:
            stream.write(text[: len(text) // 2])
        raise error

    monkeypatch.setattr("pathlib.Path.write_text", stop)
    with pytest.raises((KeyboardInterrupt, OSError)):
        write_label_studio(sheet, tmp_path / "tasks.json")
    assert list(tmp_path.iterdir()) == []


UNCLOSED = {
    "in a shown column": '1,1,1,0.5,"fine,1\n2,1,1,0.5,x,1\n3,1,1,0.5,a"b,1\n',
    "of a row, closed by the next": '1,1,1,0.5,"fine,1\n2,1,1,0.5,fine",\n',
    "before an answer": '1,1,1,0.5,fine,"1\n2,1,1,0.5,x,1"\n',
    "never closed": '1,1,1,0.5,"fine,1\n2,1,1,0.5,x,1\n',
}


@pytest.mark.parametrize("rows", UNCLOSED.values(), ids=UNCLOSED)
def test_an_unclosed_quotation_mark_loses_no_answer(tmp_path, rows):
    path = tmp_path / "s.csv"
    path.write_text("row,stratum,wave,probability,note,reviewed\n" + rows)
    with pytest.raises(
        ValueError, match=r"has a quotation mark in line 2, column .* rows would be"
    ):
        read_reviews(path)


@pytest.mark.parametrize("name", ["reviewed", "reviewed ", "Reviewed", "Wave"])
def test_a_second_column_of_a_name_is_refused(tmp_path, name):
    path = tmp_path / "s.csv"
    path.write_text(f"row,stratum,wave,probability,reviewed,{name}\n1,1,1,0.5,yes,no\n")
    with pytest.raises(ValueError, match=r"has 2 columns named|which may be '(reviewed|wave)'"):
        read_reviews(path)


def task(**changed):
    data = {"row": "1", "id_column": "row", "stratum": "1", "wave": 1, "probability": 0.5}
    return data | changed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"row": "1", "row": "2"}]', "'row' occurs twice in one object"),
        (json.dumps([task(reviewed={"choices": ["yes", "no"]})]), "answer is not one choice"),
        (json.dumps([task(reviewed={"choices": [{"a": 1}]})]), "answer is not one choice"),
        (json.dumps([{"data": task(), "annotations": 3}]), "answer is not one choice"),
        (json.dumps([{"data": task(), "annotations": [[]]}]), "answer is not one choice"),
        (json.dumps([task(row=["1"])]), "a task whose row is"),
        (json.dumps([task(wave=[1])]), "a task whose row is"),
        (json.dumps([task(wave=1e400)]), "and wave inf for row"),
        (json.dumps([task(wave=1.5)]), "and wave 1.5 for row"),
        (json.dumps([task(wave=10**30)]), "for row '1'; leave those columns"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_exports_of_other_shapes_are_refused(tmp_path, text, said):
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(said)):
        read_reviews(path)


@pytest.mark.parametrize("wave", ["1.5", "inf", "1e30", "0", "-1", "nan"])
def test_a_wave_is_a_whole_number(tmp_path, wave):
    path = tmp_path / "s.csv"
    path.write_text(HEADER + f"1,1,{wave},0.5,yes\n")
    with pytest.raises(ValueError, match=f"has probability '0.5' and wave '{wave}' for row '1'"):
        read_reviews(path)


@pytest.mark.parametrize("text", ["=1+1", "+x", "-x", "@x", "\tx", "'=1", "''+1", "it's", "'", "-"])
def test_formulas_are_written_as_text_and_come_back(text):
    assert read_cell(write_cell(text)) == text
    assert not re.match("[=+@\t-]", write_cell(text))


def test_no_cell_of_a_sheet_is_a_formula(tmp_path):
    names = ["=cmd|' /C calc'!A0", "@home", "-5", "fine"] * 5
    table = pd.DataFrame({"=id": [f"+{i}x" for i in range(20)], "obs": [0, 1] * 10, "who": names})
    sheet = sample(table, n=20, label="obs", id="=id", show=["who"], random_state=0)
    write_sheet(sheet, tmp_path / "s.csv")
    cells = pd.read_csv(tmp_path / "s.csv", header=None, dtype=str, keep_default_na=False)
    begin = cells.to_numpy().reshape(-1)
    assert {c for c in begin if c[:1] in ("=", "+", "-", "@", "\t")} == {"-5"}
    cells.iloc[1:, -1] = "1"
    cells.to_csv(tmp_path / "s.csv", header=False, index=False)
    found = read_reviews(tmp_path / "s.csv")
    assert found.id_column == "=id"
    assert join(table, found, label="obs").n_reviewed == 20
