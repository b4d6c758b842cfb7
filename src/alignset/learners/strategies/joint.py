"""Joint: maximum likelihood of P(y | x) and P(y~ | y, x) together, by EM.

    start    q from a ridge regression of y on (x, y~, x y~), on the reviewed rows
    M-step   fit the learner to every row, once per class, with weight q_i(y); fit one ridge
             regression of y~ on (x, group) per true class: the error model
    E-step   q_i(y)  proportional to  P(y | x_i) P(y~_i | y, x_i)

Both models of the E-step did not train on row i: trees memorise, and would confirm themselves, and
errors would be found where there are none. On reviewed rows q is the true label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from scipy.special import log_softmax

from alignset.learners.base import (
    FEW,
    Floats,
    Ints,
    Learner,
    Predictor,
    beside,
    one_hot,
    to_probability,
)
from alignset.learners.context import Context
from alignset.learners.linear import Linear
from alignset.learners.strategies.base import Said, Strategy, Trust
from alignset.rows import Part

UP = 3.0
"""How many times a reviewed row counts in the error model."""


@dataclass(frozen=True)
class Joint(Strategy):
    """A model of the class and a model of the errors, fitted together."""

    rounds: int = 4
    error_c: float = 0.01  # inverse penalty of the error model: how readily errors depend on x
    name = "joint"
    says = "a model of the class and one of the errors, fitted together by EM"
    needs_errors = True
    weighs_rows = True
    when_wrong: ClassVar[Trust] = "more"

    def fit(self, rows: Context) -> Predictor:
        """Iterate with a linear model of the class, then finish with the learner itself."""
        return self._fit(rows)[0]

    def say(self, rows: Context, held: Part) -> Said:
        """Say of held-out rows how probable each class is, alone and with the observed label."""
        label, q = self._fit(rows)
        odds = label.log_odds(held.X)
        errors = fit_errors(rows, q, np.arange(len(q)), self.error_c)
        return Said(odds, log_softmax(odds, axis=1) + errors.log_probability(held))

    def _fit(self, rows: Context) -> tuple[Predictor, Floats]:
        """Return the model of the class, and the last q."""
        q, own = self.start(rows), rows.settled
        for _ in range(self.rounds):
            q = step(rows, q, rows.linear, self.error_c)
        if isinstance(own, Linear):
            own = rows.linear
        else:
            q = step(rows, q, own, self.error_c)
        return rows.fit_soft(rows.rows.X, q, rows.weight, own), q

    def start(self, rows: Context) -> Floats:
        """Return the first q (n, K), from the reviewed rows."""
        part, k = rows.rows, rows.n_classes
        X = _with_label(part.X, part.y_seen, k)
        _, y, weight = rows.reviewed_rows
        model = rows.fit(X[np.flatnonzero(part.reviewed)], y, weight, Linear())
        return known(rows, to_probability(model.log_odds(X)))


def known(rows: Context, q: Floats) -> Floats:
    """Put the true label where a row was reviewed."""
    at = rows.reviewed
    q[at] = one_hot(rows.rows.y_true[at], rows.n_classes)
    return q


def step(rows: Context, q: Floats, learner: Learner, error_c: float, folds: int = 2) -> Floats:
    """Return q after one M-step and one E-step, cross-fitted."""
    part, n = rows.rows, len(rows.rows)
    fold = np.random.default_rng((rows.seed, 23)).permutation(n) % folds
    odds = np.empty(q.shape)
    for f in range(folds):
        kept, out = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        model = rows.fit_soft(part.X[kept], q[kept], rows.weight[kept], learner)
        errors = fit_errors(rows, q, kept, error_c)
        odds[out] = model.log_odds(part.X[out]) + errors.log_probability(part.take(out))
    return known(rows, to_probability(odds))


@dataclass(frozen=True, eq=False)
class LabelErrors:
    """P(y~ | y, x): a model of the observed label for every true class that occurs."""

    models: tuple[Predictor | None, ...]
    n_groups: int

    def log_probability(self, rows: Part) -> Floats:
        """Return log P(y~ | y, x) of each row's observed label, (n, K) over true classes."""
        X, found = beside_group(rows, self.n_groups), np.zeros((len(rows), len(self.models)))
        for true, model in enumerate(self.models):
            if model is not None:
                said = log_softmax(model.log_odds(X), axis=1)
                found[:, true] = said[np.arange(len(rows)), rows.y_seen]
        return found


def fit_errors(rows: Context, q: Floats, at: Ints, c: float) -> LabelErrors:
    """Fit the error model to the rows ``at``, each once per class, with weight q (n, K)."""
    part, models = rows.rows, []
    weight = rows.weight * np.where(part.reviewed, UP, 1.0)
    X = beside_group(part, rows.n_groups)
    for true in range(rows.n_classes):
        own = at[q[at, true] >= FEW]
        models.append(
            rows.fit(X[own], part.y_seen[own], weight[own] * q[own, true], Linear(C=c))
            if len(own)
            else None
        )
    return LabelErrors(tuple(models), rows.n_groups)


def beside_group(rows: Part, n_groups: int) -> Any:
    """Return the features, and which group a row belongs to if there are several."""
    return beside(rows.X, one_hot(rows.group, n_groups)) if n_groups > 1 else rows.X


def _with_label(X: Any, y_seen: Any, k: int) -> Any:
    seen = one_hot(y_seen, k)[:, 1:]
    if scipy.sparse.issparse(X):
        products = [X.multiply(seen[:, [j]]) for j in range(k - 1)]
        return scipy.sparse.hstack([X, *products, scipy.sparse.csr_matrix(seen)]).tocsr()
    return np.hstack([X, *(X * seen[:, [j]] for j in range(k - 1)), seen])
