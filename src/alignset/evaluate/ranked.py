"""Areas computed from rows sorted by falling score: the one implementation of all metrics.

Every function takes any leading axes and reduces only the last one, so a stack of models is scored
like a single model. Nothing here looks at a value on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad


@dataclass(frozen=True, eq=False)
class Ranked:
    """Weights of the rows at or above each threshold, from +inf down to the lowest score.

    Parameters
    ----------
    score : Tensor of shape (..., 1 + n)
        Thresholds: +inf, then the scores, falling; -inf for rows that do not count.
    ends : bool Tensor of shape (..., 1 + n)
        The last row of each tie: the places where a threshold really cuts.
    count : Tensor of shape (..., 2, G, 1 + n)
        Summed weight of the rows of (class, group) at or before this place.
    """

    score: Tensor
    ends: Tensor
    count: Tensor

    @property
    def total(self) -> Tensor:
        """Summed weight of every (class, group) cell, shape (..., 2, G)."""
        return self.count[..., -1]

    def by_group(self) -> Ranked:
        """Return each group's rows separately, on a leading axis of groups."""
        return replace(self, count=self.count.movedim(-2, 0).unsqueeze(-2))


RankedMetric = Callable[[Ranked], Tensor]
Scalar = TypeVar("Scalar", float, Tensor)


def harmonic_mean(a: Scalar, b: Scalar) -> Scalar:
    """Harmonic mean of two numbers, or of two tensors, >= 0; 0 if both are 0, NaN if either is NaN.

    Examples
    --------
    >>> harmonic_mean(0.5, 1.0)
    0.666...
    """
    total = a + b
    return 2 * a * b / (total + (total == 0))


def rank(score: Tensor, y: Tensor, group: Tensor, where: Tensor, n_groups: int) -> Ranked:
    """Sort rows by falling score and count (class, group) cells along the way.

    All arguments are (..., n), with leading axes that broadcast: a finite score, a 0/1 label, a
    group code, and which rows count (bool) or how much (float >= 0).
    """
    shape = np.broadcast_shapes(score.shape, y.shape, group.shape, where.shape)
    counts = where if where.dtype == torch.bool else where > 0
    cell = torch.where(counts, (y == 1) * n_groups + group, -1)
    # The start column belongs to no cell: nothing is predicted positive at threshold +inf.
    cell = pad(cell, (1, 0), value=-1).expand(*shape[:-1], -1)
    falling = pad(torch.where(counts, score, -torch.inf), (1, 0), value=torch.inf)
    sorted_score, order = falling.sort(dim=-1, descending=True)
    order = order.expand(cell.shape)
    cells = torch.arange(2 * n_groups, device=score.device).unsqueeze(-1)
    member = cell.gather(-1, order).unsqueeze(-2) == cells  # (..., 2G, 1 + n)
    if where.dtype != torch.bool:
        weight = pad(where.to(score.dtype), (1, 0)).expand(cell.shape).gather(-1, order)
        member = member * weight.unsqueeze(-2)
    count = member.cumsum(-1, dtype=score.dtype).view(*cell.shape[:-1], 2, n_groups, -1)
    ends = pad(sorted_score[..., 1:] != sorted_score[..., :-1], (0, 1), value=True)
    return Ranked(sorted_score.expand(cell.shape), ends.expand(cell.shape), count)


def one_vs_rest(
    prob: Tensor, y: Tensor, group: Tensor, where: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Give score, label, group and mask an axis of classes: all K, or only class 1 when K = 2."""
    n_classes = prob.shape[-1]
    first = 1 if n_classes == 2 else 0
    classes = torch.arange(first, n_classes, device=prob.device).unsqueeze(-1)
    score = prob[..., first:].movedim(-1, -2)  # (..., K, n)
    return score, y.unsqueeze(-2) == classes, group.unsqueeze(-2), where.unsqueeze(-2)


def area_under_roc(ranked: Ranked) -> Tensor:
    """Area under the ROC curve, with ties counted as one half; NaN where a class is empty."""
    by_class = ranked.count.sum(-2) * ranked.ends.unsqueeze(-2)
    # Counts never fall, so a running maximum carries the last real cut over the rows of a tie.
    false, true = by_class.cummax(-1).values.unbind(-2)  # (..., 1 + n)
    area = (false.diff() * (true[..., 1:] + true[..., :-1])).sum(-1)
    return _nan_if_nan_scored(area / (2 * false[..., -1] * true[..., -1]), ranked)


def odds_over_threshold(ranked: Ranked) -> Tensor:
    """Integral of EO(tau) over tau in [0, 1]: the paper's AUEOC; NaN where a cell is empty."""
    width = -ranked.score.clamp(0, 1).diff()  # between 1 and the top score every rate is 0: EO = 1
    return 1 - (width * odds_gap(ranked)[..., :-1]).sum(-1)


def odds_over_fpr(ranked: Ranked) -> Tensor:
    """Integral of EO over the overall false positive rate; NaN where a cell is empty."""
    false = ranked.count[..., 0, :, :].sum(-2)
    fpr = false / false[..., -1:]
    area = _trapezoid(1 - odds_gap(ranked), fpr, ranked.ends)
    return _nan_if_nan_scored(area, ranked)


def predictive_values_over_fpr(ranked: Ranked) -> Tensor:
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
    empty = (ranked.total == 0).flatten(-2).any(-1)
    return _nan_if_nan_scored(area.masked_fill(empty, torch.nan), ranked)


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


def odds_gap(ranked: Ranked) -> Tensor:
    """1 - EO at every place: mean over TPR and FPR of the spread between groups, (..., 1 + n)."""
    return _spread(ranked.count / ranked.total.unsqueeze(-1)).mean(-2)


def _spread(by_group: Tensor) -> Tensor:
    """Largest minus smallest over groups, (..., G, m) -> (..., m)."""
    if by_group.shape[-2] == 2:  # the same number, without two reductions
        return (by_group[..., 0, :] - by_group[..., 1, :]).abs()
    return by_group.amax(-2) - by_group.amin(-2)


def _trapezoid(height: Tensor, base: Tensor, kept: Tensor) -> Tensor:
    """Trapezoid rule over only the kept places, (..., m) -> (...)."""
    last = _last_kept(kept)[..., :-1]  # last kept place before 1, 2, ..., m - 1
    before = last.clamp_min(0)
    width = base[..., 1:] - base.gather(-1, before)
    mean = (height[..., 1:] + height.gather(-1, before)) / 2
    return torch.where(kept[..., 1:] & (last >= 0), width * mean, 0).sum(-1)


def _last_kept(kept: Tensor) -> Tensor:
    """Index of the last kept place at or before each place; -1 before the first."""
    places = torch.arange(kept.shape[-1], device=kept.device)
    return torch.where(kept, places, -1).cummax(-1).values


def _collinear(by_class: Tensor, ends: Tensor) -> Tensor:
    """Places ``roc_curve`` drops: both counts grow by as much before as after, (..., m)."""
    before = pad(_last_kept(ends)[..., :-1], (1, 0))  # previous cut; the start is its own
    before_2 = before.unsqueeze(-2).expand(by_class.shape)
    growth = by_class - by_class.gather(-1, before_2)  # (..., 2, m), since the previous cut
    same = (growth == growth.gather(-1, before_2)).all(-2)
    # The verdict on a cut is known at the next cut, so each cut writes it to the one before;
    # rows inside a tie write to the start column, which roc_curve does not count as a cut.
    target = torch.where(ends, before, 0)
    dropped = torch.zeros_like(ends).scatter(-1, target, same)
    # roc_curve looks for corners before it prepends the start: the first real cut always stays.
    return dropped & (before > 0)


def _nan_if_nan_scored(value: Tensor, ranked: Ranked) -> Tensor:
    """NaN where a row that counts has a NaN score; the sort puts NaN first."""
    return value.masked_fill(ranked.score[..., 0].isnan(), torch.nan)
