"""Odd tables, as hospitals and Excel write them, made here, with what is to become of each.

``tools/list_odd_tables.py`` lists them in docs/data/tables.md.
"""

from __future__ import annotations

import datetime
import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Odd:
    """A table: its file, how it is asked for, and what is read, noted or refused."""

    name: str
    file: str
    content: bytes | Callable[[Path], None]
    read: Mapping[str, Sequence[Any]] | None = None  # column -> its cells, None where missing
    refused: str = ""  # or what the error says
    notes: Sequence[str] = ()  # what the notes say, one each
    options: Mapping[str, Any] = field(default_factory=dict)  # of Dialect
    as_text: Sequence[str] = ()

    def write(self, folder: Path) -> Path:
        path = folder / self.file
        if isinstance(self.content, bytes):
            path.write_bytes(self.content)
        else:
            self.content(path)
        return path


def book(*sheets: tuple[str, list[list[Any]]], formats: Mapping[str, str] = {}) -> Any:
    """Return what writes a workbook with these sheets, and number formats of cells in the last."""

    def write(path: Path) -> None:
        import openpyxl

        made = openpyxl.Workbook()
        made.remove(made.active)
        for name, rows in sheets:
            page = made.create_sheet(name)
            for row in rows:
                page.append(row)
        for cell, form in formats.items():
            page[cell].number_format = form
        made.save(path)

    return write


def parquet(**columns: Any) -> Any:
    return lambda path: pd.DataFrame(columns).to_parquet(path)


def flat(text: str, encoding: str = "utf-8") -> bytes:
    return text.encode(encoding)


GERMAN = "größe;gewicht\n1,75;80,5\n1,60;55\n"
READ = {"größe": [1.75, 1.6], "gewicht": [80.5, 55]}
DAY = datetime.datetime(2020, 1, 31)

ENCODINGS = [
    Odd("UTF-8", "t.csv", flat("größe,n\n1.5,2\n"), {"größe": [1.5], "n": [2]}),
    Odd("UTF-8 with a byte-order mark", "t.csv", flat(GERMAN, "utf-8-sig"), READ),
    Odd("UTF-16 with a mark", "t.csv", flat(GERMAN, "utf-16"), READ),
    Odd("UTF-16 without a mark", "t.csv", flat(GERMAN, "utf-16-le"), READ),
    Odd("UTF-16, big end first, no mark", "t.csv", flat(GERMAN, "utf-16-be"), READ),
    Odd("UTF-32 with a mark", "t.csv", flat(GERMAN, "utf-32"), READ),
    Odd("Windows-1252", "t.csv", flat(GERMAN, "cp1252"), READ),
    Odd(
        "Mac Roman, named", "t.csv", flat(GERMAN, "mac-roman"), READ,
        options={"encoding": "mac-roman"},
    ),
    Odd(
        "bytes of no encoding", "t.csv", b"n\n\x81\n",
        refused="byte 0x81 in line 2; save it as UTF-8, or name its encoding with --encoding",
    ),
    Odd(
        "an encoding that is none", "t.csv", b"n\n1\n", refused="--encoding takes the name of an",
        options={"encoding": "klingon"},
    ),
    Odd("packed", "t.csv.gz", gzip.compress(flat(GERMAN, "cp1252")), READ),
]  # fmt: skip

DIALECTS = [
    Odd("semicolons, decimal commas", "t.csv", flat("a;b\n1,5;2\n"), {"a": [1.5], "b": [2]}),
    Odd("semicolons, decimal points", "t.csv", flat("a;b\n1.5;2\n"), {"a": [1.5], "b": [2]}),
    Odd("tabs in a .csv", "t.csv", flat("a\tb\n0,5\t2\n"), {"a": [0.5], "b": [2]}),
    Odd("bars", "t.csv", flat("a|b\n0.5|2\n"), {"a": [0.5], "b": [2]}),
    Odd("Excel's line sep=;", "t.csv", flat("sep=;\na;b\n1,5;x\n"), {"a": [1.5], "b": ["x"]}),
    Odd("quoted decimal commas", "t.csv", flat('a,b\n"1,5",2\n'), {"a": [1.5], "b": [2]}),
    Odd(
        "thousands with points", "t.csv", flat("cost;lab\n1.234,50;5,6\n999;7,1\n"),
        {"cost": [1234.5, 999], "lab": [5.6, 7.1]}, notes=["'.' between thousands (1.234,50)"],
    ),
    Odd(
        "thousands with commas", "t.csv", flat('cost,n\n"1,234.5",1\n"12,000",2\n'),
        {"cost": [1234.5, 12000], "n": [1, 2]}, notes=["',' between thousands"],
    ),
    Odd(
        "thousands with spaces", "t.csv", flat("cost,n\n1 234,1\n999,2\n"),
        {"cost": [1234, 999], "n": [1, 2]}, notes=["' ' between thousands (1 234)"],
    ),
    Odd(
        "a decimal mark that is named", "t.tsv", flat("a\tb\n1,234\t2\n"),
        {"a": [1.234], "b": [2]}, options={"decimal": ","},
    ),
    Odd(
        "a separator that is named", "t.csv", flat("a b;c\n1 x;3\n"),
        {"a": [1], "b;c": ["x;3"]}, options={"separator": "space"},
    ),
    Odd("Windows line ends", "t.csv", b"a,b\r\n1,x\r\n", {"a": [1], "b": ["x"]}),
    Odd("a cell with a line break", "t.csv", b'a,b\n"x\ny",1\n', {"a": ["x\ny"], "b": [1]}),
    Odd("more cells than names", "t.csv", b"a,b\n1,2\n1,2,3\n", refused="cannot be read as a"),
    Odd("two columns of one name", "t.csv", b"a,a\n1,2\n", refused="2 columns named 'a'"),
]  # fmt: skip

IDS = [
    Odd("ids with zeros", "t.csv", b"pid,n\n00049461,1\n", {"pid": ["00049461"], "n": [1]}),
    Odd(
        "ids asked for as text", "t.csv", b"pid,n\n49461,1\n1e5,2\n",
        {"pid": ["49461", "1e5"], "n": [1, 2]}, as_text=["pid"],
    ),
    Odd(
        "whole numbers in Parquet as ids", "t.parquet", parquet(pid=[49461, 7], n=[1, 2]),
        {"pid": ["49461", "7"], "n": [1, 2]}, as_text=["pid"],
    ),
    Odd(
        "decimal numbers in Parquet as ids", "t.parquet", parquet(pid=[49461.0, None], n=[1, 2]),
        {"pid": ["49461", None], "n": [1, 2]}, as_text=["pid"],
    ),
    Odd(
        "ids that a decimal number cannot hold", "t.parquet", parquet(pid=[1e17]),
        refused="whose last digits are lost", as_text=["pid"],
    ),
    Odd(
        "the words None and NA as values", "t.csv", b"dx,n\nNone,1\nNA,NA\n,3\n",
        {"dx": ["None", "NA", None], "n": [1, None, 3]}, options={"keep_na": ("dx",)},
    ),
    Odd(
        "the words None and NA as gaps", "t.csv", b"dx,n\nNone,1\nNA,2\nyes,3\n",
        {"dx": [None, None, "yes"], "n": [1, 2, 3]},
    ),
]  # fmt: skip

EXCEL = [
    Odd(
        "a workbook", "t.xlsx", book(("a", [["age", "sex"], [61, "f"], [70.5, None]])),
        {"age": [61, 70.5], "sex": ["f", None]},
    ),
    Odd(
        "the first sheet is empty", "t.xlsx", book(("cover", []), ("data", [["n"], [1]])),
        {"n": [1]}, notes=["sheet 'data' is read, not 'cover'"],
    ),
    Odd(
        "a sheet that is named", "t.xlsx", book(("a", [["n"], [1]]), ("b", [["n"], [2]])),
        {"n": [2]}, options={"sheet": "b"},
    ),
    Odd(
        "a sheet that is not there", "t.xlsx", book(("a", [["n"], [1]])),
        refused="has no sheet 'c'; it has 'a'", options={"sheet": "c"},
    ),
    Odd(
        "empty rows above and between", "t.xlsx", book(("a", [[], ["n"], [1], [], [2]])),
        {"n": [1, 2]},
    ),
    Odd(
        "ids shown with zeros", "t.xlsx",
        book(("a", [["pid"], [49461]]), formats={"A2": "00000000"}), {"pid": ["00049461"]},
    ),
    Odd(
        "numbers as ids", "t.xlsx", book(("a", [["pid", "n"], [49461, 1], ["A7", 2]])),
        {"pid": ["49461", "A7"], "n": [1, 2]}, as_text=["pid"],
    ),
    Odd(
        "ids of 16 digits", "t.xlsx", book(("a", [["pid"], [1234567890123456]])),
        refused="Excel keeps only 15 digits", as_text=["pid"],
    ),
    Odd(
        "cells shown as percentages", "t.xlsx",
        book(("a", [["sat"], [0.944]]), formats={"A2": "0.0%"}),
        {"sat": [94.4]}, notes=["read as they are shown"],
    ),
    Odd(
        "dates", "t.xlsx", book(("a", [["visit", "n"], [DAY, 1], [None, 2]])),
        {"visit": [pd.Timestamp(DAY), None], "n": [1, 2]},
    ),
    Odd(
        "dates and text in one column", "t.xlsx", book(("a", [["visit"], [DAY], ["unknown"]])),
        {"visit": ["2020-01-31", "unknown"]},
    ),
    Odd(
        "cells that show an error", "t.xlsx", book(("a", [["n"], [1], ["#DIV/0!"], [3]])),
        {"n": [1, None, 3]}, notes=["1 cells that show an error"],
    ),
    Odd(
        "formulas that were never computed", "t.xlsx",
        book(("a", [["n", "m"], [1, "=A2*2"], [2, 5]])), {"n": [1, 2], "m": [None, 5]},
        notes=["1 formulas that were never computed"],
    ),
    Odd(
        "no name above a column", "t.xlsx", book(("a", [["n"], [1, 2]])),
        refused="no name for column 2",
    ),
    Odd("not a workbook", "t.xlsx", b"a,b\n1,2\n", refused="damaged or not an Excel file"),
    Odd(
        "a password or an old Excel", "t.xlsx", b"\xd0\xcf\x11\xe0 and so on",
        refused="protected by a password, or written by an old Excel",
    ),
    Odd("an old workbook", "t.xls", b"x", refused="save it as .xlsx"),
]  # fmt: skip

ODD = {"Encodings": ENCODINGS, "Dialects": DIALECTS, "Ids and gaps": IDS, "Excel": EXCEL}


@dataclass(frozen=True)
class OddColumn:
    """A column of 200 rows: what it holds, and what becomes of it in a fit, or why it is not."""

    name: str
    cells: Callable[[int], Any]  # row -> its cell
    holds: str = ""
    lost: str = ""
    refused: str = ""
    options: Sequence[str] = ()  # of `alignset fit`


def day(i: int) -> datetime.date:
    return datetime.date(2019, 1, 1) + datetime.timedelta(days=7 * i % 900)


ICD = [f"{'EIJ'[i % 3]}{(i * 7) % 60 + 10:02d}.{i % 9}" for i in range(200)]
ATC = [
    f"{'ACN'[i % 3]}{i % 10:02d}{'ABC'[i % 3]}{'AX'[i % 2]}{(i * 7) % 60:02d}" for i in range(200)
]
ICD_9 = [f"{(i * 7) % 800 + 100}.{i % 9}" if i % 5 else f"V{10 + i % 70}.0" for i in range(200)]
SOME = ["pain", "cough", "fever", "stable", "better", "worse", "home", "ward", "seen", "today"]

COLUMNS = [
    OddColumn("ISO dates", lambda i: day(i).isoformat(), "dates"),
    OddColumn("dates, dd.mm.yyyy", lambda i: f"{day(i):%d.%m.%Y}", "dates, day first"),
    OddColumn("dates, dd/mm/yyyy", lambda i: f"{day(i):%d/%m/%Y}", "dates, day first"),
    OddColumn("dates, mm/dd/yyyy", lambda i: f"{day(i):%m/%d/%Y}", "dates, month first"),
    OddColumn(
        "dates that can be either", lambda i: f"0{i % 9 + 1}/0{i % 7 + 1}/2020",
        refused="nothing says which number is the day",
    ),
    OddColumn(
        "dates, and a few words", lambda i: "unknown" if i % 50 == 3 else f"{day(i):%d.%m.%Y}",
        "dates, day first", "4 unreadable cells count as missing, such as 'unknown'",
    ),
    OddColumn("percentages", lambda i: f"{90 + i % 97 / 10:.1f}%", "numbers, with '%'"),
    OddColumn("numbers with a unit", lambda i: f"{50 + i % 61} kg", "numbers, with 'kg'"),
    OddColumn(
        "a unit and a decimal comma", lambda i: f"{4 + i % 37 / 10:.1f} mmol/l".replace(".", ","),
        "numbers, with 'mmol/l', decimal comma",
    ),
    OddColumn(
        "numbers and text", lambda i: "hemolysed" if i % 4 == 0 else f"{i}.5",
        refused="but text in the others",
    ),
    OddColumn("ICD-10 codes", lambda i: ICD[i], "ICD-10 codes", "known only by group or chapter"),
    OddColumn(
        "several ICD-10 codes in a cell", lambda i: f"{ICD[i]}; {ICD[-i]}", "ICD-10 codes",
        "known only by group or chapter",
    ),
    OddColumn("ICD-9 codes", lambda i: ICD_9[i], "ICD-9 codes", "known only by group or chapter"),
    OddColumn("ATC codes", lambda i: ATC[i], "ATC codes", "known only by group or chapter"),
    OddColumn(
        "codes of one's own", lambda i: f"{i % 7}-{i % 90:04d}", "own codes",
        "known only by group or chapter", options=["--code", "odd"],
    ),
    OddColumn("few values", lambda i: "abc"[i % 3], "category, 3 values"),
    OddColumn(
        "rare values", lambda i: "ab"[i % 2] if i % 20 else f"rare {i}", "category, 12 values",
        "count as other",
    ),
    OddColumn(
        "text of many values", lambda i: f"person {i % 190}", refused="text has too many values",
    ),
    OddColumn(
        "text of many values, left out", lambda i: f"person {i % 190}", options=["--text", "drop"],
    ),
    OddColumn(
        "free text, hashed", lambda i: " ".join(SOME[(i * k) % 10] for k in (1, 3, 7, i % 11)),
        "text", "the order of words", options=["--text", "hash"],
    ),
]  # fmt: skip
