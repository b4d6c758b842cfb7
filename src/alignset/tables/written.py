"""How a delimited text file is written, so that a table can be written in the same form."""

from __future__ import annotations

import gzip
import io
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from alignset.tables.delimited import HEAD, find_layout
from alignset.tables.dialect import FOUND_OUT, Dialect
from alignset.tables.scan import open_unpacked


@dataclass(frozen=True)
class TextForm:
    """The form of a text file, apart from what its cells say.

    Examples
    --------
    >>> TextForm(";", decimal=",").encoding
    'utf-8'
    """

    separator: str
    decimal: str = "."
    encoding: str = "utf-8"
    line_end: str = os.linesep
    says_separator: bool = False  # in a first line such as sep=;, as Excel has it


def find_form(path: Path, separator: str, dialect: Dialect = FOUND_OUT) -> TextForm:
    r"""Find out the form of a file; ``separator`` is assumed if its first lines do not show it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_bytes("größe;n\r\n1,5;2\r\n".encode("cp1252"))
    ...     find_form(path, ",")
    TextForm(separator=';', decimal=',', encoding='cp1252', line_end='\r\n', says_separator=False)
    """
    layout = find_layout(path, separator, dialect)
    encoding = next(filter(lambda name: _fits(path, name), layout.encodings), layout.encodings[-1])
    with open_unpacked(path) as (stream, _):
        head = stream.read(HEAD).decode(encoding, errors="ignore")
    end = re.search("\r\n|\n", head)
    return TextForm(
        layout.separator, layout.decimal, encoding, end[0] if end else "\n", layout.skip > 0
    )


def _fits(path: Path, encoding: str) -> bool:
    """Tell whether a whole file is text in an encoding: its first lines may be plain ASCII."""
    try:
        with open_unpacked(path) as (stream, _):
            text = io.TextIOWrapper(stream, encoding, newline="")
            while text.read(HEAD):
                pass
    except UnicodeError:
        return False
    return True


def write_text(frame: pd.DataFrame, path: Path, form: TextForm) -> None:
    """Write a table as text, packed if its name ends in .gz."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "wt", encoding=form.encoding, newline="") as stream:
        if form.says_separator:
            stream.write(f"sep={form.separator}{form.line_end}")
        frame.to_csv(
            stream, sep=form.separator, index=False, decimal=form.decimal,
            lineterminator=form.line_end,
        )  # fmt: skip
