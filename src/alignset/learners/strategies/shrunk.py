"""Shrunk: coefficients of y drawn towards those of y~ instead of towards zero.

PASS (Zhang et al., JMLR 2022) minimises, over the reviewed rows,

    sum CE(y, x'beta)  +  lambda |beta - rho beta~|^2

where beta~ are the coefficients fitted to the observed labels and rho is free. With
beta = rho beta~ + delta this is a ridge regression on x with one more column, x'beta~, that is not
penalised. For learners without coefficients the column is their score: a linear correction is
added to the model of the observed labels.
"""

from __future__ import annotations

from alignset.learners.base import Predictor, beside
from alignset.learners.context import Context
from alignset.learners.linear import Linear
from alignset.learners.strategies.base import Chained, Strategy


class Shrunk(Strategy):
    """The model of observed labels plus what the reviewed rows add to it."""

    name = "shrunk"
    says = "reviewed rows, drawn towards the model of observed labels (PASS)"
    rows_to_trust = 100.0

    def fit(self, rows: Context) -> Predictor:
        """Fit y of the reviewed rows to x and the free score of the model of y~."""
        X, y, weight = rows.reviewed_rows
        head = Linear(free=rows.n_classes - 1)
        fitted = rows.fit(beside(X, rows.observed_odds[:, 1:]), y, weight, head)
        return Chained(rows.observed, fitted)
