"""The role of each column of a table, and which columns must not be features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from alignset.tables.files import check_columns, check_plain
from alignset.tables.kinds import Kind, as_levels, kind_of

MIN_ROWS_FOR_ID = 20
"""With fewer rows, all values may differ by chance."""

REVIEW_SHEET = ("stratum", "wave", "probability")
"""Columns that `alignset sample` adds; they record how a row came to be reviewed."""

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


@dataclass(frozen=True)
class Choice:
    """The columns to learn from, what each feature holds, and what to tell the user."""

    columns: Columns
    kinds: dict[str, Kind]  # of each feature
    notes: tuple[str, ...]  # one sentence about each column that was left out


def choose_columns(
    frame: pd.DataFrame,
    *,
    label: str,
    truth: str | None = None,
    groups: Sequence[str] = (),
    id: str | None = None,
    probability: str | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    allow_leak: Sequence[str] = (),
) -> Choice:
    """Decide which columns are features, refusing those that give the label away.

    Parameters
    ----------
    frame : DataFrame
    label, truth, groups, id, probability
        As in :class:`Columns`.
    ignore : sequence of str
        Columns not to use.
    categorical : sequence of str
        Numeric columns that hold codes.
    allow_leak : sequence of str
        Columns to keep even though they look like the label or an identifier.

    Examples
    --------
    >>> frame = pd.DataFrame({"told": [0, 1, 1], "age": [60, 70, 65], "site": ["a", "a", "a"]})
    >>> choice = choose_columns(frame, label="told")
    >>> choice.columns.features, choice.notes
    (('age',), ("'site' is the same in every row and was left out.",))
    """
    sheet = [c for c in REVIEW_SHEET if set(REVIEW_SHEET) <= set(frame.columns)]
    if sheet and probability is None:
        probability = "probability"
    parts = [(label, "label"), (truth, "truth"), (id, "id"), (probability, "probability")]
    parts += [(name, "group") for name in groups]
    _check_parts(frame, parts, (*ignore, *categorical, *allow_leak))
    taken = {name for name, part in parts if part != "group"} | {*ignore, *sheet}
    kinds: dict[str, Kind] = {}
    notes: list[str] = []
    for name in (str(c) for c in frame.columns if c not in taken):
        check_plain(frame[name])
        note = _empty(frame[name])
        if note is None:
            kind: Kind = "category" if name in categorical else kind_of(frame[name])
            note = None if name in allow_leak else _check_leak(frame, name, kind, label, truth)
        if note is None:
            kinds[name] = kind
        else:
            notes.append(note)
    if not kinds:
        raise ValueError(f"no column is left to learn from: {' '.join(notes) or 'all have roles'}")
    columns = Columns(label, tuple(kinds), truth, tuple(groups), id, probability)
    return Choice(columns, kinds, tuple(notes))


def _check_parts(
    frame: pd.DataFrame, parts: Iterable[tuple[str | None, str]], others: Iterable[str]
) -> None:
    given = [(name, part) for name, part in parts if name is not None]
    check_columns(frame, [*(name for name, _ in given), *others])
    seen: dict[str, str] = {}
    for name, part in given:
        if name in seen:
            raise ValueError(
                f"column {name!r} is given as {seen[name]} and as {part}; a column has one role."
            )
        seen[name] = part


def _empty(values: pd.Series[Any]) -> str | None:
    """Say why there is nothing to learn from a column; None if there is."""
    if values.isna().all():
        return f"{values.name!r} is missing in every row and was left out."
    if not values.isna().any() and values.nunique() == 1:
        return f"{values.name!r} is the same in every row and was left out."
    return None


def _check_leak(
    frame: pd.DataFrame, name: str, kind: Kind, label: str, truth: str | None
) -> str | None:
    """Refuse a copy of a label; say if a column is an identifier; None if it is neither."""
    remedy = f"pass --ignore {name}, or --allow-leak {name} if it will be known at prediction"
    for other in (label, truth):
        if other is not None and _same(frame, name, other):
            raise ValueError(
                f"column {name!r} repeats the label column {other!r}, so a model would "
                f"learn nothing else; {remedy}."
            )
    if truth is not None:
        filled, reviewed = frame[name].notna(), frame[truth].notna()
        if 0 < reviewed.sum() < len(frame) and (filled == reviewed).all():
            raise ValueError(
                f"column {name!r} is filled in exactly where {truth!r} is, so it comes from the "
                f"review; {remedy}."
            )
    values = frame[name].dropna()
    differs = len(values) == len(frame) >= MIN_ROWS_FOR_ID and values.nunique() == len(values)
    if differs and (kind == "category" or (kind == "number" and _whole(values))):
        return (
            f"{name!r} is different in every row, like an identifier, and was left out; name it "
            f"with --id {name}, or keep it with --allow-leak {name}."
        )
    return None


def _same(frame: pd.DataFrame, name: str, label: str) -> bool:
    """Return whether two columns are one-to-one wherever the label is known."""
    known = frame[label].notna().to_numpy()
    if known.sum() < MIN_REVIEWED_FOR_LEAK or frame[name].nunique() > known.sum() // 2:
        return False
    pairs = pd.DataFrame({"x": as_levels(frame[name][known]), "y": as_levels(frame[label][known])})
    distinct = pairs.drop_duplicates()
    levels = distinct["x"].nunique(dropna=False), distinct["y"].nunique(dropna=False)
    return len(distinct) == levels[0] == levels[1] > 1


def _whole(values: pd.Series[Any]) -> bool:
    numbers = pd.to_numeric(values, errors="coerce").to_numpy("float64")
    return bool(np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all())
