"""Estimate how good a score is where only some labels were reviewed, with honest intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alignset.evaluate.difference import (
    Difference,
    Moments,
    estimate_by_difference,
    score_interval,
)
from alignset.evaluate.estimands import ESTIMANDS, Linearized
from alignset.evaluate.estimate_rows import EVEN, EstimateRows, check_metric, check_rows
from alignset.evaluate.even_estimate import estimate_even
from alignset.evaluate.imputed import TruthDraws, pool_differences
from alignset.evaluate.inputs import Weights
from alignset.evaluate.result import Estimate

Mask = NDArray[np.bool_]


def estimate(
    metric: str,
    y_score: ArrayLike,
    y: ArrayLike,
    y_true: ArrayLike | TruthDraws,
    *,
    groups: Any = None,
    review_probability: ArrayLike | None = None,
    threshold: float | None = None,
    flagged: float | None = None,
    X: Any = None,
    sample_weight: Weights = None,
    units: ArrayLike | None = None,
    soft_labels: ArrayLike | None = None,
    power: float | None = None,
    finite: bool = False,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> Estimate:
    """Estimate a metric against true labels when only some rows were reviewed.

    All rows count: the observed labels of the unreviewed ones make the estimate more precise, and
    the reviewed ones see to it that it is not biased, however wrong the observed labels are.

    Parameters
    ----------
    metric : str
        wrong (share of wrong observed labels), prevalence, auroc, tpr, fpr, ppv, npv, flagged
        (share of rows), calibration (mean score minus true share), slope (of calibration),
        log_loss, net_benefit, aueoc or hm.
    y_score : array-like of shape (n,) or (n, K)
        Score of the positive class (the larger label), or of each class in sorted order. It must
        not come from a model that was fitted to the true labels of these rows.
    y : array-like of shape (n,)
        Observed labels, right or wrong.
    y_true : array-like of shape (n,) or (n, K), or TruthDraws
        True labels; missing (NaN, None) where a row was not reviewed. Of uncertain ones, the
        probability of each class, or sets of labels that are as well possible, which intervals
        allow for; aueoc and hm need labels that are certain.
    groups : array-like of shape (n,) or (n, m), optional
        Also estimate within each group; with m columns, within each value of each column and
        within their intersections. aueoc and hm need them.
    review_probability : array-like of shape (n,), optional
        Probability with which each row was chosen for review, in (0, 1]. Without it, reviewed
        rows count as drawn at random from all.
    threshold : float, optional
        Rows with this score or more are flagged (tpr, fpr, ppv, npv, flagged, net_benefit).
    flagged : float, optional
        Instead: the share of rows to flag. The threshold that flags it here counts as given.
    X : array-like of shape (n, d), optional
        Numbers that help to tell which labels are wrong.
    sample_weight : array-like of shape (n,), optional
        How many rows each counts as.
    units : array-like of shape (n,), optional
        Whom each row belongs to. Rows of one person are alike, and intervals allow for it.
    soft_labels : array-like of shape (n,) or (n, K), optional
        Probability of the true class, from a model that saw none of these true labels; by
        default, cross-fitted here.
    power : float, optional
        How far soft labels are used, in [0, 1]; by default as far as they help. 0: reviewed rows
        alone.
    finite : bool, default=False
        Estimate the metric for these rows. By default, for the population they were drawn from.
    level : float, default=0.95
        Coverage of the intervals.
    random_state : int or Generator, optional
        Deals the folds of cross-fitting.

    Returns
    -------
    Estimate
        ``estimate``, ``low``, ``high``, ``reviewed``, ``worth`` (how many reviewed rows alone
        would be as precise) and ``by_group``; NaN, with a ``note``, where nothing can be said.

    Notes
    -----
    The power-tuned difference estimator; see ``alignset.evaluate.difference`` for formulas and
    docs/evaluation for coverage. Rows of equal review probability count as a stratum. There is no
    further post-stratification: soft labels know observed label and group already.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true = rng.integers(0, 2, 2000)
    >>> score = np.clip(0.3 * true + 0.7 * rng.random(2000), 0, 1)
    >>> observed = np.where(rng.random(2000) < 0.05, 1 - true, true)
    >>> reviewed = np.where(rng.random(2000) < 0.1, true, np.nan)
    >>> estimate("auroc", score, observed, reviewed, random_state=0)
    auroc 0.845 (0.821 to 0.876); reviewed 215, worth 739
    """
    _check_settings(level, power)
    rng = np.random.default_rng(random_state)
    rows = check_rows(
        metric, [y_score], y, y_true, groups=groups, review_probability=review_probability,
        threshold=threshold, flagged=flagged, X=X, sample_weight=sample_weight,
        given_soft=soft_labels, rng=rng, units=units,
    )  # fmt: skip
    if metric in EVEN:
        return estimate_even([metric], rows, rng, level=level, finite=finite, power=power)[0]
    return estimate_with_groups(metric, rows, level, finite=finite, power=power)


def estimate_difference(
    metric: str,
    y_score: ArrayLike,
    y: ArrayLike,
    y_true: ArrayLike | TruthDraws,
    *,
    y_score_b: ArrayLike | None = None,
    groups: Any = None,
    between: Sequence[Any] | None = None,
    review_probability: ArrayLike | None = None,
    threshold: float | None = None,
    flagged: float | None = None,
    X: Any = None,
    sample_weight: Weights = None,
    units: ArrayLike | None = None,
    soft_labels: ArrayLike | None = None,
    power: float | None = None,
    finite: bool = False,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> Estimate:
    """Estimate the difference in a metric between two scores, or between two groups.

    Parameters
    ----------
    metric, y_score, y, y_true
        As for :func:`estimate`; so are all other parameters that are not explained here.
    y_score_b : array-like, optional
        A second score of the same rows: the result is its metric minus that of ``y_score``,
        overall and within each group. Both are measured on the same rows (paired).
    between : two group names, optional
        Without ``y_score_b``: the result is the metric of the second group minus the first;
        needed only if there are more than two.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true, group = rng.integers(0, 2, 2000), rng.choice(["f", "m"], 2000)
    >>> score = np.clip(0.3 * true + 0.7 * rng.random(2000), 0, 1)
    >>> observed = np.where(rng.random(2000) < 0.05, 1 - true, true)
    >>> reviewed = np.where(rng.random(2000) < 0.1, true, np.nan)
    >>> estimate_difference("tpr", score, observed, reviewed, groups=group, threshold=0.5,
    ...                     random_state=0)
    tpr, m minus f 0.037 (-0.040 to 0.123); reviewed 203, worth 1006
    """
    _check_settings(level, power)
    rng = np.random.default_rng(random_state)
    scores = [y_score] if y_score_b is None else [y_score, y_score_b]
    rows = check_rows(
        metric, scores, y, y_true, groups=groups, review_probability=review_probability,
        threshold=threshold, flagged=flagged, X=X, sample_weight=sample_weight,
        given_soft=soft_labels, rng=rng, units=units,
    )  # fmt: skip
    if y_score_b is not None:
        if between is not None:
            raise ValueError("between compares two groups, y_score_b two scores; pass one of them.")
        if metric in EVEN:
            return estimate_even([metric], rows, rng, level=level, finite=finite, power=power)[0]
        return estimate_with_groups(metric, rows, level, finite=finite, power=power)
    first, second = _two_groups(metric, rows, between)
    return estimate_between(metric, rows, first, second, level, finite=finite, power=power)


def _check_settings(level: float, power: float | None) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}; write 0.95 for 95 %.")
    if power is not None and not 0 <= power <= 1:
        raise ValueError(f"power must lie in [0, 1], got {power}; leave it out to have it tuned.")


def _difference(
    metric: str, rows: EstimateRows, member: Mask, *, finite: bool, power: float | None
) -> Difference:
    """Estimate within some rows; of two scores, the second minus the first."""
    sets = rows.imputed or (rows,)
    return pool_differences(
        [_one_difference(metric, one, member, finite=finite, power=power) for one in sets]
    )


def _one_difference(
    metric: str, rows: EstimateRows, member: Mask, *, finite: bool, power: float | None
) -> Difference:
    """Estimate with one set of true labels."""
    sample = rows.sample(member)
    linearise = ESTIMANDS[metric].linearise
    label, expanded = sample.label, sample.expanded
    found: list[list[Linearized]] = []
    for scored in rows.scored:
        part = scored.take(member)
        found.append(
            [
                linearise(part, label, expanded),
                linearise(part, sample.soft, sample.size),
                linearise(part, sample.soft, expanded),
            ]
        )
    first = found[0]
    if len(found) == 2:
        first = [Linearized(b.value - a.value, b.psi - a.psi) for a, b in zip(*found, strict=True)]
    return estimate_by_difference(
        sample, first[0], first[1], first[2].value, finite=finite, power=power
    )


def estimate_within(
    metric: str,
    rows: EstimateRows,
    member: Mask,
    name: Any,
    level: float,
    *,
    finite: bool,
    power: float | None,
) -> Estimate:
    """Estimate within some of the rows; of two scores, the second minus the first."""
    title = metric if len(rows.scored) == 1 else f"{metric}, second score minus first"
    reviewed = int((rows.reviewed & member).sum())
    if reviewed == 0:
        return Estimate.unknown(title, name, int(member.sum()), 0, level, "no row was reviewed")
    found = _difference(metric, rows, member, finite=finite, power=power)
    return make_estimate(
        title, metric, name, rows, member, found, level, paired=len(rows.scored) == 2
    )


def estimate_with_groups(
    metric: str, rows: EstimateRows, level: float, *, finite: bool, power: float | None
) -> Estimate:
    """Estimate overall and within each group; of two scores, the second minus the first."""
    whole = np.ones(len(rows.true), dtype=bool)
    every, *parts = (
        estimate_within(metric, rows, member, name, level, finite=finite, power=power)
        for name, member in [("all", whole), *rows.cells.items()]
    )
    return every.with_groups(dict(zip(rows.cells, parts, strict=True)))


def make_estimate(
    title: str,
    metric: str,
    name: Any,
    rows: EstimateRows,
    member: Mask,
    found: Difference,
    level: float,
    *,
    paired: bool,
) -> Estimate:
    """Make intervals, and say why there is none."""
    reviewed, n = int((rows.reviewed & member).sum()), int(member.sum())
    if not np.isfinite(found.value):
        why = f"the {reviewed} reviewed rows have no row that {metric} is about"
        if metric in ("auroc", "slope"):
            why = f"the {reviewed} reviewed rows do not have both classes"
        return Estimate.unknown(title, name, n, reviewed, level, why)
    what = ESTIMANDS[metric]
    low, high = (
        (what.low, what.high) if not paired else (what.low - what.high, what.high - what.low)
    )

    def bounds(value: float, moments: Moments) -> tuple[float, float]:
        return score_interval(value, moments, level=level, low=low, high=high, skewed=what.skewed)

    value, alone = (float(np.clip(v, low, high)) for v in (found.value, found.alone))
    return Estimate(
        metric=title,
        group=name,
        estimate=value,
        low=bounds(value, found.moments)[0],
        high=bounds(value, found.moments)[1],
        rows=n,
        reviewed=reviewed,
        worth=reviewed * found.gain,
        power=found.power,
        level=level,
        reviewed_only=(alone, *bounds(alone, found.moments_alone)),
    )


def _two_groups(metric: str, rows: EstimateRows, between: Sequence[Any] | None) -> tuple[Any, Any]:
    if check_metric(metric, rows.soft.shape[1]) is None:
        raise ValueError(
            f"{metric} compares groups itself, so it has no difference between groups; use "
            "estimate, or pass y_score_b to compare two scores."
        )
    if not rows.cells:
        raise ValueError("there is nothing to compare; pass groups, or a second score y_score_b.")
    names = list(rows.cells)
    chosen = names if between is None else list(between)
    if len(chosen) != 2 or any(name not in rows.cells for name in chosen):
        raise ValueError(
            f"between must be two of the groups {', '.join(map(repr, names))}, got {between!r}."
        )
    return chosen[0], chosen[1]


def estimate_between(
    metric: str,
    rows: EstimateRows,
    first: Any,
    second: Any,
    level: float,
    *,
    finite: bool,
    power: float | None,
) -> Estimate:
    """Estimate the metric of the second group minus that of the first."""
    a, b = rows.cells[first], rows.cells[second]
    title = f"{metric}, {second} minus {first}"
    either = a | b
    if (a & b).any():
        raise ValueError(f"groups {first!r} and {second!r} share rows; compare two that do not.")
    for name, member in ((first, a), (second, b)):
        if not (rows.reviewed & member).any():
            n, seen = int(either.sum()), int((rows.reviewed & either).sum())
            why = f"no row of group {name!r} was reviewed"
            return Estimate.unknown(title, "all", n, seen, level, why)
    in_a, in_b = (_difference(metric, rows, g, finite=finite, power=power) for g in (a, b))
    found = Difference(
        in_b.value - in_a.value,
        in_b.moments - in_a.moments,
        (in_a.power + in_b.power) / 2,
        in_b.alone - in_a.alone,
        in_b.moments_alone - in_a.moments_alone,
    )
    return make_estimate(title, metric, "all", rows, either, found, level, paired=True)
