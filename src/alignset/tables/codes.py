"""Columns of codes (ICD-10, ICD-9, ATC): the frequent ones, and the groups all belong to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.tables.forms import NEARLY_ALL

MAX_CODES = 40
"""Columns for single codes, and as many for their groups of three characters."""

MANY_CODES = 20
"""With at most this many different values, a column of codes is a category like any other."""

NUMBERED = 200
"""So many rows with a code each, and none twice, are numbered by it."""

MAX_CELL = 1000
"""Characters of a cell of codes."""

MAX_CODE = 12
"""Characters of a code."""

ICD_10 = (
    "A00-B99", "C00-D49", "D50-D89", "E00-E90", "F00-F99", "G00-G99", "H00-H59", "H60-H95",
    "I00-I99", "J00-J99", "K00-K93", "L00-L99", "M00-M99", "N00-N99", "O00-O9A", "P00-P96",
    "Q00-Q99", "R00-R99", "S00-T98", "U00-U99", "V00-Y99", "Z00-Z99",
)  # fmt: skip
ICD_9 = (
    "001-139", "140-239", "240-279", "280-289", "290-319", "320-389", "390-459", "460-519",
    "520-579", "580-629", "630-679", "680-709", "710-739", "740-759", "760-779", "780-799",
    "800-999", "V01-V91", "E00-E99",
)  # fmt: skip
CHAPTERS = {"ICD-10": ICD_10, "ICD-9": ICD_9, "ATC": tuple("ABCDGHJLMNPRSV"), "codes": ()}
"""System -> its chapters: where the first characters of a code lie between two, or begin so."""

_PATTERNS = {
    "ATC": re.compile(r"[A-DGHJLMNPRSV]\d{2}[A-Z](?:[A-Z](?:\d{2})?)?"),
    "ICD-10": re.compile(r"[A-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?[-+*!†]?"),
    "ICD-9": re.compile(r"\d{3}(?:\.?\d{1,2})?|V\d{2}(?:\.?\d{1,2})?|E\d{3}(?:\.?\d)?"),
}
_BETWEEN = re.compile(r"[;,|/\s]+")
MARK = re.compile(r"[0-9A-Z]{1,12}(?:-[0-9A-Z]{1,12})?")


@dataclass(frozen=True)
class CodeColumn:
    """A column read as one 0/1 column per mark: whether any code of the cell has it.

    Cells can hold several codes. A mark is how a code begins (``E11``), a whole code (``=E119``),
    or a range that its first characters lie in (``E00-E90``).
    """

    name: str
    marks: tuple[str, ...]
    missing: bool  # whether a last column is for cells without a code

    @property
    def titles(self) -> list[str]:
        """Names of its columns in the matrix."""
        return [*self.marks, *(["(missing)"] if self.missing else [])]

    def matrix(self, values: pd.Series[Any]) -> NDArray[np.float64]:
        """Return its columns of the matrix, (n, W)."""
        codes, cells = pd.factorize(values.astype("object"), use_na_sentinel=True)
        table = np.zeros((len(cells) + 1, len(self.titles)))
        seen: dict[str, list[int]] = {}
        for row, cell in enumerate(cells):
            held = codes_in(cell)
            for code in held:
                if code not in seen:
                    seen[code] = [at for at, mark in enumerate(self.marks) if has_mark(code, mark)]
                table[row, seen[code]] = 1
            if self.missing and not held:
                table[row, -1] = 1
        if self.missing:
            table[-1, -1] = 1
        return np.asarray(table[codes])


def codes_in(cell: Any) -> list[str]:
    """Return the codes in a cell, in capitals and without dots.

    Examples
    --------
    >>> codes_in("e11.9; I10")
    ['E119', 'I10']
    """
    parts = _BETWEEN.split(str(cell).strip().upper())
    bare = [re.sub("[^0-9A-Z]", "", part)[:MAX_CODE] for part in parts]
    return list(dict.fromkeys(code for code in bare if code))


def has_mark(code: str, mark: str) -> bool:
    """Tell whether a code has a mark.

    Examples
    --------
    >>> has_mark("E119", "E11"), has_mark("E119", "E00-E90"), has_mark("E119", "=E11")
    (True, True, False)
    """
    if mark.startswith("="):
        return code == mark[1:]
    low, dash, high = mark.partition("-")
    return low <= code[: len(low)] <= high if dash else code.startswith(mark)


def code_system(cells: Sequence[str], counts: Sequence[int]) -> str | None:
    """Return the system that nearly all distinct cells are codes of; None if they are not codes."""
    total, systems = sum(counts), _PATTERNS
    if len(cells) <= MANY_CODES or _are_names(cells, counts):
        return None
    for system, pattern in systems.items():
        look = [_all_match(cell, pattern) for cell in cells[:50]]
        if sum(look) < len(look) / 2:
            continue
        fits = [_all_match(cell, pattern) for cell in cells]
        if np.dot(fits, counts) < NEARLY_ALL * total:
            continue
        letters = any(cell.strip()[:1].upper() in ("V", "E") for cell in cells)
        if system != "ICD-9" or letters:  # else they may be any numbers
            return system
    return None


def _are_names(cells: Sequence[str], counts: Sequence[int]) -> bool:
    """Tell whether there is one code per row, and none twice: rows are numbered like that."""
    several = any(_BETWEEN.search(cell.strip()) for cell in cells[:50])
    return max(counts) == 1 and len(cells) >= NUMBERED and not several


def _all_match(cell: str, pattern: re.Pattern[str]) -> bool:
    if len(cell) > MAX_CELL:
        return False
    parts = [part for part in _BETWEEN.split(cell.strip().upper()) if part]
    return bool(parts) and all(map(pattern.fullmatch, parts))


def learn_codes(values: pd.Series[Any], system: str, least: int) -> CodeColumn:
    """Keep the marks that at least ``least`` rows have: chapters, groups, and frequent codes."""
    cells = values.dropna().astype("object").value_counts()
    whole: Counter[str] = Counter()
    stems: Counter[str] = Counter()
    chapters: Counter[str] = Counter()
    for cell, count in cells.items():
        held = codes_in(cell)
        for counter, names in (
            (whole, {f"={code}" for code in held}),
            (stems, {code[:3] for code in held if len(code) > 3}),
            (chapters, {m for m in CHAPTERS[system] for code in held if has_mark(code, m)}),
        ):
            for name in names:
                counter[name] += int(count)
    kept = [_frequent(counter, least, MAX_CODES) for counter in (chapters, stems, whole)]
    gaps = len(values) - int(cells.sum())
    marks = dict.fromkeys(mark for of in kept for mark in of)
    return CodeColumn(str(values.name), tuple(marks), gaps >= least)


def _frequent(counts: Counter[str], least: int, most: int) -> list[str]:
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return sorted(name for name, count in order[:most] if count >= least)


def check_codes(found: CodeColumn) -> None:
    """Refuse what no fit has written."""
    good = all(
        isinstance(mark, str) and MARK.fullmatch(mark.removeprefix("=")) for mark in found.marks
    )
    few = len(set(found.marks)) == len(found.marks) <= 3 * MAX_CODES
    if not (good and few and isinstance(found.name, str) and isinstance(found.missing, bool)):
        raise ValueError(f"codes of {found.name!r}")
