"""Excel workbooks for ``attack_tables.py``: what people make of them, and what damage does."""

from __future__ import annotations

import datetime
import io
import re
import struct
import zipfile
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from attack_cases import HEADER, Case, Shared, answers_arrive, fit, made_elsewhere, sheet_rows

SHEET1, STRINGS, BOOK = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/workbook.xml"
RELATIONS, STYLES, TYPES = "xl/_rels/workbook.xml.rels", "xl/styles.xml", "[Content_Types].xml"
ERRORS = ("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")
ALL = -1
"""Of touched rows: every one, so that only ids are compared."""


class Book(NamedTuple):
    """A workbook, the ids that predictions must have, and the rows that may differ from good."""

    name: str
    content: bytes
    ids: list[str] | None
    touched: Collection[int] = ()


def typed_rows(lines: list[str]) -> list[list[Any]]:
    """Return the good table as Excel has it: numbers, dates and booleans, ids as text."""
    rows: list[list[Any]] = []
    for line in lines[1:]:
        pid, age, sex, visit, smokes, seen, told = line.split(",")
        day = datetime.datetime.fromisoformat(visit)
        true = int(told) if told else None
        rows.append([pid, float(age), sex, day, smokes == "True", int(seen), true])
    return rows


def make_book(rows: list[list[Any]], change: Callable[[Any, Any], Any] | None = None) -> bytes:
    """Return a workbook of one sheet with the header; ``change(book, page)`` may alter it."""
    import openpyxl

    book = openpyxl.Workbook()
    page = book.active
    page.append(HEADER.split(","))
    for row in rows:
        page.append(row)
    if change is not None:
        change(book, page)
    return saved(book)


def saved(book: Any) -> bytes:
    """Return the bytes of a workbook."""
    with io.BytesIO() as out:
        book.save(out)
        return out.getvalue()


def repack(book: bytes, changes: dict[str, bytes | Callable[[bytes], bytes] | None]) -> bytes:
    """Return a workbook with parts replaced, changed, or left out (None)."""
    with zipfile.ZipFile(io.BytesIO(book)) as old, io.BytesIO() as out:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
            for name in [*old.namelist(), *(set(changes) - set(old.namelist()))]:
                change = changes.get(name, lambda part: part)
                if change is None:
                    continue
                known = name in old.namelist()
                new.writestr(name, change(old.read(name) if known else b"")
                             if callable(change) else change)  # fmt: skip
        return out.getvalue()


def patched(book: bytes, pattern: str, by: str, part: str = SHEET1, count: int = 1) -> bytes:
    """Return a workbook in which a pattern of one part is replaced; it must be there."""

    def change(content: bytes) -> bytes:
        text, n = re.subn(pattern, by, content.decode(), count=count)
        if not n:
            raise SystemExit(f"{pattern} is not in {part}")
        return text.encode()

    return repack(book, {part: change})


def a_cell(cell: str) -> str:
    """Return the pattern of a cell."""
    return rf'<c r="{cell}"[^>]*?(?:/>|>.*?</c>)'


def plain_books(rows: list[list[Any]]) -> Iterator[Book]:
    """Yield workbooks as people make them: several sheets, titles, merged and odd cells."""
    ids = [row[0] for row in rows]

    def book(
        name: str,
        change: Callable[[Any, Any], Any] | None = None,
        touched: Collection[int] = (),
        kept: list[str] | None = ids,
    ) -> Book:
        return Book(name, make_book(rows, change), kept, touched)

    def cells(column: str, value: Callable[[int], Any], form: str = "") -> Callable[..., None]:
        def change(_: Any, page: Any) -> None:
            for i in range(len(rows)):
                page[f"{column}{i + 2}"] = value(i)
                if form:
                    page[f"{column}{i + 2}"].number_format = form

        return change

    def one(cell: str, value: Any, form: str = "") -> Callable[..., None]:
        def change(_: Any, page: Any) -> None:
            page[cell] = value
            if form:
                page[cell].number_format = form

        return change

    def sheets(*places: tuple[str, int, list[list[Any]]]) -> Callable[..., None]:
        def change(made: Any, _: Any) -> None:
            for title, at, content in places:
                page = made.create_sheet(title, at)
                for row in content:
                    page.append(row)

        return change

    note = [["read me first"], ["by", "nobody"]]
    yield book("good")
    yield book("other sheets after it", sheets(("codes", 1, note), ("more", 2, note)))
    yield book("an empty sheet before it", sheets(("empty", 0, [])))
    yield book("a note before it", sheets(("note", 0, note)))
    yield book("the table twice", sheets(("copy", 1, [HEADER.split(","), *rows])))
    yield book("500 empty sheets", sheets(*((f"s{i}", 0, []) for i in range(500))))
    yield book("sheet of marks", lambda b, p: setattr(p, "title", "<b>&' {0} %s"))
    yield book("two blank rows above", lambda b, p: p.insert_rows(1, 2))
    yield book("a blank column before", lambda b, p: p.insert_cols(1))
    yield book("blank rows between", lambda b, p: p.insert_rows(9, 4))

    def titled(_: Any, page: Any) -> None:
        page.insert_rows(1)
        page["A1"] = "Patients of 2020"
        page.merge_cells("A1:G1")

    yield book("a merged title", titled, [ALL])
    yield book("a footnote", lambda b, p: p.append(["source: nobody"]), [ALL], None)
    yield book("totals", lambda b, p: p.append([None, "=SUM(B2:B81)"]), [ALL], None)
    yield book("merged groups", lambda b, p: p.merge_cells("C2:C5"), range(4))
    yield book("merged ids", lambda b, p: p.merge_cells("A2:A5"), range(4), None)
    yield book("a merged block", lambda b, p: p.merge_cells("B2:E5"), range(4))
    yield book("merged header", lambda b, p: p.merge_cells("A1:B1"), [ALL])
    yield book("hidden rows and columns", lambda b, p: (
        setattr(p.row_dimensions[5], "hidden", True),
        setattr(p.column_dimensions["B"], "hidden", True),
    ))  # fmt: skip
    yield book("a filter", lambda b, p: setattr(p.auto_filter, "ref", "A1:G81"))
    yield book("hidden sheet", lambda b, p: (
        b.create_sheet("seen").append(["x"]), setattr(p, "sheet_state", "veryHidden")
    ))  # fmt: skip
    yield book("a comment", lambda b, p: setattr(p["B3"], "comment", _comment()))
    yield book("a link", lambda b, p: setattr(p["C3"], "hyperlink", "http://example.org"))
    yield book("a chart sheet", lambda b, p: b.create_chartsheet("chart", 0))
    for error in ERRORS:
        yield book(f"{error} as a number", one("B9", error), [7])
    for cell, what in (("A9", "id"), ("C9", "group"), ("D9", "date"), ("F9", "label")):
        kept = None if what == "id" else ids
        yield book(f"#N/A as {what}", one(cell, "#N/A"), [7], kept)
    yield book("#REF! in the header", one("B1", "#REF!"))
    yield book("every age #N/A", cells("B", lambda i: "#N/A"), [ALL])
    for cell in ("A9", "B9", "C9", "D9", "F9"):
        kept = None if cell == "A9" else ids
        yield book(f"formula without a value in {cell}", one(cell, "=1+1"), [7], kept)
    yield book("every age a formula", cells("B", lambda i: f"=F{i + 2}*60"), [ALL])

    def as_text(_: Any, page: Any) -> None:
        for i in range(len(rows)):
            page[f"C{i + 2}"].value = "=1+1" if i % 2 else "+cmd|' /C calc'!A0"
            page[f"C{i + 2}"].data_type = "s"

    yield book("formulas as text", as_text, [ALL])
    yield book("numbers as text", cells("B", lambda i: str(rows[i][1])))
    yield book("numbers as text, comma", cells("B", lambda i: str(rows[i][1]).replace(".", ",")))
    yield book("dates as text", cells("D", lambda i: str(rows[i][3].date())))
    yield book("dates as 31.01.2020", cells("D", lambda i: f"{rows[i][3]:%d.%m.%Y}"))
    yield book("dates as dates", cells("D", lambda i: rows[i][3].date()))
    yield book("dates with a time", cells("D", lambda i: rows[i][3].replace(hour=5)), [ALL])
    yield book("dates from 1904", lambda b, p: (
        setattr(b, "epoch", datetime.datetime(1904, 1, 1)),
        cells("D", lambda i: rows[i][3])(b, p),
    ))  # fmt: skip
    yield book("date numbers", cells("D", lambda i: 40000 + i, "General"), [ALL])
    serials = (-1, 0, 60, 0.5, 2958466, 1e10, 1e300)
    for serial in serials:
        yield book(f"date number {serial}", one("D9", serial, "yyyy-mm-dd"), [7])
    yield book("a time", one("D9", datetime.time(5, 6)), [7])
    yield book("a duration", one("D9", datetime.timedelta(days=400), "[h]:mm"), [7])
    yield book("every date a duration", cells("D", lambda i: datetime.timedelta(days=i)), [ALL])
    yield book("date before 1900", one("D9", "1850-01-01"), [7])
    yield book("booleans as text", cells("E", lambda i: str(rows[i][4])))
    yield book("booleans as TRUE", cells("E", lambda i: str(rows[i][4]).upper()))
    yield book("booleans as numbers", cells("E", lambda i: int(rows[i][4])), [ALL])
    yield book("labels as text", cells("F", lambda i: str(rows[i][5])))
    yield book("labels as floats", cells("F", lambda i: float(rows[i][5])))
    yield book("labels as booleans", cells("F", lambda i: bool(rows[i][5])), [ALL])
    for name in ("sex", "age ", " AGE", "reviewed", "", None, 7, True, 1.5, "x" * 32767, "a\nb"):
        yield book(f"header {str(name)[:9]!r}", one("B1", name), [ALL])
    yield book("a date in the header", one("B1", datetime.datetime(2020, 1, 1)), [ALL])
    yield book("no header", lambda b, p: p.delete_rows(1), [ALL], None)
    yield book("header only", lambda b, p: p.delete_rows(2, 100))
    yield book("one row", lambda b, p: p.delete_rows(3, 100), (), ids[:1])
    yield book("nothing", lambda b, p: p.delete_rows(1, 100))
    for form in ("0%", "0.00%", "0000", "0.0E+00", "[Red]-0", '"x"0', "@", "# ?/?", "General;;;"):
        yield book(f"ages shown as {form}", cells("B", lambda i: rows[i][1], form), [ALL])
    yield from _id_books(rows, cells)
    for text in ("\ufffe", "\u202eevil", "a\u200b", "_x001B_[31m", "[/bold]", "</script>", "{0}"):
        yield book(f"group {text!r}", cells("C", lambda i, t=text: t), [ALL])


def _comment() -> Any:
    from openpyxl.comments import Comment

    return Comment("<script>alert(1)</script>", "[/bold]")


def _id_books(rows: list[list[Any]], cells: Callable[..., Any]) -> Iterator[Book]:
    """Yield workbooks with ids that a program may change; they must arrive as they are shown."""
    ids = [row[0] for row in rows]
    kinds: dict[str, tuple[Callable[[int], Any], str, list[str] | None]] = {
        "text with zeros": (lambda i: ids[i], "@", ids),
        "numbers": (lambda i: int(ids[i]), "", [str(int(i)) for i in ids]),
        "numbers shown with zeros": (lambda i: int(ids[i]), "00000000", ids),
        "floats": (lambda i: float(ids[i]), "", [str(int(i)) for i in ids]),
        "halves": (lambda i: i + 0.5, "", [f"{i}.5" for i in range(len(ids))]),
        "16 digits": (lambda i: 10**15 + i, "", None),
        "20 digits as text": (lambda i: str(10**19 + i), "", [str(10**19 + i) for i in range(80)]),
        "NA": (lambda i: "NA" if i == 3 else ids[i], "", [*ids[:3], "NA", *ids[4:]]),
        "spaces": (lambda i: f" {ids[i]} ", "", [f" {i} " for i in ids]),
        "formulas as text": (lambda i: f"'={i}", "", [f"'={i}" for i in range(len(ids))]),
        "dates": (lambda i: datetime.datetime(2000, 1, 1) + datetime.timedelta(i), "", None),
        "booleans": (lambda i: i % 2 == 0, "", None),
        "mixed": (lambda i: i if i % 2 else f"{i:04}", "",
                  [str(i) if i % 2 else f"{i:04}" for i in range(len(ids))]),
        "doubled": (lambda i: "7" if i < 2 else ids[i], "", ["7", "7", *ids[2:]]),
        "alike": (lambda i: ("1", "1.0", " 1")[i] if i < 3 else ids[i], "",
                  ["1", "1.0", " 1", *ids[3:]]),
        "errors": (lambda i: "#N/A", "", None),
        "missing": (lambda i: None if i == 3 else ids[i], "", [*ids[:3], "", *ids[4:]]),
    }  # fmt: skip
    for name, (value, form, kept) in kinds.items():
        yield Book(f"ids {name}", make_book(rows, cells("A", value, form)), kept)


def edited_books(rows: list[list[Any]]) -> Iterator[Book]:
    """Yield workbooks whose XML no spreadsheet program writes."""
    good, ids = make_book(rows), [row[0] for row in rows]

    def book(name: str, content: bytes, touched: Collection[int] = ()) -> Book:
        return Book(name, content, ids, touched)

    for ref in ("A1:XFD1048576", "A1:A1", "C5:D9", "A1", "A0:Z0", "x", "", "A1:ZZZZ999999999"):
        yield book(
            f"dimension {ref}", patched(good, 'dimension ref="[^"]*"', f'dimension ref="{ref}"')
        )
    yield book("no dimension", patched(good, "<dimension [^>]*>", ""))
    age = "<v>60</v>"
    for cell, by in {
        "formula with its value": f"<f>30+30</f>{age}",
        "shared formula": f'<f t="shared" ref="B9:B12" si="0">30+30</f>{age}',
        "array formula": f'<f t="array" ref="B9">30+30</f>{age}',
        "formula of an error": None,
        "value nan": "<v>nan</v>",
        "value inf": "<v>1e999</v>",
        "value text": "<v>old</v>",
        "value hex": "<v>0x1F</v>",
        "value of 5 000 digits": f"<v>{'9' * 5000}</v>",
        "value of 300 digits": f"<v>{'9' * 300}</v>",
        "value with spaces": "<v> 60 </v>",
        "value with a line break": "<v>60\n</v>",
        "two values": f"{age}<v>61</v>",
        "an empty value": "<v></v>",
        "a nested cell": f'<c r="B10">{age}</c>',
    }.items():
        inner = '<c r="B9" t="n">' + by if by else '<c r="B9" t="e"><f>1/0</f><v>#DIV/0!</v>'
        yield book(cell, patched(good, a_cell("B9"), f"{inner}</c>"), [7])
    for kind, value in (
        ("zz", "60"), ("b", "7"), ("b", "x"), ("s", "0"), ("s", "-1"), ("s", "9999"), ("s", "x"),
        ("d", "2020-01-31"), ("d", "x"), ("e", "#WHAT"), ("e", ""), ("str", "60"), ("str", "x"),
        ("inlineStr", "60"), ("", "60"),
    ):  # fmt: skip
        by = f'<c r="B9" t="{kind}"><v>{value}</v></c>'
        yield book(f"cell of type {kind!r} {value}", patched(good, a_cell("B9"), by), [7])
    for style in ("-1", "99999", "x", "1e3", "9" * 30):
        yield book(f"style {style[:9]}", patched(good, 'r="B9" ', f'r="B9" s="{style}" '), [7])
    for what, ref in (
        ("row of a cell", "B10"), ("column doubled", "A9"), ("column later", "G9"),
        ("column far away", "XFD9"), ("column beyond", "XFE9"), ("column nowhere", "ZZZZ9"),
        ("row 0", "B0"), ("lower case", "b9"), ("absolute", "$B$9"), ("no reference", ""),
        ("no letters", "99"), ("a word", "nobody"),
    ):  # fmt: skip
        by = f'<c r="{ref}" t="n">' if ref else '<c t="n">'
        yield book(f"cell with {what}", patched(good, '<c r="B9"[^>]*>', by), [7])
    for what, number in (
        ("doubled", "8"), ("before", "3"), ("0", "0"), ("negative", "-5"), ("half", "9.5"),
        ("text", "x"), ("1e1", "1e1"), ("1e5", "1e5"), ("the last", "1048576"),
        ("beyond", "1048577"), ("far beyond", "99999999999"), ("endless", "9" * 5000),
    ):  # fmt: skip
        by = f'<row r="{number}"'
        yield book(f"row number {what}", patched(good, '<row r="9"', by), [7])
    yield book("no row numbers", patched(good, r'<row r="\d+"', "<row", count=0))
    yield book("no references", patched(good, r'<c r="\w+"', "<c", count=0))
    yield book("rows in another order", _swapped(good))
    yield book("cells in another order", patched(
        good, f"({a_cell('B9')})({a_cell('C9')})", r"\2\1"))  # fmt: skip
    yield book("a cell twice", patched(good, f"({a_cell('B9')})", r"\1\1"))
    entity = '<!DOCTYPE x [<!ENTITY a "60"><!ENTITY f SYSTEM "file:///etc/passwd">]><worksheet'
    yield book(
        "entity",
        patched(
            patched(good, "<worksheet", entity), a_cell("C9"), '<c r="C9" t="str"><v>&f;</v></c>'
        ),
        [7],
    )
    yield book(
        "billion laughs",
        patched(
            patched(good, "<worksheet", _laughs() + "<worksheet"),
            a_cell("C9"),
            '<c r="C9" t="str"><v>&l9;</v></c>',
        ),
        [7],
    )
    yield book(
        "deep XML",
        patched(good, "</sheetData>", "</sheetData>" + "<a>" * 100_000 + "</a>" * 100_000),
    )
    yield book("open XML", patched(good, "</sheetData>.*", ""))
    for encoding in ("utf-7", "nobody", "cp500", "utf-16", "shift_jis"):
        yield book(
            f"XML in {encoding}",
            patched(good, "<worksheet", f'<?xml version="1.0" encoding="{encoding}"?><worksheet'),
        )
    yield book(
        "XML as utf-16",
        repack(
            good,
            {
                SHEET1: lambda part: (
                    '<?xml version="1.0" encoding="utf-16"?>' + part.decode()
                ).encode("utf-16")
            },
        ),
    )
    yield book("other prefixes", repack(good, {SHEET1: _prefixed}))
    yield book(
        "control characters",
        repack(good, {SHEET1: lambda part: part.replace(b">f<", b">\x1bf<", 1)}),
        [7],
    )
    yield book(
        "bad UTF-8", repack(good, {SHEET1: lambda part: part.replace(b">f<", b">\xff<", 1)}), [7]
    )
    yield book(
        "escaped escapes",
        repack(good, {SHEET1: lambda part: part.replace(b">f<", b">_x001b_[31m<", 1)}),
        [0],
    )
    yield from _packaged(good, ids)


def _packaged(good: bytes, ids: list[str]) -> Iterator[Book]:
    """Yield workbooks whose parts are missing, empty, elsewhere or too many."""
    for part in (SHEET1, BOOK, RELATIONS, STYLES, TYPES, "_rels/.rels", "xl/theme/theme1.xml"):
        for what, by in (("missing", None), ("empty", b""), ("no XML", b"x"), ("bare", b"<x/>")):
            yield Book(f"{part} is {what}", repack(good, {part: by}), ids, [ALL])
    for target in (
        "../../../../etc/passwd", "file:///etc/passwd", "http://example.org/x.xml", "", "nobody",
        "/xl/styles.xml", "/", "\\xl\\worksheets\\sheet1.xml", "xl/workbook.xml",
    ):  # fmt: skip
        by = f'Target="{target}" Id="rId1"'.replace("\\", "\\\\")
        yield Book(f"sheet at {target}", patched(
            good, 'Target="[^"]*sheet1.xml" Id="rId1"', by, RELATIONS), ids)  # fmt: skip
    yield Book("sheet twice", patched(
        good, "(<sheet [^>]*>)", r"\1\1", BOOK), ids)  # fmt: skip
    yield Book("no sheets", patched(good, "<sheets>.*</sheets>", "<sheets/>", BOOK), ids)
    for name in ("", "x" * 10_000, "&#10;", "\u202e", "[/bold]"):
        yield Book(f"sheet named {name[:9]!r}", patched(
            good, 'name="Sheet"', f'name="{name}"', BOOK), ids)  # fmt: skip
    yield Book("defined names", patched(good, "<definedNames ?/>", (
        '<definedNames><definedName name="x">#REF!</definedName>'
        '<definedName name="x" localSheetId="99">Sheet!$A$1</definedName></definedNames>'
    ), BOOK), ids)  # fmt: skip
    yield Book("date1904 nonsense", patched(
        good, "<workbookPr ?/>", '<workbookPr date1904="maybe"/>', BOOK), ids, [ALL])  # fmt: skip
    yield Book("macros", patched(
        good, "spreadsheetml.sheet.main", "spreadsheetml.macroEnabled.main", TYPES, 0), ids)  # fmt: skip
    shared = repack(good, {
        STRINGS: b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" count="9999999999"><si><r><t>f</t></r><rPh sb="0" eb="1"><t>x</t></rPh></si></sst>',
        RELATIONS: lambda part: part.replace(b"</Relationships>", b'<Relationship Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml" Id="rId9"/></Relationships>'),
        TYPES: lambda part: part.replace(b"</Types>", b'<Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>'),
    })  # fmt: skip
    yield Book("shared text", patched(shared, a_cell("C2"), '<c r="C2" t="s"><v>0</v></c>'), ids)
    yield Book(
        "shared text beyond", patched(shared, a_cell("C2"), '<c r="C2" t="s"><v>1</v></c>'), ids
    )
    yield Book(
        "shared laughs",
        repack(
            shared,
            {
                STRINGS: (
                    _laughs()
                    + '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>&l9;</t></si></sst>'
                ).encode()
            },
        ),
        ids,
    )
    many = '<xf numFmtId="164"/>' * 200_000
    yield Book("200 000 styles", patched(good, "</cellXfs>", many + "</cellXfs>", STYLES), ids)


def _laughs() -> str:
    steps = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    return f'<!DOCTYPE x [<!ENTITY l0 "lol">{steps}]>'


def _prefixed(part: bytes) -> bytes:
    """Write the elements of a sheet with a prefix, as some programs do."""
    text = re.sub(r"<(/?)(\w)", r"<\1x:\2", part.decode())
    return text.replace("xmlns=", "xmlns:x=").encode()


def _swapped(good: bytes) -> bytes:
    def change(part: bytes) -> bytes:
        rows = re.findall(r"<row .*?</row>", part.decode())
        rows[4], rows[9] = rows[9], rows[4]
        return re.sub("<sheetData>.*</sheetData>", lambda _: f"<sheetData>{''.join(rows)}</sheetData>",
                      part.decode()).encode()  # fmt: skip

    return repack(good, {SHEET1: change})


def wide_books(rows: list[list[Any]]) -> Iterator[Book]:
    """Yield workbooks that are small on disk and large in memory."""
    good, ids = make_book(rows), [row[0] for row in rows]

    def with_rows(text: str) -> bytes:
        return patched(good, "</sheetData>", f"{text}</sheetData>")

    yield Book("a cell in the last corner", with_rows(
        '<row r="1048576"><c r="XFD1048576" t="n"><v>1</v></c></row>'), ids, [ALL])  # fmt: skip
    yield Book("an empty cell in the last corner", with_rows(
        '<row r="1048576"><c r="XFD1048576"/></row>'), ids)  # fmt: skip
    far = (f'<row r="{i}"><c r="XFD{i}" t="n"><v>1</v></c></row>' for i in range(82, 60_000))
    yield Book("60 000 cells in the last column", with_rows("".join(far)), ids, [ALL])
    blank = (f'<row r="{i}"><c r="XFD{i}" s="1"/></row>' for i in range(82, 60_000))
    yield Book("60 000 empty cells in the last column", with_rows("".join(blank)), ids)
    yield Book("a million empty rows", with_rows("<row/>" * 1_000_000), ids)
    yield Book("zip bomb", _bomb(good, 1_200, b"<row/>"), ids)
    yield Book("zip bomb of spaces", _bomb(good, 1_200, b" " * 6), ids)
    yield Book("zip bomb below the limit", _bomb(good, 900, b"<row/>"), ids)
    yield Book("zip bomb of one cell", patched(
        good, a_cell("C9"), f'<c r="C9" t="str"><v>{"x" * 50_000_000}</v></c>'), ids, [7])  # fmt: skip
    yield Book("zip bomb elsewhere", repack(good, {"xl/media/x.bin": b"\0" * (200 << 20)}), ids)


def _bomb(good: bytes, megabytes: int, piece: bytes) -> bytes:
    """Return a workbook whose sheet goes on for so many megabytes."""
    with zipfile.ZipFile(io.BytesIO(good)) as old, io.BytesIO() as out:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as new:
            for name in old.namelist():
                part = old.read(name)
                if name != SHEET1:
                    new.writestr(name, part)
                    continue
                head, mark, tail = part.partition(b"</sheetData>")
                block = piece * ((1 << 20) // len(piece))
                with new.open(name, "w", force_zip64=True) as stream:
                    stream.write(head)
                    for _ in range(megabytes):
                        stream.write(block)
                    stream.write(mark + tail)
        return out.getvalue()


def foreign_files(rows: list[list[Any]], lines: list[str]) -> Iterator[Book]:
    """Yield files that are no workbooks, or damaged ones, under the name of one."""
    good, ids = make_book(rows), [row[0] for row in rows]
    text = "\n".join(lines).encode()
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

    def packed(names: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
        with io.BytesIO() as out:
            with zipfile.ZipFile(out, "w", method) as new:
                for name, part in names.items():
                    new.writestr(name, part)
            return out.getvalue()

    with zipfile.ZipFile(io.BytesIO(good)) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    for name, content in {
        "text": text,
        "html": b"<html><table><tr><td>pid</td></tr></table></html>",
        "xml of 2003": b'<?xml version="1.0"?><Workbook/>',
        "password": ole + b"\0" * 504 + "EncryptedPackage".encode("utf-16-le") + b"\0" * 4096,
        "old xls": ole + b"\0" * 504 + "Workbook".encode("utf-16-le") + b"\0" * 4096,
        "older xls": struct.pack("<HHHH", 0x0009, 4, 2, 0x10) + b"\0" * 100,
        "first bytes of xls": ole[:4],
        "empty zip": packed({}),
        "zip of text": packed({"t.csv": text}),
        "docx": packed({TYPES: parts[TYPES], "word/document.xml": b"<x/>"}),
        "ods": packed({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet",
                       "content.xml": b"<x/>"}),
        "xlsb": packed({**parts, "xl/workbook.bin": b"\x83\x01\0", BOOK: b""}),
        "stored": packed(parts, zipfile.ZIP_STORED),
        "bzip2": packed(parts, zipfile.ZIP_BZIP2),
        "lzma": packed(parts, zipfile.ZIP_LZMA),
        "zip in a zip": packed({"t.xlsx": good}),
        "garbage before": b"garbage" + good,
        "garbage behind": good + b"garbage" * 100,
        "a part twice": good[:0] + _doubled(parts),
        "names that climb": packed({**parts, "../../evil.txt": b"x", "/abs": b"x"}),
        "encrypted flags": _flagged(good, 6, 8, 0x0001),
        "method 99": _flagged(good, 8, 10, 99),
        "method 1": _flagged(good, 8, 10, 1),
        "method 14": _flagged(good, 8, 10, 14),
        "one byte": b"P",
        "PK": b"PK\x03\x04",
        "random": np.random.default_rng(0).bytes(5000),
    }.items():  # fmt: skip
        yield Book(f"is {name}", content, ids)
    for share in (0.1, 0.5, 0.9, 0.99, 0.999):
        yield Book(f"cut at {share}", good[: int(share * len(good))], ids)
    rng = np.random.default_rng(5)
    for i in range(40):
        flipped = bytearray(good)
        flipped[int(rng.integers(len(good)))] ^= 1 << int(rng.integers(8))
        yield Book(f"bit {i}", bytes(flipped), ids)
    stored = packed(parts, zipfile.ZIP_STORED)
    for i in range(20):  # nothing but its checksum protects a part that is not packed
        flipped = bytearray(stored)
        flipped[int(rng.integers(len(stored)))] ^= 1 << int(rng.integers(8))
        yield Book(f"bit {i} of a stored part", bytes(flipped), ids)


def _doubled(parts: dict[str, bytes]) -> bytes:
    import warnings

    with io.BytesIO() as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(out, "w") as new:
            for name, part in (*parts.items(), (SHEET1, b"<worksheet/>")):
                new.writestr(name, part)
        return out.getvalue()


def _flagged(good: bytes, local: int, central: int, value: int) -> bytes:
    """Change a 16-bit field in the headers of every part of a zip file."""
    changed = bytearray(good)
    for mark, at in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        place = changed.find(mark)
        while place >= 0:
            struct.pack_into("<H", changed, place + at, value)
            place = changed.find(mark, place + 4)
    return bytes(changed)


# what must hold


def predicted_alike(
    shared: Shared, out: Path, ids: list[str] | None, touched: Collection[int]
) -> str | None:
    """Predictions have the ids, and where nothing was touched they are those of the good table."""
    frame = pd.read_csv(out, dtype=str, keep_default_na=False)
    scores = frame[[c for c in frame if c.startswith("p_")]].astype(float).to_numpy()
    if not ((scores >= 0) & (scores <= 1)).all():
        return "a probability is not one"
    if ids is not None and frame["pid"].tolist() != ids:
        return "ids changed, or rows were lost"
    if ALL in touched:
        return None
    good = pd.read_csv(shared.predicted, dtype=str)
    right = good[[c for c in good if c.startswith("p_")]].astype(float).to_numpy()[: len(frame)]
    same = np.array([i not in touched for i in range(len(frame))])
    if len(scores) != len(right):
        return f"{len(scores)} rows instead of {len(right)}"
    apart = np.flatnonzero(same & (abs(scores - right).max(1) > 1e-9))
    return f"rows {apart[:5].tolist()} are predicted in another way" if len(apart) else None


def drawn_alike(sheet: Path, ids: list[str] | None, n: int) -> str | None:
    """Say if a sheet does not have n rows of the workbook, with their ids."""
    from alignset.review.cells import read_cell

    drawn = pd.read_csv(sheet, dtype=str, keep_default_na=False)["pid"].tolist()
    if len(set(drawn)) != n:
        return f"the sheet has {len(set(drawn))} rows instead of {n}"
    strange = {read_cell(i) for i in drawn} - set(drawn if ids is None else ids)
    return f"ids that are not in the table: {strange}" if strange else None


# cases


def every_book(lines: list[str]) -> Iterator[Book]:
    """Yield every workbook."""
    rows = typed_rows(lines)
    for books in (plain_books, edited_books, wide_books):
        yield from books(rows)
    yield from foreign_files(rows, lines)


def excel_cases(shared: Shared) -> Iterator[Callable[[Path], Case]]:
    """Yield every workbook as a table, and some as filled-in sheets and as output."""
    quick = ("predict", "sample")
    for book in made_elsewhere(lambda: every_book(shared.lines)):
        # what only differs in the bits of a file is read alike by all commands
        some = book.name.startswith(("bit ", "cut ", "xl/", "is ")) or "bomb" in book.name
        for command in ("predict",) if some else quick:
            yield partial(_book_case, shared, book.name, book, command)
        if book.name.startswith(("good", "ids", "#", "labels", "formula", "a merged", "dates")):
            yield partial(_book_case, shared, book.name, book, "fit")
    for name, content, answers in made_elsewhere(lambda: sheet_books(shared)):
        yield partial(_filled_case, shared, name, content, answers)
    for name, text in (("escape", "\x1b"), ("nul", "\0"), ("formula", "=1+1"), ("long", "x" * 40_000),
                       ("surrogate", "\ud800"), ("error", "#N/A"), ("escaped", "_x001B_")):  # fmt: skip
        for command in ("predict", "sample"):
            yield partial(_written_case, shared, name, text, command)


def _book_case(shared: Shared, name: str, book: Book, command: str, folder: Path) -> Case:
    path, sheet, out = folder / "t.xlsx", folder / "s.csv", folder / "p.csv"
    path.write_bytes(book.content)
    ids = book.ids if ALL not in book.touched or "row" not in book.name else None
    argv, check = {
        "sample": (
            ["sample", path, "--n", "5", "--label", "obs", "--id", "pid", "-o", sheet],
            partial(drawn_alike, sheet, ids, 5),
        ),
        "predict": (
            ["predict", shared.model, path, "-o", out],
            partial(predicted_alike, shared, out, ids, book.touched),
        ),
        "fit": (fit(path, folder / "m"), None),
    }[command]
    return Case("workbooks", f"{command}: {name}", argv, check)


def sheet_books(shared: Shared) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    """Yield filled-in sheets as workbooks, and the answers that must arrive."""
    import openpyxl

    lines, answers = sheet_rows(shared)
    good = [line.split(",") for line in lines]

    def made(change: Callable[[int, list[Any]], list[Any]]) -> bytes:
        book = openpyxl.Workbook()
        book.active.append(["pid", "stratum", "wave", "probability", "note", "reviewed"])
        for i, row in enumerate(good):
            book.active.append(change(i, list(row)))
        return saved(book)

    def set_at(at: int, value: Callable[[int, Any], Any]) -> bytes:
        return made(lambda i, row: [*row[:at], value(i, row[at]), *row[at + 1 :]])

    yield "good", made(lambda i, row: row), answers
    yield "ids as numbers", set_at(0, lambda i, old: int(old)), answers
    yield "ids as floats", set_at(0, lambda i, old: float(old)), answers
    yield "answers as numbers", set_at(5, lambda i, old: int(old)), answers
    yield "answers as floats", set_at(5, lambda i, old: float(old)), answers
    left = {k: v for j, (k, v) in enumerate(answers.items()) if j != 3}
    for error in ERRORS:
        yield f"answer {error}", set_at(5, lambda i, old, e=error: e if i == 3 else old), left
    yield "answer is a formula", set_at(5, lambda i, old: "=1-0" if i == 3 else old), left
    yield "answers as booleans", set_at(5, lambda i, old: old == "1"), {}
    day = datetime.datetime(2020, 1, 1)
    yield "answer is a date", set_at(5, lambda i, old: day if i == 3 else old), left
    yield "answer 1.0000001", set_at(5, lambda i, old: 1.0000001 if i == 3 else old), left
    yield "answer NA", set_at(5, lambda i, old: "NA" if i == 3 else old), left
    yield "answer as a share", set_at(5, lambda i, old: int(old)), answers
    yield "id is an error", set_at(0, lambda i, old: "#N/A" if i == 3 else old), left
    yield "id is a date", set_at(0, lambda i, old: day if i == 3 else old), left
    yield "id is empty", set_at(0, lambda i, old: None if i == 3 else old), left
    yield "wave is a date", set_at(2, lambda i, old: day), answers
    yield "wave 1.5", set_at(2, lambda i, old: 1.5), {}
    yield "probability as a share", set_at(3, lambda i, old: "12.5%"), {}
    yield "no answers", set_at(5, lambda i, old: None), {"nothing": "may be accepted"}


def _filled_case(
    shared: Shared, name: str, content: bytes, answers: dict[str, str], folder: Path
) -> Case:
    path, out = folder / "s.xlsx", folder / "o.csv"
    path.write_bytes(content)
    argv = ["join", path, shared.table, "--label", "obs", "--truth", "found", "-o", out]
    return Case("workbooks", f"join: {name}", argv, partial(answers_arrive, path, out, answers))


def _written_case(shared: Shared, name: str, text: str, command: str, folder: Path) -> Case:
    table, out = folder / "t.csv", folder / "o.xlsx"
    lines = [line.replace("00049000", f"a{text}b") for line in shared.lines]
    lines = [f"{line},{'note' if i == 0 else text}" for i, line in enumerate(lines)]
    table.write_text("\n".join(lines), encoding="utf-8", errors="surrogatepass", newline="")
    argv = ["predict", shared.model, table, "-o", out]
    if command == "sample":
        argv = ["sample", table, "--n", "80", "--label", "obs", "--id", "pid", "--show", "note",
                "-o", out]  # fmt: skip
    return Case("workbooks", f"{command} writes {name}", argv, partial(_no_formula, out, text))


def _no_formula(out: Path, text: str) -> str | None:
    """Nothing in a written workbook is a formula or an error, and no text was changed."""
    with zipfile.ZipFile(out) as packed:
        part = packed.read(SHEET1).decode()
    if "<f>" in part or 't="e"' in part:
        return "a cell is computed"
    # half of a pair is no UTF-8, so the table was read as Windows-1252
    fine = "\ud800" in text or f"a{text}b" in part
    return None if fine else "an id is not in the workbook"
