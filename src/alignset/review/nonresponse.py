"""Rows that were drawn for review and got no answer: what their labels could do to a noise rate.

Nothing in the data says whether rows without an answer ("cannot tell", open) are like the others.
If they are, the estimate stands. If not, each of them may be right or wrong:

    lowest    sum_answered w_i e_i / sum_drawn w_i
    highest   the same plus sum_unanswered w_i / sum_drawn w_i

(Manski 1989), with e_i = 1 where the observed label is wrong. The interval goes from the lower end
of an interval of the lowest to the upper end of one of the highest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.evaluate.imputed import TruthDraws, pool_values
from alignset.evaluate.noise_rate import NoiseRate, ReviewDesign
from alignset.evaluate.proportion import effective_size, kish_size, wilson
from alignset.review.aim import AimRows
from alignset.review.ids import REVIEW_STATE
from alignset.rows.percent import percent

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

MATERIAL = 0.02
"""How far a bound may lie outside the interval of the estimate before it matters."""


@dataclass(frozen=True)
class NonResponse:
    """A group's noise rate if unanswered rows are like the others, and at worst.

    Examples
    --------
    >>> one = NonResponse("all", 100, 84, 0.15, 0.1, 0.21, 0.12, 0.28, 0.08, 0.34)
    >>> one.matters, one.text.split(":")[0]
    (True, "16 of 100 rows drawn in group 'all' have no answer")
    """

    group: Any
    drawn: int
    answered: int
    rate: float  # missing at random
    low: float
    high: float
    lowest: float  # if every unanswered label is right
    highest: float  # if every one is wrong
    worst_low: float  # the same with sampling error
    worst_high: float

    @property
    def matters(self) -> bool:
        """Whether a bound lies clearly outside the interval of the estimate."""
        return self.highest > self.high + MATERIAL or self.lowest < self.low - MATERIAL

    @property
    def text(self) -> str:
        """Both answers in a sentence."""
        return (
            f"{self.drawn - self.answered} of {self.drawn} rows drawn in group {self.group!r} have "
            f"no answer: its noise rate is {percent(self.rate)} ({percent(self.low)} to "
            f"{percent(self.high)}) if they are like the others, and anything from "
            f"{percent(self.worst_low)} to {percent(self.worst_high)} if they are not"
        )


def asked_rows(table: pd.DataFrame, design: ReviewDesign, reviewed: Mask) -> Mask:
    """Return which rows somebody was asked about: on a sheet, or answered."""
    asked = design.drawn | reviewed
    return np.asarray(asked | (review_states(table) != ""))


def review_states(table: pd.DataFrame) -> NDArray[np.str_]:
    """Return what became of each row on a sheet, (n,), in small letters; empty if not known."""
    if REVIEW_STATE not in table:
        return np.full(len(table), "")
    return table[REVIEW_STATE].astype("string").fillna("").str.strip().str.casefold().to_numpy(str)


def bound_noise_rates(
    rates: Sequence[NoiseRate],
    rows: AimRows,
    design: ReviewDesign,
    asked: Mask,
    *,
    draws: TruthDraws | None = None,
    level: float = 0.95,
) -> tuple[NonResponse, ...]:
    """Bound the noise rate of every group in which rows were asked about in vain.

    Parameters
    ----------
    rates : sequence of NoiseRate
        Estimates that take unanswered rows to be like the others, one per group.
    rows : AimRows
    design : ReviewDesign
    asked : bool array of shape (n,)
        From :func:`asked_rows`.
    draws : TruthDraws, optional
        True labels, if they are uncertain.
    """
    weight, sets = _weights(design, asked), [rows.true] if draws is None else list(draws.codes)
    wrong = [(true != rows.cells.label) & rows.reviewed for true in sets]
    found = []
    for g, rate in enumerate(rates):
        here = (rows.cells.group == g) & asked
        answered = here & rows.reviewed
        if not answered.any() or here.sum() == answered.sum() or np.isnan(rate.rate):
            continue
        ends = _ends(weight[here], [w[here] for w in wrong], rows.reviewed[here])
        size = kish_size(weight[here])
        size *= float(effective_size(here.sum(), rate.rows)) / float(here.sum())
        low, high = (_interval(end, size, level) for end in ends)
        lowest, highest = (float(np.mean(end)) for end in ends)
        sizes = int(here.sum()), int(answered.sum())
        told = rate.rate, rate.low, rate.high
        found.append(NonResponse(rate.group, *sizes, *told, lowest, highest, low[0], high[1]))
    return tuple(found)


def _weights(design: ReviewDesign, asked: Mask) -> Floats:
    """Return how many rows each stands for; each sheet by itself stands for all rows."""
    weight = np.ones(len(asked))
    for wave in np.unique(design.wave[design.drawn]):
        rows = design.drawn & (design.wave == wave)
        own = 1 / design.probability[rows]
        weight[rows] = own * rows.sum() / own.sum()
    return weight


def _ends(weight: Floats, wrong: list[Mask], answered: Mask) -> tuple[list[float], list[float]]:
    total = float(weight.sum())
    missing = float(weight[~answered].sum()) / total
    lowest = [float(weight @ one) / total for one in wrong]
    return lowest, [low + missing for low in lowest]


def _interval(end: list[float], size: float, level: float) -> tuple[float, float]:
    """Return the interval of a bound; what is not known about labels widens it."""
    rate, variance, _ = pool_values(end, [value * (1 - value) / size for value in end])
    if 0 < rate < 1 and variance > 0:
        size = min(size, rate * (1 - rate) / variance)
    low, high = wilson(np.clip(rate, 0, 1), size, level=level)
    return float(low), float(high)
