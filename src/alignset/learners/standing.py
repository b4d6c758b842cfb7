"""How candidates did on reviewed rows they did not see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alignset.learners.base import Floats, Ints, to_probability
from alignset.learners.stacking import total_log_loss


@dataclass(frozen=True)
class CandidateScore:
    """One candidate, or the blend of all."""

    labels: str
    learner: str
    weight: float
    log_loss: float
    auroc: float
    low: float  # 95 % interval of the AUROC
    high: float


def standing(
    name: tuple[str, str], v: float, odds: Floats, y: Ints, weight: Floats
) -> CandidateScore:
    """Return how held-out log-odds (n, K) did."""
    loss = total_log_loss(odds, y, weight) / weight.sum()
    area, error = auroc_with_error(to_probability(odds), y, weight)
    low, high = np.clip([area - 1.96 * error, area + 1.96 * error], 0.0, 1.0).tolist()
    return CandidateScore(*name, v, float(loss), area, low, high)


def auroc_with_error(p: Floats, y: Ints, weight: Floats) -> tuple[float, float]:
    """Return the AUROC, the mean over classes against the rest, and its standard error.

    DeLong et al. (1988): each row's placement among the rows of the other kind, weighted. NaN if
    fewer than two classes occur.
    """
    K = p.shape[1]
    areas, influence = [], np.zeros(len(y))
    classes = [1] if K == 2 else [k for k in range(K) if 0 < (y == k).sum() < len(y)]
    for k in classes:
        own = y == k
        if not own.any() or own.all():
            return float("nan"), float("nan")
        up, down = weight * own, weight * ~own
        above = _share_below(p[:, k], down) * own + (1 - _share_below(p[:, k], up)) * ~own
        area = float((up @ above) / up.sum())
        areas.append(area)
        influence += (up / up.sum() + down / down.sum()) * (above - area)
    if not areas:
        return float("nan"), float("nan")
    return float(np.mean(areas)), float(np.sqrt((influence**2).sum()) / len(areas))


def _share_below(score: Floats, weight: Floats) -> Floats:
    """Share of the weight at lower scores, ties counted one half, for each row."""
    values, place = np.unique(score, return_inverse=True)
    mass = np.bincount(place, weight, len(values))
    below = np.cumsum(mass) - mass / 2
    return np.asarray(below[place] / mass.sum())
