"""Look through a workbook before it is read, for what a reader gets wrong without a word."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from alignset.tables.scan import BLOCK, MAX_LINE, MAX_RATIO

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
"""What a sheet can hold."""
MAX_PACKED = 1 << 26
"""Bytes to which a workbook may unpack, however small it is."""

_EMPTY_FORMULA = re.compile(rb"(?:</f>|<f[^<>]*/>)\s*(?:<v\s*/>|<v></v>)?\s*</c>")
_TAG = re.compile(rb"<(?:\w+:)?(row|c)(?=[\s/>])([^<>]*)>")
_PLACE = re.compile(rb"\sr\s*=\s*[\"']([^\"']*)[\"']")


def check_workbook(path: Path) -> None:
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
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise ValueError(f"{path} is damaged or not an Excel file: {error}.") from None
    if size > max(MAX_PACKED, MAX_RATIO * path.stat().st_size):
        raise ValueError(
            f"{path} unpacks to more than {MAX_PACKED >> 20} MiB and {MAX_RATIO} times its size, "
            "as no table does; save it as CSV if it is one."
        )


def check_worksheets(path: Path) -> int:
    """Refuse sheets whose rows or cells are not in order; count formulas without a value.

    A reader leaves out rows that come after a larger number, and makes up all that lie between
    two numbers. Formulas have no value where a program has written them, and nobody opened them.
    """
    found = 0
    with zipfile.ZipFile(path) as packed:
        for name in packed.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                with packed.open(name) as stream:
                    place = _Place(path, name)
                    for cells in _whole_cells(path, stream):
                        found += len(_EMPTY_FORMULA.findall(cells))
                        for tag, words in _TAG.findall(cells):
                            place.move(tag == b"row", words)
    return found


def _whole_cells(path: Path, stream: Any) -> Iterator[bytes]:
    """Yield the content of a sheet in pieces that end where a cell or a row begins."""
    rest = b""
    while block := stream.read(BLOCK):
        text = rest + block
        cut = max(text.rfind(mark) for mark in (b"<c", b"<row"))
        cut = cut if cut > 0 else text.rfind(b"<")
        yield text[: max(cut, 0)]
        rest = text[max(cut, 0) :]
        if len(rest) > MAX_LINE:
            raise ValueError(f"{path} has a cell of more than {MAX_LINE} characters.")
    yield rest


class _Place:
    """Where in a sheet a reader is; it may only go on."""

    def __init__(self, path: Path, sheet: str) -> None:
        self.path, self.sheet, self.row, self.column = path, sheet, 0, 0

    def move(self, is_row: bool, words: bytes) -> None:
        """Go to the row or cell that a tag names, or to the next one."""
        found = _PLACE.search(words)
        told = found[1].decode("ascii", "replace") if found else ""
        if is_row:
            row, column = int(told) if told.isdigit() and len(told) < 9 else -1, 0
            row = row if found else self.row + 1
        else:
            row, column = _cell(told) if found else (self.row, self.column + 1)
        if is_row:
            fine = self.row < row <= MAX_ROWS
        else:
            fine = row == self.row and self.column < column <= MAX_COLUMNS
        if not fine:
            raise ValueError(
                f"{self.path} is damaged: {self.sheet} has {'row' if is_row else 'cell'} "
                f"{told[:20]!r} after row {self.row}, column {self.column}; rows would be lost: "
                "open it in Excel and save it again."
            )
        self.row, self.column = row, column


def _cell(told: str) -> tuple[int, int]:
    """Return the row and column of B9; (-1, -1) for what is no cell."""
    found = re.fullmatch("([A-Z]{1,3})([1-9][0-9]{0,7})", told)
    if not found:
        return -1, -1
    column = 0
    for letter in found[1]:
        column = 26 * column + ord(letter) - ord("A") + 1
    return int(found[2]), column
