"""Surrogate: y of the reviewed rows, from x and the log-odds of a cross-fitted P(y~ | x).

What the observed labels know becomes one feature, read by the reviewed rows (the idea of PheCAP,
Zhang et al., Nature Protocols 2019).
"""

from __future__ import annotations

from alignset.learners.base import Learner, Predictor, beside
from alignset.learners.context import Context
from alignset.learners.linear import Linear
from alignset.learners.strategies.base import Chained, Strategy


class Surrogate(Strategy):
    """Reviewed rows, with the score of the model of observed labels as a feature."""

    name = "surrogate"
    says = "reviewed rows, with the model of observed labels as a feature"
    rows_to_trust = 100.0

    def suits(self, learner: Learner) -> bool:
        """For a linear learner this is Shrunk with the score penalised, too."""
        return not isinstance(learner, Linear)

    def fit(self, rows: Context) -> Predictor:
        """Fit y of the reviewed rows to x and the score of the model of y~."""
        X, y, weight = rows.reviewed_rows
        head = rows.fit(beside(X, rows.observed_odds[:, 1:]), y, weight)
        return Chained(rows.observed, head)
