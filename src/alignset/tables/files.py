"""Read and write a user's table in the format given by its suffix."""

from __future__ import annotations

import hashlib
import math
import os
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alignset.extras import need
from alignset.rows.listing import most_like
from alignset.tables.atomic import new_file
from alignset.tables.delimited import find_layout, read_delimited
from alignset.tables.dialect import FOUND_OUT, Dialect, Tell, warn
from alignset.tables.excel import need_openpyxl, read_sheet, shown, write_sheet_file
from alignset.tables.scan import check_unpacked
from alignset.tables.written import TextForm, find_form, write_text

SEPARATORS = {"csv": ",", "tsv": "\t"}
MAX_SHOWN = 80
"""Characters of a column's name that messages show."""
FORMATS = (*SEPARATORS, "xlsx", "parquet", "feather", "xpt")
"""Suffixes that can be read; csv, tsv and xpt can be followed by .gz."""
MAX_EXACT = 2**53
"""Whole numbers up to here are exact as decimal numbers."""


def read_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    as_text: bool | Collection[str] = False,
    dialect: Dialect = FOUND_OUT,
    tell: Tell = warn,
) -> pd.DataFrame:
    r"""Read a CSV, TSV, Excel, Parquet, Feather or SAS transport file.

    Parameters
    ----------
    path : path
        Its suffix gives the format: .csv, .tsv, .xlsx, .parquet, .feather, .xpt; also .csv.gz,
        .tsv.gz, .xpt.gz. For CSV and TSV files, the separator (comma, semicolon, tab or bar), the
        decimal mark and the encoding (UTF-8, UTF-16 or Windows-1252) are detected.
    columns : sequence of str, optional
        Columns to read, in this order; all by default.
    as_text : bool or collection of str, default=False
        Keep every cell, or those of these columns, as written: 1.0 is not 1, and NA is not a gap.
        Whole numbers that begin with 0, such as 007, are always kept as text.
    dialect : Dialect, optional
        What is not to be detected; ``keep_na`` names columns to keep as text, too.
    tell : callable, optional
        Called with a sentence for everything that was changed or left out; by default a warning.

    Returns
    -------
    DataFrame
        With a plain row index. In a file of more than 100 000 rows, repeated text is kept as
        codes (dtype category), and a progress bar is shown on a terminal.

    Raises
    ------
    FileNotFoundError, ValueError
        With a message that the user can act on.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "t.csv"
    >>> _ = path.write_text("age,sex\n61,f\n70,m\n")
    >>> read_table(path, columns=["sex", "age"]).values.tolist()
    [['f', 61], ['m', 70]]
    >>> folder.cleanup()
    """
    place = Path(path)
    kind = _format(place)
    if not place.exists():
        raise FileNotFoundError(f"there is no file {place}.")
    if not place.is_file():
        raise ValueError(f"{place} is a folder; give a table file.")
    if place.stat().st_size == 0:
        raise ValueError(f"{place} is empty; a table needs a header and rows.")
    wanted = None if columns is None else list(columns)
    kept = True if as_text is True else {*(as_text or ()), *dialect.keep_na}
    try:
        if kind in SEPARATORS:
            frame = _read_text(place, SEPARATORS[kind], wanted, kept, dialect, tell)
        elif kind == "xlsx":
            frame = _read_excel(place, wanted, kept, dialect, tell)
        else:
            frame = (_read_xpt if kind == "xpt" else _read_arrow)(place, wanted)
            _keep_text(frame, kept)
    except (EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{place} is damaged: {str(error).lower()}.") from None
    if not len(frame):
        raise ValueError(f"{place} has columns but no rows.")
    if wanted is None:
        check_names(dialect.keep_na, [str(name) for name in frame.columns], str(place))
    return frame if wanted is None else frame[wanted]


def column_names(path: str | os.PathLike[str], *, dialect: Dialect = FOUND_OUT) -> list[str]:
    """Return the names in the header of a text or Excel file, also empty and repeated ones."""
    place = Path(path)
    kind = _format(place)
    if kind == "xlsx":
        return read_sheet(place, dialect.sheet, as_text=True, tell=lambda _: None)[0]
    return find_layout(place, SEPARATORS.get(kind, ","), dialect).names


def _keep_text(frame: pd.DataFrame, as_text: bool | Collection[str]) -> None:
    """Turn columns into text, in place: ids are text, whatever a file holds them as."""
    for name in frame.columns:
        if as_text is not True and (isinstance(as_text, bool) or name not in as_text):
            continue
        values = frame[name]
        check_plain(values)
        floats = isinstance(values.dtype, np.dtype) and values.dtype.kind == "f"
        if floats and (large := values.astype("float64").abs() > MAX_EXACT).any():
            raise ValueError(
                f"column {name!r} holds {values[large].iloc[0]:.0f} as a "
                "decimal number, whose last digits are lost; store ids as text."
            )
        missing = values.isna().to_numpy(bool)
        texts = [None if gap else shown(v) for v, gap in zip(values.tolist(), missing, strict=True)]
        frame[name] = pd.Series(texts, index=frame.index, dtype=object)


def write_table(
    frame: pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    form: TextForm | None = None,
) -> None:
    r"""Write a table in the format given by its suffix, completely or not at all.

    A text file is UTF-8 with decimal points, unless another ``form`` is asked for.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(pd.DataFrame({"a": [1]}), Path(folder) / "t.csv")
    ...     (Path(folder) / "t.csv").read_text()
    'a\n1\n'
    """
    place = Path(path)
    check_output(place, overwrite=overwrite)
    kind = _format(place)
    with new_file(place) as part:
        if kind in SEPARATORS:
            write_text(frame, part, form or TextForm(SEPARATORS[kind]))
        elif kind == "xlsx":
            write_sheet_file(frame, part, place)
        else:
            _need_pyarrow(place)
            (frame.to_parquet if kind == "parquet" else frame.to_feather)(part)


def form_for(out: Path, table: Path, *, dialect: Dialect = FOUND_OUT) -> TextForm | None:
    """Return the form in which to write a table that was read; None unless both are text files."""
    kinds = _format(table), _format(out)
    if not set(kinds) <= set(SEPARATORS):
        return None
    found = find_form(table, SEPARATORS[kinds[0]], dialect)
    return found if kinds[0] == kinds[1] else replace(found, separator=SEPARATORS[kinds[1]])


def is_text(path: Path) -> bool:
    """Tell whether a file is a table of text, whose cells can be kept as they are written."""
    return _format(path) in SEPARATORS


def check_output(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a table that cannot be written, before any work is done."""
    if _format(path) == "xpt":
        known = ".csv, .tsv, .xlsx, .parquet or .feather"
        raise ValueError(f"{path} cannot be written; write {known}.")
    if _format(path) == "xlsx":
        need_openpyxl(path)
    check_new_file(path, overwrite=overwrite)


def check_new_file(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a file that exists, unless ``overwrite`` is set, or whose folder does not exist."""
    if path.exists() and not overwrite:
        raise ValueError(f"{path} exists; name another file, or pass --overwrite.")
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {path.parent} to write {path.name} to.")


def check_columns(table: pd.DataFrame, columns: Iterable[str]) -> None:
    """Refuse an empty table, duplicate column names, and missing columns."""
    if len(table) == 0:
        raise ValueError("the table has no rows.")
    names = [str(name) for name in table.columns]
    _check_unique(names, "the table")
    wanted = list(columns)
    check_names(wanted, names, "the table")
    for name in wanted:
        check_plain(table[name])


def check_plain(values: pd.Series[Any]) -> None:
    """Refuse a column of lists, mappings or bytes."""
    if values.dtype != object:
        return
    strange = (list, tuple, set, dict, bytes, np.ndarray)
    found = next((value for value in values if isinstance(value, strange)), None)
    if found is not None:
        raise ValueError(
            f"column {values.name!r} holds values of type {type(found).__name__}, such as "
            f"{str(found)[:60]}; a column must hold numbers, text, booleans or dates."
        )


def check_names(wanted: Iterable[str], there: Sequence[str], where: str) -> None:
    """Refuse names that are not columns of ``where``, and suggest the closest match."""
    known = set(there)
    for name in wanted:
        if name not in known:
            close = most_like(name[:MAX_SHOWN], [t[:MAX_SHOWN] for t in there[:500]])
            guess = "" if close is None else f"did you mean {close!r}? "
            names = [name if len(name) <= MAX_SHOWN else f"{name[:40]}..." for name in there[:12]]
            shown = ", ".join(names) + (", ..." if len(there) > 12 else "")
            raise ValueError(f"{where} has no column {name!r}; {guess}it has {shown}.")


def plain(value: Any) -> Any:
    """Return a value in a form JSON can hold; missing and non-finite numbers become null."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, pd.DataFrame):
        return plain(value.to_dict("records"))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    missing = value is pd.NA or (isinstance(value, float) and not math.isfinite(value))
    return None if missing else value


def in_thousands(count: float) -> str:
    """Write a number of rows; nothing if it is not known.

    Examples
    --------
    >>> in_thousands(1479.6)
    '1 480'
    """
    if math.isnan(count):
        return ""
    return f"{count:,.0f}".replace(",", " ")


def hash_file(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _format(path: Path) -> str:
    suffixes = [s.lower() for s in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    kind = (suffixes[-2:-1] if packed else suffixes[-1:]) or [""]
    name = kind[0].removeprefix(".")
    if name in ("xls", "xlsm", "xlsb", "ods"):
        raise ValueError(f"{path.name} cannot be read; save it as .xlsx, or as CSV.")
    if name not in FORMATS or (packed and name in ("parquet", "feather", "xlsx")):
        raise ValueError(
            f"{path.name} has no known format; tables end in .csv, .tsv, .xlsx, .parquet, .feather "
            "or .xpt (csv, tsv and xpt also with .gz)."
        )
    return name


def _check_unique(names: list[str], where: str) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(
            f"{where} has {names.count(twice)} columns named {twice[:MAX_SHOWN]!r}; "
            "give every column a name of its own."
        )


def _check_header(path: Path, names: list[str], columns: list[str] | None) -> None:
    """Refuse duplicate, empty or missing names among the wanted columns."""
    wanted = set(names if columns is None else columns)
    _check_unique([name for name in names if name in wanted], str(path))
    for position, name in enumerate(names, 1):
        if columns is None and not name.strip():
            raise ValueError(f"{path} has no name for column {position}; name every column.")
    check_names(columns or (), names, str(path))


def _read_text(
    path: Path,
    separator: str,
    columns: list[str] | None,
    as_text: bool | Collection[str],
    dialect: Dialect,
    tell: Tell,
) -> pd.DataFrame:
    layout = find_layout(path, separator, dialect)
    if not layout.names:
        raise ValueError(f"{path} is empty; a table needs a header and rows.")
    _check_header(path, layout.names, columns)
    return read_delimited(path, layout, columns, as_text=as_text, tell=tell)


def _read_excel(
    path: Path,
    columns: list[str] | None,
    as_text: bool | Collection[str],
    dialect: Dialect,
    tell: Tell,
) -> pd.DataFrame:
    names, held = read_sheet(path, dialect.sheet, as_text=as_text, tell=tell)
    if not names:
        raise ValueError(f"{path} is empty; a table needs a header and rows.")
    _check_header(path, names, columns)
    wanted = [at for at, name in enumerate(names) if columns is None or name in columns]
    return pd.DataFrame({names[at]: held[at] for at in wanted})


def _need_pyarrow(path: Path) -> None:
    need(path.name, "pyarrow", otherwise=", or use CSV")


def _read_arrow(path: Path, columns: list[str] | None) -> pd.DataFrame:
    _need_pyarrow(path)
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]

    try:
        if _format(path) == "parquet":
            names, read = pa.parquet.read_schema(path).names, pa.parquet.read_table
        else:
            with pa.OSFile(str(path)) as source:
                names, read = pa.ipc.open_file(source).schema.names, _read_feather
        names = [n for n in names if not n.startswith("__index_level_")]
        _check_header(path, names, columns)
        table = read(path, columns=columns or names)
        table.validate(full=True)  # text that is not UTF-8, a flipped bit that leads elsewhere
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, UnicodeDecodeError, TypeError, IndexError, MemoryError) as error:
        told = str(error).encode("ascii", "backslashreplace").decode().split("\n")[0][:200]
        kind = _format(path)
        raise ValueError(
            f"{path} is damaged or not a {kind} file: {told or 'out of memory'}"
        ) from None
    return frame


def _read_feather(path: Path, columns: list[str]) -> Any:
    """Read columns by name; not through a memory map, where a file that shrinks is a crash."""
    import pyarrow.feather  # type: ignore[import-untyped]

    return pyarrow.feather.read_table(path, columns=columns, memory_map=False)


def _read_xpt(path: Path, columns: list[str] | None) -> pd.DataFrame:
    packed: Any = "gzip" if path.suffix == ".gz" else None
    check_unpacked(path)
    try:
        frame = pd.read_sas(path, format="xport", encoding="utf-8", compression=packed)
    except UnicodeDecodeError:
        raise ValueError(f"{path} contains text that is not UTF-8; convert it to CSV.") from None
    except ValueError as error:
        raise ValueError(f"{path} is damaged or not a SAS transport file: {error}") from None
    _check_header(path, [str(name) for name in frame.columns], columns)
    for name in frame.select_dtypes("float64").columns:
        frame[name] = frame[name].mask(frame[name].abs() < 1e-70, 0.0)  # the format's zero
    return frame
