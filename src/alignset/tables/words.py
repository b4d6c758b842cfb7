"""Free text as hashed words: nothing of the text is kept."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

WIDTH = 64
"""Columns that words are hashed to."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class WordColumn:
    """A column of text read as 0/1 columns: whether a word with that hash occurs.

    Examples
    --------
    >>> made = WordColumn("note", 4)
    >>> made.matrix(pd.Series(["dry cough", None])).sum(axis=1).tolist()
    [2.0, 0.0]
    """

    name: str
    width: int = WIDTH

    @property
    def titles(self) -> list[str]:
        """Names of its columns in the matrix."""
        return [f"words {k + 1} of {self.width}" for k in range(self.width)]

    def matrix(self, values: pd.Series[Any]) -> NDArray[np.float64]:
        """Return its columns of the matrix, (n, W)."""
        codes, cells = pd.factorize(values.astype("object"), use_na_sentinel=True)
        table = np.zeros((len(cells) + 1, self.width))
        for row, cell in enumerate(cells):
            words = set(_WORD.findall(str(cell).casefold()))
            table[row, [_place(word, self.width) for word in words]] = 1
        return np.asarray(table[codes])


def _place(word: str, width: int) -> int:
    return zlib.crc32(word.encode("utf-8", "replace")) % width


def check_words(found: WordColumn) -> None:
    """Refuse what no fit has written."""
    whole = isinstance(found.width, int) and not isinstance(found.width, bool)
    if not (isinstance(found.name, str) and whole and 1 <= found.width <= 4096):
        raise ValueError(f"words of {found.name!r}")
