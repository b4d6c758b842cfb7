"""Label switching: in which groups a model takes one class for another.

Observed labels alone cannot tell the classes from a permutation of them; reviewed rows that were
held out of training can. Classes count equally, so that a model that merely expects a class too
often in some group is not taken for one that confuses classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import t as student

MIN_ROWS = 10
"""Rows that a group needs before anything is said about it."""

MIN_ERRORS, LEVEL = 2.0, 0.025
"""Standard errors that a ring of classes must gain at least; more if several could have gained."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Switch:
    """A group, by its code, in which a permutation of the classes fits better.

    Parameters
    ----------
    order : tuple of int
        ``order[k]`` is the class predicted where class k is true.
    gain, error : float
        How much more probable ``order[y]`` is than y on average, and the standard error.
    n_rows : int
        Rows of the classes that were swapped.
    """

    group: int
    order: tuple[int, ...]
    gain: float
    error: float
    n_rows: int

    @property
    def moved(self) -> list[int]:
        """The classes that were swapped."""
        return [k for k, j in enumerate(self.order) if j != k]


def switched_groups(prob: Any, y: Any, group: Any) -> list[Switch]:
    """Return the groups in which a permutation of the classes fits significantly better.

    Class probabilities (n, K) are for rows that were not used to train the model; true classes
    and groups (n,) are codes. A group needs ten rows and two classes to be examined.

    The best permutation is made of rings of classes, each taken for the next. Every ring that
    there could have been counts as looked at: those of m classes share 1 / (K - 1) of the level,
    so the chance of naming any group in which no ring fits better is at most the level.
    """
    prob, y, group = np.asarray(prob, dtype=np.float64), np.asarray(y), np.asarray(group)
    looked = [g for g in np.unique(group).tolist() if _enough(y[group == g])]
    found = [_switch(prob[group == g], y[group == g], g, len(looked)) for g in looked]
    return [switch for switch in found if switch is not None]


def _enough(y: Ints) -> bool:
    return len(y) >= MIN_ROWS and len(np.unique(y)) > 1


def _switch(prob: Floats, y: Ints, group: int, n_groups: int) -> Switch | None:
    best, classes = _best_order(prob, y), prob.shape[1]
    order = np.arange(classes)
    for ring in _rings(best):
        rows = np.isin(y, ring)
        gain, error, spare = _mean_of_classes(_gains(prob[rows], y[rows], best), y[rows])
        looks = n_groups * (classes - 1) * comb(classes, len(ring)) * factorial(len(ring) - 1)
        if spare < 1:
            continue
        enough = max(MIN_ERRORS, float(student.isf(LEVEL / looks, spare)))
        if gain > max(1e-9, enough * error):
            order[ring] = best[ring]
    moved = order[y] != y
    if not moved.any():
        return None
    gain, error, _ = _mean_of_classes(_gains(prob[moved], y[moved], order), y[moved])
    return Switch(group, tuple(order.tolist()), gain, error, int(moved.sum()))


def _gains(prob: Floats, y: Ints, order: Ints) -> Floats:
    """Return how much more probable ``order[y]`` is than y, (n,)."""
    at = np.arange(len(y))
    return np.asarray(prob[at, order[y]] - prob[at, y])


def _rings(order: Ints) -> list[list[int]]:
    """Cut a permutation into rings: classes that take each other's places, two or more."""
    left, rings = set(range(len(order))), []
    while left:
        ring = [left.pop()]
        while (k := int(order[ring[-1]])) in left:
            left.remove(k)
            ring.append(k)
        rings.append(ring)
    return [ring for ring in rings if len(ring) > 1]


def _best_order(prob: Floats, y: Ints) -> Ints:
    """Return the permutation under which the true classes are most probable."""
    n = prob.shape[1]
    mean = np.eye(n) * 1e-9  # a tie keeps the classes as they are; absent ones stay if they can
    for k in np.unique(y):
        mean[k] += prob[y == k].mean(0)
    return np.asarray(linear_sum_assignment(mean, maximize=True)[1], dtype=np.int64)


def _mean_of_classes(values: Floats, y: Ints) -> tuple[float, float, int]:
    """Mean of the class means, its standard error (pooled variance), and degrees of freedom."""
    _, y, size = np.unique(y, return_inverse=True, return_counts=True)
    mean = np.bincount(y, values) / size
    spare = len(y) - len(size)
    variance = float(((values - mean[y]) ** 2).sum()) / max(1, spare)
    return float(mean.mean()), float(np.sqrt(variance * (1 / size).sum())) / len(size), spare
