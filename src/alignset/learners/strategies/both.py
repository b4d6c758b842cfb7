"""Both: the true label where a row was reviewed, the observed label elsewhere."""

from __future__ import annotations

import numpy as np

from alignset.learners.base import Predictor
from alignset.learners.context import Context
from alignset.learners.strategies.base import Strategy

START = 2.0
"""What it starts with, relative to others that read observed labels: it reads every label."""


class Both(Strategy):
    """Observed labels, corrected where they were reviewed."""

    name = "both"
    says = "true labels where reviewed, observed labels elsewhere"
    when_wrong = "less"
    to_lean_on = True

    def prior(self, rarest: float, wrong: float) -> float:
        """Return twice what such labels are worth."""
        return START * super().prior(rarest, wrong)

    def fit(self, rows: Context) -> Predictor:
        """Fit y where it is known, y~ elsewhere."""
        part = rows.rows
        label = np.where(part.reviewed, part.y_true, part.y_seen)
        return rows.fit(part.X, label, rows.weight, rows.settled)
