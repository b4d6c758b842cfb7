"""How many observed labels are wrong in each group, from rows drawn with known probability.

A *wave* is one review sheet. Before wave w some rows of a group are known; the rest are sampled
with probability pi_i. With e_i = 1 where the observed label is wrong, w_i = 1 / pi_i, and s the
rows of the wave that were answered,

    r_rest = sum_s w_i e_i / sum_s w_i                                    (Hajek)
    r      = (N_known r_known + N_rest r_rest) / (N_known + N_rest)
    V(r_rest) = sum_h n_h / (n_h - 1) sum_{i in s_h} (1 - pi_i) (z_i - z_h)^2 / (sum_s w_i)^2

where z_i = w_i (e_i - r_rest) in the group and 0 outside, and z_h is its mean in stratum h,
weighted by 1 - pi_i: linearised (Deville 1999), exact up to the ratio for stratified random
sampling, and Hajek's approximation for unequal probabilities. Given the waves before it, the
estimate of a wave is centred on the same true rate, so estimates of different waves are
uncorrelated and are averaged with weights that depend only on the design.

The interval is that of a proportion at the effective size r (1 - r) / V, which is capped at that
of a simple random sample of as many rows (Korn and Graubard 1998; Parker et al. 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alignset.evaluate.proportion import (
    IntervalRule,
    effective_size,
    kish_size,
    to_whole_rows,
    wilson,
)

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ReviewDesign:
    """How each row came to be reviewed.

    Parameters
    ----------
    probability : float array of shape (n,)
        Probability with which a row was put on its sheet; NaN if it was on none.
    wave, stratum : int arrays of shape (n,)
        Its sheet and the stratum it was drawn from; -1 if it was on none.

    Examples
    --------
    >>> ReviewDesign.one_sheet([0.1, np.nan, 0.2]).drawn
    array([ True, False,  True])
    """

    probability: Floats
    wave: NDArray[np.int64]
    stratum: NDArray[np.int64]

    @classmethod
    def unknown(cls, n: int) -> ReviewDesign:
        """Return the design of n rows when nobody knows how rows were chosen for review."""
        nowhere = np.full(n, -1, dtype=np.int64)
        return cls(np.full(n, np.nan), nowhere, nowhere)

    @classmethod
    def one_sheet(cls, probability: ArrayLike) -> ReviewDesign:
        """Return the design of a single sheet: a probability for each row on it, NaN elsewhere."""
        chance = np.asarray(probability, dtype=np.float64)
        there = np.where(np.isfinite(chance), 0, -1)
        return cls(chance, np.where(there == 0, 1, -1), there)

    @property
    def known(self) -> bool:
        """Whether any selection probability is known."""
        return bool(np.isfinite(self.probability).any())

    @property
    def drawn(self) -> Mask:
        """Which rows were on a sheet."""
        return np.isfinite(self.probability)


@dataclass(frozen=True)
class NoiseRate:
    """Noise rate of one group: the share of its observed labels that are wrong."""

    group: Any
    rows: int
    reviewed: int  # with a true label
    unresolved: int  # drawn, but without a true label: "cannot tell" or no answer
    wrong: int  # reviewed rows whose observed label is wrong
    rate: float  # NaN if no row is reviewed, in which case the interval is 0 to 1
    low: float
    high: float
    effective_size: float  # number of independent draws it is worth; infinite if all are reviewed
    weighted: bool  # whether selection probabilities were known; if not, taken as drawn at random
    worth: float = float("nan")  # reviewed rows that would be as precise by themselves


def noise_rates(
    group: NDArray[np.int64],
    names: Sequence[Any],
    wrong: Mask,
    reviewed: Mask,
    design: ReviewDesign | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    unit: NDArray[np.int64] | None = None,
    level: float = 0.95,
    rule: IntervalRule = wilson,
) -> list[NoiseRate]:
    """Estimate the noise rate of every group: the number that is shown everywhere.

    Parameters
    ----------
    group : int array of shape (n,)
    names : sequence of length G
        What the groups are called, by code.
    wrong, reviewed : bool arrays of shape (n,)
        Rows whose observed label is wrong; rows with a true label. ``wrong`` is used only on
        reviewed rows.
    design : ReviewDesign, optional
        How rows came to be reviewed; by default, as if drawn at random in each group.
    sample_weight : array-like of shape (n,), optional
        A row of weight 3 counts as three rows.
    unit : int array of shape (n,), optional
        Whom each row belongs to: rows of one person, which are alike, tell less than others.

    Examples
    --------
    >>> wrong, reviewed = np.arange(100) % 10 == 0, np.arange(100) < 50
    >>> (found,) = noise_rates(np.zeros(100, int), ["all"], wrong, reviewed)
    >>> found.wrong, found.reviewed, found.rate
    (5, 50, 0.1)
    """
    design = ReviewDesign.unknown(len(group)) if design is None else design
    size = np.ones(len(group)) if sample_weight is None else np.asarray(sample_weight, float)
    rows = _Rows(np.asarray(wrong), np.asarray(reviewed), size, design, unit)
    return [_noise_rate(name, group == g, rows, level, rule) for g, name in enumerate(names)]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Which labels are wrong, which rows are reviewed, how many each counts as, and the design."""

    wrong: Mask
    reviewed: Mask
    size: Floats
    design: ReviewDesign
    unit: NDArray[np.int64] | None

    def count(self, where: Mask) -> float:
        return float(self.size[where].sum())


def _noise_rate(
    name: Any, member: Mask, rows: _Rows, level: float, rule: IntervalRule
) -> NoiseRate:
    n_rows, n_reviewed = rows.count(member), rows.count(member & rows.reviewed)
    n_wrong = rows.count(member & rows.reviewed & rows.wrong)
    waves = _estimates(member, rows)
    most = float(effective_size(n_reviewed, n_rows))
    if n_reviewed == 0:
        rate, size = float("nan"), 0.0
    elif not waves or n_reviewed == n_rows:
        rate, size = n_wrong / n_reviewed, most
    else:
        rate, size = _combined(waves, most)
    if rows.unit is not None and n_reviewed:
        at = member & rows.reviewed
        size /= _design_effect(rows.wrong[at], rows.unit[at])
    low, high = rule(np.nan_to_num(rate), size, level=level)
    bounds = to_whole_rows(float(low), float(high), wrong=n_wrong, n=n_reviewed, population=n_rows)
    return NoiseRate(
        group=name,
        rows=round(n_rows),
        reviewed=round(n_reviewed),
        unresolved=round(rows.count(member & ~rows.reviewed & rows.design.drawn)),
        wrong=round(n_wrong),
        rate=rate,
        low=bounds[0],
        high=bounds[1],
        effective_size=size,
        weighted=bool(waves),
    )


def _design_effect(wrong: Mask, unit: NDArray[np.int64]) -> float:
    """Return by how much rows that share a person tell less than as many of different ones."""
    _, whose = np.unique(unit, return_inverse=True)
    size, off = np.bincount(whose), wrong - wrong.mean()
    n = len(size)
    if not off.any() or n == 1:  # as if rows of a person were all the same
        return float(size @ size / size.sum())
    return max(1.0, float((np.bincount(whose, off) ** 2).sum() / (off**2).sum() * n / (n - 1)))


@dataclass(frozen=True)
class _Estimate:
    """A rate, its variance, and the effective size of its weights."""

    rate: float
    variance: float
    size: float


def _estimates(member: Mask, rows: _Rows) -> list[_Estimate]:
    """One estimate of the rate for each wave that has answers in the group."""
    found, design, reviewed = [], rows.design, rows.reviewed
    for wave in np.unique(design.wave[design.drawn & reviewed & member]):
        drawn = design.drawn & (design.wave == wave)
        before = reviewed & ~drawn & (design.wave < wave)
        gone = design.drawn & ~reviewed & (design.wave < wave)
        known = member & before
        n_known, n_rest = rows.count(known), rows.count(member & ~before & ~gone)
        share = n_rest / (n_rest + n_known)
        rest = _weighted(member, drawn & reviewed, _answered(drawn, rows), rows)
        r_known = rows.count(known & rows.wrong) / n_known if n_known else 0.0
        rate = share * rest.rate + (1 - share) * r_known
        found.append(_Estimate(float(rate), share**2 * rest.variance, rest.size / share**2))
    return found


def _answered(drawn: Mask, rows: _Rows) -> Floats:
    """Probability of being drawn and answered: selection times the stratum's answered share."""
    chance = rows.design.probability.copy()
    for stratum in np.unique(rows.design.stratum[drawn]):
        here = drawn & (rows.design.stratum == stratum)
        chance[here] *= rows.count(here & rows.reviewed) / rows.count(here)
    return chance


def _weighted(member: Mask, answered: Mask, chance: Floats, rows: _Rows) -> _Estimate:
    """Hajek estimate over the answered rows of one wave, with its linearised variance."""
    pi, copies, wrong = chance[answered], rows.size[answered], rows.wrong[answered]
    weight = np.where(member[answered], 1 / pi, 0.0)
    total = float(copies @ weight)
    rate = float((copies * weight) @ wrong / total)
    z = weight * (wrong - rate)
    variance = 0.0
    strata = rows.design.stratum[answered]
    for stratum in np.unique(strata):
        here = strata == stratum
        n, c = float(copies[here].sum()), copies[here] * (1 - pi[here])
        centre = (c @ z[here]) / c.sum() if n > 1 and c.sum() > 0 else 0.0
        variance += max(n / max(n - 1, 1), 1.0) * float(c @ (z[here] - centre) ** 2)
    unseen = max(1 - copies[weight > 0].sum() / total, 0.0)  # finite population
    worth = kish_size(weight, copies) / unseen if unseen > 0 else float("inf")
    return _Estimate(rate, variance / total**2, worth)


def _combined(waves: list[_Estimate], most: float) -> tuple[float, float]:
    """Average the waves by the size of their weights; return rate and effective size."""
    sizes = np.array([wave.size for wave in waves])
    part = np.isinf(sizes) if np.isinf(sizes).any() else sizes
    part = part / part.sum()
    rate = float(part @ [wave.rate for wave in waves])
    variance = float(part**2 @ [wave.variance for wave in waves])
    if variance > 0 and 0 < rate < 1:
        return rate, min(rate * (1 - rate) / variance, most)
    return rate, min(float(1 / (part**2 @ (1 / sizes))) if np.isfinite(sizes).all() else most, most)
