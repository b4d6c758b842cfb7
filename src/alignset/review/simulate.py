"""Simulate reviews of a table, and find how many rows give the interval asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.labels import UNREVIEWED
from alignset.review.aim import Aim, AimRows, prepare, reach
from alignset.review.shortest import Shares, share_out
from alignset.rows.review import draw

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

STEPS = 4
LEAST = 30
"""Rows below which an interval is not to be trusted, so fewer are not planned."""


@dataclass(frozen=True, eq=False)
class Future:
    """Rows, what is known of them, and how the next review goes."""

    rows: AimRows
    aim: Aim
    belief: Callable[[np.random.Generator | None], Floats]
    is_open: Mask
    before: Floats  # probability that a row was reviewed already
    level: float

    def review(self, shares: Shares, rng: np.random.Generator) -> Floats:
        """Simulate a review: half-widths (2, T), ours and those of reviewed rows alone."""
        q = self.belief(rng)
        true = (rng.random(len(q))[:, None] > q.cumsum(1)[:, :-1]).sum(1)
        true = np.where(self.rows.reviewed, self.rows.true, true)
        pool = np.flatnonzero(self.is_open)
        seen = self.rows.reviewed.copy()
        seen[pool[draw(shares.code[pool], shares.counts, rng)]] = True
        chance = 1 - (1 - self.before) * (1 - shares.chance)
        known = np.where(seen, true, UNREVIEWED)
        every = prepare(self.rows, known, chance, self.aim.threshold, rng)
        found = reach(every, self.aim, self.level).values()
        bounds = np.array([[(o.low, o.high), o.reviewed_only[1:]] for o in found])  # (T, 2, 2)
        # an interval that cannot be made is as wide as can be
        return np.asarray(np.nan_to_num((bounds[..., 1] - bounds[..., 0]).T / 2, nan=9.0))

    def share_out(self, n: int) -> Shares:
        """Share out n rows as a sample does."""
        return share_out(self.rows, self.aim, self.belief(None), self.is_open, n)

    @property
    def names(self) -> list[Any]:
        """What the half-widths are of."""
        if self.aim.between is not None:
            return [self.aim.title]
        return list(self.rows.members) or ["all"]


@dataclass(eq=False)
class Search:
    """Find the number of rows from simulated half-widths.

    log half-width falls linearly with log n, and spreads about its mean as it did in the
    simulated reviews: all of them count, those near the goal most.
    """

    future: Future
    precision: float
    assurance: float
    draws: int
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.most = int(self.future.is_open.sum())
        strata = len(np.unique(self.future.rows.cells.flat))
        self.least = min(max(LEAST, 5 * strata), self.most)

    def run(self) -> tuple[int, Floats]:
        """Return the number of rows, and half-widths (draws, 2, T) simulated near it."""
        n, tried = min(max(self.least, 200), self.most), []
        for _ in range(STEPS):
            tried.append((n, self.simulate(self.future.share_out(n))))
            n = self._next(tried)
        last, found = tried[-1]
        return n, found * np.sqrt(last / n)

    def simulate(self, shares: Shares) -> Floats:
        """Simulate reviews: half-widths (draws, 2, T), ours and of reviewed rows alone."""
        return np.stack([self.future.review(shares, self.rng) for _ in range(self.draws)])

    def simulate_alone(self, n: int) -> Floats:
        """Simulate reviews without a proxy: as many rows of each group, simply at random."""
        future, shares = self.future, self.future.share_out(n)
        group, seen = future.rows.cells.group, future.rows.reviewed
        of = np.zeros(len(shares.sizes), dtype=np.int64)
        of[shares.code] = group
        counts = np.bincount(of, shares.counts) + np.bincount(group, seen)
        sizes, everyone = np.bincount(group), np.ones(len(seen), dtype=bool)
        rows = AimRows(future.rows.cells, np.full(len(seen), UNREVIEWED), future.rows.scores)
        bare = replace(future, rows=rows, is_open=everyone, before=np.zeros(len(seen)))
        other = replace(self, future=bare)
        return other.simulate(Shares(group, sizes, np.minimum(counts.astype(np.int64), sizes)))

    def assured(self, found: Floats) -> Floats:
        """Half-widths (2,) that the wanted share of reviews keeps, in all groups at once."""
        return np.asarray(np.quantile(found.max(2), self.assurance, axis=0, method="higher"))

    def _next(self, tried: list[tuple[int, Floats]]) -> int:
        """Return the number of rows at which the assured half-width is the one wanted."""
        x = np.repeat([np.log(n) for n, _ in tried], self.draws)
        widths = np.stack([found[:, 0].max(1) for _, found in tried])
        y = np.log(widths / self.precision)
        near = np.repeat(1 / (0.1 + np.abs(y.mean(1))), self.draws)
        y = y.reshape(-1)
        slope = -0.5
        if np.ptp(x) > 0.05:
            slope = float(np.clip(np.polyfit(x, y, 1, w=near)[0], -1.0, -0.3))
        at_one = y - slope * x
        order = np.argsort(at_one)
        share = np.cumsum(near[order] ** 2) / (near**2).sum()
        high = at_one[order][min(int(np.searchsorted(share, self.assurance)), len(order) - 1)]
        goal = np.clip(-high / slope, x[-1] - 1.4, x[-1] + 1.4)
        return int(np.clip(np.ceil(np.exp(goal)), self.least, self.most))
