"""How certain a metric is: bootstrap intervals, with all resamples scored as one stack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alignset.evaluate.arrays import may_be_undefined
from alignset.evaluate.inputs import (
    Weights,
    check_inputs,
    check_probability,
    check_weight,
    warn_if_empty,
)
from alignset.evaluate.ranked import METRICS

Floats = NDArray[np.float64]

_CHUNK_ELEMENTS = 2_000_000
"""Resamples x rows x classes x groups held at a time: a few arrays of 16 MB."""


@dataclass(frozen=True)
class Interval:
    """A percentile bootstrap interval.

    Parameters
    ----------
    estimate : float
        The metric, or its difference between two scores, on the rows themselves.
    low, high : float
        Percentiles of the resamples.
    level : float
        Nominal coverage, in (0, 1).
    n_defined : int
        Resamples in which the metric was defined; the others had an empty cell and do not count.

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
    sample_weight: Weights = None,
    metrics: Sequence[str] = ("auroc", "aueoc", "hm"),
    n_boot: int = 1000,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> dict[str, Interval]:
    """Compute a percentile interval for each metric, resampling rows within each group.

    Parameters
    ----------
    y_true, y_score, groups : array-like
        As for ``aueoc``.
    y_score_b : array-like, optional
        A second score of the same rows: intervals are then for ``y_score_b`` minus ``y_score``,
        both measured on the same resamples (paired).
    sample_weight : array-like of shape (n,), optional
        How many rows each stands for. All rows are equally likely to be drawn; weights then apply.
    metrics : sequence of str
        Any of auroc, aueoc, hm, aueoc_over_fpr, aueoc_released.
    n_boot : int
        Number of resamples.
    level : float
        Coverage, in (0, 1).
    random_state : int or Generator, optional

    Notes
    -----
    An AUEOC is built from absolute differences, so resamples look slightly less even than the
    rows: with 200 rows, its 90 % intervals covered the truth in 86 % of simulated studies (400
    rows: 92 %), and if the groups are truly equal, no interval reaches the true value of 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, groups = rng.integers(0, 2, 200), rng.choice(["f", "m"], 200)
    >>> score = np.clip(0.3 * y + 0.7 * rng.random(200), 0, 1)
    >>> print(bootstrap(y, score, groups, n_boot=200, random_state=0)["auroc"])
    0.857 (0.811 to 0.905)
    """
    _check_metrics(metrics)
    given = [y_score] if y_score_b is None else [y_score, y_score_b]
    rows = [check_inputs(y_true, s, groups, sample_weight) for s in given]
    for checked in rows if {"aueoc", "hm"} & set(metrics) else []:
        check_probability(checked)
    warn_if_empty(rows[0], by_group=set(metrics) != {"auroc"})

    def measure(where: Floats) -> list[Floats]:
        ranked = [one.ranked(where) for one in rows]
        values = [[METRICS[name](one) for name in metrics] for one in ranked]
        return [b - a for a, b in zip(*values, strict=True)] if len(values) == 2 else values[0]

    one = rows[0]
    width = len(one.classes) * len(one.groups)
    found = _resample(measure, one.group, one.where, width, n_boot, level, random_state)
    return dict(zip(metrics, found, strict=True))


def bootstrap_mean(
    values: ArrayLike,
    groups: ArrayLike,
    *,
    sample_weight: Weights = None,
    n_boot: int = 1000,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> list[Interval]:
    """Compute percentile intervals for a mean over all rows, then over each group's rows."""
    value = np.asarray(values, dtype=np.float64)
    names, group = np.unique(np.asarray(groups), return_inverse=True)
    of_group = group == np.arange(len(names))[:, None]
    member = np.concatenate([np.ones_like(of_group[:1]), of_group]).astype(np.float64).T

    def measure(where: Floats) -> list[Floats]:
        weight = np.asarray(where, dtype=np.float64)
        with may_be_undefined():
            means = (weight * value) @ member / (weight @ member)  # (..., 1 + G)
        return [means[..., at] for at in range(means.shape[-1])]

    weight = check_weight(sample_weight, len(value))
    return _resample(measure, group, weight, 1, n_boot, level, random_state)


def _resample(
    measure: Callable[[Floats], Sequence[Floats]],
    group: NDArray[np.int64],
    weight: Floats,
    width: int,
    n_boot: int,
    level: float,
    random_state: int | np.random.Generator | None,
) -> list[Interval]:
    """Intervals for what ``measure`` makes of row weights (..., n), ``width`` numbers per row."""
    if n_boot < 1:
        raise ValueError(f"n_boot must be at least 1, got {n_boot}.")
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}; write 0.95 for 95 %.")
    rng = np.random.default_rng(random_state)
    size = max(1, _CHUNK_ELEMENTS // (len(group) * width))
    sizes = [min(size, n_boot - start) for start in range(0, n_boot, size)]
    drawn = [measure(_draw(group, n, rng) * weight) for n in sizes]
    return [
        _interval(float(estimate), np.concatenate(parts), level)
        for estimate, *parts in zip(measure(weight), *drawn, strict=True)
    ]


def _draw(group: NDArray[np.int64], n_boot: int, rng: np.random.Generator) -> Floats:
    """How often each row was drawn, (n_boot, n); group sizes do not change."""
    counts = np.empty((n_boot, len(group)))
    for g in range(group.max() + 1):
        member = np.flatnonzero(group == g)
        share = np.full(len(member), 1 / len(member))
        counts[:, member] = rng.multinomial(len(member), share, size=n_boot)
    return counts


def _interval(estimate: float, resampled: NDArray[np.float64], level: float) -> Interval:
    """Percentiles over the resamples in which the metric is defined."""
    defined = resampled[~np.isnan(resampled)]
    if len(defined) == 0 or np.isnan(estimate):
        return Interval(estimate, float("nan"), float("nan"), level, len(defined))
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high), level, len(defined))


def _check_metrics(metrics: Sequence[str]) -> None:
    """Refuse unknown names."""
    if isinstance(metrics, str):
        raise ValueError(f"metrics must be a list of names, got {metrics!r}; write [{metrics!r}].")
    for name in metrics:
        if name not in METRICS:
            raise ValueError(f"there is no metric {name!r}; use one of {', '.join(METRICS)}.")
