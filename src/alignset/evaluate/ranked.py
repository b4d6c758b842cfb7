"""Areas computed from rows sorted by falling score: the one implementation of all metrics.

Every function takes any leading axes and reduces only the last one, so a stack of models is scored
like a single model; arrays are NumPy's or torch's. Nothing here looks at a value on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from alignset.evaluate.arrays import (
    Array,
    falling,
    may_be_undefined,
    namespace,
    put,
    running_max,
    take,
    with_edge,
)


@dataclass(frozen=True, eq=False)
class Ranked:
    """Weights of the rows at or above each threshold, from +inf down to the lowest score.

    Parameters
    ----------
    score : array of shape (..., 1 + n)
        Thresholds: +inf, then the scores, falling; -inf for rows that do not count.
    ends : bool array of shape (..., 1 + n)
        The last row of each tie: the places where a threshold really cuts.
    count : array of shape (..., 2, G, 1 + n)
        Summed weight of the rows of (class, group) at or before this place.
    """

    score: Array
    ends: Array
    count: Array

    @property
    def total(self) -> Array:
        """Summed weight of every (class, group) cell, shape (..., 2, G)."""
        return self.count[..., -1]

    def by_group(self) -> Ranked:
        """Return each group's rows separately, on a leading axis of groups."""
        first = namespace(self.count).moveaxis(self.count, -2, 0)
        return replace(self, count=first[..., None, :])


RankedMetric = Callable[[Ranked], Array]


Mean = TypeVar("Mean", float, NDArray[np.float64])


def harmonic_mean(a: Mean, b: Mean) -> Mean:
    """Harmonic mean of two numbers, or of two arrays, >= 0; 0 if both are 0, NaN if either is NaN.

    Examples
    --------
    >>> harmonic_mean(0.5, 1.0)
    0.666...
    """
    total = a + b
    mean: Mean = 2 * a * b / (total + (total == 0))
    return mean


def rank(score: Array, y: Array, group: Array, where: Array, n_groups: int) -> Ranked:
    """Sort rows by falling score and count (class, group) cells along the way.

    All arguments are (..., n), with leading axes that broadcast: a finite score, a 0/1 label, a
    group code, and which rows count (bool) or how much (float >= 0).
    """
    xp = namespace(score)
    shape = np.broadcast_shapes(score.shape, y.shape, group.shape, where.shape)
    counts = where if where.dtype == xp.bool else where > 0
    cell = xp.where(counts, (y == 1) * n_groups + group, -1)
    # The start column belongs to no cell: nothing is predicted positive at threshold +inf.
    cell = with_edge(cell, -1)
    cell = xp.broadcast_to(cell, (*shape[:-1], cell.shape[-1]))
    sorted_score, order = falling(with_edge(xp.where(counts, score, -xp.inf), xp.inf))
    order = xp.broadcast_to(order, cell.shape)
    cells = xp.arange(2 * n_groups, device=score.device)[:, None]
    member = take(cell, order)[..., None, :] == cells  # (..., 2G, 1 + n)
    if where.dtype != xp.bool:
        weight = with_edge(xp.asarray(where, dtype=score.dtype), 0)
        member = member * take(xp.broadcast_to(weight, cell.shape), order)[..., None, :]
    count = member.cumsum(-1, dtype=score.dtype).reshape(*cell.shape[:-1], 2, n_groups, -1)
    ends = with_edge(sorted_score[..., 1:] != sorted_score[..., :-1], True, last=True)
    sorted_score, ends = (xp.broadcast_to(each, cell.shape) for each in (sorted_score, ends))
    return Ranked(sorted_score, ends, count)


def one_vs_rest(
    prob: Array, y: Array, group: Array, where: Array
) -> tuple[Array, Array, Array, Array]:
    """Give score, label, group and mask an axis of classes: all K, or only class 1 when K = 2."""
    n_classes = prob.shape[-1]
    first = 1 if n_classes == 2 else 0
    xp = namespace(prob)
    classes = xp.arange(first, n_classes, device=prob.device)[:, None]
    score = xp.moveaxis(prob[..., first:], -1, -2)  # (..., K, n)
    return score, y[..., None, :] == classes, group[..., None, :], where[..., None, :]


@may_be_undefined()
def area_under_roc(ranked: Ranked) -> Array:
    """Area under the ROC curve, with ties counted as one half; NaN where a class is empty."""
    by_class = ranked.count.sum(-2) * ranked.ends[..., None, :]
    # Counts never fall, so a running maximum carries the last real cut over the rows of a tie.
    carried = running_max(by_class)
    false, true = carried[..., 0, :], carried[..., 1, :]  # (..., 1 + n)
    area = (_steps(false) * (true[..., 1:] + true[..., :-1])).sum(-1)
    return _nan_if_nan_scored(area / (2 * false[..., -1] * true[..., -1]), ranked)


def odds_over_threshold(ranked: Ranked) -> Array:
    """Integral of EO(tau) over tau in [0, 1]: the paper's AUEOC; NaN where a cell is empty."""
    width = -_steps(ranked.score.clip(0, 1))  # between 1 and the top score every rate is 0: EO = 1
    return 1 - (width * odds_gap(ranked)[..., :-1]).sum(-1)


@may_be_undefined()
def odds_over_fpr(ranked: Ranked) -> Array:
    """Integral of EO over the overall false positive rate; NaN where a cell is empty."""
    false = ranked.count[..., 0, :, :].sum(-2)
    fpr = false / false[..., -1:]
    area = _trapezoid(1 - odds_gap(ranked), fpr, ranked.ends)
    return _nan_if_nan_scored(area, ranked)


@may_be_undefined()
def predictive_values_over_fpr(ranked: Ranked) -> Array:
    """Integral of 1 - |difference in PPV| over the overall FPR, as in the released code.

    Thresholds are those of ``sklearn.metrics.roc_curve`` (``drop_intermediate=True``) at which
    every group has a predicted positive; NaN where a (class, group) cell is empty.
    """
    predicted = ranked.count.sum(-3)  # (..., G, 1 + n)
    gap = _spread(ranked.count[..., 1, :, :] / predicted)
    by_class = ranked.count.sum(-2)  # (..., 2, 1 + n)
    false = by_class[..., 0, :]
    kept = ranked.ends & ~_collinear(by_class, ranked.ends) & (predicted > 0).all(-2)
    area = _trapezoid(1 - gap, false / false[..., -1:], kept)
    empty = (ranked.total == 0).any(-1).any(-1)
    xp = namespace(area)
    return _nan_if_nan_scored(xp.where(empty, xp.nan, area), ranked)


def _mean(metric: RankedMetric) -> RankedMetric:
    """Mean over classes, each against the rest."""
    return lambda ranked: metric(ranked).mean(-1)


METRICS: dict[str, RankedMetric] = {
    "auroc": _mean(area_under_roc),
    "aueoc": _mean(odds_over_threshold),
    "hm": lambda ranked: harmonic_mean(METRICS["auroc"](ranked), METRICS["aueoc"](ranked)),
    "aueoc_over_fpr": _mean(odds_over_fpr),
    "aueoc_released": _mean(predictive_values_over_fpr),
}


@may_be_undefined()
def odds_gap(ranked: Ranked) -> Array:
    """1 - EO at every place: mean over TPR and FPR of the spread between groups, (..., 1 + n)."""
    return _spread(ranked.count / ranked.total[..., None]).mean(-2)


def _spread(by_group: Array) -> Array:
    """Largest minus smallest over groups, (..., G, m) -> (..., m)."""
    if by_group.shape[-2] == 2:  # the same number, without two reductions
        return abs(by_group[..., 0, :] - by_group[..., 1, :])
    xp = namespace(by_group)
    return xp.amax(by_group, -2) - xp.amin(by_group, -2)


def _trapezoid(height: Array, base: Array, kept: Array) -> Array:
    """Trapezoid rule over only the kept places, (..., m) -> (...)."""
    last = _last_kept(kept)[..., :-1]  # last kept place before 1, 2, ..., m - 1
    before = last.clip(0)
    width = base[..., 1:] - take(base, before)
    mean = (height[..., 1:] + take(height, before)) / 2
    return namespace(base).where(kept[..., 1:] & (last >= 0), width * mean, 0).sum(-1)


def _last_kept(kept: Array) -> Array:
    """Index of the last kept place at or before each place; -1 before the first."""
    xp = namespace(kept)
    return running_max(xp.where(kept, xp.arange(kept.shape[-1], device=kept.device), -1))


def _collinear(by_class: Array, ends: Array) -> Array:
    """Places ``roc_curve`` drops: both counts grow by as much before as after, (..., m)."""
    xp = namespace(ends)
    before = with_edge(_last_kept(ends)[..., :-1], 0)  # previous cut; the start is its own
    before_2 = xp.broadcast_to(before[..., None, :], by_class.shape)
    growth = by_class - take(by_class, before_2)  # (..., 2, m), since the previous cut
    same = (growth == take(growth, before_2)).all(-2)
    # The verdict on a cut is known at the next cut, so each cut writes it to the one before;
    # rows inside a tie write to the start column, which roc_curve does not count as a cut.
    dropped = put(xp.zeros_like(ends), xp.where(ends, before, 0), same)
    # roc_curve looks for corners before it prepends the start: the first real cut always stays.
    return dropped & (before > 0)


def _nan_if_nan_scored(value: Array, ranked: Ranked) -> Array:
    """NaN where a row that counts has a NaN score; the sort puts NaN first."""
    xp = namespace(value)
    return xp.where(xp.isnan(ranked.score[..., 0]), xp.nan, value)


def _steps(values: Array) -> Array:
    """Differences between neighbours along the last axis."""
    return values[..., 1:] - values[..., :-1]
