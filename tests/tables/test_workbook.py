"""Workbooks that no program writes: rows out of order, damaged parts, and far too much of it."""

import io
import re
import warnings
import zipfile

import openpyxl
import pandas as pd
import pytest

from alignset.cli import main
from alignset.tables.files import read_table

SHEET = "xl/worksheets/sheet1.xml"


def make_book(path, change=lambda sheet: sheet, method=zipfile.ZIP_DEFLATED):
    """Write a workbook of ten rows; ``change`` alters the XML of its sheet."""
    book, plain = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["pid", "n"])
    for i in range(10):
        book.active.append([f"{i:03}", i])
    book.save(plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", method) as new:
        for name in old.namelist():
            part = old.read(name).decode()
            new.writestr(name, change(part) if name == SHEET else part)
    return path


def refused(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"t\.xlsx") as caught:
            read_table(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<row r="5"', '<row r="4"'),  # the reader would leave one of them out
        ('<row r="5"', '<row r="2"'),
        ('<row r="5"', '<row r="0"'),
        ('<row r="5"', '<row r="1048576"'),  # and here all that follow
        ('<row r="5"', '<row r="99999999999"'),  # and here count to that number
        ('<row r="5"', f'<row r="{"9" * 5000}"'),
        ('<row r="5"', '<row r="5.5"'),
        ('<c r="B5"', '<c r="A5"'),
        ('<c r="B5"', '<c r="B6"'),
        ('<c r="B5"', '<c r="XFE5"'),
        ('<c r="B5"', '<c r="nobody"'),
    ],
)
def test_rows_and_cells_out_of_order_are_refused(tmp_path, old, new):
    told = refused(make_book(tmp_path / "t.xlsx", lambda sheet: sheet.replace(old, new)))
    assert "is damaged: xl/worksheets/sheet1.xml has" in told


def test_rows_and_cells_without_numbers_are_in_order(tmp_path):
    path = make_book(tmp_path / "t.xlsx", lambda sheet: re.sub(r'<(row|c) r="\w+"', r"<\1", sheet))
    expected = pd.DataFrame({"pid": [f"{i:03}" for i in range(10)], "n": range(10)})
    pd.testing.assert_frame_equal(read_table(path), expected, check_dtype=False)


@pytest.mark.parametrize("style", ["99999", "9" * 30, "x"])
def test_styles_that_are_not_there_are_refused(tmp_path, style):
    change = lambda sheet: sheet.replace('<c r="B5"', f'<c r="B5" s="{style}"')  # noqa: E731
    assert "damaged" in refused(make_book(tmp_path / "t.xlsx", change))


@pytest.mark.parametrize(("local", "central", "value"), [(6, 8, 1), (8, 10, 99), (8, 10, 1)])
def test_encrypted_parts_and_unknown_methods_are_refused(tmp_path, local, central, value):
    path = make_book(tmp_path / "t.xlsx")
    content = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        for found in re.finditer(re.escape(mark), bytes(content)):
            content[found.start() + at : found.start() + at + 2] = value.to_bytes(2, "little")
    path.write_bytes(content)
    assert "is damaged or not an Excel file" in refused(path)


def test_dates_that_cannot_be_are_gaps_without_a_warning(tmp_path):
    book = openpyxl.Workbook()
    for row in (["day", "n"], [40000, 1], [1e10, 2]):
        book.active.append(row)
    for cell in ("A2", "A3"):
        book.active[cell].number_format = "yyyy-mm-dd"
    book.save(tmp_path / "t.xlsx")
    notes = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = read_table(tmp_path / "t.xlsx", tell=notes.append)
    assert read["day"].tolist() == [pd.Timestamp("2009-07-06"), pd.NaT]
    assert notes == ["column 'day' has 1 cells that show an error; they count as empty."]


def test_a_small_file_that_unpacks_to_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("alignset.tables.workbook.MAX_PACKED", 1 << 20)
    change = lambda sheet: sheet.replace("</sheetData>", " " * (1 << 21) + "</sheetData>")  # noqa: E731
    assert "unpacks to more than" in refused(make_book(tmp_path / "t.xlsx", change))


def test_too_many_empty_cells_are_refused_and_cells_without_a_name_cost_nothing(
    tmp_path, monkeypatch
):
    far = "".join(f'<row r="{i}"><c r="XFD{i}" s="0"/></row>' for i in range(12, 40))
    path = make_book(
        tmp_path / "t.xlsx", lambda sheet: sheet.replace("</sheetData>", far + "</sheetData>")
    )
    assert len(read_table(path)) == 10
    monkeypatch.setattr("alignset.tables.excel.MAX_CELLS", 100_000)
    assert "has more than 100000 cells" in refused(path)


def test_half_floats_as_ids_are_read_without_a_warning(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"pid": pd.Series([1, 2.5], dtype="float16")}).to_parquet(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(path, as_text=["pid"])["pid"].tolist() == ["1", "2.5"]


def test_a_filled_in_workbook_with_an_error_is_refused_in_one_line(tmp_path, capsys):
    pd.DataFrame({"pid": ["01", "02"], "obs": [0, 1]}).to_csv(tmp_path / "t.csv", index=False)
    book = openpyxl.Workbook()
    for row in (["pid", "stratum", "wave", "probability", "reviewed"], ["#N/A", "1", 1, 0.5, "1"]):
        book.active.append(row)
    book.save(tmp_path / "s.xlsx")
    words = [
        "join",
        tmp_path / "s.xlsx",
        tmp_path / "t.csv",
        "--label",
        "obs",
        "-o",
        tmp_path / "o.csv",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main([str(word) for word in words]) == 1
    assert "line 2, row ''" in capsys.readouterr().err
