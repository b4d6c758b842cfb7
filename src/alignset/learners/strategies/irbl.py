"""IRBL: rows weighted by how much more likely their label is among the reviewed ones.

Nodet et al., "Importance reweighting for biquality learning" (IJCNN 2021): a model f_T of the
reviewed rows and a model f_U of the observed labels give every unreviewed row the weight

    beta(x, y~) = P_T(y~ | x) / P_U(y~ | x)

and the learner is fitted to the observed labels of those rows and the true labels of the others.
"""

from __future__ import annotations

import numpy as np

from alignset.learners.base import Predictor, to_probability
from alignset.learners.context import Context
from alignset.learners.strategies.base import Strategy

MOST = 10.0
"""The largest weight of an unreviewed row; the paper bounds none, and one row can then decide."""


class ImportanceWeighted(Strategy):
    """Observed labels weighted by what the reviewed rows say of them."""

    name = "irbl"
    says = "observed labels, weighted by importance (IRBL)"
    weighs_rows = True
    rows_to_trust = 100.0

    def fit(self, rows: Context) -> Predictor:
        """Fit labels of all rows, the observed ones weighted."""
        part, n = rows.rows, np.arange(len(rows.rows))
        trusted = to_probability(rows.trusted.log_odds(part.X))[n, part.y_seen]
        observed = to_probability(rows.observed.log_odds(part.X))[n, part.y_seen]
        beta = np.minimum(trusted / observed, MOST)
        label = np.where(part.reviewed, part.y_true, part.y_seen)
        weight = rows.weight * np.where(part.reviewed, 1.0, beta)
        return rows.fit(part.X, label, weight, rows.settled)
