"""Estimates of AUEOC and HM, of one score or of the difference between two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alignset.evaluate.difference import (
    Difference,
    ReviewedSample,
    estimate_by_difference,
    influence_steps,
    score_interval,
)
from alignset.evaluate.estimands import ESTIMANDS, ScoredRows
from alignset.evaluate.estimate_rows import EstimateRows
from alignset.evaluate.evenness import Evenness, estimate_evenness
from alignset.evaluate.ranked import harmonic_mean
from alignset.evaluate.result import Estimate

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Drawn:
    """An estimate with its interval, and draws of what was seen minus the truth."""

    estimate: float
    low: float
    high: float
    deviation: Floats
    power: float

    @classmethod
    def basic(cls, value: float, deviation: Floats, power: float, level: float) -> _Drawn:
        """Take bias and quantiles of the deviations off the value that was seen."""
        tails = np.quantile(deviation, [0.5, (1 + level) / 2, (1 - level) / 2])
        middle, low, high = (value - tails).tolist()
        return cls(middle, low, high, deviation, power)

    def inside(self, low: float, high: float) -> tuple[float, float, float]:
        """Return estimate, low and high, cut to what is possible."""
        cut = np.clip([self.estimate, self.low, self.high], low, high)
        return float(cut[0]), float(cut[1]), float(cut[2])


def estimate_even(
    metrics: Sequence[str],
    rows: EstimateRows,
    rng: np.random.Generator,
    *,
    level: float,
    finite: bool,
    power: float | None,
) -> list[Estimate]:
    """Estimate how even groups are; between the finest groups if there are several columns."""
    if not rows.cells:
        raise ValueError(f"{metrics[0]} compares groups; pass groups.")
    n, reviewed = len(rows.true), int(rows.reviewed.sum())
    after = ", second score minus first" if len(rows.scored) == 2 else ""
    titles = [metric + after for metric in metrics]
    gap = _missing_cell(rows)
    if gap:
        return [Estimate.unknown(title, "all", n, reviewed, level, gap) for title in titles]
    seed = rng.bit_generator.random_raw()  # with and without q, the same noise is drawn
    found, alone = (
        _drawn(metrics, rows, np.random.default_rng(seed), level, finite=finite, power=p)
        for p in (power, 0.0)
    )
    return [
        _estimate(title, n, reviewed, level, *pair)
        for title, *pair in zip(titles, found, alone, strict=True)
    ]


def _estimate(
    title: str, n: int, reviewed: int, level: float, found: _Drawn, alone: _Drawn
) -> Estimate:
    least = 0.0 if "," not in title else -1.0
    value, low, high = found.inside(least, 1.0)
    spread, spread_alone = found.deviation.var(), alone.deviation.var()
    gain = max(float(spread_alone / spread), 1.0) if spread > 0 else 1.0
    return Estimate(
        metric=title,
        group="all",
        estimate=value,
        low=low,
        high=high,
        rows=n,
        reviewed=reviewed,
        worth=reviewed * gain,
        power=found.power,
        level=level,
        reviewed_only=alone.inside(least, 1.0),
    )


def _missing_cell(rows: EstimateRows) -> str:
    """Say which group lacks a class among its reviewed rows, if one does."""
    for name in rows.finest:
        seen = rows.true[rows.cells[name] & rows.reviewed]
        if not (seen == 0).any() or not (seen == 1).any():
            return f"the {len(seen)} reviewed rows of group {name!r} do not have both classes"
    return ""


def _drawn(
    metrics: Sequence[str],
    rows: EstimateRows,
    rng: np.random.Generator,
    level: float,
    *,
    finite: bool,
    power: float | None,
) -> list[_Drawn]:
    """Estimate for each score, and draw the errors of all jointly."""
    members = [rows.cells[name] for name in rows.finest]
    groups = [([s.take(m) for s in rows.scored], rows.sample(m)) for m in members]
    whole = rows.sample(np.ones(len(rows.true), dtype=bool))
    areas = [_area(scored, whole, finite=finite, power=power) for scored in rows.scored]
    steps = np.stack([step for _, step in areas], axis=1)  # (n, S)
    beside = [steps[member] for member in members]
    even = estimate_evenness(groups, beside, rng, level=level, finite=finite, power=power)
    if len(even) == 1:
        return [_alone(metric, areas[0][0], even[0], level) for metric in metrics]
    power = float(np.mean([one.power for one in even]))
    found = []
    for metric in metrics:
        seen = [_seen(metric, area.value, one) for (area, _), one in zip(areas, even, strict=True)]
        value, deviation = (b - a for a, b in zip(*seen, strict=True))
        found.append(_Drawn.basic(float(value), np.asarray(deviation), power, level))
    return found


def _area(
    scored: ScoredRows, whole: ReviewedSample, *, finite: bool, power: float | None
) -> tuple[Difference, Floats]:
    """AUROC, and what each row adds to its error."""
    linearise = ESTIMANDS["auroc"].linearise
    of_true = linearise(scored, whole.label, whole.expanded)
    of_soft = linearise(scored, whole.soft, whole.size)
    reviewed = linearise(scored, whole.soft, whole.expanded).value
    area = estimate_by_difference(whole, of_true, of_soft, reviewed, finite=finite, power=power)
    seen = np.flatnonzero(whole.reviewed)
    psi_soft = (whole.soft * of_soft.psi).sum(1)
    found = of_true.psi[seen, whole.true[seen]]
    return area, influence_steps(whole, found, psi_soft, area.power, finite=finite)[0]


def _alone(metric: str, area: Difference, even: Evenness, level: float) -> _Drawn:
    """AUEOC or HM of one score; the interval of HM is put together from those of its parts.

    Each end is as far from the estimate as the ends of AUROC and AUEOC say, added like standard
    deviations (Zou and Donner 2008).
    """
    if metric == "aueoc":
        return _Drawn(even.estimate, even.low, even.high, even.deviation, even.power)
    value, top = float(np.clip(area.value, 0.0, 1.0)), even.estimate
    ends = score_interval(value, area.moments, level=level)
    by_area, by_even = _slopes(value, top)
    spread = even.beside.std() * even.deviation.std()
    joint = float(np.mean((even.beside - even.beside.mean()) * even.deviation))
    related = joint / spread if spread > 0 else 0.0

    def reach(a: float, b: float) -> float:
        a, b = by_area * (a - value), by_even * (b - top)
        return float(np.sqrt(max(a**2 + b**2 + 2 * related * a * b, 0.0)))

    middle = harmonic_mean(value, top)
    low, high = middle - reach(ends[0], even.low), middle + reach(ends[1], even.high)
    deviation = by_area * even.beside + by_even * even.deviation
    return _Drawn(middle, low, high, deviation, even.power)


def _seen(metric: str, area: float, even: Evenness) -> tuple[float, Floats]:
    """Return what was seen of AUEOC, or of HM, and draws of its deviation (delta method)."""
    if metric == "aueoc":
        return even.value, even.deviation
    by_area, by_even = _slopes(area, even.value)
    deviation = by_area * even.beside + by_even * even.deviation
    return float(harmonic_mean(area, even.value)), deviation


def _slopes(a: float, b: float) -> tuple[float, float]:
    """Return the derivatives of the harmonic mean."""
    total = (a + b) ** 2
    return 2 * b**2 / total, 2 * a**2 / total
