"""Compare a later table with the profile of the one that a model was trained on.

A column has changed if its values fall into the parts of the profile in other shares: the
population stability index

    PSI = sum_k (now_k - then_k) log(now_k / then_k)

says how much, and a chi-square test of two samples whether chance would explain it (Holm's
correction for the number of columns). Only a change that is both is reported: with many rows
everything differs a little, with few a PSI is large by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from alignset.rows.percent import percent
from alignset.tables.profile import ColumnValues, LevelProfile, NumberProfile, Profile

CHANGED, CHANGED_MUCH = 0.1, 0.25
"""PSI from which a column counts as changed, as usual in the field."""
EXACTLY = 1e-12
"""A PSI of nothing but rounding."""
SURE = 0.01
"""Probability with which any column is reported though none has changed."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FarValues:
    """Values of a column that are far outside what training held."""

    name: str
    count: int
    first: float
    row: int  # data row of the first, from 1
    low: float
    high: float

    def __str__(self) -> str:
        values = "1 value" if self.count == 1 else f"{self.count} values"
        return (
            f"column {self.name!r} holds {values} far outside what training held ({self.low:g} to "
            f"{self.high:g}), first {self.first:g} in data row {self.row}; check the unit and the "
            "entry, since predictions for such rows rest on nothing."
        )


@dataclass(frozen=True)
class ColumnDrift:
    """How a column differs from the training table.

    Examples
    --------
    >>> ColumnDrift("age", 0.3, 0.0001, True, "up").much
    True
    """

    name: str
    psi: float
    p_value: float  # corrected for the number of columns
    changed: bool
    how: str  # the part whose share changed most, in words

    @property
    def much(self) -> bool:
        """Whether it changed so much that a model should be looked at."""
        return self.changed and self.psi >= CHANGED_MUCH


def far_values(profile: Profile, held: ColumnValues) -> list[FarValues]:
    """Find values that are further outside the training range than that range is wide."""
    found = []
    for known in profile.numbers:
        values, (low, high) = held.numbers[known.name], known.far
        far = np.flatnonzero((values < low) | (values > high))  # false where missing
        if len(far):
            first = int(far[0])
            told = len(far), float(values[first]), first + 1
            found.append(FarValues(known.name, *told, known.low, known.high))
    return found


def column_drift(profile: Profile, held: ColumnValues) -> tuple[ColumnDrift, ...]:
    """Compare every column with its profile, the most changed first.

    Examples
    --------
    >>> import pandas as pd
    >>> from alignset.tables.preprocess import fit_preprocessing
    >>> from alignset.tables.profile import profile_table, read_columns
    >>> frame = pd.DataFrame({"age": np.arange(1000.0)})
    >>> made = fit_preprocessing(frame, {"age": "number"})
    >>> found = column_drift(profile_table(frame, made), read_columns(frame + 300, made))
    >>> found[0].changed, found[0].how
    (True, 'above 899: 10% before, 40% now')
    """
    pairs: list[tuple[NumberProfile | LevelProfile, Floats]] = []
    pairs += [(c, c.counts(held.numbers[c.name])) for c in profile.numbers]
    pairs += [(c, c.counts(held.levels[c.name])) for c in profile.levels]
    before = [np.array(c.shares) * profile.rows for c, _ in pairs]
    p_values = [_p_value(then, now) for then, (_, now) in zip(before, pairs, strict=True)]
    found = []
    for (c, counts), told, p in zip(pairs, before, _holm(p_values).tolist(), strict=True):
        then, now = _smooth(told), _smooth(counts)
        psi = float(((now - then) * np.log(now / then)).sum())
        most = int(np.argmax(abs(now - then)))
        share = counts[most] / max(held.rows, 1)
        how = f"{c.part_name(most)}: {percent(c.shares[most])} before, {percent(share)} now"
        found.append(ColumnDrift(c.name, psi, p, p < SURE and psi >= CHANGED, how))
    return tuple(sorted(found, key=lambda one: (not one.changed, -one.psi)))


def is_same_table(profile: Profile, n: int, drift: Sequence[ColumnDrift]) -> bool:
    """Tell whether a table of n rows has, in every part of every column, as many as in training."""
    return bool(drift) and n == profile.rows and all(abs(one.psi) < EXACTLY for one in drift)


def _smooth(counts: Floats) -> Floats:
    """Return shares, none of them zero."""
    return np.asarray((counts + 0.5) / (counts.sum() + 0.5 * len(counts)))


def _p_value(then: Floats, now: Floats) -> float:
    """Test whether two samples fall into parts alike."""
    used = then + now > 0
    if used.sum() < 2 or not then.sum() or not now.sum():
        return 1.0
    return float(chi2_contingency([then[used], now[used]], correction=False).pvalue)


def _holm(p_values: Sequence[float]) -> Floats:
    found: Floats = np.array(p_values, dtype=float)
    order = np.argsort(found, kind="stable")
    found[order] = np.maximum.accumulate(found[order] * np.arange(len(found), 0, -1))
    return np.clip(found, None, 1.0)
