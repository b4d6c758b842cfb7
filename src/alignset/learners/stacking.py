"""Weights of a blend, fitted to what candidates said of rows they did not see.

    min over v >= 0, b   sum_i CE(t_i, softmax(b + sum_j v_j s_j l_ij)) + lambda |v - p|^2

The super learner (van der Laan, Polley & Hubbard 2007), shrunk towards weights p: a hundred
reviewed rows cannot choose freely among nineteen candidates. The slope s_j puts a candidate on the
scale of the true labels first: wrong labels make the log-odds of a model of them too small, few
rows make those of a model of reviewed rows too large, and equal weights would then not be equal.

Two dozen rows cannot fit nineteen weights, but they can tell nineteen models apart, each of which
has one number, its log loss. So p is what the candidates start with, times what each did alone
(pseudo-BMA weights, Yao, Vehtari, Simpson & Gelman 2018, at a temperature):

    p_j  ~  start_j exp(-TRUST (sum_i CE(t_i, softmax(b_j + s_j l_ij)) - gain_j))

gain_j is how much better a candidate that models errors tells which reviewed labels are wrong
(``learners/credit.py``), zero for one that does not.

The labels t_i make use of rows that nobody reviewed (prediction-powered inference, Angelopoulos et
al. 2023): with q_i = P(y_i | y~_i, what the candidates say), from models that did not see row i,

    m reviewed rows    y_i - c q_i
    all N rows         c (m / N) q_i          c = N / (N + m) x m / (m + P)

so that the sum has the expectation of m rows with true labels, whatever q is, and less variance the
better q is. It falls back to the reviewed rows alone where there are no others. The model of q has
P parameters; without a reviewed row it knows less of that row's class than of others, and with few
rows per parameter so much less that reviewed rows look better judged than they are.

The sum is not convex, and where hardly a row is misjudged, its noise can make weights several times
too large. So a slope is at most twice what reviewed rows alone fit, and weights are multiplied by
the slope that these fit to the blend, if it is below one and rows held out of it say, beyond a
standard error, that it is better.

What two dozen rows say is uncertain all the same, and a blend that follows them loses most where
there was nothing to learn. So a part L / (L + m) of it is what a user would have without them:
models of observed labels, corrected where they were reviewed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from alignset.learners.base import (
    Floats,
    Ints,
    even_folds,
    of_unit,
    one_hot,
    row_log_loss,
    to_probability,
)
from alignset.learners.linear import Linear

LEAST, ROWS = 3.0, 2000.0
"""Shrinkage: at least so much, and so many / m for m reviewed rows."""

TRUST = 1 / 3
"""What the log loss of a candidate alone counts; 1 would be a likelihood, and chosen by luck."""

SLOPE = 2.0
"""A slope is drawn towards one as if by about so many rows."""

MOST_SLOPE = 2.0
"""How many times the slope may be that reviewed rows alone fit."""

LEAN = 5.0
"""Reviewed rows from which on they say more than half of the blend."""

FOLDS = 10

INTERCEPT = 10.0
"""Penalty of the intercept: a handful of reviewed rows must not move every probability."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class BlendWeights:
    """How much each candidate counts, and what is added to the log-odds of each class."""

    v: Floats  # (J,)
    intercept: Floats  # (K,)
    shrinkage: float  # 0: reviewed rows judged nothing

    def log_odds(self, odds: Floats) -> Floats:
        """Return the blend (n, K) of the candidates' log-odds (J, n, K)."""
        return np.asarray(np.tensordot(self.v, odds, 1) + self.intercept)


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows that no candidate saw, reviewed or not; ``y`` is -1 where they were not."""

    y: Ints
    y_seen: Ints
    weight: Floats
    n_classes: int
    share: Floats | None = None  # part of a row that each is; None: whole rows
    unit: Ints | None = None  # which copies are one row, if any are

    @property
    def n_reviewed(self) -> float:
        """How many rows are reviewed."""
        known = self.reviewed
        return float(known.sum() if self.share is None else self.share[known].sum())

    @property
    def reviewed(self) -> Mask:
        """Which rows are reviewed."""
        return self.y >= 0

    def labels(self, use: Mask, q: Floats | None) -> Floats:
        """Return the weighted labels (n, K) of the reviewed rows in ``use``, and of all by q."""
        own = np.where(use, self.weight, 0.0)
        true = own[:, None] * one_hot(np.maximum(self.y, 0), self.n_classes)
        if q is None:
            return true
        m, n, k = own.sum(), self.weight.sum(), self.n_classes - 1
        c = n / (n + m) * self.n_reviewed / (self.n_reviewed + k * (1 + 2 * k + k * k))
        return np.asarray(true + c * (m / n * self.weight - own)[:, None] * q)


def fit_weights(
    odds: Floats,
    rows: JudgedRows,
    prior: Floats | None = None,
    *,
    gain: Floats | None = None,
    lean_on: Floats | None = None,
    seed: int,
) -> tuple[BlendWeights, Floats]:
    """Return the weights, and the blend (n, K) of the rows, each held out of them.

    Parameters
    ----------
    odds : float array of shape (J, n, K)
        Log-odds of rows that the candidates did not see.
    prior : float array of shape (J,), optional
        What the candidates start with; equal weights by default.
    gain : float array of shape (J, n), optional
        What speaks for a candidate beside its log loss, by row (``learners/credit.py``).
    lean_on : float array of shape (J,), optional
        The candidates to lean on where few rows are reviewed, and how much on each.
    """
    known, raw = rows.reviewed, odds
    prior = np.full(len(odds), 1.0 / len(odds)) if prior is None else prior / prior.sum()
    alone = _alone(odds, rows.labels(known, None))
    pooled = np.tensordot([p * each.v[0] for p, each in zip(prior, alone, strict=True)], odds, 1)
    q = None if known.all() else expected_labels(pooled, rows, seed=seed)
    most = [MOST_SLOPE * each.v[0] for each in alone]
    alone = _alone(odds, rows.labels(known, q))
    slope = np.minimum([each.v[0] for each in alone], most)
    odds = odds * slope[:, None, None]
    told = odds + np.array([each.intercept for each in alone])[:, None]
    shrinkage = max(LEAST, ROWS / rows.n_reviewed)

    def fitted(use: Mask) -> tuple[BlendWeights, BlendWeights]:
        labels = rows.labels(use, q)
        more = gain[:, use] @ rows.weight[use] if gain is not None else 0.0
        found = solve(odds, labels, shrinkage, trusted(prior, told, labels, more))
        return found, _rescaled(found, odds, rows.labels(use, None))

    held = np.empty((2, len(rows.y), rows.n_classes))
    fold = _deal(rows, seed)
    for part in np.unique(fold):
        out = fold == part
        held[:, out] = [each.log_odds(odds[:, out]) for each in fitted(known & ~out)]
    kept = int(_surely_better(held[1], held[0], rows))
    found = fitted(known)[kept]
    found = replace(found, v=found.v * slope)
    return _leaning(found, held[kept], raw, rows.n_reviewed, lean_on)


def _leaning(
    found: BlendWeights, held: Floats, odds: Floats, n_reviewed: float, on: Floats | None
) -> tuple[BlendWeights, Floats]:
    """Return the weights, and the blend of held-out rows, partly replaced by what to lean on."""
    if on is None or on.sum() == 0:
        return found, held
    part, on = LEAN / (LEAN + n_reviewed), on / on.sum()
    v, intercept = (1 - part) * found.v + part * on, (1 - part) * found.intercept
    own = (1 - part) * held + part * np.tensordot(on, odds, 1)
    return replace(found, v=v, intercept=intercept), np.asarray(own)


def _rescaled(found: BlendWeights, odds: Floats, labels: Floats) -> BlendWeights:
    """Return the weights times the slope that suits the labels, drawn towards one, at most one."""
    by = min(solve(found.log_odds(odds)[None], labels, SLOPE, np.ones(1)).v[0], 1.0)
    return replace(found, v=found.v * by, intercept=found.intercept * by)


def _surely_better(one: Floats, other: Floats, rows: JudgedRows) -> bool:
    """Tell whether reviewed rows say, beyond a standard error, that one blend is better."""
    at = rows.reviewed
    gain = row_log_loss(other[at], rows.y[at]) - row_log_loss(one[at], rows.y[at])
    weight = rows.weight[at]
    mean = weight @ gain / weight.sum()
    return bool(mean * weight.sum() > np.sqrt(weight**2 @ (gain - mean) ** 2))


def expected_labels(odds: Floats, rows: JudgedRows, *, seed: int) -> Floats:
    """Return P(y | y~, log-odds) (n, K) for each row by a model that did not see it."""
    k, known, fold = rows.n_classes, rows.reviewed, _deal(rows, seed)
    z = odds[:, 1:] - odds[:, :1]
    z = (z - z.mean(0)) / np.maximum(z.std(0), 1e-12)
    seen = one_hot(rows.y_seen, k)[:, 1:]
    products = (seen[:, :, None] * z[:, None, :]).reshape(len(z), -1)
    X = np.hstack([z, 2 * seen, products / 2])  # the label says most, its products least
    q = np.empty((len(z), k))
    for part in np.unique(fold):
        use, out = known & (fold != part), fold == part
        model = Linear(C=4.0).fit(X[use], rows.y[use], rows.weight[use], k, seed=seed)
        q[out] = to_probability(model.log_odds(X[out]))
    return q


def _deal(rows: JudgedRows, seed: int) -> Ints:
    """Deal all rows into folds, evenly over what they turned out to be."""
    order = np.random.default_rng((seed, 24)).permutation(len(rows.y))
    fold = np.empty(len(order), dtype=np.int64)
    fold[order] = even_folds(rows.y[order], min(FOLDS, max(2, int(rows.n_reviewed))))
    return fold if rows.unit is None else of_unit(fold, rows.unit)


def _alone(odds: Floats, labels: Floats) -> list[BlendWeights]:
    """Return a slope, drawn towards one, and an intercept for each candidate."""
    return [solve(each[None], labels, SLOPE, np.ones(1)) for each in odds]


def trusted(prior: Floats, odds: Floats, labels: Floats, gain: Floats | float = 0.0) -> Floats:
    """Return what weights are drawn towards: their start, times what each did alone, and gained."""
    loss = np.array([_cross_entropy(each, labels)[0] for each in odds]) - gain
    found = prior * np.exp(-TRUST * (loss - loss.min()))
    return np.asarray(found / found.sum())


def total_log_loss(odds: Floats, y: Ints, weight: Floats) -> float:
    """Return the weighted sum of -log P(y)."""
    return float(weight @ row_log_loss(odds, y))


def solve(odds: Floats, labels: Floats, shrinkage: float, prior: Floats) -> BlendWeights:
    """Return the best weights for one shrinkage and weighted labels (n, K)."""
    J, _, K = odds.shape

    def value(p: Floats) -> tuple[float, Floats]:
        v, b = p[:J], p[J:]
        loss, miss = _cross_entropy(np.tensordot(v, odds, 1) + b, labels)
        loss += shrinkage * ((v - prior) ** 2).sum() + INTERCEPT * (b**2).sum()
        slope = np.tensordot(odds, miss, ([1, 2], [0, 1])) + 2 * shrinkage * (v - prior)
        return float(loss), np.concatenate([slope, miss.sum(0) + 2 * INTERCEPT * b])

    start = np.concatenate([prior, np.zeros(K)])
    bounds = [(0.0, None)] * J + [(None, None)] * K
    found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds)
    b = found.x[J:]
    return BlendWeights(found.x[:J], b - b.mean(), shrinkage)


def _cross_entropy(odds: Floats, labels: Floats) -> tuple[float, Floats]:
    """Return the sum of it over weighted labels (n, K), and its gradient."""
    weight = labels.sum(axis=1)
    top = np.logaddexp.reduce(odds, axis=1, keepdims=True)
    miss = weight[:, None] * np.exp(odds - top) - labels
    return float(weight @ top[:, 0] - (odds * labels).sum()), miss
