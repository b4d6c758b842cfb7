"""What a learner is: something that fits labels, given weights, and answers with log-odds.

Log-odds are centred logarithms of probabilities, (n, K): they sum to zero in every row, and
``to_probability`` turns them back. With two classes they are (-l / 2, l / 2), l the usual log-odds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from alignset.rows.raw import RawColumns

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CERTAIN = 1e-5
"""The smallest probability that a learner may answer with: one row must not decide a blend."""

FEW = 0.02
"""A row whose probability of a class is below this does not train that class."""


class Predictor(ABC):
    """A fitted model of the class."""

    @abstractmethod
    def log_odds(self, X: Any) -> Floats:
        """Return centred logarithms of the probability of each class, (n, K)."""


class Learner(ABC):
    """A way to learn P(class | x) from labels with weights."""

    name: ClassVar[str]
    takes_sparse: ClassVar[bool] = True
    takes_weight: ClassVar[bool] = True

    @abstractmethod
    def fit(self, X: Any, y: Ints, weight: Floats, n_classes: int, *, seed: int) -> Predictor:
        """Fit labels ``y``, class codes below ``n_classes``; not every class need occur."""

    def reading(self, raw: RawColumns) -> Learner:  # noqa: ARG002
        """Return the learner for a matrix that was made of a table; most read it as it is."""
        return self

    def settle(self, X: Any, y: Ints, weight: Floats, n_classes: int, *, seed: int) -> Learner:  # noqa: ARG002
        """Return the learner with what it chooses by cross-validation chosen for good."""
        return self

    def fit_soft(
        self, X: Any, q: Floats, weight: Floats, n_classes: int, *, seed: int
    ) -> Predictor:
        """Fit probabilities of classes: every row once per class, weighted by its probability."""
        row, y = np.nonzero(q >= FEW)
        return self.fit(X[row], y.astype(np.int64), weight[row] * q[row, y], n_classes, seed=seed)


@dataclass(frozen=True, eq=False)
class Constant(Predictor):
    """The same answer for every row: all that labels of a single class can teach."""

    odds: Floats  # (K,)

    def log_odds(self, X: Any) -> Floats:
        """Return the same log-odds for every row."""
        return np.tile(self.odds, (X.shape[0], 1))


def constant(y: Ints, weight: Floats, n_classes: int) -> Constant:
    """Return the shares of the classes, each counted half a row more than it has."""
    count = np.bincount(y, weight, n_classes) + 0.5
    return Constant(log_odds(count / count.sum()))


def log_odds(probability: Floats) -> Floats:
    """Return centred logarithms of probabilities (..., K).

    Examples
    --------
    >>> log_odds(np.array([[0.5, 0.5], [0.2, 0.8]])).round(3)
    array([[ 0.   ,  0.   ],
           [-0.693,  0.693]])
    """
    logs = np.log(np.clip(probability, CERTAIN, None))
    return np.asarray(logs - logs.mean(axis=-1, keepdims=True))


def to_probability(odds: Floats) -> Floats:
    """Return the probabilities (..., K) that have these log-odds."""
    powers = np.exp(odds - odds.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def spread_classes(odds: Floats, present: Sequence[int] | Ints, n_classes: int, n: int) -> Floats:
    """Return log-odds of all classes, from those of the classes that occurred among ``n`` rows."""
    if len(present) == n_classes:
        return odds
    probability = np.full((len(odds), n_classes), 0.5 / (n + 1))
    probability[:, present] = to_probability(odds)
    return log_odds(probability / probability.sum(axis=1, keepdims=True))


def beside(X: Any, *more: Floats) -> Any:
    """Return features with further columns to their right; sparse features stay sparse."""
    if scipy.sparse.issparse(X):
        return scipy.sparse.hstack([X, *map(scipy.sparse.csr_matrix, more)]).tocsr()
    return np.hstack([X, *more])


def row_log_loss(odds: Floats, y: Ints) -> Floats:
    """Return -log P(y) of each row (n,)."""
    return np.asarray(np.logaddexp.reduce(odds, axis=1) - odds[np.arange(len(y)), y])


def even_folds(y: Ints, n_folds: int) -> Ints:
    """Deal rows into folds in the order they have within their class, and return the fold of each.

    Rows in random order are dealt at random, evenly over classes; there may be fewer than folds.
    """
    fold = np.empty(len(y), dtype=np.int64)
    fold[np.argsort(y, kind="stable")] = np.arange(len(y)) % n_folds
    return fold


def of_unit(fold: Ints, unit: Ints) -> Ints:
    """Return the fold of the first row of each row's unit: copies of a row stay together."""
    _, first, back = np.unique(unit, return_index=True, return_inverse=True)
    return np.asarray(fold[first[back.reshape(-1)]])


def one_hot(codes: Ints, n: int) -> Floats:
    """Return one column per code."""
    return np.asarray(np.eye(n)[codes])
