"""Recalibrated: log-odds of y that are linear in those of y~.

    log-odds of y  =  a + b * log-odds of P(y~ | x)

with a and b from the reviewed rows, which the model of y~ did not see when it scored them. Two
numbers per class: hard to beat where few rows are reviewed and errors go one way.
"""

from __future__ import annotations

from alignset.learners.base import Predictor
from alignset.learners.context import Context
from alignset.learners.linear import Linear
from alignset.learners.strategies.base import Chained, Strategy

C = 1.0
"""Inverse penalty of b: with few reviewed rows it is drawn towards zero a little."""


class Recalibrated(Strategy):
    """The model of observed labels, its probabilities corrected by the reviewed rows."""

    name = "recalibrated"
    says = "observed labels, probabilities corrected on the reviewed rows"

    def fit(self, rows: Context) -> Predictor:
        """Fit y of the reviewed rows to the scores of the model of y~."""
        _, y, weight = rows.reviewed_rows
        head = rows.fit(rows.observed_odds[:, 1:], y, weight, Linear(C=C))
        return Chained(rows.observed, head, with_features=False)
