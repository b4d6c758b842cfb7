"""Held-out predictions as ``alignset.evaluate.estimate`` takes them.

Rows nobody reviewed are there as well, with scores from models that were not trained on them: a
row is scored alike whether it was reviewed or not, which is what the estimator rests on.

Where selection probabilities are known, a reviewed row i was drawn with 1 / w_i (see
``alignset.model.evaluation``). Where they are not, reviewed rows count as drawn at random from all,
unless group x observed label shows that they were not (a chi-square test at 1 %): then as drawn at
random within each of these cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from alignset.evaluate import Estimate, estimate, estimate_difference
from alignset.evaluate.estimate_rows import EVEN, EstimateRows, check_rows
from alignset.evaluate.imputed import TruthDraws
from alignset.evaluate.paired import estimate_apart
from alignset.labels import UNREVIEWED, Codes
from alignset.model.evaluation import Evaluation
from alignset.tables.targets import Floats

SURE = 0.01
"""Reviewed rows count as selected where chance would make them this uneven less often."""


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Observed labels, true labels, groups and design of all rows that were held out.

    Parameters
    ----------
    kept : Evaluation
    """

    kept: Evaluation

    @property
    def observed(self) -> Codes:
        """Observed labels (n,); reviewed rows come first."""
        rest = self.kept.unreviewed
        parts = [self.kept.observed, *([] if rest is None else [rest.observed])]
        return np.concatenate(parts)

    @property
    def true(self) -> Floats:
        """True labels (n,), NaN where nobody looked."""
        none = np.full(len(self.group) - len(self.kept), np.nan)
        return np.concatenate([self.kept.true.astype(np.float64), none])

    @property
    def draws(self) -> TruthDraws:
        """Sets of true labels that are as well possible."""
        assert self.kept.draws is not None
        gap = np.full((len(self.kept.draws), len(self.group) - len(self.kept)), UNREVIEWED)
        found = np.concatenate([self.kept.draws, gap], axis=1)
        return TruthDraws(found, len(self.kept.classes))

    @property
    def group(self) -> Codes:
        """Group codes (n,)."""
        rest = self.kept.unreviewed
        return np.concatenate([self.kept.group, *([] if rest is None else [rest.group])])

    @property
    def names(self) -> NDArray[Any]:
        """Group names (n,)."""
        return np.array(self.kept.groups, dtype=object)[self.group]

    def score(self, name: str) -> Floats:
        """Return what a model said, (n, K)."""
        rest = self.kept.unreviewed
        return np.concatenate(
            [self.kept.scores[name], *([] if rest is None else [rest.scores[name]])]
        )

    @property
    def design(self) -> dict[str, Any]:
        """Probability of review, size and person of each row, as the estimator takes them."""
        return {**self._design(), **({} if self.unit is None else {"units": self.unit})}

    @property
    def unit(self) -> Codes | None:
        """Whom each row belongs to; None if nobody has two rows."""
        kept, rest = self.kept, self.kept.unreviewed
        if kept.unit is None:
            return None
        parts = [] if rest is None or rest.unit is None else [rest.unit]
        return np.concatenate([kept.unit, *parts])

    def _design(self) -> dict[str, Any]:
        kept, rest = self.kept, self.kept.unreviewed
        if not (kept.by_design or is_selective(kept)):
            return {}
        if rest is None:
            return {"sample_weight": kept.weight}
        cell, others = (g * len(kept.classes) + y for g, y in self._pairs())
        known = np.minimum(1 / kept.weight, 1.0)
        if rest.size > 1:
            size = np.concatenate([np.ones(len(kept)), np.full(len(others), rest.size)])
            return {"review_probability": self._with(known, np.nan), "sample_weight": size}
        low, high = (_by_cell(known, cell, others, end) for end in (np.minimum, np.maximum))
        alike = np.allclose(low, high, rtol=1e-9, equal_nan=True)
        fill = np.where(np.isnan(low), len(kept) / len(self.group), low) if alike else np.nan
        return {"review_probability": self._with(known, fill)}

    def _pairs(self) -> Sequence[tuple[Codes, Codes]]:
        rest = self.kept.unreviewed
        assert rest is not None
        return (self.kept.group, self.kept.observed), (rest.group, rest.observed)

    def _with(self, known: Floats, others: Any) -> Floats:
        rest = np.broadcast_to(np.asarray(others), (len(self.group) - len(self.kept),))
        return np.concatenate([known, rest])

    def estimate(
        self,
        metric: str,
        name: str,
        *,
        against: str | None = None,
        of_class: int | None = None,
        groups: bool = False,
        cells: NDArray[Any] | None = None,
        threshold: float | None = None,
        finite: bool = False,
        level: float = 0.95,
        random_state: int = 0,
    ) -> Estimate:
        """Estimate a metric of a model, or what it is more than that of the model ``against``.

        With ``of_class``, of that class against the rest. ``groups``: also within each group;
        ``cells`` are groups to use instead. ``finite``: for the rows of the table alone. A
        difference is that of the two models' own estimates, overall; of AUEOC, one by itself.
        """
        y, one = self.observed, self._one(of_class)
        true = self.true if metric in EVEN or self.kept.draws is None else self.draws
        if of_class is not None:
            y, true = (y == of_class).astype(np.int64), against_class(true, of_class)
        options = {**self.design, "threshold": threshold, "finite": finite}
        options |= {"level": level, "random_state": random_state}
        if groups or cells is not None:
            options["groups"] = self.names if cells is None else cells
        score = one(self.score(name))
        if against is None:
            return estimate(metric, score, y, true, **options)
        other = one(self.score(against))
        if metric in EVEN:
            return estimate_difference(metric, other, y, true, y_score_b=score, **options)
        pair = (self._rows(metric, each, y, true, threshold, random_state)
                for each in (other, score))  # fmt: skip
        return estimate_apart(metric, *pair, level=level)

    def _rows(
        self, metric: str, score: Floats, y: Codes, true: Any, threshold: float | None, seed: int
    ) -> EstimateRows:
        """Return the rows with the soft labels that an estimate of this score has."""
        options = {"review_probability": None, "sample_weight": None, **self.design}
        return check_rows(
            metric, [score], y, true, groups=None, threshold=threshold, flagged=None, X=None,
            given_soft=None, rng=np.random.default_rng(seed), **options,
        )  # fmt: skip

    def _one(self, of_class: int | None) -> Any:
        """Return what turns (n, K) into the scores that a metric takes."""
        if of_class is not None:
            return lambda score: score[:, of_class]
        return (lambda score: score[:, 1]) if len(self.kept.classes) == 2 else (lambda score: score)


def against_class(true: Any, of_class: int) -> Any:
    """Return true labels, or draws of them, as one class against the rest."""
    if isinstance(true, TruthDraws):
        hit = (true.codes == of_class).astype(np.int64)
        return TruthDraws(np.where(true.codes == UNREVIEWED, UNREVIEWED, hit), 2)
    return np.where(np.isnan(true), np.nan, (true == of_class).astype(np.float64))


def _by_cell(values: Floats, cell: Codes, others: Codes, end: Any) -> Floats:
    """Smallest or largest value of the cell that each other row is in; NaN in an empty cell."""
    found = np.full(int(max(cell.max(), others.max())) + 1, np.nan)
    start = np.inf if end is np.minimum else -np.inf
    found[np.unique(cell)] = start
    end.at(found, cell, values)
    return np.asarray(found[others])


def is_selective(kept: Evaluation) -> bool:
    """Tell whether some cells of group x observed label were reviewed more than chance explains."""
    cell = kept.group * len(kept.classes) + kept.observed
    found, rows = np.bincount(cell), np.bincount(cell, kept.weight)
    used = rows > 0
    share = len(kept) / rows.sum()
    if used.sum() < 2 or not share < 1:
        return False
    expected = rows[used] * share
    # drawn without replacement: a little less uneven than with it
    size = float(((found[used] - expected) ** 2 / expected).sum() / (1 - share))
    return bool(chi2.sf(size, used.sum() - 1) < SURE)
