"""Rates at every threshold, estimated from a review.

For class k, the share of its rows with a score of t or more is estimated as any other rate,

    R_k(t) = R_k(y; A, w) + lambda [ R_k(q; all rows) - R_k(q; A, w) ]                        ,

with one lambda for all t. It is made to fall as t rises, which a difference of three curves need
not do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alignset.evaluate.difference import ReviewedSample, tuned_power

Floats = NDArray[np.float64]

MOST_CUTS = 1000
"""Thresholds to choose from: every score, or as many of their quantiles."""
_TUNED_AT = 9


@dataclass(frozen=True, eq=False)
class RateCurves:
    """What happens at each threshold, (T,): rising thresholds, falling rates."""

    cuts: Floats
    tpr: Floats
    fpr: Floats
    flagged: Floats
    prevalence: float

    def net_benefit(self, at: float) -> Floats:
        """Net benefit if a false alarm costs ``at / (1 - at)`` of what a found case gains."""
        price = at / (1 - at)
        return np.asarray(self.prevalence * self.tpr - (1 - self.prevalence) * price * self.fpr)

    def some(self, n: int) -> RateCurves:
        """Return about n thresholds, those at which the rates differ most."""
        path = np.concatenate([[0.0], np.cumsum(-np.diff(self.tpr) - np.diff(self.fpr))])
        at = np.searchsorted(path, np.linspace(0, path[-1], n))
        at = np.unique(np.append(at, len(path) - 1))
        return RateCurves(
            self.cuts[at], self.tpr[at], self.fpr[at], self.flagged[at], self.prevalence
        )


def candidate_cuts(score: Floats) -> Floats:
    """Rising thresholds: halfway between neighbouring scores, and one above all of them."""
    values = np.unique(score)
    if len(values) > MOST_CUTS:
        values = np.unique(np.quantile(score, np.linspace(0, 1, MOST_CUTS), method="nearest"))
    between = (values[1:] + values[:-1]) / 2
    return np.concatenate([values[:1], between, [np.nextafter(values[-1], np.inf)]])


def rate_curves(sample: ReviewedSample, score: Floats, cuts: Floats) -> RateCurves:
    """Estimate TPR, FPR and share flagged at each threshold; NaN without reviewed rows of a class.

    Parameters
    ----------
    sample : ReviewedSample
    score : float array of shape (n,)
    cuts : float array of shape (T,)
        Rising thresholds.
    """
    tpr, fpr = (_class_curve(sample, score, cuts, k) for k in (1, 0))
    rank = np.searchsorted(cuts, score, side="right")
    share = [float(w @ part[:, 1] / w.sum()) for w, part in _weighted(sample)]
    found = sample.true[sample.reviewed] == 1
    q = sample.soft[:, 1]
    power = tuned_power(sample, found - share[0], q - share[1])
    prevalence = share[0] + power * (share[1] - share[2])
    return RateCurves(
        cuts, tpr, fpr, _above(rank, len(cuts), sample.size), float(np.clip(prevalence, 0, 1))
    )


def _weighted(sample: ReviewedSample) -> list[tuple[Floats, Floats]]:
    """Weights and labels of the three parts of the estimator."""
    y, q = sample.label, sample.soft
    return [(sample.expanded, y), (sample.size, q), (sample.expanded, q)]


def _above(rank: NDArray[np.int64], n_cuts: int, weight: Floats) -> Floats:
    """Share (T,) of the weight that is at or above each threshold."""
    by_rank = np.bincount(rank, weight, minlength=n_cuts + 1)
    above = by_rank[::-1].cumsum()[::-1]
    with np.errstate(invalid="ignore"):
        return np.asarray(above[1:] / above[0])


def _class_curve(sample: ReviewedSample, score: Floats, cuts: Floats, k: int) -> Floats:
    rank = np.searchsorted(cuts, score, side="right")
    weights = [w * label[:, k] for w, label in _weighted(sample)]
    true, soft_all, soft_reviewed = (_above(rank, len(cuts), w) for w in weights)
    if np.isnan(true).any():
        return true
    at = np.unique(np.linspace(0, len(cuts) - 1, _TUNED_AT + 2).astype(int)[1:-1])
    flag = (rank[:, None] > at).astype(np.float64)
    rows, n = np.flatnonzero(sample.reviewed), sample.size.sum()
    scale = [n / w.sum() if w.sum() > 0 else 0.0 for w in weights[:2]]
    found = (sample.true[rows] == k)[:, None] * (flag[rows] - true[at]) * scale[0]
    psi_soft = sample.soft[:, k, None] * (flag - soft_all[at]) * scale[1]
    curve = true + tuned_power(sample, found, psi_soft) * (soft_all - soft_reviewed)
    falling = np.minimum.accumulate(curve), np.maximum.accumulate(curve[::-1])[::-1]
    return np.clip((falling[0] + falling[1]) / 2, 0.0, 1.0)
