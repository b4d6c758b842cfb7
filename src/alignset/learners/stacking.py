"""Weights of a blend, fitted to what candidates said of reviewed rows they did not see.

    min over v >= 0, b   sum_i w_i CE(y_i, softmax(b + sum_j v_j s_j l_ij))
                         + lambda sum_j (v_j - p_j)^2

The super learner (van der Laan, Polley & Hubbard 2007), shrunk towards given weights p: with a
hundred reviewed rows equal weights are a good blend, and free weights are not. The slope s_j puts a
candidate on the scale of the true labels first: wrong labels make the log-odds of a model of them
too small, few rows make those of a model of reviewed rows too large, and equal weights would then
not be equal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from alignset.learners.base import Floats, Ints, even_folds, one_hot, row_log_loss

LAMBDAS = (300.0, 100.0, 30.0, 10.0, 3.0)
"""Shrinkages that are tried, the strongest first: it wins ties."""

LEAST = 1000.0
"""With n rows, no shrinkage below this / n is tried: so few rows cannot choose one."""

SLOPE = 5.0
"""A slope is drawn towards one as if by about so many rows."""

FOLDS = 10

INTERCEPT = 1.0
"""Penalty of the intercept: a handful of reviewed rows must not move every probability."""


@dataclass(frozen=True, eq=False)
class BlendWeights:
    """How much each candidate counts, and what is added to the log-odds of each class."""

    v: Floats  # (J,)
    intercept: Floats  # (K,)
    shrinkage: float

    def log_odds(self, odds: Floats) -> Floats:
        """Return the blend (n, K) of the candidates' log-odds (J, n, K)."""
        return np.asarray(np.tensordot(self.v, odds, 1) + self.intercept)


def fit_weights(
    odds: Floats, y: Ints, weight: Floats, prior: Floats | None = None, *, seed: int
) -> tuple[BlendWeights, Floats]:
    """Return the weights with the best shrinkage, and the blend (n, K) of rows held out of it.

    Parameters
    ----------
    odds : float array of shape (J, n, K)
        Log-odds of rows that the candidates did not see.
    prior : float array of shape (J,), optional
        What the weights are drawn towards; equal weights by default.
    """
    J, n, _ = odds.shape
    prior = np.full(J, 1.0 / J) if prior is None else prior / prior.sum()
    slope = np.array([_slope(each, y, weight) for each in odds])
    odds = odds * slope[:, None, None]
    order = np.random.default_rng((seed, 24)).permutation(n)
    fold = np.empty(n, dtype=np.int64)
    fold[order] = even_folds(y[order], FOLDS)
    tried = [each for each in LAMBDAS if each >= LEAST / n] or [LAMBDAS[0]]
    held = np.empty((len(tried), *odds.shape[1:]))
    for part in np.unique(fold):
        out, kept = fold == part, fold != part
        for i, shrinkage in enumerate(tried):
            found = solve(odds[:, kept], y[kept], weight[kept], shrinkage, prior)
            held[i, out] = found.log_odds(odds[:, out])
    best = int(np.argmin([total_log_loss(each, y, weight) for each in held]))
    found = solve(odds, y, weight, tried[best], prior)
    return replace(found, v=found.v * slope), held[best]


def _slope(odds: Floats, y: Ints, weight: Floats) -> float:
    """Return by how much to multiply a candidate's log-odds, drawn towards one."""
    return float(solve(odds[None], y, weight, SLOPE, np.ones(1)).v[0])


def total_log_loss(odds: Floats, y: Ints, weight: Floats) -> float:
    """Return the weighted sum of -log P(y)."""
    return float(weight @ row_log_loss(odds, y))


def solve(
    odds: Floats,
    y: Ints,
    weight: Floats,
    shrinkage: float,
    prior: Floats,
) -> BlendWeights:
    """Return the best weights for one shrinkage."""
    J, _, K = odds.shape
    hit = one_hot(y, K)

    def value(p: Floats) -> tuple[float, Floats]:
        v, b = p[:J], p[J:]
        z = np.tensordot(v, odds, 1) + b
        top = np.logaddexp.reduce(z, axis=1, keepdims=True)
        miss = weight[:, None] * (np.exp(z - top) - hit)
        loss = weight @ (top[:, 0] - (z * hit).sum(1))
        loss += shrinkage * ((v - prior) ** 2).sum() + INTERCEPT * (b**2).sum()
        slope = np.tensordot(odds, miss, ([1, 2], [0, 1])) + 2 * shrinkage * (v - prior)
        return float(loss), np.concatenate([slope, miss.sum(0) + 2 * INTERCEPT * b])

    start = np.concatenate([prior, np.zeros(K)])
    bounds = [(0.0, None)] * J + [(None, None)] * K
    found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds)
    b = found.x[J:]
    return BlendWeights(found.x[:J], b - b.mean(), shrinkage)
