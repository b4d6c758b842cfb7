"""Joint: maximum likelihood of P(y | x) and P(y~ | y, x) together, by EM.

    start    q from a ridge regression of y on (x, y~, x y~), on the reviewed rows
    M-step   fit the learner to every row, once per class, with weight q_i(y); fit one ridge
             regression of y~ on (x, group) per true class: the error model
    E-step   q_i(y)  proportional to  P(y | x_i) P(y~_i | y, x_i)

P(y | x_i) in the E-step comes from a model that did not train on row i: trees memorise, and would
confirm themselves. On reviewed rows q is the true label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from alignset.learners.base import (
    FEW,
    Floats,
    Learner,
    Predictor,
    beside,
    one_hot,
    to_probability,
)
from alignset.learners.context import Context
from alignset.learners.linear import Linear
from alignset.learners.strategies.base import Strategy, Trust

UP = 3.0
"""How many times a reviewed row counts in the error model."""

ERROR_C = 0.01
"""Inverse penalty of the error model: errors must show in many rows to depend on x."""


@dataclass(frozen=True)
class Joint(Strategy):
    """A model of the class and a model of the errors, fitted together."""

    rounds: int = 4
    name = "joint"
    says = "a model of the class and one of the errors, fitted together by EM"
    needs_errors = True
    weighs_rows = True
    when_wrong: ClassVar[Trust] = "more"

    def fit(self, rows: Context) -> Predictor:
        """Iterate with a linear model of the class, then finish with the learner itself."""
        q, own = self.start(rows), rows.settled
        for _ in range(self.rounds):
            q = step(rows, q, rows.linear)
        if isinstance(own, Linear):
            own = rows.linear
        else:
            q = step(rows, q, own)
        return rows.fit_soft(rows.rows.X, q, rows.weight, own)

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


def step(rows: Context, q: Floats, learner: Learner, folds: int = 2) -> Floats:
    """Return q after one M-step and one E-step, cross-fitted."""
    part, n = rows.rows, len(rows.rows)
    fold = np.random.default_rng((rows.seed, 23)).permutation(n) % folds
    odds = np.empty(q.shape)
    for f in range(folds):
        kept, out = fold != f, fold == f
        model = rows.fit_soft(part.X[kept], q[kept], rows.weight[kept], learner)
        odds[out] = model.log_odds(part.X[out])
    return known(rows, to_probability(odds + errors(rows, q)))


def errors(rows: Context, q: Floats) -> Floats:
    """Return log P(y~ | y, x) of each row's observed label, (n, K) over true classes."""
    part, k = rows.rows, rows.n_classes
    X = beside(part.X, one_hot(part.group, rows.n_groups)) if rows.n_groups > 1 else part.X
    weight = rows.weight * np.where(part.reviewed, UP, 1.0)
    found = np.empty(q.shape)
    for true in range(k):
        at = np.flatnonzero(q[:, true] >= FEW)
        if not len(at):
            found[:, true] = 0.0
            continue
        model = rows.fit(X[at], part.y_seen[at], weight[at] * q[at, true], Linear(C=ERROR_C))
        said = to_probability(model.log_odds(X))
        found[:, true] = np.log(said[np.arange(len(q)), part.y_seen])
    return found


def _with_label(X: Any, y_seen: Any, k: int) -> Any:
    seen = one_hot(y_seen, k)[:, 1:]
    if scipy.sparse.issparse(X):
        products = [X.multiply(seen[:, [j]]) for j in range(k - 1)]
        return scipy.sparse.hstack([X, *products, scipy.sparse.csr_matrix(seen)]).tocsr()
    return np.hstack([X, *(X * seen[:, [j]] for j in range(k - 1)), seen])
