"""How a file is written, where a user says so instead of leaving it to be found out."""

from __future__ import annotations

import codecs
import warnings
from collections.abc import Callable
from dataclasses import dataclass

Tell = Callable[[str], None]
"""Takes a sentence about what was changed or left out, to be shown as a note."""

NA_WORDS = (
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>",
    "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""Words that are gaps, unless a column is asked for as text; pandas has the same."""


class TableWarning(UserWarning):
    """Something in a table was changed or left out when it was read."""


def warn(text: str) -> None:
    """Say a note as a warning, for those who call the library from Python."""
    warnings.warn(text, TableWarning, stacklevel=3)


@dataclass(frozen=True)
class Dialect:
    r"""What a user says about a file; None is found out.

    Examples
    --------
    >>> Dialect(separator="tab").separator
    '\t'
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None  # of a workbook
    keep_na: tuple[str, ...] = ()  # columns where the words None and NA are values

    def __post_init__(self) -> None:
        named = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
        if self.separator is not None:
            mark = named.get(self.separator, self.separator)
            object.__setattr__(self, "separator", mark)
            if len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in "\"'\r\n.+-\0":
                raise ValueError(
                    f"--sep takes one mark such as ';', '|' or tab, got {self.separator!r}."
                )
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"--decimal takes '.' or ',', got {self.decimal!r}.")
        if self.encoding is not None:
            _check_encoding(self.encoding)


def _check_encoding(name: str) -> None:
    try:
        text = "a,1".encode(codecs.lookup(name).name).decode(name) == "a,1"
    except (LookupError, UnicodeError, ValueError):
        text = False
    if not text:
        raise ValueError(
            f"--encoding takes the name of an encoding, such as utf-8, cp1252, latin-1 or utf-16, "
            f"got {name!r}."
        )


FOUND_OUT = Dialect()
"""Everything is found out."""
