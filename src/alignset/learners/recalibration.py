"""Recalibration by group: where reviewed rows show that a group's probabilities are off.

For the rows of a recalibrated group g the log-odds l, (K,), become

    s_g l + b_g                                                                             ,

    min over s, b   sum_i w_i CE(y_i, softmax(s l_i + b)) + n0 / 2 [ v_l (s - 1)^2 + v b^2 ] ,

fitted to reviewed rows that the model did not see and drawn towards s = 1, b = 0 as if by n0 rows
(v and v_l are what a row tells about b and s). A group is recalibrated only if the interval of its
calibration gap, or of its slope, leaves out what it should be; the level of the intervals is such
that, of models that are calibrated in every group, 5 % are touched. All other rows keep their
probabilities to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from alignset.evaluate import estimate
from alignset.evaluate.proportion import kish_size
from alignset.learners.base import Floats, Ints, log_odds, one_hot, to_probability

PRIOR_ROWS = 20.0
"""How many rows the prior counts for."""
FEWEST = 10
"""Reviewed rows of each class that a group needs to be recalibrated."""
TOUCHED = 0.05
"""Share of calibrated models of which some group is recalibrated all the same."""


@dataclass(frozen=True, eq=False)
class GroupCalibration:
    """Slope and intercepts of each group; 1 and 0 where nothing is changed.

    Examples
    --------
    >>> found = GroupCalibration(np.array([1.0, 1.0]), np.array([[0.0, 0.0], [-1.0, 1.0]]))
    >>> found.apply(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([0, 1])).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """

    slope: Floats  # (G,)
    offset: Floats  # (G, K)

    @classmethod
    def none(cls, n_groups: int, n_classes: int) -> GroupCalibration:
        """Change nothing."""
        return cls(np.ones(n_groups), np.zeros((n_groups, n_classes)))

    @property
    def changed(self) -> list[int]:
        """Codes of the groups that are recalibrated."""
        return np.flatnonzero((self.slope != 1) | (self.offset != 0).any(1)).tolist()

    def apply(self, probability: Floats, group: Ints) -> Floats:
        """Recalibrate probabilities (n, K) by group codes (n,), -1 where the group is unknown."""
        found = probability.copy()
        for g in self.changed:
            here = group == g
            odds = self.slope[g] * log_odds(probability[here]) + self.offset[g]
            found[here] = to_probability(odds)
        return found

    def told(self, names: Sequence[Any]) -> list[str]:
        """Say which groups are recalibrated, and how."""
        return [
            f"probabilities of group {names[g]!r} are recalibrated (log-odds times "
            f"{self.slope[g]:.2f}, intercept {self.offset[g, -1] - self.offset[g, 0]:+.2f}): on "
            "reviewed rows that the model did not see they were off by more than chance."
            for g in self.changed
        ]


def fit_group_calibration(
    probability: Floats,
    y_seen: Ints,
    y: Ints,
    group: Ints,
    weight: Floats,
    n_groups: int,
    *,
    seed: int,
    share: Floats | None = None,
) -> GroupCalibration:
    """Find the groups that are off, and recalibrate them; a single group is the model itself.

    Parameters
    ----------
    probability : float array of shape (n, K)
        What the model said of reviewed rows it did not see.
    y_seen, y, group : int arrays of shape (n,)
        Observed and true class, and group of each.
    weight : float array of shape (n,)
        How many rows each stands for.
    share : float array of shape (n,), optional
        Part of a row that each is, where classes are uncertain.
    """
    share = np.ones(len(y)) if share is None else share
    n_classes = probability.shape[1]
    found = GroupCalibration.none(n_groups, n_classes)
    members = [np.flatnonzero(group == g) for g in range(n_groups)]
    judged = [
        g
        for g, own in enumerate(members)
        if n_groups > 1 and np.bincount(y[own], share[own], n_classes).min() >= FEWEST
    ]
    for g in judged:
        own = members[g]
        rows = probability[own], y_seen[own], y[own], weight[own]
        if _is_off(*rows, tests=len(judged), seed=seed):
            found.slope[g], found.offset[g] = _fit(rows[0], rows[2], rows[3])
    return found


def _is_off(
    probability: Floats, y_seen: Ints, y: Ints, weight: Floats, *, tests: int, seed: int
) -> bool:
    """Tell whether an interval of the gap leaves out 0, or one of the slope 1."""
    n_classes = probability.shape[1]
    classes = [1] if n_classes == 2 else range(n_classes)
    level = 1 - TOUCHED / (2 * len(classes) * tests)
    for k in classes:
        rows = probability[:, k], (y_seen == k).astype(np.int64), (y == k).astype(np.int64)
        for metric, right in (("calibration", 0.0), ("slope", 1.0)):
            one = estimate(metric, *rows, sample_weight=weight, level=level, random_state=seed)
            if one.low > right or one.high < right:
                return True
    return False


def _fit(probability: Floats, y: Ints, weight: Floats) -> tuple[float, Floats]:
    """Return slope and intercepts, drawn towards 1 and 0."""
    n_classes, odds = probability.shape[1], log_odds(probability)
    hit = one_hot(y, n_classes)
    weight = weight * (kish_size(weight) / weight.sum())
    variance = probability * (1 - probability)
    about = PRIOR_ROWS * np.array([(variance * odds**2).sum(1).mean(), *variance.mean(0)])

    def value(at: Floats) -> tuple[float, Floats]:
        z = at[0] * odds + at[1:]
        top = np.logaddexp.reduce(z, axis=1)
        miss = weight[:, None] * (np.exp(z - top[:, None]) - hit)
        away = at - start
        loss = weight @ (top - (z * hit).sum(1)) + 0.5 * about @ away**2
        return float(loss), np.concatenate([[(miss * odds).sum()], miss.sum(0)]) + about * away

    start = np.concatenate([[1.0], np.zeros(n_classes)])
    bounds = [(0.0, None)] + [(None, None)] * n_classes
    found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(found[0]), np.asarray(found[1:] - found[1:].mean())
