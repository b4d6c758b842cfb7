"""Read delimited text: detect its layout, then read it in pieces to bound memory."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import infer_dtype, is_bool_dtype, is_numeric_dtype, union_categoricals

from alignset.progress import progress_bar

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
    with _open(path) as (stream, _):
        head = stream.read(HEAD)
    encodings = _encodings(head)
    try:
        with _open(path) as (stream, _):
            text = io.TextIOWrapper(stream, encodings[0], newline="")
            # a name or text can contain another mark, but hardly both the header and the first row
            first = [re.sub('"[^"]*"', "", line) for line in islice(filter(str.strip, text), 2)]
            marks = (separator, ",", ";", "\t")  # the suffix's own mark comes first and wins a tie
            found = max(marks, key=lambda mark: min((row.count(mark) for row in first), default=0))
            text.seek(0)
            names = next(csv.reader(text, delimiter=found), [])
    except UnicodeDecodeError:
        raise ValueError(_not_text(path)) from None
    body = head.decode(encodings[0], errors="ignore")
    return Layout(encodings, found, _decimal(found, body), names)


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
    path: Path, layout: Layout, columns: list[str] | None, *, as_text: bool = False
) -> pd.DataFrame:
    """Read the chosen columns; in a long file, repeated text is kept as codes."""
    for encoding in layout.encodings:
        try:
            return _read(path, layout, encoding, columns, as_text)
        except UnicodeDecodeError:
            continue
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            raise ValueError(_ragged(path, error)) from None
    raise ValueError(_not_text(path))


def _read(
    path: Path, layout: Layout, encoding: str, columns: list[str] | None, as_text: bool
) -> pd.DataFrame:
    options: dict[str, Any] = {"sep": layout.separator, "decimal": layout.decimal}
    options["encoding"] = encoding
    if as_text:
        options |= {"usecols": columns, "dtype": "str", "keep_default_na": False}
        return _join(_pieces(path, **options))
    pieces = _pieces(path, **options, usecols=columns)
    names = [str(name) for name in pieces[0].columns]
    confused = [n for n in names if len({_kind(p[n]) for p in pieces} - {"nothing"}) > 1]
    if confused:
        # numbers in one piece and text in another: keep every cell as written
        written = _pieces(path, **options, usecols=confused, dtype="str")
        for piece, text in zip(pieces, written, strict=True):
            piece[confused] = text[confused]
    return _join(pieces)


@contextmanager
def _open(path: Path) -> Iterator[tuple[Any, Any]]:
    """Open a file for reading, both decompressed and as it is on disk."""
    with path.open("rb") as raw:
        if path.suffix.lower() != ".gz":
            yield raw, raw
            return
        with gzip.GzipFile(fileobj=raw) as stream:
            yield stream, raw


def _pieces(path: Path, **options: Any) -> list[pd.DataFrame]:
    """Parse a file in pieces, making each one small before reading the next."""
    pieces: list[pd.DataFrame] = []
    with warnings.catch_warnings(), progress_bar() as advance, _open(path) as (stream, raw):
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
    with _open(path) as (stream, _):
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
