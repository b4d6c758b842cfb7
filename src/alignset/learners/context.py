"""The rows that candidates are fitted on, and what several label strategies need of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from alignset.learners.base import Floats, Ints, Learner, Predictor, of_unit
from alignset.learners.linear import Linear
from alignset.rows import Part
from alignset.stack.wanted import check_wanted

INNER_FOLDS = 2
"""Folds of reviewed rows, to predict each by a model that did not see it."""


@dataclass(eq=False)
class Context:
    """Rows, one learner, and what was fitted so far: strategies share it.

    ``rows.weight`` weights all rows; ``review_weight`` (n,) is how much a reviewed row counts
    beyond that, because rows like it were reviewed seldom.
    """

    rows: Part
    n_classes: int
    n_groups: int
    learner: Learner  # for labels of reviewed rows
    settled: Learner  # for labels of all rows: what it chooses is chosen once for all folds
    linear: Linear  # settled, too, for what is linear whatever the learner
    seed: int
    review_weight: Floats

    @property
    def reviewed(self) -> Any:
        """Which rows are reviewed."""
        return self.rows.reviewed

    @property
    def weight(self) -> Floats:
        """How much each row counts."""
        return self.rows.weights

    @cached_property
    def reviewed_rows(self) -> tuple[Any, Ints, Floats]:
        """Features, true labels and weights of the reviewed rows."""
        at = np.flatnonzero(self.reviewed)
        weight = (self.weight * self.review_weight)[at]
        return self.rows.X[at], self.rows.y_true[at], weight

    def fit(self, X: Any, y: Ints, weight: Floats, learner: Learner | None = None) -> Predictor:
        """Fit the learner, or another, to labels."""
        check_wanted()
        return (learner or self.learner).fit(X, y, weight, self.n_classes, seed=self.seed)

    def fit_soft(
        self, X: Any, q: Floats, weight: Floats, learner: Learner | None = None
    ) -> Predictor:
        """Fit the learner, or another, to probabilities of classes."""
        check_wanted()
        return (learner or self.learner).fit_soft(X, q, weight, self.n_classes, seed=self.seed)

    @cached_property
    def observed(self) -> Predictor:
        """A model of the observed labels of all rows."""
        return self.fit(self.rows.X, self.rows.y_seen, self.weight, self.settled)

    @cached_property
    def trusted(self) -> Predictor:
        """A model of the true labels of the reviewed rows."""
        return self.fit(*self.reviewed_rows)

    @cached_property
    def observed_odds(self) -> Floats:
        """Log-odds of the observed label of the reviewed rows, by models that did not see them."""
        at = np.flatnonzero(self.reviewed)
        rng = np.random.default_rng((self.seed, 22))
        fold = rng.permutation(len(at)) % INNER_FOLDS
        if self.rows.share is not None and self.rows.unit is not None:
            fold = of_unit(fold, self.rows.unit[at])
        odds = np.empty((len(at), self.n_classes))
        for part in np.unique(fold):
            out = at[fold == part]
            kept = np.delete(np.arange(len(self.rows)), out)
            model = self.fit(
                self.rows.X[kept], self.rows.y_seen[kept], self.weight[kept], self.settled
            )
            odds[fold == part] = model.log_odds(self.rows.X[out])
        return odds
