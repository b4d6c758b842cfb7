"""Read and write a sheet of an Excel workbook, as what a person sees in it."""

from __future__ import annotations

import datetime
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alignset.extras import need
from alignset.tables.dialect import NA_WORDS, Tell
from alignset.tables.scan import BLOCK, MAX_RATIO, MAX_UNPACKED

MAX_CELLS = 100_000_000
MAX_ROWS, MAX_COLUMNS, MAX_TEXT = 1_048_576, 16_384, 32_767
"""What a sheet can hold."""

_EMPTY_FORMULA = re.compile(rb"(?:</f>|<f[^<>]*/>)\s*(?:<v\s*/>|<v></v>)?\s*</c>")

MAX_DIGITS = 15
"""Digits of a number that Excel keeps."""


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
    _check_workbook(path)
    import openpyxl  # type: ignore[import-untyped]

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            rows = _rows_of(path, book, sheet, tell)
        finally:
            book.close()
    except (zipfile.BadZipFile, KeyError, TypeError, AttributeError, IndexError, SyntaxError) as e:
        raise ValueError(f"{path} is damaged or not an Excel file: {e!r}.") from None
    if not rows:
        return [], {}
    width = max(len(row) for row in rows)
    names = ["" if cell is None else str(cell.value).strip() for cell in _padded(rows[0], width)]
    body = [_padded(row, width) for row in rows[1:]]
    spoilt: Counter[str] = Counter()
    shares: list[str] = []
    columns = {}
    for at, name in enumerate(names):
        cells = [row[at] for row in body]
        kept = as_text is True or (not isinstance(as_text, bool) and name in as_text)
        columns[at] = _column(path, name, cells, kept, spoilt, shares)
    if as_text is True:
        columns = {at: ["" if v is None else v for v in column] for at, column in columns.items()}
    _tell(spoilt, shares, tell)
    empty = _never_computed(path)
    if empty:
        tell(
            f"{path.name} has {empty} formulas that were never computed; their cells count as "
            "empty, so open the file in Excel and save it."
        )
    return names, columns


def _never_computed(path: Path) -> int:
    """Count the formulas of a workbook that have no value, as programs write them."""
    found = 0
    with zipfile.ZipFile(path) as packed:
        for name in packed.namelist():
            if not name.startswith("xl/worksheets/") or not name.endswith(".xml"):
                continue
            with packed.open(name) as stream:
                rest = b""
                while block := stream.read(BLOCK):
                    cells, mark, rest = (rest + block).rpartition(b"</c>")
                    found += len(_EMPTY_FORMULA.findall(cells + mark))
    return found


def _tell(spoilt: Counter[str], shares: list[str], tell: Tell) -> None:
    for name, count in spoilt.items():
        tell(f"column {name!r} has {count} cells that show an error; they count as empty.")
    if shares:
        names = ", ".join(map(repr, shares[:3])) + (", ..." if len(shares) > 3 else "")
        tell(f"percentages in {names} are read as they are shown: 94.4 for 94.4 %, not 0.944.")


def _check_workbook(path: Path) -> None:
    """Refuse a file that is no workbook, or unpacks to far more than a table would."""
    with path.open("rb") as stream:
        if stream.read(4) == b"\xd0\xcf\x11\xe0":
            raise ValueError(
                f"{path} is protected by a password, or written by an old Excel; save it as .xlsx "
                "without a password, or as CSV."
            )
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(part.file_size for part in packed.infolist())
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path} is damaged or not an Excel file: {error}.") from None
    if size > max(MAX_UNPACKED, MAX_RATIO * path.stat().st_size):
        raise ValueError(
            f"{path} unpacks to more than {MAX_UNPACKED >> 30} GiB and {MAX_RATIO} times its size, "
            "as no table does."
        )


def _rows_of(path: Path, book: Any, sheet: str | None, tell: Tell) -> list[tuple[Any, ...]]:
    """Return the rows of a sheet that hold something."""
    pages = {page.title: page for page in book.worksheets}
    if sheet is not None and sheet not in pages:
        names = ", ".join(map(repr, pages))
        raise ValueError(f"{path} has no sheet {sheet!r}; it has {names}.")
    wanted = [sheet] if sheet is not None else list(pages)
    for name in wanted:
        rows = list(_filled(path, pages[name]))
        if rows:
            others = [other for other in pages if other != name]
            if sheet is None and others:
                some = ", ".join(map(repr, others[:3])) + (", ..." if len(others) > 3 else "")
                tell(f"{path.name}: sheet {name!r} is read, not {some}; choose with --sheet-name.")
            return rows
    return []


def _filled(path: Path, page: Any) -> Iterator[tuple[Any, ...]]:
    page.reset_dimensions()  # what a file says about its size may be wrong
    count = 0
    for row in page.iter_rows():
        last = max((k for k, cell in enumerate(row) if cell.value is not None), default=-1)
        count += last + 1
        if count > MAX_CELLS:
            raise ValueError(f"{path} has more than {MAX_CELLS} cells; save it as CSV.")
        if last >= 0:
            yield row[: last + 1]


def _padded(row: tuple[Any, ...], width: int) -> list[Any]:
    held = [None if cell.value is None else cell for cell in row]
    return held + [None] * (width - len(held))


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
