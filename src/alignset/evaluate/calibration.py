"""How far predicted probabilities are from what happens."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

BINS = 10
"""Parts of as many rows each that calibration is looked at in."""


def brier(y_true: ArrayLike, prob: ArrayLike) -> float:
    """Mean squared distance between class probabilities (n, K) and what is true; 0 is best.

    Examples
    --------
    >>> brier([0, 1], [[1.0, 0.0], [0.5, 0.5]])
    0.25
    """
    p = np.asarray(prob, dtype=np.float64)
    truth = np.eye(p.shape[1])[np.asarray(y_true)]
    return float(((p - truth) ** 2).sum(1).mean())


def calibration_error(y_true: ArrayLike, prob: ArrayLike) -> float:
    """Mean distance between predicted and real frequency, over classes and equal parts of rows.

    Each class's rows are sorted by its probability and cut into ``BINS`` parts; classes count the
    same. Two classes give the usual expected calibration error of either.

    Examples
    --------
    >>> calibration_error([0, 1], [[0.5, 0.5], [0.5, 0.5]])
    0.5
    """
    p, y = np.asarray(prob, dtype=np.float64), np.asarray(y_true)
    gaps = []
    for k in range(p.shape[1]):
        order = p[:, k].argsort(kind="stable")
        parts = [part for part in np.array_split(order, BINS) if len(part)]
        gaps.append(sum(abs((p[i, k] - (y[i] == k)).sum()) for i in parts) / len(y))
    return float(np.mean(gaps))
