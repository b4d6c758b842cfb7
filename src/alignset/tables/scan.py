"""Look through delimited text before it is parsed, for what a parser gets wrong without a word."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alignset.progress import progress_bar

MAX_CELL = 131_072
"""Characters that a header or a cell may have, as in Python's csv module."""

MAX_LINE = 1 << 26
"""Characters that a line may have."""

MAX_UNPACKED, MAX_RATIO = 1 << 30, 200
"""A .gz file may not be larger than this and, at once, this many times its size on disk."""

BLOCK = 1 << 20
SAMPLE = 100
"""Records that tell which columns hold numbers."""


@contextmanager
def open_unpacked(path: Path) -> Iterator[tuple[Any, Any]]:
    """Open a file for reading, both decompressed and as it is on disk."""
    with path.open("rb") as raw:
        if path.suffix.lower() != ".gz":
            yield raw, raw
            return
        with gzip.GzipFile(fileobj=raw) as stream:
            yield stream, raw


def check_unpacked(path: Path) -> None:
    """Refuse a .gz file that unpacks to far more than a table would."""
    if path.suffix.lower() != ".gz":
        return
    with open_unpacked(path) as (stream, raw):
        size = 0
        while block := stream.read(BLOCK):
            size += len(block)
            _check_size(path, size, raw)


def look_through(path: Path, encoding: str, separator: str, n_columns: int) -> set[int]:
    """Refuse text that cannot be a table; return the columns with cells that look like 007.

    Refused are a line or a cell that is too long, a file that unpacks to far too much, and a
    quotation mark that opens in one row and closes in another: the rows between would be lost.
    Where there are quotation marks, any column may hold such a cell.
    """
    check_unpacked(path)
    padded: set[int] = set()
    quoted, longest, rest = False, 0, ""
    with progress_bar() as advance, open_unpacked(path) as (stream, raw):
        text = io.TextIOWrapper(stream, encoding, errors="replace", newline="")
        while block := text.read(BLOCK):
            quoted = quoted or '"' in block
            lines, mark, rest = (rest + block).rpartition("\n")
            longest = max(longest, len(rest), *map(len, lines.split("\n")))
            if longest > MAX_LINE:
                raise ValueError(f"{path} has a line of more than {MAX_LINE} characters.")
            if not quoted:
                _add_padded(padded, lines + mark, separator)
            advance(f"checking {path.name}", raw.tell(), path.stat().st_size)
        _add_padded(padded, rest, separator)
        text.detach()
    if quoted or longest > MAX_CELL:
        with open_unpacked(path) as (stream, _):
            text = io.TextIOWrapper(stream, encoding, errors="replace", newline="")
            _check_records(path, text, separator, n_columns)
    return set(range(n_columns)) if quoted else padded


def _add_padded(padded: set[int], lines: str, separator: str) -> None:
    """Add the columns of lines with a cell that begins with a zero and another digit."""
    for found in re.finditer(rf"(?:^|[\r\n{re.escape(separator)}]) *[-+]?0[0-9]", lines):
        begins = max(lines.rfind(mark, 0, found.start() + 1) for mark in "\r\n") + 1
        padded.add(lines.count(separator, begins, found.end()))


def read_header(path: Path, text: Iterable[str], separator: str) -> list[str]:
    """Return the names in the first record."""
    try:
        return next(csv.reader(text, delimiter=separator), [])
    except csv.Error as error:
        raise ValueError(_too_long(path, 1, error)) from None


def _check_size(path: Path, size: int, raw: Any) -> None:
    if size > max(MAX_UNPACKED, MAX_RATIO * raw.tell()):
        raise ValueError(
            f"{path} unpacks to more than {MAX_UNPACKED >> 30} GiB and {MAX_RATIO} times its size, "
            "as no table does; unpack it yourself if it is one."
        )


def _check_records(path: Path, text: io.TextIOWrapper, separator: str, n_columns: int) -> None:
    """Refuse cells that are too long, and cells that hold rows."""
    records = csv.reader(text, delimiter=separator)
    suspects: list[tuple[int, list[str]]] = []
    samples: list[list[str]] = []
    try:
        next(records, None)
        begins = records.line_num + 1
        for record in records:
            if records.line_num > begins and len(suspects) < SAMPLE:
                suspects.append((begins, record))
            if len(samples) < SAMPLE:
                samples.append(record)
            begins = records.line_num + 1
    except csv.Error as error:
        raise ValueError(_too_long(path, records.line_num, error)) from None
    numeric = [k for k in range(n_columns) if _holds_numbers(samples, k)]
    for line, record in suspects:
        for k, cell in enumerate(record[:n_columns]):
            if _holds_rows(cell, k, n_columns, numeric, separator):
                raise ValueError(
                    f"{path} has a quotation mark in line {line}, column {k + 1}, that closes only "
                    f"{cell.count(chr(10))} lines later, so rows would be lost; remove the mark, "
                    'or write it twice ("") inside quotes.'
                )


def _holds_numbers(samples: list[list[str]], k: int) -> bool:
    cells = [r[k] for r in samples if k < len(r) and r[k].strip() and "\n" not in r[k]]
    return bool(cells) and all(map(_is_number, cells))


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _holds_rows(cell: str, k: int, n: int, numeric: list[int], separator: str) -> bool:
    """Tell whether a cell of column ``k`` holds the rest of its row and the rows that follow."""
    if "\n" not in cell:
        return False
    lines = [line.rstrip("\r").split(separator) for line in cell.split("\n")]
    whole = [len(line) == n for line in lines[1:-1]]
    if len(lines[0]) != n - k or not all(whole) or len(lines[-1]) > n:
        return False
    placed = [dict(enumerate(lines[0][1:], k + 1)), *(dict(enumerate(of)) for of in lines[1:-1])]
    placed.append(dict(enumerate(lines[-1][:-1])))  # its last cell was cut off by the mark
    found = [row[c] for row in placed for c in numeric if row.get(c, "").strip()]
    return len(found) >= 2 and all(map(_is_number, found))


def _too_long(path: Path, line: int, error: csv.Error) -> str:
    if "limit" not in str(error):
        return f"{path} cannot be read as a table: {error}, in line {line}."
    return (
        f"{path} has a cell of more than {MAX_CELL} characters that ends in line {line}; shorten "
        "it, or close a quotation mark that was left open."
    )
