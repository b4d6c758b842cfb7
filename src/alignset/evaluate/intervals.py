"""How sure a metric is: bootstrap intervals, all resamples scored as one stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from alignset.evaluate.batched import harmonic_mean
from alignset.evaluate.inputs import Inputs, check_inputs, check_probability, warn_if_empty
from alignset.evaluate.ranked import (
    Ranked,
    RankedMetric,
    area_under_roc,
    odds_over_fpr,
    odds_over_threshold,
    one_vs_rest,
    predictive_values_over_fpr,
    rank,
)

_CHUNK_ELEMENTS = 2_000_000
"""Resamples x rows x classes x groups held at once; a few arrays of 16 MB."""


@dataclass(frozen=True)
class Interval:
    """A percentile bootstrap interval.

    Parameters
    ----------
    estimate : float
        The metric, or the difference of two scores in it, on the rows themselves.
    low, high : float
        Percentiles of the resamples.
    level : float
        Nominal coverage, in (0, 1).
    n_defined : int
        Resamples in which the metric was defined; the others left a cell empty and do not count.

    Examples
    --------
    >>> print(Interval(0.8, 0.7, 0.9, level=0.95, n_defined=1000))
    0.800 (0.700 to 0.900)
    """

    estimate: float
    low: float
    high: float
    level: float
    n_defined: int

    def __str__(self) -> str:
        return f"{self.estimate:.3f} ({self.low:.3f} to {self.high:.3f})"


def bootstrap(
    y_true: ArrayLike,
    y_score: ArrayLike,
    groups: ArrayLike,
    *,
    y_score_b: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    metrics: Sequence[str] = ("auroc", "aueoc", "hm"),
    n_boot: int = 1000,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> dict[str, Interval]:
    """Compute percentile intervals, resampling rows within each group.

    Parameters
    ----------
    y_true, y_score, groups : array-like
        As for ``aueoc``.
    y_score_b : array-like, optional
        A second score of the same rows: the result is then of ``y_score_b`` minus ``y_score``,
        both scored on the same resamples (paired).
    sample_weight : array-like of shape (n,), optional
        Rows that each row stands for. Rows are drawn alike, and count as much when drawn.
    metrics : sequence of str
        Any of auroc, aueoc, hm, aueoc_over_fpr, aueoc_released.
    n_boot : int
        Number of resamples.
    level : float
        Coverage, in (0, 1).
    random_state : int or Generator, optional

    Returns
    -------
    dict from metric name to Interval

    Notes
    -----
    An AUEOC is built from absolute differences, so resamples look a little less even than the
    rows: with 200 rows, 90 % intervals of it covered the truth in 86 % of simulated studies (400
    rows: 92 %), and if the groups are truly equal, no interval reaches the true value of 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, groups = rng.integers(0, 2, 200), rng.choice(["f", "m"], 200)
    >>> score = np.clip(0.3 * y + 0.7 * rng.random(200), 0, 1)
    >>> print(bootstrap(y, score, groups, n_boot=200, random_state=0)["auroc"])
    0.857 (0.811 to 0.905)
    """
    _check_options(metrics, n_boot, level)
    given = [y_score] if y_score_b is None else [y_score, y_score_b]
    rows = [check_inputs(y_true, s, groups).with_weight(sample_weight) for s in given]
    for checked in rows if {"aueoc", "hm"} & set(metrics) else []:
        check_probability(checked)
    warn_if_empty(rows[0], by_group=set(metrics) != {"auroc"})
    rng = np.random.default_rng(random_state)
    estimate = _measure(metrics, rows, rows[0].where)
    drawn = (counts * rows[0].where for counts in _resamples(rows[0], n_boot, rng))
    parts = [_measure(metrics, rows, where) for where in drawn]
    return {
        name: _interval(float(estimate[i]), torch.cat([part[i] for part in parts]).numpy(), level)
        for i, name in enumerate(metrics)
    }


def _measure(metrics: Sequence[str], rows: Sequence[Inputs], where: Tensor) -> list[Tensor]:
    """Every metric under every row weighting (..., n), of one score or as the difference of two."""
    values = []
    for one in rows:
        ranked = rank(*one_vs_rest(one.prob, one.y, one.group, where), len(one.groups))
        values.append([_METRICS[name](ranked) for name in metrics])
    return [b - a for a, b in zip(*values, strict=True)] if len(values) == 2 else values[0]


def _auroc(ranked: Ranked) -> Tensor:
    return area_under_roc(ranked).mean(-1)


def _aueoc(ranked: Ranked) -> Tensor:
    return odds_over_threshold(ranked).mean(-1)


def _hm(ranked: Ranked) -> Tensor:
    return harmonic_mean(_auroc(ranked), _aueoc(ranked))


def _over_fpr(ranked: Ranked) -> Tensor:
    return odds_over_fpr(ranked).mean(-1)


def _released(ranked: Ranked) -> Tensor:
    return predictive_values_over_fpr(ranked).mean(-1)


_METRICS: dict[str, RankedMetric] = {
    "auroc": _auroc,
    "aueoc": _aueoc,
    "hm": _hm,
    "aueoc_over_fpr": _over_fpr,
    "aueoc_released": _released,
}


def _resamples(rows: Inputs, n_boot: int, rng: np.random.Generator) -> Iterator[Tensor]:
    """How often each row was drawn, (resamples, n) at a time; group sizes stay as they are."""
    n = len(rows.y)
    size = max(1, _CHUNK_ELEMENTS // (n * len(rows.classes) * len(rows.groups)))
    members = [np.flatnonzero(rows.group.numpy() == g) for g in range(len(rows.groups))]
    for start in range(0, n_boot, size):
        counts = np.empty((min(size, n_boot - start), n))
        for member in members:
            share = np.full(len(member), 1 / len(member))
            counts[:, member] = rng.multinomial(len(member), share, size=len(counts))
        yield torch.from_numpy(counts)


def _interval(estimate: float, resampled: NDArray[np.float64], level: float) -> Interval:
    """Percentiles of the resamples where the metric is defined."""
    defined = resampled[~np.isnan(resampled)]
    if len(defined) == 0 or np.isnan(estimate):
        return Interval(estimate, float("nan"), float("nan"), level, len(defined))
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high), level, len(defined))


def _check_options(metrics: Sequence[str], n_boot: int, level: float) -> None:
    """Refuse unknown names and impossible numbers."""
    if isinstance(metrics, str):
        raise ValueError(
            f"metrics must be a sequence of names, got {metrics!r}; write [{metrics!r}]."
        )
    for name in metrics:
        if name not in _METRICS:
            raise ValueError(f"there is no metric {name!r}; there are {', '.join(_METRICS)}.")
    if n_boot < 1:
        raise ValueError(f"n_boot must be at least 1, got {n_boot}.")
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}; write 0.95 for 95 %.")
