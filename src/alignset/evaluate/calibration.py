"""How far predicted probabilities are from what happens."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alignset.evaluate.inputs import Weights, check_inputs

BINS = 10
"""Parts of as much weight each that calibration is looked at in."""

Floats = NDArray[np.float64]


def brier(y_true: ArrayLike, prob: ArrayLike, *, sample_weight: Weights = None) -> float:
    """Mean squared distance between class probabilities (n, K) and what is true; 0 is best.

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
    """Mean distance between predicted and real frequency, over classes and equal parts of rows.

    Each class's rows are cut into ``BINS`` parts by its probability; classes count the same. Two
    classes give the usual expected calibration error of either.

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
    """Cut rows into parts of the same size, lowest scores first, without regard to their order.

    Returned is the share of each row that is in each part, (n_parts, n). Rows with the same score
    are shared out alike.
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
    """Probabilities and what is true, both (n, K), and weights (n,)."""
    rows = check_inputs(y_true, prob, sample_weight=sample_weight)
    hit = np.eye(len(rows.classes))[rows.y.numpy()]
    return rows.prob.numpy(), hit, rows.where.double().numpy()
