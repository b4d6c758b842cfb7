"""What becomes of each column of a table, and what of it is lost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from alignset.tables.codes import CodeColumn, codes_in
from alignset.tables.kinds import Holds, as_levels
from alignset.tables.preprocess import Category, Number, Preprocessing
from alignset.tables.words import WordColumn

SHOWN = 3
"""Cells that are shown as examples."""

ORDER = {"ymd": "", "dmy": ", day first", "mdy": ", month first"}


@dataclass(frozen=True)
class Fate:
    """A column: what it holds, what the model gets of it, and what of it is lost.

    Examples
    --------
    >>> Fate("age", "numbers", "1 number", "").lost
    ''
    """

    name: str
    holds: str
    becomes: str
    lost: str  # nothing if it is empty
    note: str = ""  # how text was read, if that is not plain


def column_fates(
    frame: pd.DataFrame, kinds: dict[str, Holds], prep: Preprocessing
) -> tuple[Fate, ...]:
    """Say what becomes of each feature, in the order of ``kinds``.

    Examples
    --------
    >>> from alignset.tables.preprocess import fit_preprocessing
    >>> frame = pd.DataFrame({"sex": ["f"] * 6 + ["m"] * 6 + ["x"]})
    >>> kinds = {"sex": Holds("category")}
    >>> column_fates(frame, kinds, fit_preprocessing(frame, kinds))[0].lost
    '1 value in fewer than 5 rows counts as other (8 % of rows)'
    """
    unread = prep.unread_cells(frame)
    made: dict[str, Fate] = {}
    for c in prep.numbers:
        made[c.name] = _number(c, unread.get(c.name, []))
    for each in prep.categories:
        made[each.name] = _category(each, frame[each.name])
    for of in prep.codes:
        made[of.name] = _codes(of, frame[of.name], kinds[of.name].system)
    for words in prep.words:
        made[words.name] = _words(words, frame[words.name])
    return tuple(made[name] for name in kinds)


def summary(fates: Iterable[Fate]) -> str:
    """Return how many columns of each kind there are, in one line.

    Examples
    --------
    >>> summary([Fate("age", "numbers", "1 number", ""), Fate("bmi", "numbers", "1 number", "")])
    '2 numbers'
    """
    counts: dict[str, int] = {}
    names = {"numbers": "number", "true or false": "yes/no column", "dates": "date"}
    for fate in fates:
        kind = fate.holds.partition(",")[0]
        kind = names.get(kind, f"column of {kind}" if kind.endswith("codes") else kind)
        counts[kind] = counts.get(kind, 0) + 1
    plural = {"category": "categories", "text": "texts"}
    return ", ".join(
        f"{count} {kind if count == 1 else plural.get(kind, _plural(kind))}"
        for kind, count in counts.items()
    )


def _plural(kind: str) -> str:
    return kind.replace("column", "columns") if "column" in kind else f"{kind}s"


def _number(c: Number, unread: list[str]) -> Fate:
    becomes = "1 number" + (" and whether it is missing" if c.missing else "")
    note = ""
    if c.kind == "date":
        holds, becomes = f"dates{ORDER[c.form.order]}", becomes.replace("number", "number (days)")
        note = f"text is read as dates{ORDER[c.form.order]}" if c.form.order != "ymd" else ""
    elif c.kind == "boolean":
        holds, becomes = "true or false", becomes.replace("number", "0/1 column")
    else:
        holds = "numbers"
        if c.form.unit is not None:
            unit = f"with {c.form.unit!r}" if c.form.unit else "written as text"
            mark = ", decimal comma" if c.form.decimal == "," else ""
            holds, note = f"numbers, {unit}{mark}", f"text is read as numbers {unit}{mark}"
    lost = ""
    if unread:
        some = ", ".join(map(repr, list(dict.fromkeys(unread))[:SHOWN]))
        verb = "counts" if len(unread) == 1 else "count"
        lost = f"{_count(len(unread), 'unreadable cell')} {verb} as missing, such as {some}"
    return Fate(c.name, holds, becomes, lost, note)


def _category(c: Category, values: pd.Series[Any]) -> Fate:
    levels = pd.Series(as_levels(values), dtype=object)
    counts = levels.value_counts()
    rare = counts[~counts.index.isin([level for level in c.levels if level is not None])]
    lost = ""
    if len(rare):
        share = int(rare.sum()) / len(levels)
        few = f" in fewer than {_above(rare)} rows" if len(rare) < 2 or rare.max() < 20 else ""
        verb = "counts" if len(rare) == 1 else "count"
        lost = f"{_count(len(rare), 'value')}{few} {verb} as other ({_percent(share)} of rows)"
    n = len(c.levels)
    return Fate(c.name, f"category, {_count(len(counts), 'value')}", _count(n, "level"), lost)


def _above(rare: pd.Series[Any]) -> int:
    """Return the number of rows that rare values stay below."""
    return max(5, int(rare.max()) + 1)


def _codes(c: CodeColumn, values: pd.Series[Any], system: str) -> Fate:
    held = values.dropna().astype("object").value_counts()
    codes = {code for cell in held.index for code in codes_in(cell)}
    own = {mark[1:] for mark in c.marks if mark.startswith("=")}
    chapters = sum("-" in mark or len(mark) == 1 for mark in c.marks)
    parts = [
        (chapters, "chapter"),
        (len(c.marks) - chapters - len(own), "group"),
        (len(own), "code"),
    ]
    rest = len(codes - own)
    lost = ""
    if rest:
        nothing = ~c.matrix(values).any(axis=1) & values.notna().to_numpy(bool)
        lost = f"{_count(rest, 'rare code')} known only by group or chapter"
        if nothing.any():
            lost += f"; {_percent(float(np.mean(nothing)))} of rows have none of these"
    becomes = ", ".join(_count(n, word) for n, word in parts if n)
    name = system if system != "codes" else "own"
    return Fate(c.name, f"{name} codes, {len(codes)} different", becomes or "nothing", lost)


def _words(c: WordColumn, values: pd.Series[Any]) -> Fate:
    lost = "the order of words, and which of those with the same hash it is"
    return Fate(c.name, f"text, {_count(values.nunique(), 'value')}", f"{c.width} hashes", lost)


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def _percent(share: float) -> str:
    return "under 1 %" if 0 < share < 0.01 else f"{share:.0%}".replace("%", " %")
