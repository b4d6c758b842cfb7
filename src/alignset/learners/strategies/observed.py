"""Observed: P(y~ | x), fitted to the observed labels of all rows, as if they were right."""

from __future__ import annotations

from alignset.learners.base import Predictor
from alignset.learners.context import Context
from alignset.learners.strategies.base import Strategy


class Observed(Strategy):
    """Every label as it was observed."""

    name = "observed"
    says = "observed labels of all rows"
    needs_review = False
    when_wrong = "less"

    def fit(self, rows: Context) -> Predictor:
        """Fit y~ of all rows."""
        return rows.observed
