"""Reviewed: P(y | x), fitted to the true labels of the reviewed rows alone."""

from __future__ import annotations

from alignset.learners.base import Predictor
from alignset.learners.context import Context
from alignset.learners.strategies.base import Strategy


class Reviewed(Strategy):
    """Only rows that were reviewed."""

    name = "reviewed"
    says = "true labels of the reviewed rows"
    rows_to_trust = 100.0

    def fit(self, rows: Context) -> Predictor:
        """Fit y of the reviewed rows."""
        return rows.trusted
