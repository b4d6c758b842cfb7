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
from alignset.tables.dialect import FOUND_OUT, Dialect, Tell, warn
from alignset.tables.marks import decimal_mark, ungroup
from alignset.tables.scan import MAX_LINE, look_through, open_unpacked, read_header

CHUNK_ROWS = 100_000
"""Rows parsed at a time; a piece with 20 columns takes about 20 MB."""

FEW_LEVELS = 0.5
"""Text is kept as codes if it has fewer levels than this share of a piece's rows."""

HEAD = 1 << 16
"""Bytes read to detect a file's layout."""

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # begins with the mark of UTF-16
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
SEPARATORS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class Layout:
    """Layout of a file: encodings to try in order, column names including duplicates."""

    encodings: tuple[str, ...]
    separator: str
    decimal: str
    names: list[str]
    skip: int = 0  # lines before the header


def find_layout(path: Path, separator: str, dialect: Dialect = FOUND_OUT) -> Layout:
    r"""Detect the layout of a file; ``separator`` is assumed if its first lines do not show it.

    What ``dialect`` says is not detected. A first line ``sep=;``, as Excel has it, is not a header.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_bytes("größe;n\n1,5;2\n".encode("utf-16"))
    ...     find_layout(path, ",")
    Layout(encodings=('utf-16',), separator=';', decimal=',', names=['größe', 'n'], skip=0)
    """
    with open_unpacked(path) as (stream, _):
        head = stream.read(HEAD)
    encodings = (dialect.encoding,) if dialect.encoding else _encodings(head)
    try:
        with open_unpacked(path) as (stream, _):
            text = io.TextIOWrapper(stream, encodings[0], newline="")
            told, first = _first_lines(path, text)
            # a name or text can contain another mark, but hardly both the header and the first row
            bare = [re.sub('"[^"]*"', "", line) for line in first]
            marks = (separator, *SEPARATORS)  # the suffix's own mark comes first and wins a tie
            most = max(marks, key=lambda mark: min((row.count(mark) for row in bare), default=0))
            found = dialect.separator or told or most
            text.seek(0)
            if told:
                text.readline()
            names = read_header(path, text, found)
    except UnicodeError:
        raise ValueError(_not_text(path, encodings[0])) from None
    body = head.decode(encodings[0], errors="ignore")
    decimal = dialect.decimal or decimal_mark(found, body)
    return Layout(encodings, found, decimal, names, skip=int(bool(told)))


def _first_lines(path: Path, text: io.TextIOWrapper) -> tuple[str, list[str]]:
    """Return the separator that a first line names, and the first two lines that hold something."""
    found: list[str] = []
    told = ""
    while len(found) < 2 and (line := text.readline(MAX_LINE)):
        if len(line) == MAX_LINE:
            raise ValueError(f"{path} has a line of more than {MAX_LINE} characters.")
        named = re.fullmatch(r'"?sep=([;,|\t])"?\s*', line)
        if named and not told and not found:
            told = named[1]
            continue
        found += [line] if line.strip() else []
    return told, found


def _encodings(head: bytes) -> tuple[str, ...]:
    """Return the encodings to try: by byte-order mark or zero bytes, else by whether UTF-8 fits."""
    for mark, encoding in MARKS.items():
        if head.startswith(mark):
            return (encoding,)
    zeros = [head[start::2].count(0) for start in (0, 1)]
    if min(zeros) < max(zeros) > len(head) // 4:  # Latin letters have a zero byte in UTF-16
        return ("utf-16-be" if zeros[0] > zeros[1] else "utf-16-le",)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return ("cp1252",)
    return ("utf-8", "cp1252") if head.isascii() else ("utf-8",)


def read_delimited(
    path: Path,
    layout: Layout,
    columns: list[str] | None,
    *,
    as_text: bool | Collection[str] = False,
    tell: Tell = warn,
) -> pd.DataFrame:
    """Read the chosen columns; in a long file, repeated text is kept as codes.

    Columns in ``as_text``, and whole numbers that begin with 0, are kept as written. Text that is
    all numbers with a mark between thousands becomes numbers, which ``tell`` is told.
    """
    at = look_through(path, layout.encodings[0], layout.separator, len(layout.names))
    zeros = {name for position, name in enumerate(layout.names) if position in at}
    for encoding in layout.encodings:
        options: dict[str, Any] = {"sep": layout.separator, "encoding": encoding}
        options |= {"decimal": layout.decimal, "skiprows": layout.skip or None}
        try:
            if as_text is True:
                return _join(_as_written(path, columns, **options))
            kept = set(as_text or ())
            frame = _read(path, columns, kept, zeros, options)
        except UnicodeError:
            continue
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            raise ValueError(_ragged(path, error)) from None
        ungroup(frame, layout.decimal, kept, tell)
        return frame
    raise ValueError(_not_text(path, layout.encodings[0]))


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


def _not_text(path: Path, encoding: str) -> str:
    name = "utf-8" if encoding == "cp1252" else encoding  # tried only after that
    remedy = "save it as UTF-8, or name its encoding with --encoding."
    if name != "utf-8":
        return f"{path} is not {name.upper()} text; {remedy}"
    with open_unpacked(path) as (stream, _):
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                at = f"byte 0x{line[error.start]:02x} in line {number}"
                return f"{path} is not UTF-8 text: {at}; {remedy}"
    return f"{path} is not UTF-8 text; {remedy}"


def _ragged(path: Path, error: Exception) -> str:
    said = str(error).strip()
    if "C error: Expected" in said:
        said = said.partition("C error: ")[2].lower()
    elif "Length of header" in said:
        said = "its rows have more fields than its header"
    return f"{path} cannot be read as a table: {said}; correct that line, or quote its text."
