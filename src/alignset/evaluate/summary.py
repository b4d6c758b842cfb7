"""The metrics of one set of scores, together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from alignset.evaluate import batched
from alignset.evaluate.inputs import check_inputs, check_probability, warn_if_empty


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
        Smallest over the groups where it is defined.
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


def harmonic_mean(a: float, b: float) -> float:
    """Harmonic mean of two numbers >= 0; 0 if both are 0, NaN if either is NaN.

    Examples
    --------
    >>> harmonic_mean(0.5, 1.0)
    0.666...
    """
    return float(batched.harmonic_mean(*torch.tensor([a, b], dtype=torch.float64)))


def summarize(y_true: ArrayLike, y_score: ArrayLike, groups: ArrayLike) -> Summary:
    """Compute AUROC, AUEOC, their harmonic mean, and AUROC within each group.

    Parameters are those of ``aueoc``.

    Returns
    -------
    Summary
        NaN, with an ``EmptyCellWarning``, where a group lacks a class.

    Examples
    --------
    >>> summarize([0, 1, 0, 1], [0.2, 0.9, 0.2, 0.5], ["f", "f", "m", "m"]).hm
    0.888...
    """
    rows = check_inputs(y_true, y_score, groups)
    check_probability(rows)
    warn_if_empty(rows, by_group=True)
    n_groups = len(rows.groups)
    of_group = rows.group == torch.arange(n_groups).unsqueeze(-1)  # (G, n)
    auroc = float(batched.auroc_ovr(rows.prob, rows.y, rows.where))
    aueoc = float(batched.aueoc_ovr(rows.prob, rows.y, rows.group, rows.where, n_groups))
    within = batched.auroc_ovr(rows.prob, rows.y, of_group).numpy()
    defined = within[~np.isnan(within)]
    return Summary(
        auroc=auroc,
        aueoc=aueoc,
        hm=harmonic_mean(auroc, aueoc),
        auroc_by_group=dict(zip(rows.groups, within.tolist(), strict=True)),
        worst_group_auroc=float(defined.min()) if len(defined) else float("nan"),
        n=len(rows.y),
    )
