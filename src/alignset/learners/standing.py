"""How candidates did on reviewed rows they did not see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alignset.evaluate.estimands import one_auroc
from alignset.learners.base import Floats, Ints, one_hot, to_probability
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
    name: tuple[str, str],
    v: float,
    odds: Floats,
    y: Ints,
    weight: Floats,
    share: Floats | float = 1.0,
    unit: Ints | None = None,
) -> CandidateScore:
    """Return how held-out log-odds (n, K) did; ``share`` is the part of a row that each is."""
    loss = total_log_loss(odds, y, weight) / weight.sum()
    area, error = auroc_with_error(to_probability(odds), y, weight, share, unit)
    low, high = np.clip([area - 1.96 * error, area + 1.96 * error], 0.0, 1.0).tolist()
    return CandidateScore(*name, v, float(loss), area, low, high)


def auroc_with_error(
    p: Floats, y: Ints, weight: Floats, share: Floats | float = 1.0, unit: Ints | None = None
) -> tuple[float, float]:
    """Return the AUROC, the mean over classes against the rest, and its standard error.

    By its influence function, which is DeLong's (1988). NaN if fewer than two classes occur. Of a
    row of uncertain class, which is one copy per class with ``share`` q_k of its weight w, the
    square that is expected is the sum of q_k (w influence_k)^2. What the rows of a ``unit`` add is
    added up before it is squared (Obuchowski 1997).
    """
    K = p.shape[1]
    classes = [1] if K == 2 else np.unique(y).tolist()
    found = [one_auroc(p[:, k], one_hot((y == k).astype(np.int64), 2), weight) for k in classes]
    area = float(np.mean([one.value for one in found]))
    if np.isnan(area):
        return area, area
    influence = np.zeros(len(y))
    for k, one in zip(classes, found, strict=True):
        influence += np.where(y == k, one.psi[:, 1], one.psi[:, 0]) / len(found)
    square = ((weight * influence) ** 2 / share).sum()
    if unit is not None:
        square = max(square, (np.bincount(unit, weight * influence) ** 2).sum())
    return area, float(np.sqrt(square) / weight.sum())
