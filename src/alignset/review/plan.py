"""How many rows to review in which cells, to know each group's noise rate well enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from alignset.evaluate.proportion import (
    IntervalRule,
    effective_size,
    expected_half_width,
    wilson,
)
from alignset.review.design import Allocation, Floats, Ints, allocate, proportional
from alignset.tables.cells import Cells, group_columns, guessed_rates, read_cells

SMALL_SHARE, LEAST_GROUP, MOST_GROUP = 0.03, 0.20, 0.80
"""What Tjandra and Wiens (2023) saw: worse at alignment sets of this share of the training rows
or below; robust while the minority made up between these shares of the alignment set."""


@dataclass(frozen=True)
class PlannedCell:
    """Rows to review with one observed label in one group; None where no budget was given."""

    group: Any
    label: Any
    rows: int
    needed: int
    needed_at_worst: int
    within_budget: int | None


@dataclass(frozen=True)
class PlannedGroup:
    """Rows to review in one group, and the half-width of its noise rate they give."""

    group: Any
    rows: int
    needed: int
    half_width: float
    needed_at_worst: int
    within_budget: int | None
    budget_half_width: float | None
    warning: str


@dataclass(frozen=True)
class Plan:
    """What to review: answers :meth:`frame` (a row per cell) and :meth:`group_frame`.

    Parameters
    ----------
    rows : int
        Rows of the table.
    precision, level : float
        Half-width asked for, and the coverage of the interval it is the half-width of.
    guess : float or mapping from observed label to float
        Noise rate the numbers ``needed`` assume; ``needed_at_worst`` assumes nothing.
    budget : int or None
    groups, cells : tuples of PlannedGroup and PlannedCell

    Examples
    --------
    >>> table = pd.DataFrame({"obs": [0, 1] * 500, "sex": ["f", "m", "m", "m"] * 250})
    >>> made = plan(table, label="obs", group="sex")
    >>> made.total, made.total_at_worst
    (308, 405)
    """

    rows: int
    precision: float
    level: float
    guess: float | Mapping[Any, float]
    budget: int | None
    groups: tuple[PlannedGroup, ...]
    cells: tuple[PlannedCell, ...]

    @property
    def total(self) -> int:
        """Rows to review if the guess is right."""
        return sum(group.needed for group in self.groups)

    @property
    def total_at_worst(self) -> int:
        """Rows to review to reach the precision whatever the noise rates are."""
        return sum(group.needed_at_worst for group in self.groups)

    def frame(self) -> pd.DataFrame:
        """One row per group x observed label."""
        return pd.DataFrame([vars(cell) for cell in self.cells])

    def group_frame(self) -> pd.DataFrame:
        """One row per group."""
        return pd.DataFrame([vars(group) for group in self.groups])

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each group too small to say much about."""
        return tuple(group.warning for group in self.groups if group.warning)

    @property
    def findings(self) -> tuple[str, ...]:
        """What the paper found about alignment sets of this size and composition."""
        counts = {g.group: g.needed if self.budget is None else g.within_budget or 0
                  for g in self.groups}  # fmt: skip
        return _findings(counts, self.rows)


def plan(
    table: pd.DataFrame,
    *,
    label: str,
    group: str | Sequence[str] = (),
    precision: float = 0.05,
    level: float = 0.95,
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
        Only the label and group columns are looked at.
    label : str
        Column of the observed label.
    group : str or sequence of str
        Group columns; several mean their intersections, none means one group.
    precision : float in (0, 0.5), default=0.05
        Half-width of each group's noise rate.
    level : float in (0, 1), default=0.95
        Coverage of the intervals.
    guess : float or mapping from observed label to float, in (0, 1), default=0.2
        Noise rate expected before anything is reviewed.
    budget : int, optional
        Rows that can be reviewed; shared out by ``allocation``.
    allocation : callable, default=proportional
        ``proportional``, ``neyman`` or ``even`` of ``alignset.review.design``.
    floor : int, default=10
        Rows of each cell a budget pays for at least, as far as it goes.
    rule : callable, default=wilson
        ``wilson`` or ``clopper_pearson`` of ``alignset.evaluate.proportion``.

    Returns
    -------
    Plan

    Notes
    -----
    A group's ``needed`` is the smallest number of rows, shared out over its observed labels in
    proportion, whose expected half-width is at most ``precision``: the average of the interval's
    half-width over samples at the guessed rate, with the effective size p (1 - p) / V of the
    stratified design, V = sum_h (N_h / N)^2 p_h (1 - p_h) / n*_h and the finite population
    correction n*_h = n_h (N_h - 1) / (N_h - n_h). ``needed_at_worst`` does the same at the rate
    0.5 without averaging, so no outcome gives a wider interval.
    """
    cells = read_cells(table, label=label, group=group_columns(group))
    sizes = cells.counts
    rates = guessed_rates(guess, cells)
    _check(precision, level, budget, floor, sizes)
    ask = _Question(precision, level, rule)
    needed = [ask.rows_needed(sizes[g], rates[g]) for g in range(len(sizes))]
    worst = [ask.rows_at_worst(sizes[g]) for g in range(len(sizes))]
    bought = None
    if budget is not None:
        bought = allocate(sizes, allocation(sizes, rates), budget, floor=floor)
    return Plan(
        rows=len(table),
        precision=precision,
        level=level,
        guess=guess,
        budget=budget,
        groups=_groups(cells, rates, needed, worst, bought, ask),
        cells=_cells(cells, needed, worst, bought),
    )


@dataclass(frozen=True)
class _Question:
    """What the rows reviewed must answer."""

    precision: float
    level: float
    rule: IntervalRule

    def half_width(self, sizes: Ints, counts: Ints, rates: Floats) -> float:
        """Average the half-width of one group's rate, (K,) of (K,) rows reviewed."""
        rate = float(sizes @ rates / sizes.sum())
        size = _design_size(sizes, counts, rates)
        return expected_half_width(rate, size, level=self.level, rule=self.rule)

    def rows_needed(self, sizes: Ints, rates: Floats) -> Ints:
        """Fewest rows of a group, by observed label, for the precision at the guessed rates."""

        def enough(n: int) -> bool:
            return self.half_width(sizes, _spread(sizes, n), rates) <= self.precision

        return _spread(sizes, smallest(enough, int((sizes > 0).sum()), int(sizes.sum())))

    def rows_at_worst(self, sizes: Ints) -> Ints:
        """Fewest rows of a group, by observed label, for the precision whatever is found."""
        half = np.full(len(sizes), 0.5)

        def enough(n: int) -> bool:
            size = _design_size(sizes, _spread(sizes, n), half)
            low, high = self.rule(0.5, size, level=self.level)
            return bool(high - low <= 2 * self.precision)

        return _spread(sizes, smallest(enough, int((sizes > 0).sum()), int(sizes.sum())))


def smallest(enough: Callable[[int], bool], least: int, most: int) -> int:
    """Find the smallest whole number that is enough; ``most`` has to be.

    Bisection, then steps down, because rounding can make a number enough and the next one not.

    Examples
    --------
    >>> smallest(lambda n: n * n >= 50, 1, 100)
    8
    """
    low, high = least, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    steps = range(max(least, low - 8), low)
    return next((n for n in steps if enough(n)), low)


def _spread(sizes: Ints, n: int) -> Ints:
    return allocate(sizes, sizes, n, floor=1)


def _design_size(sizes: Ints, counts: Ints, rates: Floats) -> float:
    """Effective size of a stratified sample for the overall rate; 0 if a cell has no draw."""
    filled = sizes > 0
    share, p = sizes[filled] / sizes.sum(), rates[filled]
    size = effective_size(counts[filled], sizes[filled])
    if (size == 0).any():
        return 0.0
    variance = float((share**2 * p * (1 - p) / size).sum())
    rate = float(share @ p)
    return rate * (1 - rate) / variance if variance > 0 else float("inf")


def _groups(
    cells: Cells,
    rates: Floats,
    needed: list[Ints],
    worst: list[Ints],
    bought: Ints | None,
    ask: _Question,
) -> tuple[PlannedGroup, ...]:
    sizes, planned = cells.counts, []
    for g, name in enumerate(cells.groups.tolist()):
        rate = float(sizes[g] @ rates[g] / sizes[g].sum())
        planned.append(
            PlannedGroup(
                group=name,
                rows=int(sizes[g].sum()),
                needed=int(needed[g].sum()),
                half_width=ask.half_width(sizes[g], needed[g], rates[g]),
                needed_at_worst=int(worst[g].sum()),
                within_budget=None if bought is None else int(bought[g].sum()),
                budget_half_width=(
                    None if bought is None else ask.half_width(sizes[g], bought[g], rates[g])
                ),
                warning=_too_small(name, int(sizes[g].sum()), rate, ask),
            )
        )
    return tuple(planned)


def _cells(
    cells: Cells, needed: list[Ints], worst: list[Ints], bought: Ints | None
) -> tuple[PlannedCell, ...]:
    return tuple(
        PlannedCell(
            group=name,
            label=value,
            rows=int(cells.counts[g, k]),
            needed=int(needed[g][k]),
            needed_at_worst=int(worst[g][k]),
            within_budget=None if bought is None else int(bought[g, k]),
        )
        for g, name in enumerate(cells.groups.tolist())
        for k, value in enumerate(cells.labels.tolist())
    )


def _too_small(name: Any, rows: int, rate: float, ask: _Question) -> str:
    """Warn where even all rows of a group leave twice the precision for people like them."""
    left = expected_half_width(rate, rows, level=ask.level, rule=ask.rule)
    if left <= 2 * ask.precision:
        return ""
    count = "one row" if rows == 1 else f"{rows} rows"
    return (
        f"group {name!r} has {count}: reviewing all of them tells how many of these labels are "
        f"wrong, but leaves {left:.2f} either way for new rows of the group; say nothing about it, "
        "or join it with another group."
    )


def _findings(counts: Mapping[Any, int], rows: int) -> tuple[str, ...]:
    total = sum(counts.values())
    share = total / rows
    size = (
        f"{total} of {rows} rows is an alignment set of {share:.1%}; in Tjandra & Wiens (2023) "
        f"the two-stage method was noticeably worse at {SMALL_SHARE:.0%} or lower of the training "
        "rows, and improved as the set grew (1 to 15 % were tried)."
    )
    bias = (
        "in the same paper, with two groups, results held while the minority made up "
        f"{LEAST_GROUP:.0%} to {MOST_GROUP:.0%} of the alignment set, and degraded where one group "
        "heavily dominated it"
    )
    parts = {name: n / total for name, n in counts.items()}
    outside = [
        f"{name!r} is {part:.0%} of this one"
        for name, part in parts.items()
        if len(parts) == 2 and not LEAST_GROUP <= part <= MOST_GROUP
    ]
    return size, bias + (f": {', '.join(outside)}." if outside else ".")


def _check(precision: float, level: float, budget: int | None, floor: int, sizes: Ints) -> None:
    if not 0 < precision < 0.5:
        raise ValueError(f"precision must lie in (0, 0.5), got {precision}; write 0.05 for 5 %.")
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}; write 0.95 for 95 %.")
    if floor < 0:
        raise ValueError(f"floor must not be negative, got {floor}.")
    if budget is not None and not 0 < budget <= sizes.sum():
        raise ValueError(f"budget must lie in 1 to {sizes.sum()} (all rows), got {budget}.")
