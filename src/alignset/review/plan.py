"""How many rows to review in each cell to know each group's noise rate well enough."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from alignset.evaluate.proportion import (
    IntervalRule,
    assured_half_width,
    effective_size,
    expected_half_width,
    wilson,
)
from alignset.review.design import Allocation, Floats, Ints, allocate, proportional
from alignset.rows.percent import percent
from alignset.tables.targets import Cells, guessed_rates, read_cells

SMALL_SHARE, LEAST_GROUP, MOST_GROUP = 0.03, 0.20, 0.80
"""What Tjandra and Wiens (2023) found: worse results when the alignment set was this share of the
training rows or less; robust while the minority made up between these shares of it."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What to review, as :meth:`frame` (a row per cell) and :meth:`group_frame` (one per group).

    Both give the rows in the table, the rows needed if the guess is right and at worst, and the
    rows within the budget. Groups also have the expected half-width of the noise rate that these
    give: its average over reviews. Without a budget, its columns are None.

    Examples
    --------
    >>> table = pd.DataFrame({"obs": [0, 1] * 500, "sex": ["f", "m", "m", "m"] * 250})
    >>> made = plan(table, label="obs", group="sex")
    >>> made.total, made.total_at_worst
    (336, 405)
    """

    rows: int  # of the table
    precision: float  # half-width asked for
    level: float  # coverage of that interval
    assurance: float | None  # share of reviews that have it; None: it is what is expected
    guess: float | Mapping[Any, float]  # assumed noise rate, or one per observed label
    budget: int | None
    groups: pd.DataFrame  # one row per group
    cells: pd.DataFrame  # one row per group x observed label

    @property
    def total(self) -> int:
        """Rows to review if the guess is right."""
        return int(self.groups["needed"].sum())

    @property
    def total_at_worst(self) -> int:
        """Rows to review for the precision, whatever the noise rates are."""
        return int(self.groups["needed_at_worst"].sum())

    def frame(self) -> pd.DataFrame:
        """One row per group x observed label."""
        return self.cells

    def group_frame(self) -> pd.DataFrame:
        """One row per group."""
        return self.groups

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence about each group that is too small to say much about."""
        return tuple(filter(None, self.groups["warning"]))

    @property
    def findings(self) -> tuple[str, ...]:
        """What the paper found about alignment sets of this size and composition."""
        counts = self.groups["needed" if self.budget is None else "within_budget"]
        total = sum(counts)
        size = (
            f"{total} of {self.rows} rows is an alignment set of {total / self.rows:.1%}; in "
            "Tjandra & Wiens (2023) the two-stage method was noticeably worse at "
            f"{SMALL_SHARE:.0%} or less of the training rows, and improved as the set grew (1 to "
            "15 % were tried)."
        )
        bias = (
            "in the same paper, with two groups, results held while the minority made up "
            f"{LEAST_GROUP:.0%} to {MOST_GROUP:.0%} of the alignment set, and degraded where one "
            "group heavily dominated it"
        )
        outside = [
            f"{name!r} is {percent(n / total)} of this one"
            for name, n in zip(self.groups["group"], counts, strict=True)
            if len(counts) == 2 and not LEAST_GROUP <= n / total <= MOST_GROUP
        ]
        return size, bias + (f": {', '.join(outside)}." if outside else ".")


def plan(
    table: pd.DataFrame,
    *,
    label: str,
    group: str | Sequence[str] = (),
    precision: float = 0.05,
    level: float = 0.95,
    assurance: float | None = 0.9,
    guess: float | Mapping[Any, float] = 0.2,
    budget: int | None = None,
    allocation: Allocation = proportional,
    floor: int = 10,
    rule: IntervalRule = wilson,
) -> Plan:
    """Plan a review: rows per group x observed label, and what a budget buys instead.

    Parameters
    ----------
    table : DataFrame
        Only the label and group columns are used.
    label : str
        Column of the observed label.
    group : str or sequence of str
        Group columns; several are intersected, none means one group.
    precision : float in (0, 0.5), default=0.05
        Half-width of each group's noise rate.
    level : float in (0, 1), default=0.95
        Coverage of the intervals.
    assurance : float in (0, 1) or None, default=0.9
        Share of reviews in which the half-width is kept, in all groups at once, if the guess is
        right. None: the half-width is the one to expect, and about half of all reviews keep it.
    guess : float or mapping from observed label to float, in (0, 1), default=0.2
        Expected noise rate before anything is reviewed.
    budget : int, optional
        Rows that can be reviewed; shared out by ``allocation``.
    allocation : callable, default=proportional
        ``proportional``, ``neyman`` or ``even`` from ``alignset.review.design``.
    floor : int, default=10
        Minimum rows from each cell, as far as the budget allows.
    rule : callable, default=wilson
        ``wilson`` or ``clopper_pearson`` from ``alignset.evaluate.proportion``.

    Returns
    -------
    Plan

    Notes
    -----
    A group's ``needed`` is the smallest number of rows, shared among its observed labels in
    proportion, whose half-width is at most ``precision``: in a share ``assurance ** (1 / groups)``
    of samples at the guessed rate, or on average over these, with the effective size
    p (1 - p) / V of the stratified design, V = sum_h (N_h / N)^2 p_h (1 - p_h) / n*_h and the
    finite population correction n*_h = n_h (N_h - 1) / (N_h - n_h). ``needed_at_worst`` does the
    same at the rate 0.5 without averaging, so no outcome gives a wider interval.
    """
    cells = read_cells(table, label=label, group=group)
    sizes = cells.counts
    rates = guessed_rates(guess, cells)
    ask = _ask(precision, level, assurance, rule, len(sizes))
    if floor < 0:
        raise ValueError(f"floor must not be negative, got {floor}.")
    if budget is not None and not 0 < budget <= sizes.sum():
        raise ValueError(f"budget must be from 1 to {sizes.sum()} (all rows), got {budget}.")
    needed = np.stack([ask.rows_needed(*of) for of in zip(sizes, rates, strict=True)])
    worst = np.stack([ask.rows_at_worst(of) for of in sizes])
    counts = {"rows": sizes, "needed": needed, "needed_at_worst": worst, "within_budget": None}
    if budget is not None:
        counts["within_budget"] = allocate(sizes, allocation(sizes, rates), budget, floor=floor)
    groups, by_cell = _frames(cells, counts, rates, ask)
    return Plan(len(table), precision, level, assurance, guess, budget, groups, by_cell)


def for_precision(
    precision: float,
    *,
    level: float = 0.95,
    assurance: float | None = 0.9,
    rule: IntervalRule = wilson,
) -> Allocation:
    """Return the allocation that shares rows out as :func:`plan` needs them for a half-width.

    Examples
    --------
    >>> for_precision(0.05)(np.array([[500, 400], [60, 40]]), np.full((2, 2), 0.2)).tolist()
    [[118.0, 94.0], [44.0, 30.0]]
    """

    def needed(sizes: Any, rates: Any) -> Floats:
        ask = _ask(precision, level, assurance, rule, len(sizes))
        counts = [
            ask.rows_needed(*of) if of[0].any() else of[0]
            for of in zip(np.asarray(sizes), np.asarray(rates), strict=True)
        ]
        return np.stack(counts).astype(np.float64)

    return needed


def _ask(
    precision: float, level: float, assurance: float | None, rule: IntervalRule, n_groups: int
) -> _Question:
    if not 0 < precision < 0.5:
        raise ValueError(f"precision must lie in (0, 0.5), got {precision}; write 0.05 for 5 %.")
    if assurance is not None and not 0 < assurance < 1:
        raise ValueError(f"assurance must lie in (0, 1), got {assurance}; write 0.9 for 90 %.")
    # groups are reviewed independently, so all keep the half-width that often
    each = None if assurance is None else assurance ** (1 / n_groups)
    return _Question(precision, level, rule, each)


def _frames(
    cells: Cells, counts: Mapping[str, Ints | None], rates: Floats, ask: _Question
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Arrange counts (G, K) by group and by cell, with the half-widths they give each group."""
    names = cells.groups.tolist()

    def widths(name: str) -> list[float] | None:
        of = counts[name]
        rows = None if of is None else zip(cells.counts, of, rates, strict=True)
        return None if rows is None else [ask.half_width(*row) for row in rows]

    groups = pd.DataFrame(
        {
            "group": names,
            **{name: None if of is None else of.sum(1) for name, of in counts.items()},
            "half_width": widths("needed"),
            "budget_half_width": widths("within_budget"),
            "warning": [ask.too_small(*of) for of in zip(names, cells.counts, rates, strict=True)],
        }
    )
    by_cell = pd.MultiIndex.from_product([names, cells.labels.tolist()], names=["group", "label"])
    flat = {name: None if of is None else of.reshape(-1) for name, of in counts.items()}
    return groups, pd.DataFrame(flat, index=by_cell).reset_index()


@dataclass(frozen=True)
class _Question:
    """What reviewed rows must answer about one group with (K,) rows, one count per label."""

    precision: float
    level: float
    rule: IntervalRule
    assurance: float | None = None

    def half_width(self, sizes: Ints, counts: Ints, rates: Floats) -> float:
        """Return the expected half-width of the group's rate if ``counts`` rows are reviewed."""
        rate = float(sizes @ rates / sizes.sum())
        size = _design_size(sizes, counts, rates)
        return expected_half_width(rate, size, level=self.level, rule=self.rule)

    def rows_needed(self, sizes: Ints, rates: Floats) -> Ints:
        """Return the fewest rows that give the precision at the guessed rates."""
        return _fewest(sizes, lambda counts: self._wide(sizes, counts, rates) <= self.precision)

    def _wide(self, sizes: Ints, counts: Ints, rates: Floats) -> float:
        """Return the half-width that is expected, or assured."""
        if self.assurance is None:
            return self.half_width(sizes, counts, rates)
        rate, size = float(sizes @ rates / sizes.sum()), _design_size(sizes, counts, rates)
        settings: Any = {"level": self.level, "rule": self.rule}
        return assured_half_width(rate, size, self.assurance, **settings)

    def rows_at_worst(self, sizes: Ints) -> Ints:
        """Return the fewest rows that give the precision whatever is found."""

        def enough(counts: Ints) -> bool:
            size = _design_size(sizes, counts, np.full(len(sizes), 0.5))
            low, high = self.rule(0.5, size, level=self.level)
            return bool(high - low <= 2 * self.precision)

        return _fewest(sizes, enough)

    def too_small(self, name: Any, sizes: Ints, rates: Floats) -> str:
        """Warn if even all rows of a group leave over twice the precision for people like them."""
        rows = int(sizes.sum())
        rate = float(sizes @ rates / rows)
        left = expected_half_width(rate, rows, level=self.level, rule=self.rule)
        if left <= 2 * self.precision:
            return ""
        count = "one row" if rows == 1 else f"{rows} rows"
        return (
            f"group {name!r} has {count}: reviewing them all shows how many of these labels are "
            f"wrong, but leaves {left:.2f} either way for new rows of the group; say nothing about "
            "it, or merge it with another group."
        )


def _fewest(sizes: Ints, enough: Callable[[Ints], bool]) -> Ints:
    least, most = int((sizes > 0).sum()), int(sizes.sum())
    return allocate(
        sizes, sizes, smallest(lambda n: enough(allocate(sizes, sizes, n)), least, most)
    )


def smallest(enough: Callable[[int], bool], least: int, most: int) -> int:
    """Find the smallest whole number that is enough; ``most`` must be.

    Bisection, then steps down, because rounding can make one number enough but not the next.
    """
    low = least + bisect_left(range(least, most), True, key=enough)
    steps = range(max(least, low - 8), low)
    return next((n for n in steps if enough(n)), low)


def _design_size(sizes: Ints, counts: Ints, rates: Floats) -> float:
    """Return a stratified sample's effective size for the overall rate; 0 if a cell has no draw."""
    filled = sizes > 0
    share, p = sizes[filled] / sizes.sum(), rates[filled]
    size = effective_size(counts[filled], sizes[filled])
    if (size == 0).any():
        return 0.0
    variance = float((share**2 * p * (1 - p) / size).sum())
    rate = float(share @ p)
    return rate * (1 - rate) / variance if variance > 0 else float("inf")
