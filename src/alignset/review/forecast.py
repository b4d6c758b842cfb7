"""How many rows to review for a wanted half-width, by simulating the review and its estimates.

Truth is drawn for every row from what is believed, rows are drawn as `sample` draws them, and the
estimate is made as `audit` makes it, many times over. The number of rows is the one at which a
wanted share of these reviews, the *assurance*, has an interval at most so wide, in all groups at
once. After a first wave, what was learned from it is drawn anew each time, too, so that a plan
made from few reviewed rows knows that it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.labels import UNREVIEWED
from alignset.review.aim import OF_SCORES, Aim, AimRows, check_between, prepare, reach, read_rows
from alignset.review.belief import Belief, believe
from alignset.review.sample import open_rows
from alignset.review.shortest import Shares, share_out
from alignset.review.strata import review_chance
from alignset.review.waves import read_design
from alignset.rows.review import draw

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_ROWS = 20_000
"""Rows simulated; of larger tables, so many at random."""
STEPS = 4
LEAST = 30
"""Rows below which an interval is not to be trusted, so fewer are not planned."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """How many rows to review to know what was asked, and what to expect.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"risk": rng.random(800)})
    >>> table["obs"] = (rng.random(800) < table["risk"]).astype(int)
    >>> made = forecast(table, Aim("auroc", "risk"), label="obs", guess=0.05, precision=0.04,
    ...                 draws=20, random_state=0)
    >>> made.reached, made.total < made.alone
    (True, True)
    """

    aim: Aim
    rows: int  # of the table
    reviewed: int  # before
    precision: float
    level: float
    assurance: float
    total: int  # rows to review
    reached: bool  # whether that is enough
    groups: pd.DataFrame  # one row per group, or one for a difference
    cells: pd.DataFrame  # one row per group x observed label
    alone: int  # rows needed, about, if only reviewed rows counted
    learned: bool  # from a first wave
    right: tuple[float, float] | None  # believed accuracy of observed labels and of the score

    def frame(self) -> pd.DataFrame:
        """One row per group x observed label."""
        return self.cells

    def group_frame(self) -> pd.DataFrame:
        """One row per group, or one for a difference."""
        return self.groups

    @property
    def notes(self) -> tuple[str, ...]:
        """What to keep in mind when reading the numbers."""
        how = "learned from the rows reviewed so far" if self.learned else "as guessed"
        said = [
            f"what observed labels know is {how}; simulated reviews were estimated as `alignset "
            "audit` does. The plan is as good as that belief."
        ]
        if not self.reached:
            said.append(
                f"a half-width of {self.precision:g} is out of reach: {self.total} rows are what "
                "there is. Ask for a wider interval, or for more rows."
            )
        else:
            saved = max(1 - self.total / self.alone, 0.0)
            said.append(
                f"reviewed rows alone would take about {self.alone} rows; the observed labels of "
                f"the others save {saved:.0%}."
            )
        if self.right is not None:
            said.append(_limit(*self.right))
        return tuple(said)


def _limit(observed: float, score: float) -> str:
    """Say how much observed labels can save, by how they compare with what is judged."""
    what = f"observed labels are believed right in {observed:.0%} of rows, the score in {score:.0%}"
    rule = "a proxy no better than the model it judges saves at most half of the reviews"
    if observed <= score:
        return f"{what}: {rule} (Dorner, Nastl & Hardt 2025)."
    return f"{what}; were they no better than the score, they could save at most half the reviews."


def forecast(
    table: pd.DataFrame,
    aim: Aim,
    *,
    label: str,
    group: str | Sequence[str] = (),
    truth: str | None = None,
    precision: float = 0.05,
    level: float = 0.95,
    assurance: float = 0.9,
    guess: float | Mapping[Any, float] = 0.2,
    draws: int = 40,
    random_state: int | np.random.Generator | None,
) -> Forecast:
    """Plan a review for any measure, for a group's, or for a difference.

    Parameters
    ----------
    table : DataFrame
    aim : Aim
        What to know: the measure, its score and threshold, and what is compared.
    label, truth : str
        Columns of observed and, if some rows were reviewed, true labels: with 20 reviewed rows or
        more, what observed labels know is learned from them instead of guessed.
    group : str or sequence of str
        Group columns. The half-width holds in every group at once; without, for all rows.
    precision : float in (0, 0.5), default=0.05
        Half-width wanted.
    level : float, default=0.95
        Coverage of the intervals.
    assurance : float in (0, 1), default=0.9
        Share of reviews that have the half-width, or less.
    guess : float or mapping from observed label to float, in (0, 1), default=0.2
        Share of wrong labels, without a first wave.
    draws : int, default=40
        Simulated reviews per step of the search.
    random_state : int, Generator or None

    Returns
    -------
    Forecast
        ``total`` more rows, to be drawn by ``alignset.review.sample.sample`` with the same aim.
    """
    check_share("precision", precision, 0.5)
    check_share("assurance", assurance, 1.0)
    if draws < 10:
        raise ValueError(f"draws must be 10 or more, got {draws}; with fewer there is no share.")
    rng = np.random.default_rng(random_state)
    rows = read_rows(table, label=label, truth=truth, group=group, scores=aim.columns)
    aim = check_between(aim, rows.cells)
    belief, learned = believe(rows, guess)
    future = _future(table, rows, aim, belief, truth, level, rng)
    search = _Search(future, precision, assurance, draws, rng)
    total, widths = search.run()
    shares = future.share_out(total)
    plain = search.simulate(_at_random(future, shares))
    wider = search.assured(plain, "alone") / search.assured(widths)
    return Forecast(
        aim, len(table), int(rows.reviewed.sum()), precision, level, assurance, total,
        total < search.most or search.assured(widths) <= precision,
        _by_group(future.names, widths, plain, assurance), _by_cell(rows, shares, future),
        max(int(np.ceil(total * wider**2)), total), learned, _accuracy(rows, aim, belief),
    )  # fmt: skip


def check_share(name: str, value: float, most: float) -> None:
    """Refuse what is not a share."""
    if not 0 < value < most:
        raise ValueError(f"{name} must lie in (0, {most:g}), got {value}; write 0.05 for 5 %.")


@dataclass(frozen=True, eq=False)
class _Future:
    """Rows, what is known of them, and how the next review goes."""

    rows: AimRows
    aim: Aim
    belief: Callable[[np.random.Generator | None], Floats]
    is_open: Mask
    before: Floats  # probability that a row was reviewed already
    level: float

    def share_out(self, n: int) -> Shares:
        return share_out(self.rows, self.aim, self.belief(None), self.is_open, n)

    def review(self, shares: Shares, rng: np.random.Generator) -> tuple[list[float], list[float]]:
        """Simulate a review: half-widths, and those of reviewed rows alone."""
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
        ours = [(one.high - one.low) / 2 for one in found]
        alone = [(one.reviewed_only[2] - one.reviewed_only[1]) / 2 for one in found]
        # an interval that cannot be made is as wide as can be
        return [np.nan_to_num(w, nan=9.0) for w in ours], [np.nan_to_num(w, nan=9.0) for w in alone]

    @property
    def names(self) -> list[Any]:
        if self.aim.between is not None:
            return [self.aim.title]
        return list(self.rows.members) or ["all"]


def _future(
    table: pd.DataFrame,
    rows: AimRows,
    aim: Aim,
    belief: Belief,
    truth: str | None,
    level: float,
    rng: np.random.Generator,
) -> _Future:
    if len(rows) > MOST_ROWS:
        some = np.sort(rng.choice(len(rows), MOST_ROWS, replace=False))
        part, n = rows.take(some), MOST_ROWS
        # what was reviewed already taught the belief, and is not counted again
        part = AimRows(part.cells, np.full(n, UNREVIEWED), part.scores)
        return _Future(
            part, aim, lambda g: belief.probability(g)[some], np.ones(n, dtype=bool),
            np.zeros(n), level,
        )  # fmt: skip
    before = np.zeros(len(rows))
    if rows.reviewed.any():
        known = review_chance(rows, read_design(table))
        # without a known probability, a row reviewed before stands for itself
        before = np.where(np.isnan(known.chance), rows.reviewed.astype(float), known.chance)
    is_open = open_rows(table, truth)
    return _Future(rows, aim, belief.probability, is_open, before, level)


@dataclass(eq=False)
class _Search:
    """Find the number of rows from simulated half-widths.

    log half-width falls linearly with log n, and spreads about its mean as it did in the
    simulated reviews: all of them count, those near the goal most.
    """

    future: _Future
    precision: float
    assurance: float
    draws: int
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.most = int(self.future.is_open.sum())
        strata = len(np.unique(self.future.rows.cells.flat))
        self.least = min(max(LEAST, 5 * strata), self.most)

    def run(self) -> tuple[int, pd.DataFrame]:
        """Return the number of rows, and the half-widths simulated near it."""
        n, tried = min(max(self.least, 200), self.most), []
        for _ in range(STEPS):
            tried.append((n, self.simulate(self.future.share_out(n))))
            n = self._next(tried)
        return n, tried[-1][1] * np.sqrt(tried[-1][0] / n)

    def simulate(self, shares: Shares) -> pd.DataFrame:
        """Simulate reviews: half-widths of each group, ours and of reviewed rows alone."""
        size = range(len(self.future.names))
        reviews = [self.future.review(shares, self.rng) for _ in range(self.draws)]
        columns = pd.MultiIndex.from_product([["ours", "alone"], size])
        return pd.DataFrame([[*ours, *alone] for ours, alone in reviews], columns=columns)

    def assured(self, found: pd.DataFrame, which: str = "ours") -> float:
        """Half-width that the wanted share of reviews keeps, in all groups at once."""
        return float(np.quantile(found[which].max(axis=1), self.assurance, method="higher"))

    def _next(self, tried: list[tuple[int, pd.DataFrame]]) -> int:
        """Return the number of rows at which the assured half-width is the one wanted."""
        x = np.repeat([np.log(n) for n, _ in tried], self.draws)
        widths = np.stack([found["ours"].max(axis=1) for _, found in tried])
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


def _at_random(future: _Future, shares: Shares) -> Shares:
    """Draw as many rows of each group, but simply at random: what there was without a proxy."""
    group = future.rows.cells.group
    of = np.zeros(len(shares.sizes), dtype=np.int64)
    of[shares.code] = group
    sizes, counts = (np.bincount(of, x).astype(np.int64) for x in (shares.sizes, shares.counts))
    return Shares(group, sizes, counts)


def _by_group(
    names: list[Any], found: pd.DataFrame, plain: pd.DataFrame, assurance: float
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "group": names,
            "expected_half_width": found["ours"].mean().to_numpy(),
            "assured_half_width": found["ours"].quantile(assurance).to_numpy(),
            "reviewed_alone_half_width": plain["alone"].mean().to_numpy(),
        }
    )


def _by_cell(rows: AimRows, shares: Shares, future: _Future) -> pd.DataFrame:
    """Rows to draw from each group x observed label."""
    cell_of = np.zeros(len(shares.sizes), dtype=np.int64)
    cell_of[shares.code] = future.rows.cells.flat
    names = pd.MultiIndex.from_product(
        [rows.cells.groups.tolist(), rows.cells.labels.tolist()], names=["group", "label"]
    )
    needed = np.bincount(cell_of, shares.counts, minlength=len(names)).astype(np.int64)
    counts = {"rows": rows.cells.counts.reshape(-1), "needed": needed}
    return pd.DataFrame(counts, index=names).reset_index()


def _accuracy(rows: AimRows, aim: Aim, belief: Belief) -> tuple[float, float] | None:
    """Believed share of rows in which the observed label is right, and the score's flag."""
    if aim.measure not in OF_SCORES:
        return None
    q, seen = belief.probability(), rows.cells.label
    cut = aim.threshold
    if cut is None:  # flag as many as are believed positive
        cut = float(np.quantile(rows.score[:, 1], 1 - q[:, 1].mean()))
    flag = (rows.score[:, 1] >= cut).astype(int)
    every = np.arange(len(seen))
    return float(q[every, seen].mean()), float(q[every, flag].mean())
