"""Read delimited text: detect its layout, then read it in pieces to bound memory."""

from __future__ import annotations

import codecs
import io
import re
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_bool_dtype, is_numeric_dtype, union_categoricals

from alignset.progress import progress_bar
from alignset.tables.scan import MAX_LINE, look_through, open_unpacked, read_header

CHUNK_ROWS = 100_000
"""Rows parsed at a time; a piece with 20 columns takes about 20 MB."""

FEW_LEVELS = 0.5
"""Text is kept as codes if it has fewer levels than this share of a piece's rows."""

HEAD = 1 << 16
"""Bytes read to detect a file's layout."""

MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class Layout:
    """Layout of a file: encodings to try in order, column names including duplicates."""

    encodings: tuple[str, ...]
    separator: str
    decimal: str
    names: list[str]


def find_layout(path: Path, separator: str) -> Layout:
    r"""Detect the layout of a file; ``separator`` is assumed if its first lines do not show it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_bytes("größe;n\n1,5;2\n".encode("utf-16"))
    ...     find_layout(path, ",")
    Layout(encodings=('utf-16',), separator=';', decimal=',', names=['größe', 'n'])
    """
    with open_unpacked(path) as (stream, _):
        head = stream.read(HEAD)
    encodings = _encodings(head)
    try:
        with open_unpacked(path) as (stream, _):
            text = io.TextIOWrapper(stream, encodings[0], newline="")
            # a name or text can contain another mark, but hardly both the header and the first row
            first = [re.sub('"[^"]*"', "", line) for line in _first_lines(path, text)]
            marks = (separator, ",", ";", "\t")  # the suffix's own mark comes first and wins a tie
            found = max(marks, key=lambda mark: min((row.count(mark) for row in first), default=0))
            text.seek(0)
            names = read_header(path, text, found)
    except UnicodeDecodeError:
        raise ValueError(_not_text(path)) from None
    body = head.decode(encodings[0], errors="ignore")
    return Layout(encodings, found, _decimal(found, body), names)


def _first_lines(path: Path, text: io.TextIOWrapper) -> list[str]:
    """Return the first two lines that are not empty."""
    found: list[str] = []
    while len(found) < 2 and (line := text.readline(MAX_LINE)):
        if len(line) == MAX_LINE:
            raise ValueError(f"{path} has a line of more than {MAX_LINE} characters.")
        found += [line] if line.strip() else []
    return found


def _encodings(head: bytes) -> tuple[str, ...]:
    """Return the encodings to try: by byte-order mark, else by whether UTF-8 fits."""
    for mark, encoding in MARKS.items():
        if head.startswith(mark):
            return (encoding,)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return ("cp1252",)
    return ("utf-8", "cp1252") if head.isascii() else ("utf-8",)


def _decimal(separator: str, head: str) -> str:
    """Return the decimal mark; 1,234 between tabs may be over a thousand, so it does not count."""
    edge = rf'["\r\n{separator}]'
    numbers = re.findall(rf"(?<={edge})[-+]?\d+[.,]\d+(?={edge})", head)
    if separator == "," or any("." in number for number in numbers):
        return "."
    thousands = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
    return "," if separator == ";" or not all(map(thousands.fullmatch, numbers)) else "."


def read_delimited(
    path: Path,
    layout: Layout,
    columns: list[str] | None,
    *,
    as_text: bool | Collection[str] = False,
) -> pd.DataFrame:
    """Read the chosen columns; in a long file, repeated text is kept as codes.

    Columns in ``as_text``, and whole numbers that begin with 0, are kept as written.
    """
    at = look_through(path, layout.encodings[0], layout.separator, len(layout.names))
    zeros = {name for position, name in enumerate(layout.names) if position in at}
    for encoding in layout.encodings:
        options = {"sep": layout.separator, "decimal": layout.decimal, "encoding": encoding}
        try:
            if as_text is True:
                return _join(_as_written(path, columns, **options))
            return _read(path, columns, set(as_text or ()), zeros, options)
        except UnicodeDecodeError:
            continue
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            raise ValueError(_ragged(path, error)) from None
    raise ValueError(_not_text(path))


def _read(
    path: Path,
    columns: list[str] | None,
    as_text: set[str],
    zeros: set[str],
    options: dict[str, Any],
) -> pd.DataFrame:
    pieces = _pieces(path, **options, usecols=columns)
    names = [str(name) for name in pieces[0].columns]
    # numbers in one piece and text in another: keep every cell as written
    confused = [n for n in names if len(pieces) > 1 and _kinds(pieces, n) > 1]
    numbers = [n for n in names if n in zeros and _are_whole(pieces, n)]
    if confused or numbers:
        written = _pieces(path, **options, usecols=[*confused, *numbers], dtype="str")
        keep = [*confused, *(n for n in numbers if _are_padded(written, n))]
        _replace(pieces, written, keep)
    wanted = [name for name in names if name in as_text]
    if wanted:
        written = _as_written(path, wanted, **options)
        _replace(pieces, [text.mask(text == "") for text in written], wanted)
    return _join(pieces)


def _kinds(pieces: list[pd.DataFrame], name: str) -> int:
    return len({_kind(piece[name]) for piece in pieces} - {"nothing"})


def _as_written(path: Path, columns: list[str] | None, **options: Any) -> list[pd.DataFrame]:
    """Parse nothing: NA is text, and so is 007."""
    return _pieces(path, **options, usecols=columns, dtype="str", keep_default_na=False)


def _replace(pieces: list[pd.DataFrame], others: list[pd.DataFrame], names: list[str]) -> None:
    for piece, other in zip(pieces, others, strict=True):
        for name in names:
            piece[name] = other[name].array


def _are_whole(pieces: list[pd.DataFrame], name: str) -> bool:
    """Tell whether a column was read as whole numbers, with or without gaps."""
    for values in (piece[name] for piece in pieces):
        if not isinstance(values.dtype, np.dtype) or values.dtype.kind not in "iuf":
            return False
        if values.dtype.kind == "f":
            numbers = values.to_numpy()
            with np.errstate(invalid="ignore"):
                if not (np.isnan(numbers) | (numbers % 1 == 0)).all():
                    return False
    return True


def _are_padded(written: list[pd.DataFrame], name: str) -> bool:
    """Tell whether whole numbers are written with zeros before them, as codes and ids are."""
    parts = [piece[name].dropna() for piece in written]
    # plain Python first: it is quick where there are thousands of columns
    if not any(cell.lstrip()[:1] == "0" and cell.strip() != "0" for p in parts for cell in p):
        return False
    cells = [part.str.strip() for part in parts]
    digits = all(cell.str.fullmatch("[0-9]+").all() for cell in cells)
    return digits and any(cell.str.fullmatch("0[0-9]+").any() for cell in cells)


def _pieces(path: Path, **options: Any) -> list[pd.DataFrame]:
    """Parse a file in pieces, making each one small before reading the next."""
    pieces: list[pd.DataFrame] = []
    with warnings.catch_warnings(), progress_bar() as advance, open_unpacked(path) as (stream, raw):
        warnings.simplefilter("error", pd.errors.ParserWarning)
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        how: Any = {"index_col": False, "low_memory": False, "chunksize": CHUNK_ROWS}
        with pd.read_csv(stream, **how, **options) as reader:
            for piece in reader:
                if len(pieces) == 1:  # a file with only one piece stays as parsed
                    _compact(pieces[0])
                pieces.append(_compact(piece) if pieces else piece)
                advance(f"reading {path.name}", raw.tell(), path.stat().st_size)
    return pieces


def _compact(frame: pd.DataFrame) -> pd.DataFrame:
    for name in frame.columns:
        if _kind(frame[name]) == "text" and frame[name].nunique() < FEW_LEVELS * len(frame):
            frame[name] = frame[name].astype("category")
    return frame


def _kind(values: pd.Series[Any]) -> str:
    """Return the kind of column the parser found, or "nothing" if it has no values."""
    if values.isna().all():
        return "nothing"
    if is_bool_dtype(values) or infer_dtype(values, skipna=True) == "boolean":
        return "boolean"
    return "number" if is_numeric_dtype(values) else "text"


def _join(pieces: list[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate column by column, freeing the pieces' columns on the way."""
    if len(pieces) == 1:
        return pieces[0]
    joined: dict[str, Any] = {}
    for name in [str(name) for name in pieces[0].columns]:
        parts = [piece.pop(name) for piece in pieces]
        if any(_kind(part) == "text" for part in parts):
            # a part without any value would have numbers as levels
            levels = [part.astype("category") for part in parts]
            joined[name] = union_categoricals(
                [c.cat.set_categories(c.cat.categories.astype("str")).array for c in levels]
            )
        else:
            joined[name] = pd.concat(parts, ignore_index=True).array
    return pd.DataFrame(joined, copy=False)


def _not_text(path: Path) -> str:
    with open_unpacked(path) as (stream, _):
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return (
                    f"{path} is not UTF-8 text: byte 0x{line[error.start]:02x} in line {number}; "
                    "save it as UTF-8."
                )
    return f"{path} is not UTF-8 text; save it as UTF-8."


def _ragged(path: Path, error: Exception) -> str:
    said = str(error).strip()
    if "C error: Expected" in said:
        said = said.partition("C error: ")[2].lower()
    elif "Length of header" in said:
        said = "its rows have more fields than its header"
    return f"{path} cannot be read as a table: {said}; correct that line, or quote its text."
