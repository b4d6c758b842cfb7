"""How good and how even a set of scores is: every metric as one number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from alignset.evaluate.inputs import Inputs, Weights, check_inputs, check_probability, warn_if_empty
from alignset.evaluate.ranked import METRICS, harmonic_mean


def auroc(y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: Weights = None) -> float:
    """Area under the ROC curve; ties count one half. NaN, with a warning, if a class has no row.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two classes, of which the larger in ``np.unique`` is positive, or K in sorted order.
    y_score : array-like of shape (n,) or (n, K)
        Score of the positive class; or one column per class, in which case the result is the mean
        over classes, each against the rest.
    sample_weight : array-like of shape (n,), optional
        How much each row counts, >= 0; 1 by default.

    Examples
    --------
    >>> auroc(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    rows = check_inputs(y_true, y_score, sample_weight=sample_weight)
    return _area("auroc", rows, by_group=False)


def aueoc(
    y_true: ArrayLike, y_score: ArrayLike, groups: ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Area under the equalized odds curve over thresholds in [0, 1], as the paper defines it.

    Higher is more even. NaN, with an ``EmptyCellWarning``, if a group lacks a class.

    Parameters
    ----------
    y_true, y_score, sample_weight
        As for :func:`auroc`, but scores must be probabilities.
    groups : array-like of shape (n,)
        Group labels of any type. With one group there is nothing to compare, and the area is 1.

    Notes
    -----
    ``EO(tau) = 1 - (spread of TPR + spread of FPR) / 2`` with prediction ``score >= tau`` and
    spread = largest minus smallest over groups. EO is constant between scores, so the integral is
    an exact sum. It depends on calibration: scores that are nearly constant get nearly 1.
    :func:`aueoc_over_fpr` depends only on the order of the scores.

    Examples
    --------
    >>> aueoc([0, 1, 0, 1], [0.2, 0.9, 0.2, 0.5], ["f", "f", "m", "m"])
    0.8
    """
    rows = check_inputs(y_true, y_score, groups, sample_weight)
    check_probability(rows)
    return _area("aueoc", rows)


def aueoc_over_fpr(
    y_true: ArrayLike, y_score: ArrayLike, groups: ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Area under the equalized odds curve over the overall false positive rate.

    Parameters, NaN and more than two classes are as for :func:`aueoc`, but any score will do: a
    monotone transform does not change the result.

    Examples
    --------
    >>> aueoc_over_fpr([0, 1, 0, 1], [3, 9, 2, 5], ["f", "f", "m", "m"])
    0.75
    """
    rows = check_inputs(y_true, y_score, groups, sample_weight)
    return _area("aueoc_over_fpr", rows)


def aueoc_released(
    y_true: ArrayLike, y_score: ArrayLike, groups: ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Area under 1 - |difference in PPV| over the overall FPR, as the released code computes it.

    This is predictive parity, not equalized odds. All published values are of this kind; use it
    to compare with them. Parameters, NaN and more than two classes are as for :func:`aueoc` (the
    released code would continue with a precision of 0 for a group without positives).

    Notes
    -----
    Thresholds are those of ``sklearn.metrics.roc_curve`` with ``drop_intermediate=True``: a
    distinct score is dropped if true and false positives both grow by as much there as at the next
    distinct score, except the first and the last. Of the rest, those at which every group has a
    predicted positive enter the trapezoid rule, so a perfectly even score can stay below 1, and a
    constant score gets 0. Exact for integer weights.

    Examples
    --------
    >>> aueoc_released([0, 1, 0, 1], [0.6, 0.9, 0.2, 0.5], ["f", "f", "m", "m"])
    0.375
    """
    rows = check_inputs(y_true, y_score, groups, sample_weight)
    return _area("aueoc_released", rows)


def _area(name: str, rows: Inputs, *, by_group: bool = True) -> float:
    warn_if_empty(rows, by_group=by_group, stacklevel=4)
    return float(METRICS[name](rows.ranked()))


@dataclass(frozen=True)
class Summary:
    """How good and how even a set of scores is.

    Parameters
    ----------
    auroc, aueoc, hm : float
        AUROC, the paper's AUEOC, and their harmonic mean.
    auroc_by_group : mapping from group to float
        NaN for a group that lacks a class.
    worst_group_auroc : float
        Smallest over the groups in which it is defined.
    n : int
        Number of rows.

    Examples
    --------
    >>> summarize([0, 1, 0, 1], [0.2, 0.9, 0.2, 0.5], ["f", "f", "m", "m"]).n
    4
    """

    auroc: float
    aueoc: float
    hm: float
    auroc_by_group: Mapping[Any, float]
    worst_group_auroc: float
    n: int


def summarize(
    y_true: ArrayLike, y_score: ArrayLike, groups: ArrayLike, *, sample_weight: Weights = None
) -> Summary:
    """Compute AUROC, AUEOC, their harmonic mean and AUROC within each group; see :func:`aueoc`.

    Examples
    --------
    >>> summarize([0, 1, 0, 1], [0.2, 0.9, 0.2, 0.5], ["f", "f", "m", "m"]).hm
    0.888...
    """
    rows = check_inputs(y_true, y_score, groups, sample_weight)
    check_probability(rows)
    warn_if_empty(rows, by_group=True)
    ranked = rows.ranked()
    area, even = (float(METRICS[name](ranked)) for name in ("auroc", "aueoc"))
    within = METRICS["auroc"](ranked.by_group())
    defined = within[~np.isnan(within)]
    return Summary(
        auroc=area,
        aueoc=even,
        hm=harmonic_mean(area, even),
        auroc_by_group=dict(zip(rows.groups, within.tolist(), strict=True)),
        worst_group_auroc=float(defined.min()) if len(defined) else float("nan"),
        n=len(rows.y),
    )
