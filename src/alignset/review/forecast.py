"""How many rows to review for a wanted half-width, by simulating the review and its estimates.

Truth is drawn for every row from what is believed, rows are drawn as `sample` draws them, and the
estimate is made as `audit` makes it, many times over. The number of rows is the one at which a
wanted share of these reviews, the *assurance*, has an interval at most so wide, in all groups at
once. After a first wave, what was learned from it is drawn anew each time, too, so that a plan
made from few reviewed rows knows that it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.labels import UNREVIEWED
from alignset.review.aim import OF_SCORES, Aim, AimRows, check_between, read_rows
from alignset.review.belief import Belief, believe
from alignset.review.sample import open_rows
from alignset.review.shortest import Shares
from alignset.review.simulate import Future, Search
from alignset.review.strata import review_chance
from alignset.review.waves import read_design

Floats = NDArray[np.float64]

MOST_ROWS = 20_000
"""Rows simulated; of larger tables, so many at random."""


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
    alone: float  # rows needed in all, about, if only reviewed rows counted
    left: float  # half-width if all rows were reviewed; not 0, as the table is a sample itself
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
            said.append(self._saved())
        if self.left > self.precision / 3:
            said.append(
                f"all {self.rows} rows reviewed would still leave {self.left:.3f} either way, "
                "because the table is a sample itself."
            )
        if self.right is not None:
            said.append(_limit(*self.right))
        return tuple(said)

    def _saved(self) -> str:
        together = self.reviewed + self.total
        if self.alone > self.rows:
            return f"reviewed rows alone would take more than the {self.rows} rows there are."
        return (
            f"of rows reviewed at random and nothing else it would take about {self.alone:.0f}; "
            f"observed labels, and drawing rows by them, save {1 - together / self.alone:.0%}."
        )


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
    search = Search(future, precision, assurance, draws, rng)
    total, widths = search.run()
    shares = future.share_out(total)
    left = float(future.review(replace(shares, counts=shares.sizes), rng)[0].max())
    plain = search.simulate_alone(total)
    reviewed = int(rows.reviewed.sum())
    ours, alone = float(search.assured(widths)[0]), float(search.assured(plain)[1])
    return Forecast(
        aim, len(table), reviewed, precision, level, assurance, total,
        total < search.most or ours <= precision,
        _by_group(future.names, widths, plain, assurance), _by_cell(rows, shares, future),
        _rows_alone(reviewed + total, left, ours, alone),
        left, learned, _accuracy(rows, aim, belief),
    )  # fmt: skip


def _rows_alone(n: int, left: float, ours: float, alone: float) -> float:
    """Return how many rows, reviewed at random and all there is, would have our half-width.

    Half-widths are w^2 = left^2 + c / n, with ``left`` what a review of all rows leaves.
    """
    ours, left = ours**2, min(left, ours) ** 2
    return n * max((alone**2 - left) / (ours - left), 1.0) if ours > left else float("inf")


def check_share(name: str, value: float, most: float) -> None:
    """Refuse what is not a share."""
    if not 0 < value < most:
        raise ValueError(f"{name} must lie in (0, {most:g}), got {value}; write 0.05 for 5 %.")


def _future(
    table: pd.DataFrame,
    rows: AimRows,
    aim: Aim,
    belief: Belief,
    truth: str | None,
    level: float,
    rng: np.random.Generator,
) -> Future:
    if len(rows) > MOST_ROWS:
        some = np.sort(rng.choice(len(rows), MOST_ROWS, replace=False))
        part, n = rows.take(some), MOST_ROWS
        # what was reviewed already taught the belief, and is not counted again
        part = AimRows(part.cells, np.full(n, UNREVIEWED), part.scores)
        return Future(
            part, aim, lambda g: belief.probability(g)[some], np.ones(n, dtype=bool),
            np.zeros(n), level,
        )  # fmt: skip
    before = np.zeros(len(rows))
    if rows.reviewed.any():
        known = review_chance(rows, read_design(table))
        # without a known probability, a row reviewed before stands for itself
        before = np.where(np.isnan(known.chance), rows.reviewed.astype(float), known.chance)
    is_open = open_rows(table, truth)
    return Future(rows, aim, belief.probability, is_open, before, level)


def _by_group(names: list[Any], found: Floats, plain: Floats, assurance: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "group": names,
            "expected_half_width": found[:, 0].mean(0),
            "assured_half_width": np.quantile(found[:, 0], assurance, axis=0),
            "reviewed_alone_half_width": plain[:, 1].mean(0),
        }
    )


def _by_cell(rows: AimRows, shares: Shares, future: Future) -> pd.DataFrame:
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
