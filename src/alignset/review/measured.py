"""What a review tells: each measure overall and by group, and differences, with intervals.

The estimates are those of ``alignset.evaluate.estimate``: observed labels of rows that nobody
reviewed make them more precise. The noise rate is about the rows of the table, everything else
about the population they are from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.evaluate.estimate_rows import EstimateRows
from alignset.evaluate.estimates import estimate_between, estimate_with_groups
from alignset.evaluate.imputed import TruthDraws, pool_values
from alignset.evaluate.noise_rate import NoiseRate, ReviewDesign, noise_rates
from alignset.evaluate.proportion import IntervalRule, effective_size, to_whole_rows, wilson
from alignset.evaluate.result import Estimate
from alignset.labels import UNREVIEWED
from alignset.review.aim import Aim, AimRows, prepare
from alignset.review.strata import ReviewChance, review_chance

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Findings:
    """Estimates with their groups, differences between groups, and between two scores."""

    estimates: tuple[Estimate, ...]
    between_groups: tuple[Estimate, ...]
    between_scores: tuple[Estimate, ...]
    recovered: bool  # whether the probability of review is known for every row
    picked: bool = False  # rows were reviewed because their label is wrong, and tell nothing

    @property
    def differences(self) -> tuple[Estimate, ...]:
        """Every difference, between groups and between scores."""
        return (*self.between_groups, *self.between_scores)

    @property
    def clear(self) -> tuple[Estimate, ...]:
        """Differences whose interval leaves out zero."""
        return tuple(one for one in self.differences if one.low > 0 or one.high < 0)

    def frame(self) -> pd.DataFrame:
        """One row per measure and group, and one per difference."""
        rows = []
        for one in (*self.estimates, *self.between_scores):
            rows += [(one.metric, part) for part in (one, *one.by_group.values())]
        rows += [(one.metric, one) for one in self.between_groups]
        names = ("group", "estimate", "low", "high", "rows", "reviewed", "worth", "note")
        return pd.DataFrame(
            [{"measure": title, **{n: getattr(one, n) for n in names}} for title, one in rows],
            columns=["measure", *names],
        )


def measure_review(
    rows: AimRows,
    design: ReviewDesign,
    *,
    threshold: float | None = None,
    level: float = 0.95,
    draws: TruthDraws | None = None,
    noise_only: bool = False,
) -> Findings:
    """Estimate all that rows, scores and a threshold allow.

    ``draws`` are true labels, if they are uncertain; intervals allow for it. ``noise_only`` leaves
    out everything but the noise rates of groups. Nothing is estimated from rows that nobody drew
    and that were picked because their label is wrong.
    """
    if not design.known and rows.picked:
        return Findings((), (), (), recovered=False, picked=True)
    # folds of soft labels are dealt alike each time, so that no number depends on a seed
    rng = np.random.default_rng(0)
    known = review_chance(rows, design)
    every = prepare(rows, counted_labels(rows, known), known.chance, threshold, rng)
    single = replace(every, scored=every.scored[:1])
    if draws is not None:
        every, single = every.with_draws(draws), single.with_draws(draws)
    estimates, differences, paired = [], [], []
    for aim in [Aim("wrong")] if noise_only else _aims(rows, threshold):
        estimates.append(_estimated(single, aim, level))
        if noise_only:
            break
        differences += _differences(single, aim, level)
        if aim.score is not None and len(rows.scores) == 2:
            paired.append(_estimated(every, aim, level))
    recovered = not bool(np.isnan(known.chance).any())
    if rows.n_classes == 2 and not noise_only:
        estimates, differences = _of_the_rarest(rows, estimates, differences)
    return Findings(tuple(estimates), tuple(differences), tuple(paired), recovered)


PREVALENCE = "prevalence"


def _of_the_rarest(
    rows: AimRows, estimates: Sequence[Estimate], differences: Sequence[Estimate]
) -> tuple[list[Estimate], list[Estimate]]:
    """Make prevalence that of the rarer class, whatever its name sorts as, and name the class."""
    whole = next(one for one in estimates if one.metric == PREVALENCE)
    rare = 0 if whole.estimate > 0.5 else 1
    title = f"{PREVALENCE} of {str(rows.cells.labels[rare])!r}"

    def turned(one: Estimate, whole: float) -> Estimate:
        if not one.metric.startswith(PREVALENCE):
            return one
        parts = {name: turned(part, whole) for name, part in one.by_group.items()}
        named = replace(one, metric=one.metric.replace(PREVALENCE, title, 1), by_group=parts)
        if rare == 1:
            return named
        alone = tuple(whole - one.reviewed_only[i] for i in (0, 2, 1))
        return replace(
            named, estimate=whole - one.estimate, low=whole - one.high, high=whole - one.low,
            reviewed_only=(alone[0], alone[1], alone[2]),
        )  # fmt: skip

    return [turned(one, 1.0) for one in estimates], [turned(one, 0.0) for one in differences]


def counted_labels(rows: AimRows, known: ReviewChance) -> NDArray[np.int64]:
    """Return true labels of the rows that count."""
    return np.where(known.counts, rows.true, UNREVIEWED)


def _aims(rows: AimRows, threshold: float | None) -> list[Aim]:
    found = [Aim("wrong")]
    if rows.n_classes == 2:
        found.append(Aim("prevalence"))
    if rows.scores:
        found.append(Aim("auroc", "score"))
        if threshold is not None:
            cuts = ("tpr", "fpr", "ppv", "npv")
            found += [Aim(name, "score", threshold=threshold) for name in cuts]
    return found


def _estimated(every: EstimateRows, aim: Aim, level: float) -> Estimate:
    return estimate_with_groups(aim.measure, every, level, finite=aim.finite, power=None)


def _differences(every: EstimateRows, aim: Aim, level: float) -> list[Estimate]:
    """Compare each group with the one that has most rows."""
    sizes = {name: int(member.sum()) for name, member in every.cells.items()}
    if len(sizes) < 2:
        return []
    most = max(sizes, key=lambda name: sizes[name])
    settings: dict[str, Any] = {"finite": aim.finite, "power": None}
    return [
        estimate_between(aim.measure, every, most, name, level, **settings)
        for name in sizes
        if name != most
    ]


def review_noise_rates(
    rows: AimRows,
    design: ReviewDesign,
    *,
    level: float = 0.95,
    rule: IntervalRule | None = None,
    found: Findings | None = None,
    draws: TruthDraws | None = None,
) -> tuple[NoiseRate, ...]:
    """Estimate every group's noise rate: the number that is shown everywhere.

    Parameters
    ----------
    rows : AimRows
    design : ReviewDesign
    level : float, default=0.95
    rule : callable, optional
        Use reviewed rows alone, with this interval.
    found : Findings, optional
        What was estimated from the same rows, if it was.
    draws : TruthDraws, optional
        True labels, if they are uncertain.

    Notes
    -----
    All rows are used where the sheets say how likely each was to be reviewed. Of rows drawn one by
    one they do not; sheets are then averaged, which is more precise than any one of them.
    """
    if found is None:
        found = measure_review(rows, design, level=level, draws=draws, noise_only=True)
    if rule is None and found.recovered:
        return noise_rates_from(found.estimates[0], rows, design, certain=draws is None)
    sets = [rows.true] if draws is None else list(draws.codes)
    names, seen, rule = rows.cells.groups.tolist(), rows.reviewed, rule or wilson
    counted = [
        noise_rates(
            rows.cells.group, names, seen & (true != rows.cells.label), seen, design,
            unit=rows.unit, level=level, rule=rule,
        )
        for true in sets
    ]  # fmt: skip
    if found.picked:
        unknown: dict[str, Any] = {"rate": math.nan, "low": 0.0, "high": 1.0}
        return tuple(replace(one, **unknown, effective_size=0.0, worth=0.0) for one in counted[0])
    pooled = [_pool(each, level, rule) for each in zip(*counted, strict=True)]
    return tuple(replace(rate, worth=float(rate.reviewed)) for rate in pooled)


def _pool(each: Sequence[NoiseRate], level: float, rule: IntervalRule) -> NoiseRate:
    """Put together the rate of one group by several sets of labels."""
    first = each[0]
    if len(each) == 1 or not first.reviewed:
        return first
    rate, variance, _ = pool_values(
        [one.rate for one in each], [one.rate * (1 - one.rate) / one.effective_size for one in each]
    )
    size = rate * (1 - rate) / variance if variance > 0 else first.effective_size
    low, high = rule(rate, size, level=level)
    wrong = round(float(np.mean([one.wrong for one in each])))
    return replace(
        first, rate=rate, low=float(low), high=float(high), effective_size=size, wrong=wrong
    )


def noise_rates_from(
    found: Estimate, rows: AimRows, design: ReviewDesign, *, certain: bool = True
) -> tuple[NoiseRate, ...]:
    """Put the estimates of the share of wrong labels in the form that is shown everywhere.

    Labels that are not ``certain`` say how many rows are wrong only about.
    """
    parts = found.by_group or {rows.cells.groups.tolist()[0]: found}
    wrong = rows.reviewed & (rows.true != rows.cells.label)
    return tuple(
        _noise_rate(parts[name], name, rows.cells.group == g, rows, wrong, design, certain)
        for g, name in enumerate(rows.cells.groups.tolist())
    )


def _noise_rate(
    one: Estimate,
    name: Any,
    member: Mask,
    rows: AimRows,
    wrong: Mask,
    design: ReviewDesign,
    certain: bool,
) -> NoiseRate:
    n, seen = int(member.sum()), int((member & rows.reviewed).sum())
    n_wrong = int((member & wrong).sum())
    low, high, rate = one.low, one.high, one.estimate
    if seen == n and certain:
        low = high = rate = n_wrong / n
    if np.isnan(rate):
        low, high = 0.0, 1.0
    known = (n_wrong, seen) if certain else (0, 0)
    low, high = to_whole_rows(low, high, wrong=known[0], n=known[1], population=n)
    return NoiseRate(
        group=name,
        rows=n,
        reviewed=seen,
        unresolved=int((member & ~rows.reviewed & design.drawn).sum()),
        wrong=n_wrong,
        rate=rate,
        low=low,
        high=high,
        effective_size=_size(rate, high - low, one.level, seen, n),
        weighted=bool((member & design.drawn & rows.reviewed).any()),
        worth=float(seen) if np.isnan(one.worth) else one.worth,
    )


def _size(rate: float, width: float, level: float, seen: int, n: int) -> float:
    """Return how many independent draws would have so narrow an interval (Wilson's)."""
    most = float(effective_size(seen, n))
    if np.isnan(rate) or not np.isfinite(most):
        return 0.0 if seen == 0 else most
    sizes = np.geomspace(0.1, 1e8, 500)
    low, high = wilson(rate, sizes, level=level)
    return float(np.interp(-width, low - high, sizes))
