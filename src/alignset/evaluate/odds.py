"""How evenly errors fall on groups: equalized odds, along thresholds and as one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alignset.evaluate.batched import aueoc_ovr
from alignset.evaluate.inputs import (
    Inputs,
    check_binary,
    check_inputs,
    check_probability,
    warn_if_empty,
)
from alignset.evaluate.ranked import odds_over_fpr, predictive_values_over_fpr, rank

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

    Examples
    --------
    >>> group_curves([0, 1, 0, 1], [0.2, 0.9, 0.2, 0.5], ["f", "f", "m", "m"]).groups
    ('f', 'm')
    """

    thresholds: Floats
    tpr: Floats
    fpr: Floats
    groups: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class OddsCurve:
    """EO(tau) = 1 - (spread of TPR + spread of FPR) / 2, a step function of the threshold.

    Parameters
    ----------
    thresholds : array of shape (T,)
        +inf, then the distinct scores, falling.
    eo : array of shape (T,)
        EO at each threshold; it holds down to the next one.

    Examples
    --------
    >>> curve = equalized_odds([0, 1, 0, 1], [0.2, 0.9, 0.2, 0.5], ["f", "f", "m", "m"])
    >>> curve.at([0.1, 0.6, 0.95])
    array([1. , 0.5, 1. ])
    """

    thresholds: Floats
    eo: Floats

    def at(self, tau: ArrayLike) -> Floats:
        """Evaluate EO at any thresholds."""
        rising = self.thresholds[::-1]
        return np.asarray(self.eo[::-1][np.searchsorted(rising, np.asarray(tau, dtype=np.float64))])


def group_curves(y_true: ArrayLike, y_score: ArrayLike, groups: ArrayLike) -> GroupCurves:
    """Compute the true and false positive rate of every group at every threshold.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two classes; the larger of ``np.unique`` is positive.
    y_score : array-like of shape (n,) or (n, 2)
        Score of the positive class.
    groups : array-like of shape (n,)
        Group labels of any type.

    Returns
    -------
    GroupCurves
        Rates are NaN, with an ``EmptyCellWarning``, where a group lacks a class.

    Examples
    --------
    >>> curves = group_curves([0, 1, 0, 1], [0.2, 0.9, 0.2, 0.5], ["f", "f", "m", "m"])
    >>> curves.thresholds, curves.tpr
    (array([inf, 0.9, 0.5, 0.2]), array([[0., 1., 1., 1.],
                                         [0., 0., 1., 1.]]))
    """
    rows = check_inputs(y_true, y_score, groups)
    check_binary(rows)
    warn_if_empty(rows, by_group=True)
    return _curves(rows)


def equalized_odds(y_true: ArrayLike, y_score: ArrayLike, groups: ArrayLike) -> OddsCurve:
    """Compute EO(tau) at every threshold.

    Parameters are those of :func:`group_curves`. For two groups ``1 - EO(tau)`` is fairlearn's
    ``equalized_odds_difference(..., agg="mean")``; for more, the spread is largest minus smallest.

    Returns
    -------
    OddsCurve

    Examples
    --------
    >>> equalized_odds([0, 1, 0, 1], [0.2, 0.9, 0.2, 0.5], ["f", "f", "m", "m"]).eo
    array([1. , 0.5, 1. , 1. ])
    """
    rows = check_inputs(y_true, y_score, groups)
    check_binary(rows)
    warn_if_empty(rows, by_group=True)
    curves = _curves(rows)
    return OddsCurve(curves.thresholds, 1 - (np.ptp(curves.tpr, 0) + np.ptp(curves.fpr, 0)) / 2)


def aueoc(y_true: ArrayLike, y_score: ArrayLike, groups: ArrayLike) -> float:
    """Area under the equalized odds curve over thresholds in [0, 1], as the paper defines it.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two classes, the larger of ``np.unique`` being positive, or K in sorted order.
    y_score : array-like of shape (n,) or (n, K)
        Probability of the positive class; or one column per class, and the result is the mean
        over classes of each against the rest.
    groups : array-like of shape (n,)
        Group labels of any type. With one group there is nothing to compare, and the area is 1.

    Returns
    -------
    float
        In [0, 1], higher is more even. NaN, with an ``EmptyCellWarning``, if a group lacks a class.

    Notes
    -----
    The integral of ``EO(tau)`` over ``tau`` is exact. It depends on calibration: scores that are
    nearly constant get nearly 1. :func:`aueoc_over_fpr` depends on the order of scores alone.

    Examples
    --------
    >>> aueoc([0, 1, 0, 1], [0.2, 0.9, 0.2, 0.5], ["f", "f", "m", "m"])
    0.8
    """
    rows = check_inputs(y_true, y_score, groups)
    check_probability(rows)
    warn_if_empty(rows, by_group=True)
    return float(aueoc_ovr(rows.prob, rows.y, rows.group, rows.where, len(rows.groups)))


def aueoc_over_fpr(y_true: ArrayLike, y_score: ArrayLike, groups: ArrayLike) -> float:
    """Area under the equalized odds curve over the overall false positive rate.

    Parameters, NaN rule and multiclass are those of :func:`aueoc`, but any score will do: the
    result does not change under a monotone transform.

    Examples
    --------
    >>> aueoc_over_fpr([0, 1, 0, 1], [3, 9, 2, 5], ["f", "f", "m", "m"])
    0.75
    """
    rows = check_inputs(y_true, y_score, groups)
    warn_if_empty(rows, by_group=True)
    n_groups = len(rows.groups)
    return float(
        aueoc_ovr(rows.prob, rows.y, rows.group, rows.where, n_groups, aueoc=odds_over_fpr)
    )


def aueoc_released(y_true: ArrayLike, y_score: ArrayLike, groups: ArrayLike) -> float:
    """Area under 1 - |difference in PPV| over the overall FPR, as the released code computes it.

    This is predictive parity, not equalized odds. All published values are of this kind; it is
    here to compare with them. Parameters, NaN rule and multiclass are those of :func:`aueoc`;
    thresholds are explained at ``alignset.evaluate.batched.aueoc_ppv_released``.

    Examples
    --------
    >>> aueoc_released([0, 1, 0, 1], [0.6, 0.9, 0.2, 0.5], ["f", "f", "m", "m"])
    0.375
    """
    rows = check_inputs(y_true, y_score, groups)
    warn_if_empty(rows, by_group=True)
    kind = predictive_values_over_fpr
    return float(aueoc_ovr(rows.prob, rows.y, rows.group, rows.where, len(rows.groups), aueoc=kind))


def _curves(rows: Inputs) -> GroupCurves:
    """Rates at the places where a threshold cuts."""
    ranked = rank(rows.score, rows.y, rows.group, rows.where, len(rows.groups))
    rate = (ranked.count / ranked.total.unsqueeze(-1))[..., ranked.ends].numpy()  # (2, G, T)
    return GroupCurves(ranked.score[ranked.ends].numpy(), rate[1], rate[0], rows.groups)
