"""Metrics of a stack of models, as tensors in and tensors out.

``score`` and ``prob`` may have any leading axes, which broadcast against those of ``y``, ``group``
and ``where``: scores (P, C, n) of C models on P problems go with labels (P, 1, n). Rows where
``where`` is False or 0 do not count, whatever they hold. No function loops over models or waits
for the device.
"""

from __future__ import annotations

import torch
from torch import Tensor

from alignset.evaluate.ranked import (
    RankedMetric,
    area_under_roc,
    odds_over_fpr,
    odds_over_threshold,
    one_vs_rest,
    predictive_values_over_fpr,
    rank,
)


def auroc(score: Tensor, y: Tensor, where: Tensor) -> Tensor:
    """Area under the ROC curve of the rows selected by ``where``; ties count one half.

    Parameters
    ----------
    score, y, where : Tensor of shape (..., n)
        Finite score, 0/1 label, and which rows count (bool) or how much (float >= 0).

    Returns
    -------
    Tensor of shape (...)
        NaN where a class is empty or a score is NaN.

    Examples
    --------
    >>> score = torch.tensor([[0.1, 0.4, 0.35, 0.8], [0.9, 0.1, 0.2, 0.3]])
    >>> y = torch.tensor([0, 0, 1, 1])
    >>> auroc(score, y, torch.ones(4, dtype=torch.bool))
    tensor([0.7500, 0.5000])
    """
    return area_under_roc(rank(score, y, torch.zeros_like(y, dtype=torch.int64), where, 1))


def aueoc_tau(score: Tensor, y: Tensor, group: Tensor, where: Tensor, n_groups: int) -> Tensor:
    """Integrate equalized odds over thresholds tau in [0, 1]: the paper's AUEOC.

    Parameters
    ----------
    score, y, group, where : Tensor of shape (..., n)
        Probability of class 1, 0/1 label, group code ``0..n_groups-1``, and which rows count.
    n_groups : int
        Number of groups; every one must have rows of both classes.

    Returns
    -------
    Tensor of shape (...)
        NaN where a group x class cell is empty or a score is NaN.

    Notes
    -----
    ``EO(tau) = 1 - (spread of TPR + spread of FPR) / 2`` with prediction ``score >= tau`` and
    spread = largest minus smallest over groups, |difference| for two. EO is constant between
    scores, so the integral is an exact sum. It depends on calibration: constant scores give 1.

    Examples
    --------
    >>> score = torch.tensor([[0.9, 0.2, 0.5, 0.2], [0.9, 0.2, 0.9, 0.2]])
    >>> y, group = torch.tensor([1, 0, 1, 0]), torch.tensor([0, 0, 1, 1])
    >>> aueoc_tau(score, y, group, y >= 0, n_groups=2)
    tensor([0.8000, 1.0000])
    """
    return odds_over_threshold(rank(score, y, group, where, n_groups))


def aueoc_fpr(score: Tensor, y: Tensor, group: Tensor, where: Tensor, n_groups: int) -> Tensor:
    """Integrate equalized odds over the overall false positive rate: rank-based.

    Parameters and NaN rule are those of :func:`aueoc_tau`, except that any finite score will do:
    the trapezoid rule over the ROC points at distinct scores sees only their order.

    Examples
    --------
    >>> score = torch.tensor([[0.9, 0.3, 0.5, 0.2], [9.0, 3.0, 5.0, 2.0]])
    >>> y, group = torch.tensor([1, 0, 1, 0]), torch.tensor([0, 0, 1, 1])
    >>> aueoc_fpr(score, y, group, y >= 0, n_groups=2)
    tensor([0.7500, 0.7500])
    """
    return odds_over_fpr(rank(score, y, group, where, n_groups))


def aueoc_ppv_released(
    score: Tensor, y: Tensor, group: Tensor, where: Tensor, n_groups: int
) -> Tensor:
    """Integrate 1 - |difference in PPV| over the overall FPR: the released code's "AUEOC".

    This is predictive parity, not equalized odds; all published values are of this kind.
    Parameters and NaN rule are those of :func:`aueoc_tau` (the released code would go on with a
    precision of 0 for a group without positives).

    Notes
    -----
    Thresholds are those of ``sklearn.metrics.roc_curve`` with ``drop_intermediate=True``: a
    distinct score is dropped if true and false positives both grow by as much at it as at the next
    distinct score, except the first and the last. Of the rest, those at which every group has a
    predicted positive enter the trapezoid rule, so a perfectly even score can stay below 1, and a
    constant one gets 0. Exact for integer weights.

    Examples
    --------
    >>> score = torch.tensor([0.9, 0.6, 0.5, 0.2])
    >>> y, group = torch.tensor([1, 0, 1, 0]), torch.tensor([0, 0, 1, 1])
    >>> aueoc_ppv_released(score, y, group, y >= 0, n_groups=2)
    tensor(0.3750)
    """
    return predictive_values_over_fpr(rank(score, y, group, where, n_groups))


def auroc_ovr(prob: Tensor, y: Tensor, where: Tensor) -> Tensor:
    """Mean over classes of the AUROC of each class against the rest.

    Parameters
    ----------
    prob : Tensor of shape (..., n, K)
        For K = 2 the AUROC of class 1, which is that of both.
    y, where : Tensor of shape (..., n)
        Class code ``0..K-1``, and which rows count.

    Returns
    -------
    Tensor of shape (...)
        NaN where any class is empty.

    Examples
    --------
    >>> y = torch.tensor([0, 1, 2, 2])
    >>> auroc_ovr(torch.eye(3)[[0, 1, 2, 0]], y, y >= 0)
    tensor(0.8611)
    """
    score, y, _, where = one_vs_rest(prob, y, y, where)
    return auroc(score, y, where).mean(-1)


def aueoc_ovr(
    prob: Tensor,
    y: Tensor,
    group: Tensor,
    where: Tensor,
    n_groups: int,
    *,
    aueoc: RankedMetric = odds_over_threshold,
) -> Tensor:
    """Mean over classes of an AUEOC of each class against the rest.

    ``prob``, ``y`` and ``where`` are those of :func:`auroc_ovr`. ``aueoc`` is
    ``odds_over_threshold``, ``odds_over_fpr`` or ``predictive_values_over_fpr`` of
    ``alignset.evaluate.ranked``. NaN where any group lacks any class.

    Examples
    --------
    >>> y, group = torch.tensor([0, 1, 2, 0, 1, 2]), torch.tensor([0, 0, 0, 1, 1, 1])
    >>> aueoc_ovr(torch.eye(3)[[0, 1, 2, 0, 1, 1]], y, group, y >= 0, n_groups=2)
    tensor(0.7500)
    """
    return aueoc(rank(*one_vs_rest(prob, y, group, where), n_groups)).mean(-1)


def harmonic_mean(a: Tensor, b: Tensor) -> Tensor:
    """Harmonic mean of two non-negative tensors; 0 where both are 0.

    Examples
    --------
    >>> harmonic_mean(torch.tensor([0.5, 0.0]), torch.tensor([1.0, 0.0]))
    tensor([0.6667, 0.0000])
    """
    return 2 * a * b / (a + b).clamp_min(torch.finfo(a.dtype).tiny)
