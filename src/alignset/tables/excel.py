"""Read and write a sheet of an Excel workbook, as what a person sees in it."""

from __future__ import annotations

import datetime
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alignset.extras import need
from alignset.progress import progress_bar
from alignset.tables.dialect import NA_WORDS, Tell
from alignset.tables.workbook import MAX_COLUMNS, MAX_ROWS, check_workbook, check_worksheets

MAX_CELLS = 100_000_000
"""Cells up to the last one of each row; more do not fit in memory."""
MAX_TEXT = 32_767
"""Characters that a cell can hold."""

MAX_DIGITS = 15
"""Digits of a number that Excel keeps."""

PIECE = 1_000
"""Rows after which progress is reported."""


def need_openpyxl(path: Path) -> None:
    """Refuse an Excel file where openpyxl is not installed."""
    need(path.name, "openpyxl", otherwise=", or save it as CSV")


def read_sheet(
    path: Path, sheet: str | None, *, as_text: bool | Collection[str], tell: Tell
) -> tuple[list[str], dict[int, Any]]:
    """Return the names in the first row that is not empty, and the columns below, by position.

    By default the first sheet that is not empty is read. Numbers formatted as 0000 are text with
    zeros, percentages are 94.4 and not 0.944, and cells that show an error are gaps.
    """
    need_openpyxl(path)
    check_workbook(path)
    try:
        with warnings.catch_warnings():  # what openpyxl leaves out is no part of a table
            warnings.filterwarnings("ignore", module="openpyxl")
            empty = check_worksheets(path)
            names, columns = _read_sheet(path, sheet, as_text, tell)
    except _DAMAGES as error:
        if isinstance(error, ValueError) and str(error).startswith((str(path), path.name)):
            raise  # our own
        raise ValueError(f"{path} is damaged or not an Excel file: {error!r:.200}.") from None
    if empty:
        tell(
            f"{path.name} has {empty} formulas that were never computed; their cells count as "
            "empty, so open the file in Excel and save it."
        )
    return names, columns


_DAMAGES = (
    zipfile.BadZipFile, ValueError, LookupError, TypeError, AttributeError, ArithmeticError,
    SyntaxError, RuntimeError, EOFError,
)  # fmt: skip
"""What openpyxl and zipfile raise for files that no program writes."""


def _read_sheet(
    path: Path, sheet: str | None, as_text: bool | Collection[str], tell: Tell
) -> tuple[list[str], dict[int, Any]]:
    import openpyxl  # type: ignore[import-untyped]

    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        rows, width = _rows_of(path, book, sheet, tell)
    finally:
        book.close()
    if not rows:
        return [], {}
    names = ["" if cell is None else str(cell.value).strip() for cell in rows[0]]
    names += [""] * (width - len(names))
    spoilt: Counter[str] = Counter()
    shares: list[str] = []
    columns = {}
    for at, name in enumerate(names):
        cells = [row[at] if at < len(row) else None for row in rows[1:]]
        kept = as_text is True or (not isinstance(as_text, bool) and name in as_text)
        columns[at] = _column(path, name, cells, kept, spoilt, shares)
    if as_text is True:
        columns = {at: ["" if v is None else v for v in column] for at, column in columns.items()}
    _tell(spoilt, shares, tell)
    return names, columns


def _tell(spoilt: Counter[str], shares: list[str], tell: Tell) -> None:
    for name, count in spoilt.items():
        tell(f"column {name!r} has {count} cells that show an error; they count as empty.")
    if shares:
        names = ", ".join(map(repr, shares[:3])) + (", ..." if len(shares) > 3 else "")
        tell(f"percentages in {names} are read as they are shown: 94.4 for 94.4 %, not 0.944.")


def _rows_of(path: Path, book: Any, sheet: str | None, tell: Tell) -> tuple[list[list[Any]], int]:
    """Return the rows of a sheet that hold something, as wide as the first, and the widest."""
    pages = {page.title: page for page in book.worksheets}
    if sheet is not None and sheet not in pages:
        names = ", ".join(map(repr, pages))
        raise ValueError(f"{path} has no sheet {sheet!r}; it has {names}.")
    wanted = [sheet] if sheet is not None else list(pages)
    for name in wanted:
        rows, width = _filled(path, pages[name])
        if rows:
            others = [other for other in pages if other != name]
            if sheet is None and others:
                some = ", ".join(map(repr, others[:3])) + (", ..." if len(others) > 3 else "")
                tell(f"{path.name}: sheet {name!r} is read, not {some}; choose with --sheet-name.")
            return rows, width
    return [], 0


def _filled(path: Path, page: Any) -> tuple[list[list[Any]], int]:
    rows: list[list[Any]] = []
    count = width = 0
    size = page.max_row or MAX_ROWS
    page.reset_dimensions()  # what a file says about its size may be wrong
    with progress_bar() as advance:
        for number, row in enumerate(page.iter_rows(), 1):
            count += len(row)
            if count > MAX_CELLS or number > MAX_ROWS:
                raise ValueError(
                    f"{path} has more than {MAX_CELLS} cells or {MAX_ROWS} rows, empty ones "
                    "counted; delete what is empty, or save it as CSV."
                )
            last = next((k for k in range(len(row), 0, -1) if row[k - 1].value is not None), 0)
            if last:
                width = max(width, last)
                most = len(rows[0]) if rows else last  # what has no name is never read
                rows.append([None if c.value is None else c for c in row[: min(last, most)]])
            if number % PIECE == 0:
                advance(f"reading {path.name}", number, max(size, number))
    return rows, width


def _column(
    path: Path, name: str, cells: list[Any], kept: bool, spoilt: Counter[str], shares: list[str]
) -> Any:
    """Return a column in its natural type; ``kept`` as text."""
    values: list[Any] = []
    for cell in cells:
        if cell is not None and cell.data_type == "e":
            spoilt[name] += 1
            cell = None
        value = None if cell is None else _value(cell)
        if isinstance(value, str) and not kept and value.strip() in (*NA_WORDS, ""):
            value = None
        if value is not None and name not in shares and _is_share(cell):
            shares.append(name)
        if kept and isinstance(value, int | float) and abs(value) >= 10**MAX_DIGITS:
            raise ValueError(
                f"{path} holds {value:.0f} as a number in column {name!r}; Excel keeps only "
                f"{MAX_DIGITS} digits, so rows may have become the same: write ids as text."
            )
        values.append(value)
    kinds = {_kind(value) for value in values if value is not None}
    if kept or len(kinds) > 1 or "text" in kinds:
        return [None if value is None else shown(value) for value in values]
    if kinds == {"number"}:
        whole = all(isinstance(value, int) and abs(value) < 2**63 for value in values)
        held = [np.nan if value is None else value for value in values]
        return np.array(held, dtype=np.int64 if whole else np.float64)
    if kinds == {"date"}:
        return pd.to_datetime(pd.Series(values, dtype=object)).to_numpy()
    return values


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "date" if isinstance(value, datetime.datetime | datetime.date) else "text"


def _value(cell: Any) -> Any:
    """Return what a cell shows."""
    value, form = cell.value, str(cell.number_format or "")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if re.fullmatch("0{2,}", form) and float(value).is_integer() and value >= 0:
        return str(int(value)).zfill(len(form))
    if _is_share(cell):
        return round(100 * value, 10)
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else value


def _is_share(cell: Any) -> bool:
    held = cell.value
    number = isinstance(held, int | float) and not isinstance(held, bool)
    return number and str(cell.number_format or "").endswith("%")


def shown(value: Any) -> str:
    """Return a cell as text: whole numbers without decimals, dates as 2020-01-31.

    Examples
    --------
    >>> shown(49461.0), shown(datetime.datetime(2020, 1, 31))
    ('49461', '2020-01-31')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ") if value.time() != datetime.time() else str(value.date())
    return str(value)


def write_sheet_file(frame: pd.DataFrame, part: Path, path: Path) -> None:
    """Write a table as a workbook of one sheet; text stays text, and no formula is computed."""
    need_openpyxl(path)
    import openpyxl

    if len(frame) >= MAX_ROWS or len(frame.columns) > MAX_COLUMNS:
        raise ValueError(
            f"{path.name} cannot hold {len(frame)} rows and {len(frame.columns)} columns; a sheet "
            f"has {MAX_ROWS} rows with its header and {MAX_COLUMNS} columns: write .csv."
        )
    names = [str(name) for name in frame.columns]
    held = [frame[name].to_numpy(object) for name in frame.columns]
    for values in (names, *held):
        _check_texts(values, path)  # before anything is open
    book = openpyxl.Workbook(write_only=True)
    page = book.create_sheet("table")
    page.append([_written(page, name) for name in names])
    for row in zip(*held, strict=True):
        page.append([_written(page, value) for value in row])
    book.save(part)


def _check_texts(values: Any, path: Path) -> None:
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE  # type: ignore[import-untyped]

    for value in values:
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise ValueError(
                f"{path.name} cannot hold text of {len(value)} characters; a cell takes "
                f"{MAX_TEXT}: write .csv."
            )
        if isinstance(value, str) and ILLEGAL_CHARACTERS_RE.search(value):
            raise ValueError(
                f"{path.name} cannot hold the control characters in {value[:60]!r}; write .csv."
            )


def _written(page: Any, value: Any) -> Any:
    from openpyxl.cell import WriteOnlyCell  # type: ignore[import-untyped]

    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**MAX_DIGITS:
        value = str(value)
    if getattr(value, "tzinfo", None) is not None or value in (np.inf, -np.inf):
        value = str(value)  # Excel knows neither
    if not isinstance(value, str):
        return value
    cell = WriteOnlyCell(page, value=value)
    cell.data_type = "s"  # "=1+1" and "#N/A" are text
    return cell
