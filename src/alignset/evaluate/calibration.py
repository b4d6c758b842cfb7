"""How far predicted probabilities are from actual frequencies."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alignset.evaluate.inputs import Weights, check_inputs

BINS = 10
"""Number of parts, of equal weight, in which calibration is measured."""

Floats = NDArray[np.float64]


def brier(y_true: ArrayLike, prob: ArrayLike, *, sample_weight: Weights = None) -> float:
    """Mean squared distance between class probabilities (n, K) and the true classes; 0 is best.

    Examples
    --------
    >>> brier([0, 1], [[1.0, 0.0], [0.5, 0.5]])
    0.25
    """
    p, hit, weight = _rows(y_true, prob, sample_weight)
    return float(np.average(((p - hit) ** 2).sum(1), weights=weight))


def calibration_error(
    y_true: ArrayLike, prob: ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Mean distance between predicted and actual frequency, over classes and equal parts of rows.

    For each class, rows are cut into ``BINS`` parts by its probability; classes count equally.
    With two classes this is the usual expected calibration error of either.

    Examples
    --------
    >>> calibration_error([0, 1], [[0.2, 0.8], [0.2, 0.8]])
    0.3...
    """
    p, hit, weight = _rows(y_true, prob, sample_weight)
    gaps = [
        abs((equal_parts(score, weight, BINS) * weight) @ (score - found)).sum() / weight.sum()
        for score, found in zip(p.T, hit.T, strict=True)
    ]
    return float(np.mean(gaps))


def equal_parts(score: Floats, size: Floats, n_parts: int) -> Floats:
    """Cut rows into parts of equal size, lowest scores first, whatever the order of the rows.

    Returned is the share of each row that is in each part, (n_parts, n). Rows with equal scores
    are divided in the same way.
    """
    _, tie = np.unique(score, return_inverse=True)
    block = np.bincount(tie, size)
    end = block.cumsum()
    edge = np.linspace(0, end[-1], n_parts + 1)[:, None]
    inside = np.minimum(end, edge[1:]) - np.maximum(end - block, edge[:-1])
    share = np.clip(inside, 0, None) / np.where(block > 0, block, 1)
    return np.asarray(share[:, tie])


def _rows(
    y_true: ArrayLike, prob: ArrayLike, sample_weight: Weights
) -> tuple[Floats, Floats, Floats]:
    """Probabilities and true classes, both (n, K), and weights (n,)."""
    rows = check_inputs(y_true, prob, sample_weight=sample_weight)
    hit = np.eye(len(rows.classes))[rows.y]
    return rows.prob, hit, np.asarray(rows.where, dtype=np.float64)
