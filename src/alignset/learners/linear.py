"""Ridge logistic regression, its penalty chosen by cross-validation."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from alignset.learners.base import (
    Floats,
    Ints,
    Learner,
    Predictor,
    constant,
    even_folds,
    row_log_loss,
)

GRID = tuple(np.logspace(-4, 1, 6))
"""Inverse penalties that are tried, as scikit-learn's C, for features of standard deviation 1."""

FOLDS = 5
MOST_ROWS = 5_000
"""Rows that the penalty is chosen on."""

FEW_ROWS = 5
"""Up to so many rows a whole standard error counts, from there on less and less."""

FREE = 30.0
"""A column multiplied by this is penalised 900 times less than the others: nearly not at all."""


@dataclass(frozen=True, eq=False)
class LinearPredictor(Predictor):
    """Log-odds that are linear in the features."""

    coef: Floats  # (K, D)
    intercept: Floats  # (K,)

    def log_odds(self, X: Any) -> Floats:
        """Return centred log-odds (n, K)."""
        return np.asarray(X @ self.coef.T + self.intercept)


@dataclass(frozen=True)
class Linear(Learner):
    """Ridge logistic regression.

    Parameters
    ----------
    C : float, optional
        Inverse penalty; by default chosen by cross-validated log loss.
    free : int, default 0
        How many of the last columns are not penalised.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [-0.5], [0.5], [1.0]]), np.array([0, 0, 1, 1])
    >>> Linear(C=1.0).fit(X, y, np.ones(4), 2, seed=0).log_odds(X).round(1)
    array([[ 0.5, -0.5],
           [ 0.2, -0.2],
           [-0.2,  0.2],
           [-0.5,  0.5]])
    """

    C: float | None = None
    free: int = 0
    name = "linear"

    def fit(self, X: Any, y: Ints, weight: Floats, n_classes: int, *, seed: int) -> Predictor:
        """Fit, with the best penalty if none is given."""
        X = _enlarge(X, self.free)
        C = best_penalty(X, y, weight, seed=seed) if self.C is None else self.C
        found = _fit(X, y, weight, n_classes, C)
        if self.free and isinstance(found, LinearPredictor):
            found.coef[:, -self.free :] *= FREE
        return found

    def settle(self, X: Any, y: Ints, weight: Floats, n_classes: int, *, seed: int) -> Linear:  # noqa: ARG002
        """Return the same with the best penalty for these labels."""
        C = best_penalty(_enlarge(X, self.free), y, weight, seed=seed)
        return replace(self, C=C)


def best_penalty(X: Any, y: Ints, weight: Floats, *, seed: int) -> float:
    """Return the C to use, by cross-validated log loss.

    With many rows that is the best one; with few rows, where the best is luck, the smallest that is
    not worse by a share of its standard error.
    """
    rng = np.random.default_rng((seed, 21))
    order = rng.permutation(len(y))[:MOST_ROWS]
    fold = even_folds(y[order], FOLDS)
    loss = np.zeros((len(GRID), len(y)))
    for part in range(FOLDS):
        out, kept = order[fold == part], order[fold != part]
        if not len(out) or not len(kept):
            continue
        X_out, X_kept = X[out], X[kept]
        # the penalty is for all rows: with fewer of them it would count for more
        share = weight.sum() / weight[kept].sum()
        for i, C in enumerate(GRID):
            model = _fit(X_kept, y[kept], weight[kept] * share, int(y.max()) + 1, C)
            loss[i, out] = weight[out] * row_log_loss(model.log_odds(X_out), y[out])
    best = int(loss.sum(axis=1).argmin())
    more = loss - loss[best]
    error = more.std(axis=1) * np.sqrt(len(y))
    fine = more.sum(axis=1) <= error * min(1.0, FEW_ROWS / len(y))
    return float(GRID[int(fine.argmax())])


def _fit(X: Any, y: Ints, weight: Floats, n_classes: int, C: float) -> Predictor:
    present = np.unique(y)
    if len(present) < 2:
        return constant(y, weight, n_classes)
    model = LogisticRegression(C=C, max_iter=200)
    # products of finite float32 numbers at times raise BLAS's flag for an invalid one, see
    # github.com/numpy/numpy/issues/24067; what would be invalid shows in the coefficients
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, sample_weight=weight)
    coef, intercept = model.coef_.astype(np.float64), model.intercept_.astype(np.float64)
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise FloatingPointError("a linear model has coefficients that are not finite.")
    if len(present) == 2:
        coef, intercept = np.vstack([-coef, coef]) / 2, np.array([-1.0, 1.0]) * intercept / 2
    # a class that never occurs is as likely as half a row
    all_coef = np.zeros((n_classes, coef.shape[1]))
    base = np.full(n_classes, np.log(0.5 / (len(y) + 1)))
    all_coef[present], base[present] = coef, intercept
    return LinearPredictor(all_coef - all_coef.mean(axis=0), base - base.mean())


def _enlarge(X: Any, free: int) -> Any:
    """Make the free columns large, so that small coefficients are enough for them."""
    if not free:
        return X
    size = np.ones(X.shape[1])
    size[-free:] = FREE
    return (X @ scipy.sparse.diags_array(size)).tocsr() if scipy.sparse.issparse(X) else X * size
