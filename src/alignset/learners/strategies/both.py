"""Both: the true label where a row was reviewed, the observed label elsewhere."""

from __future__ import annotations

import numpy as np

from alignset.learners.base import Predictor
from alignset.learners.context import Context
from alignset.learners.strategies.base import Strategy


class Both(Strategy):
    """Observed labels, corrected where they were reviewed."""

    name = "both"
    says = "true labels where reviewed, observed labels elsewhere"
    when_wrong = "less"
    to_lean_on = True

    def fit(self, rows: Context) -> Predictor:
        """Fit y where it is known, y~ elsewhere."""
        part = rows.rows
        label = np.where(part.reviewed, part.y_true, part.y_seen)
        return rows.fit(part.X, label, rows.weight, rows.settled)
