"""Read CSV and TSV files piece by piece, so that memory stays near what the table needs."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import (
    infer_dtype,
    is_bool_dtype,
    is_integer_dtype,
    is_numeric_dtype,
    union_categoricals,
)

from alignset.progress import Progress, progress_bar

CHUNK_ROWS = 100_000
"""Rows parsed at once; a piece of 20 columns takes some 20 MB."""

FEW_LEVELS = 0.5
"""Text is kept as codes where its levels are fewer than this share of a piece's rows."""


def read_delimited(path: Path, separator: str, columns: list[str] | None) -> pd.DataFrame:
    r"""Read the chosen columns of a delimited file; text that repeats is kept as codes.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "t.csv"
    >>> _ = path.write_text("age,sex\n61,f\n,m\n")
    >>> read_delimited(path, ",", ["age"])["age"].tolist()
    [61.0, nan]
    >>> folder.cleanup()
    """
    try:
        pieces = _read_pieces(path, separator, columns)
        confused = [] if len(pieces) == 1 else _confused(pieces)
        if confused:
            # numbers in one piece and text in another: what a cell holds is then what is written
            written = _read_pieces(path, separator, confused, dtype="str")
            for piece, text in zip(pieces, written, strict=True):
                piece[confused] = text[confused]
    except UnicodeDecodeError:
        raise ValueError(_not_utf8(path)) from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise ValueError(_ragged(path, error)) from None
    return _join(pieces)


def read_header(path: Path, separator: str) -> list[str]:
    """Return the column names as they are written, duplicates included."""
    try:
        with _open(path) as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
            return next(csv.reader(text, delimiter=separator), [])
    except UnicodeDecodeError:
        raise ValueError(_not_utf8(path)) from None


@contextmanager
def _open(path: Path, advance: Progress | None = None) -> Iterator[Any]:
    """Open a file for reading, unpacked; ``advance`` is told how much of it was read."""
    with ExitStack() as stack:
        stream: Any = stack.enter_context(io.BufferedReader(_Counted(path, advance), 1 << 20))
        yield stack.enter_context(gzip.GzipFile(fileobj=stream)) if _packed(path) else stream


def _packed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


class _Counted(io.RawIOBase):
    """A file that tells how many of its bytes on disk have been read."""

    def __init__(self, path: Path, advance: Progress | None) -> None:
        self.raw, self.total = path.open("rb"), path.stat().st_size
        self.name, self.advance = path.name, advance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self.raw.readinto(buffer)
        if self.advance is not None:
            self.advance(f"reading {self.name}", self.raw.tell(), self.total)
        return n

    def close(self) -> None:
        self.raw.close()
        super().close()


def _read_pieces(
    path: Path, separator: str, columns: list[str] | None, dtype: Any = None
) -> list[pd.DataFrame]:
    """Parse a file in pieces; each is made small before the next is read."""
    with warnings.catch_warnings(), progress_bar() as advance:
        warnings.simplefilter("error", pd.errors.ParserWarning)
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        with _open(path, advance) as stream, pd.read_csv(
            stream,
            sep=separator,
            usecols=columns,
            index_col=False,
            chunksize=CHUNK_ROWS,
            encoding="utf-8-sig",
            dtype=dtype,
            low_memory=False,
        ) as reader:  # fmt: skip
            pieces = list(map(_compact, _after_first(reader)))
    return pieces


def _after_first(reader: Any) -> Iterator[tuple[bool, pd.DataFrame]]:
    """Say of every piece whether the file goes on after it or began before it."""
    held = None
    several = False
    for piece in reader:
        if held is not None:
            several = True
            yield True, held
        held = piece
    if held is not None:
        yield several, held


def _compact(piece: tuple[bool, pd.DataFrame]) -> pd.DataFrame:
    several, frame = piece
    if several:
        for name in frame.columns:
            if _kind(frame[name]) == "text" and frame[name].nunique() < FEW_LEVELS * len(frame):
                frame[name] = frame[name].astype("category")
    return frame


def _kind(values: pd.Series[Any]) -> str:
    """Tell what the parser took a column for; one without any value says nothing."""
    if values.isna().all():
        return "nothing"
    if is_bool_dtype(values) or infer_dtype(values, skipna=True) == "boolean":
        return "boolean"
    return "number" if is_numeric_dtype(values) else "text"


def _confused(pieces: list[pd.DataFrame]) -> list[str]:
    """Name the columns that the parser took for different kinds in different pieces."""
    names = [str(name) for name in pieces[0].columns]
    return [n for n in names if len({_kind(p[n]) for p in pieces} - {"nothing"}) > 1]


def _join(pieces: list[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate column by column, letting go of each piece's column on the way."""
    if len(pieces) == 1:
        return pieces[0]
    joined: dict[str, Any] = {}
    for name in [str(name) for name in pieces[0].columns]:
        parts = [piece.pop(name) for piece in pieces]
        kinds = {_kind(part) for part in parts}
        if kinds <= {"text", "nothing"} and "text" in kinds:
            coded = [part.astype("category") for part in parts]
            coded = [c.cat.set_categories(c.cat.categories.astype("str")) for c in coded]
            joined[name] = union_categoricals([c.array for c in coded])
        elif all(is_integer_dtype(part) for part in parts) or "number" not in kinds:
            joined[name] = pd.concat(parts, ignore_index=True).array
        else:
            joined[name] = pd.concat([p.astype("float64") for p in parts], ignore_index=True).array
    return pd.DataFrame(joined, copy=False)


def _not_utf8(path: Path) -> str:
    with _open(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return (
                    f"{path} is not UTF-8 text: byte 0x{line[error.start]:02x} in line {number}; "
                    f"save it as UTF-8, for example with `iconv -f latin1 -t utf-8`."
                )
    return f"{path} is not UTF-8 text; save it as UTF-8."


def _ragged(path: Path, error: Exception) -> str:
    said = str(error).strip()
    if "C error: Expected" in said:
        said = said.partition("C error: ")[2].lower()
    elif "Length of header" in said:
        said = "its rows have more fields than its header"
    return f"{path} cannot be read as a table: {said}; correct that line, or quote its text."
