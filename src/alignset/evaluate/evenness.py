"""Estimate how even the odds of groups are (AUEOC): a spread has no influence function.

AUEOC = 1 - gap, and the gap is an integral over thresholds of the mean, over TPR and FPR, of the
spread between groups. A spread has a kink where groups are equal, and noise in the rates makes it
larger than it is, so neither a linearisation nor a bootstrap of it holds (Fang and Santos 2019;
Andrews 2000). Instead a test is inverted. The rates R_g(tau) are estimated by the difference
estimator; their noise is normal, with the covariance C of their influence functions. Were the
truth one of the family

    R_s = mean + s (R^ - mean), s <= 1,      R_t = R^ + t C gradient / |gradient|_C, t >= 0,

of smaller gaps of the same shape, and larger gaps that are as near as can be, gap(R + noise) would
be seen. The interval has every member for which what was seen lies between the 2.5 % and the 97.5 %
quantile of that, and the estimate is the member for which it is the median.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alignset.evaluate.difference import (
    ReviewedSample,
    believed_steps,
    count_events,
    influence_steps,
    prior_share,
    tuned_power,
)
from alignset.evaluate.estimands import ScoredRows

Floats = NDArray[np.float64]

DRAWS = 500
GRID = 30
"""Thresholds at which noise is drawn; estimates use every score."""
MEMBERS = 9
"""Members of the family with a smaller gap than what is seen, and with a larger one."""


@dataclass(frozen=True, eq=False)
class Evenness:
    """AUEOC, its interval, and how it would vary if it were the truth."""

    value: float  # as it comes out
    estimate: float
    low: float
    high: float
    deviation: Floats  # (DRAWS,): value minus estimate, drawn
    beside: Floats  # (DRAWS,): deviation of the estimate whose influence was passed along
    power: float


def estimate_evenness(
    groups: Sequence[tuple[Sequence[ScoredRows], ReviewedSample]],
    beside: Sequence[Floats],
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    finite: bool = False,
    power: float | None = None,
) -> list[Evenness]:
    """Estimate AUEOC of each score from the rows of each group.

    Each group has its rows with each of the scores, and its review. ``beside`` has, for each group
    and each score, what a row adds to another estimate, (n_g, S); it is drawn along. All groups
    need both classes among their reviewed rows.
    """
    grid = (np.arange(GRID) + 0.5) / GRID
    parts = [[_Rates.of(rows, sample, grid, power) for rows in each] for each, sample in groups]
    noise = [_draw(rates, b, rng, finite=finite) for rates, b in zip(parts, beside, strict=True)]
    along = np.sum([n[1] for n in noise], axis=0)  # (DRAWS, S)
    found = []
    for s in range(along.shape[1]):
        rates = [part[s] for part in parts]
        cuts = np.unique(np.concatenate([each[s].score[:, 1] for each, _ in groups]))
        gap = 1 - _exact([rate.at(cuts) for rate in rates], cuts)
        wiggle = np.stack([n[0][:, s] for n in noise], axis=1)  # (DRAWS, G, 2, GRID)
        seen = np.stack([rate.at(grid) for rate in rates])
        calm = np.array([n[2] for n in noise])[:, None, None]
        scale, deviation = _invert(seen, wiggle, calm * wiggle, level)
        low, middle, high = (float(np.clip(1 - x, 0.0, 1.0)) for x in gap * scale[::-1])
        mean_power = float(np.mean([rate.power for rate in rates]))
        found.append(Evenness(1 - gap, middle, low, high, deviation, along[:, s], mean_power))
    return found


@dataclass(frozen=True, eq=False)
class _Rates:
    """FPR and TPR of one group at any threshold, and the influence of its rows on them."""

    rows: ScoredRows
    sample: ReviewedSample
    power: float
    psi_soft: Floats  # (n, 2 GRID)
    psi_true: Floats  # (n, 2, 2 GRID): of a row of class k

    @classmethod
    def of(
        cls, rows: ScoredRows, sample: ReviewedSample, grid: Floats, power: float | None
    ) -> _Rates:
        flagged = (rows.score[:, 1:] >= grid).astype(np.float64)  # (n, GRID)
        psi_true = _influence(flagged, sample.label, sample.expanded)
        of_soft = _influence(flagged, sample.soft, sample.size)
        psi_soft = (sample.soft[:, :, None] * of_soft).sum(1)
        if power is None:
            seen = np.flatnonzero(sample.reviewed)
            power = tuned_power(sample, psi_true[seen, sample.true[seen]], psi_soft)
        return cls(rows, sample, power, psi_soft, psi_true)

    def at(self, cuts: Floats) -> Floats:
        """Rates (2, T) of flagged rows at rising thresholds, by the difference estimator."""
        sample, score = self.sample, self.rows.score[:, 1]
        rank = np.searchsorted(cuts, score, side="right")  # flagged at the first `rank` cuts
        found = _rates(rank, len(cuts), sample.label * sample.expanded[:, None])
        if self.power == 0:
            return found
        everyone = _rates(rank, len(cuts), sample.soft * sample.size[:, None])
        reviewed = _rates(rank, len(cuts), sample.soft * sample.expanded[:, None])
        return np.asarray(found + self.power * (everyone - reviewed))


def _draw(
    rates: Sequence[_Rates], beside: Floats, rng: np.random.Generator, *, finite: bool
) -> tuple[Floats, Floats, float]:
    """Draw the noise of one group in rates (DRAWS, S, 2, GRID), and in what is drawn along.

    Also: how much less the noise in the rates would be if only what was seen counted.
    """
    sample = rates[0].sample
    seen = np.flatnonzero(sample.reviewed)
    steps, states = [], []
    for rate in rates:
        found = rate.psi_true[seen, sample.true[seen]]
        args = sample, found, rate.psi_soft, rate.power
        step, base = influence_steps(*args, finite=finite)
        steps.append(step)
        chance, state = believed_steps(sample, rate.psi_true, base, finite=finite)
        states.append(state)
    every = np.concatenate([*steps, beside], axis=1)
    whole, alone = sample.by_unit(every), float(np.vdot(every, every))
    cov = whole.T @ whole
    together = max(float(np.trace(cov)) / alone, 1.0) if alone > 0 else 1.0
    width = cov.shape[0] - beside.shape[1]
    believed = np.concatenate(states, axis=2)
    expected = np.tensordot(believed * chance[:, :, None], believed, axes=((0, 1), (0, 1)))
    expected *= together
    square = (believed**2).sum(2)
    events = count_events((chance * square).sum(1), float(np.vdot(chance, square**2)))
    seen_size, size = float(np.trace(cov[:width, :width])), float(np.trace(expected))
    part = prior_share(seen_size, size, events)
    calm = min(seen_size / ((1 - part) * seen_size + part * size), 1.0) ** 0.5 if size > 0 else 1.0
    mixed = np.zeros_like(cov)  # what is drawn along keeps the variance that was seen
    mixed[:width, :width], mixed[width:, width:] = expected, cov[width:, width:]
    values, axes = np.linalg.eigh((1 - part) * cov + part * mixed)
    root = axes * np.sqrt(np.clip(values, 0, None))
    noise = rng.normal(size=(DRAWS, len(cov))) @ root.T
    return noise[:, :width].reshape(DRAWS, len(rates), 2, -1), noise[:, width:], calm


def _influence(flagged: Floats, label: Floats, weight: Floats) -> Floats:
    """Influence (n, 2, 2 T) of a row of class k on the flagged shares of both classes."""
    counts = weight[:, None] * label  # (n, 2)
    whole = counts.sum(0)
    rate = counts.T @ flagged / whole[:, None]  # (2, T)
    psi = np.zeros((len(flagged), 2, 2, flagged.shape[1]))
    for k in (0, 1):
        psi[:, k, k] = (flagged - rate[k]) * (weight.sum() / whole[k])
    return psi.reshape(len(flagged), 2, -1)


def _rates(rank: NDArray[np.int64], n_cuts: int, counts: Floats) -> Floats:
    """Share (2, T) of each class's weight that is flagged at each of the rising thresholds."""
    by_rank = np.stack([np.bincount(rank, part, minlength=n_cuts + 1) for part in counts.T])
    above = by_rank[:, ::-1].cumsum(1)[:, ::-1]  # weight flagged at cut j has rank > j
    return np.asarray(above[:, 1:] / above[:, :1])


def _exact(rates: list[Floats], cuts: Floats) -> float:
    """1 - integral of the gap over [0, 1], exact for steps at the cuts (the scores)."""
    gap = np.ptp(np.stack(rates), axis=0).mean(0)  # at tau in (previous cut, cut]
    width = np.diff(np.concatenate([[0.0], cuts]))
    return float(1 - width @ gap)


def _gap(rates: Floats) -> Floats:
    """Integral of the gap on the grid, (..., G, 2, T) -> (...)."""
    flat = rates.reshape(*rates.shape[:-2], -1)  # (..., G, 2 T)
    if flat.shape[-2] == 2:  # the same number, in half the time
        spread = np.abs(flat[..., 0, :] - flat[..., 1, :])
    else:
        spread = flat.max(-2) - flat.min(-2)
    return np.asarray(spread @ np.full(spread.shape[-1], 1 / spread.shape[-1]))


def _invert(seen: Floats, noise: Floats, calm: Floats, level: float) -> tuple[Floats, Floats]:
    """Gaps at the low end, the median and the high end, relative to the gap that is seen.

    Also: draws of what is seen of AUEOC minus the truth, if the median is the truth. ``seen``
    (G, 2, T) are the rates, ``noise`` (DRAWS, G, 2, T) what may have been added to them, and
    ``calm`` what if there was no more noise than was seen: to expect too much of it would be to
    take a true gap for noise.
    """
    width = float(_gap(seen))
    if not width > 0:  # all groups alike to the last row: there is no shape
        return np.zeros(3), np.zeros(len(noise))
    tails = [(1 + level) / 2, 0.5, (1 - level) / 2]
    mean, steps = seen.mean(0), np.linspace(0, 5, MEMBERS)
    family = [mean + s * (seen - mean) for s in np.linspace(0, 1, MEMBERS)]
    uphill = _uphill(seen, noise)
    family += [seen + t * uphill for t in steps[1:]]
    found, middle = _crossings(family, noise, width, tails)
    # Of all gaps of a size, those of one sign at every threshold are the easiest to hide.
    one_sign = np.broadcast_to(seen.mean(-1, keepdims=True), seen.shape)
    hidden = mean + np.multiply.outer(2 * steps, _uphill(one_sign, noise))
    for some in (noise, calm):
        found[2] = max(found[2], _crossings(list(hidden), some, width, tails[2:])[0][0])
    return found / width, _gap(family[middle]) - _gap(family[middle] + noise)


def _crossings(
    family: list[Floats], noise: Floats, width: float, tails: list[float]
) -> tuple[Floats, int]:
    """Gaps of the members for which ``width`` is each quantile; the member nearest the median."""
    true = np.array([_gap(rates) for rates in family])
    drawn = np.stack([_gap(rates + noise) for rates in family])  # (members, DRAWS)
    cut = np.maximum.accumulate(np.quantile(drawn, tails, axis=1), axis=1)
    found = np.array([np.interp(width, one, true) for one in cut])
    return found, int(np.abs(true - found[len(tails) // 2]).argmin())


def _uphill(seen: Floats, noise: Floats) -> Floats:
    """One standard deviation of noise in the direction that widens the gap fastest."""
    gradient = np.zeros_like(seen)
    np.put_along_axis(gradient, seen.argmax(0)[None], 1.0, axis=0)
    bottom = seen.argmin(0)[None]
    np.put_along_axis(gradient, bottom, np.take_along_axis(gradient, bottom, 0) - 1, axis=0)
    along = np.tensordot(noise, gradient, axes=3)  # (DRAWS,)
    size = np.sqrt((along**2).mean())
    return np.asarray(np.tensordot(along, noise, axes=1) / len(noise) / max(size, 1e-12))
