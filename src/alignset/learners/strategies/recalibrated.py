"""Recalibrated: log-odds of y that are linear in those of y~.

    log-odds of y  =  a + b * log-odds of P(y~ | x)

with a and b from the reviewed rows, which the model of y~ did not see when it scored them, b drawn
towards one and never negative: with few rows a score that looks upside down is bad luck. Hard to
beat where few rows are reviewed and errors go one way.
"""

from __future__ import annotations

import numpy as np

from alignset.learners.base import Predictor, one_hot
from alignset.learners.context import Context
from alignset.learners.linear import LinearPredictor
from alignset.learners.stacking import solve
from alignset.learners.strategies.base import Chained, Strategy

PULL = 2.0
"""b is drawn towards one as if by about so many rows."""


class Recalibrated(Strategy):
    """The model of observed labels, its probabilities corrected by the reviewed rows."""

    name = "recalibrated"
    says = "observed labels, probabilities corrected on the reviewed rows"
    when_wrong = "less"

    def fit(self, rows: Context) -> Predictor:
        """Fit y of the reviewed rows to the scores of the model of y~."""
        _, y, weight = rows.reviewed_rows
        k = rows.n_classes
        labels = weight[:, None] * one_hot(y, k)
        found = solve(rows.observed_odds[None], labels, PULL, np.ones(1))
        # the log-odds of the first class are minus the sum of the others
        coef = found.v[0] * np.vstack([-np.ones((1, k - 1)), np.eye(k - 1)])
        head = LinearPredictor(coef, found.intercept)
        return Chained(rows.observed, head, with_features=False)
