"""The role of each column of a table, and which columns must not be features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.rows.listing import first_few
from alignset.tables.files import check_columns, check_names, check_plain
from alignset.tables.kinds import MAX_LEVELS, Holds, what_holds

MIN_ROWS_FOR_ID = 20
"""With fewer rows, all values may differ by chance."""

REVIEW_SHEET = ("stratum", "wave", "probability")
"""Columns that `alignset join` adds; they record how a row came to be reviewed."""
REVIEW_STATE = "review_state"
"""Column that it adds, too; it says what came of the review."""

TEXT_CHOICES = ("refuse", "drop", "hash", "levels")
"""What to do with text whose most frequent values do not say what most rows hold."""

WORDS = 3
"""Words that a cell has on average if a column is free text and no identifier."""

MIN_REVIEWED_FOR_LEAK = 10
"""With fewer reviewed rows, agreement with the true label may be chance."""


@dataclass(frozen=True)
class Columns:
    """Names of a table's columns, by role.

    Examples
    --------
    >>> Columns("told", ("age",), truth="reviewed", groups=("sex",)).groups
    ('sex',)
    """

    label: str  # observed label
    features: tuple[str, ...]
    truth: str | None = None  # true label, empty in rows not reviewed
    groups: tuple[str, ...] = ()  # several are intersected; also features, unless ignored
    id: str | None = None  # identifies a row; never a feature
    probability: str | None = None  # of a row's selection for review; never a feature
    person: str | None = None  # whom a row belongs to, if id does not say it; never a feature

    @property
    def unit(self) -> str | None:
        """The column whose values are held out together."""
        return self.person or self.id


@dataclass(frozen=True)
class Choice:
    """The columns to learn from, what each feature holds, and what to tell the user."""

    columns: Columns
    kinds: dict[str, Holds]  # of each feature
    notes: tuple[str, ...]  # one sentence about each column that was left out


def choose_columns(
    frame: pd.DataFrame,
    *,
    label: str,
    truth: str | None = None,
    groups: Sequence[str] = (),
    id: str | None = None,
    person: str | None = None,
    probability: str | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    codes: Sequence[str] = (),
    text: str = "refuse",
    allow_leak: Sequence[str] = (),
) -> Choice:
    """Decide which columns are features, refusing those that give the label away.

    Parameters
    ----------
    frame : DataFrame
    label, truth, groups, id, person, probability
        As in :class:`Columns`.
    ignore : sequence of str
        Columns not to use.
    categorical : sequence of str
        Numeric columns that hold codes, and text of which the most frequent values are to be kept.
    codes : sequence of str
        Columns of codes whose first characters say what they have in common, such as ICD-10; most
        of these are found out.
    text : {"refuse", "drop", "hash", "levels"}, default="refuse"
        What to do with text that has so many values that the most frequent ones do not say what
        most rows hold: an error, leave it out, hash its words, or keep the most frequent values.
    allow_leak : sequence of str
        Columns to keep even though they look like the label or an identifier.

    Examples
    --------
    >>> frame = pd.DataFrame({"told": [0, 1, 1], "age": [60, 70, 65], "site": ["a", "a", "a"]})
    >>> choice = choose_columns(frame, label="told")
    >>> choice.columns.features, choice.notes
    (('age',), ("'site' is the same in every row and was left out.",))
    """
    sheet, probability = _of_sheet(frame, probability)
    parts = [(label, "label"), (truth, "truth"), (id, "id"), (person, "person")]
    parts += [(probability, "probability"), *((name, "group") for name in groups)]
    _check_parts(frame, parts, (*ignore, *categorical, *codes, *allow_leak))
    taken = {name for name, part in parts if part != "group"} | {*ignore, *sheet}
    labels = [_Known.of(frame, each) for each in (label, truth) if each is not None]
    kinds: dict[str, Holds] = {}
    notes: list[str] = []
    for name, values in ((str(c), frame[c]) for c in frame.columns if c not in taken):
        check_plain(values)
        levels = _Levels.of(values)
        note = _empty(name, levels)
        if note is None:
            kind = kinds[name] = _holds(values, categorical, codes)
            free = name in allow_leak or (text == "hash" and _is_free_text(values, kind))
            note = None if free else _check_leak(values, levels, kind, labels, truth)
        if note is not None:
            kinds.pop(name, None)
            notes.append(note)
    notes += _settle_text(frame, kinds, text)
    if not kinds:
        raise ValueError(f"no column is left to learn from: {' '.join(notes) or 'all have roles'}")
    columns = Columns(label, tuple(kinds), truth, tuple(groups), id, probability, person)
    return Choice(columns, kinds, tuple(notes))


def _of_sheet(frame: pd.DataFrame, probability: str | None) -> tuple[list[str], str | None]:
    """Return the columns that a join added, and which one holds P(reviewed)."""
    if not set(REVIEW_SHEET) <= set(frame.columns):
        return [], probability
    return [*REVIEW_SHEET, REVIEW_STATE], "probability" if probability is None else probability


def _holds(values: pd.Series[Any], categorical: Sequence[str], codes: Sequence[str]) -> Holds:
    if values.name in categorical:
        return Holds("category")
    if values.name in codes:
        found = what_holds(values.astype("object").map(str, na_action="ignore"))
        return found if found.kind == "codes" else Holds("codes", system="codes")
    return what_holds(values)


def _is_free_text(values: pd.Series[Any], holds: Holds) -> bool:
    """Tell whether cells have several words, as an identifier has not."""
    if holds.kind != "text":
        return False
    some = values.dropna().iloc[:1000].astype(str).tolist()
    return bool(some) and sum(len(cell.split()) for cell in some) >= WORDS * len(some)


def _settle_text(frame: pd.DataFrame, kinds: dict[str, Holds], choice: str) -> list[str]:
    """Do with text of too many values what was chosen, and say what was left out."""
    if choice not in TEXT_CHOICES:
        raise ValueError(f"--text takes {', '.join(TEXT_CHOICES)}, got {choice!r}.")
    names = [name for name, each in kinds.items() if each.kind == "text"]
    if names and choice == "refuse":
        told = first_few([f"{name!r} ({frame[name].nunique()} values)" for name in names], 5)
        raise ValueError(
            f"text has too many values to learn from, in {told}: the {MAX_LEVELS} most "
            f"frequent do not cover half of the rows. Pass --ignore {names[0]} or --text drop to "
            "leave it out, --text hash to use its words, --text levels to keep only the most "
            f"frequent values, --code {names[0]} if it holds codes, or --person {names[0]} if it "
            "says whom a row belongs to."
        )
    if choice == "drop":
        for name in names:
            del kinds[name]
        return [f"{name!r} is text with too many values and was left out." for name in names]
    if choice == "levels":
        kinds.update({name: Holds("category") for name in names})
    return []


def _check_parts(
    frame: pd.DataFrame, parts: Iterable[tuple[str | None, str]], others: Iterable[str]
) -> None:
    given = [(name, part) for name, part in parts if name is not None]
    check_columns(frame, [name for name, _ in given])
    check_names(others, [str(name) for name in frame.columns], "the table")
    seen: dict[str, str] = {}
    for name, part in given:
        if name in seen:
            raise ValueError(
                f"column {name!r} is given as {seen[name]} and as {part}; a column has one role."
            )
        seen[name] = part


@dataclass(frozen=True, eq=False)
class _Levels:
    """The values of a column as codes; gaps are one of them."""

    codes: NDArray[np.int64]
    count: int
    gaps: NDArray[np.bool_]

    @classmethod
    def of(cls, values: pd.Series[Any]) -> _Levels:
        gaps = values.isna().to_numpy()
        codes: NDArray[np.int64]
        if isinstance(values.dtype, np.dtype) and values.dtype.kind in "biuf":
            codes = np.unique(values.to_numpy(), return_inverse=True)[1]  # gaps are one
        else:
            codes = pd.factorize(values.astype("object"), use_na_sentinel=False)[0]
        return cls(codes, int(codes.max(initial=-1)) + 1, gaps)


def _empty(name: str, levels: _Levels) -> str | None:
    """Say why there is nothing to learn from a column; None if there is."""
    if levels.gaps.all():
        return f"{name!r} is missing in every row and was left out."
    if levels.count == 1:
        return f"{name!r} is the same in every row and was left out."
    return None


@dataclass(frozen=True, eq=False)
class _Known:
    """A label column, where it is filled in: what a feature must not repeat."""

    name: str
    rows: NDArray[np.bool_]  # where it is known
    codes: NDArray[np.int64]  # of those rows
    n_levels: int

    @classmethod
    def of(cls, frame: pd.DataFrame, name: str) -> _Known:
        rows = frame[name].notna().to_numpy()
        levels = _Levels.of(frame[name][rows])
        return cls(name, rows, levels.codes, levels.count)

    def repeated_by(self, levels: _Levels) -> bool:
        """Return whether a column is one-to-one with it wherever it is known."""
        most = int(self.rows.sum())
        if most < MIN_REVIEWED_FOR_LEAK or not 1 < self.n_levels <= most // 2:
            return False
        if levels.count - levels.gaps.any() > most // 2:
            return False
        codes = levels.codes[self.rows]
        pairs = len(np.unique(codes * self.n_levels + self.codes))
        return pairs == len(np.unique(codes)) == self.n_levels


def _check_leak(
    values: pd.Series[Any],
    levels: _Levels,
    holds: Holds,
    labels: Sequence[_Known],
    truth: str | None,
) -> str | None:
    """Refuse a copy of a label; say if a column is an identifier; None if it is neither."""
    name, gaps = values.name, levels.gaps
    remedy = f"pass --ignore {name}, or --allow-leak {name} if it will be known at prediction"
    for label in labels:
        if label.repeated_by(levels):
            raise ValueError(
                f"column {name!r} repeats the label column {label.name!r}, so a model would "
                f"learn nothing else; {remedy}."
            )
        mixed = label.name == truth and label.rows.any() and not label.rows.all()
        if mixed and (gaps != label.rows).all():
            raise ValueError(
                f"column {name!r} is filled in exactly where {truth!r} is, so it comes from the "
                f"review; {remedy}."
            )
    n = len(values)
    if n < MIN_ROWS_FOR_ID or gaps.any() or levels.count < n:
        return None
    kind = holds.kind
    if kind in ("category", "text") or (kind == "number" and _whole(values)):
        return (
            f"{name!r} is different in every row, like an identifier, and was left out; name it "
            f"with --id {name}, or keep it with --allow-leak {name}."
        )
    return None


def _whole(values: pd.Series[Any]) -> bool:
    numbers = pd.to_numeric(values, errors="coerce").to_numpy("float64")
    return bool(np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all())
