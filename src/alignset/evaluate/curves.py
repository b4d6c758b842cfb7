"""True and false positive rates of every group, and how even they are, at all thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alignset.evaluate.arrays import may_be_undefined
from alignset.evaluate.inputs import Inputs, Weights, check_inputs, warn_if_empty

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupCurves:
    """True and false positive rate of every group at every threshold.

    Parameters
    ----------
    thresholds : array of shape (T,)
        +inf, then the distinct scores, falling; a prediction is ``score >= threshold``.
    tpr, fpr : array of shape (G, T)
        NaN for a group without a row of that class.
    groups : tuple of length G
        Group names, sorted.
    """

    thresholds: Floats
    tpr: Floats
    fpr: Floats
    groups: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class OddsCurve:
    """EO(tau) = 1 - (spread of TPR + spread of FPR) / 2, a step function of the threshold.

    ``thresholds`` are those of :class:`GroupCurves`; EO at each holds down to the next one.
    """

    thresholds: Floats
    eo: Floats

    def at(self, tau: ArrayLike) -> Floats:
        """Evaluate EO at any thresholds."""
        rising = self.thresholds[::-1]
        return np.asarray(self.eo[::-1][np.searchsorted(rising, np.asarray(tau, dtype=np.float64))])


def group_curves(
    y_true: ArrayLike, y_score: ArrayLike, groups: ArrayLike, *, sample_weight: Weights = None
) -> GroupCurves:
    """Compute the true and false positive rate of every group at every threshold.

    Rates are NaN, with an ``EmptyCellWarning``, where a group lacks a class.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two classes; the larger of ``np.unique`` is positive.
    y_score : array-like of shape (n,) or (n, 2)
        Score of the positive class.
    groups : array-like of shape (n,)
        Group labels of any type.
    sample_weight : array-like of shape (n,), optional
        How much each row counts, >= 0; 1 by default.

    Examples
    --------
    >>> curves = group_curves([0, 1, 0, 1], [0.2, 0.9, 0.2, 0.5], ["f", "f", "m", "m"])
    >>> curves.thresholds, curves.tpr
    (array([inf, 0.9, 0.5, 0.2]), array([[0., 1., 1., 1.],
                                         [0., 0., 1., 1.]]))
    """
    return _curves(check_inputs(y_true, y_score, groups, sample_weight))


def equalized_odds(
    y_true: ArrayLike, y_score: ArrayLike, groups: ArrayLike, *, sample_weight: Weights = None
) -> OddsCurve:
    """Compute EO(tau) at every threshold.

    Parameters are those of :func:`group_curves`. For two groups ``1 - EO(tau)`` is fairlearn's
    ``equalized_odds_difference(..., agg="mean")``; for more, the spread is largest minus smallest.

    Examples
    --------
    >>> curve = equalized_odds([0, 1, 0, 1], [0.2, 0.9, 0.2, 0.5], ["f", "f", "m", "m"])
    >>> curve.eo, curve.at([0.1, 0.6, 0.95])
    (array([1. , 0.5, 1. , 1. ]), array([1. , 0.5, 1. ]))
    """
    curves = _curves(check_inputs(y_true, y_score, groups, sample_weight))
    return OddsCurve(curves.thresholds, 1 - (np.ptp(curves.tpr, 0) + np.ptp(curves.fpr, 0)) / 2)


def _curves(rows: Inputs) -> GroupCurves:
    """Rates at every place where a threshold can cut."""
    if len(rows.classes) > 2:
        raise ValueError(
            f"curves are drawn for one class against the rest, got {len(rows.classes)} classes; "
            "pass y_true == c and the score of class c."
        )
    warn_if_empty(rows, by_group=True, stacklevel=4)
    ranked = rows.ranked()
    ends = ranked.ends[0] & (ranked.score[0] > -np.inf)  # -inf marks rows that do not count
    with may_be_undefined():
        rate = (ranked.count / ranked.total[..., None])[0][..., ends]  # (2, G, T)
    return GroupCurves(ranked.score[0][ends], rate[1], rate[0], rows.groups)
