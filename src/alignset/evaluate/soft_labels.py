"""Soft labels: the probability of each true class given the observed label, the score and group.

q_i = P(y_i = k | x_i, y~_i, score_i) comes from a ridge logistic regression that is fitted to the
reviewed rows. Every row, reviewed or not, is dealt a fold, and its q comes from the model that
was fitted to the reviewed rows of all other folds. So no q has seen its own row's true label, and
within a fold a reviewed row is scored by the very model that scores the unreviewed ones: which of
the two a row is says nothing about its q, which is what the difference estimator rests on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

FOLDS = 10
"""Each model sees nine tenths of the reviewed rows."""

_NEWTON_STEPS = 30
_LOGIT_CAP = 7.0  # a probability of 0.001: beyond it a score says no more about a label
_LEAST_FOR_DUMMY = 10  # reviewed rows that a group needs to have a coefficient of its own
_PRINCIPAL = 5  # columns made of X; a few hundred reviewed rows cannot teach more


def soft_labels(
    score: Floats,
    observed: Codes,
    true: Codes,
    reviewed: Mask,
    *,
    n_classes: int,
    groups: tuple[Codes, ...] = (),
    X: Floats | None = None,
    unit: Codes | None = None,
    rng: np.random.Generator,
) -> Floats:
    """Return the cross-fitted probability of every true class for every row, (n, K).

    Parameters
    ----------
    score : float array of shape (n,) or (n, K)
    observed, true : int arrays of shape (n,)
        Class codes; ``true`` is used on reviewed rows only.
    reviewed : bool array of shape (n,)
    n_classes : int
    groups : tuple of int arrays of shape (n,)
        Group codes, one array for each group column.
    X : float array of shape (n, d), optional
        Features; their first few principal columns are used.
    unit : int array of shape (n,), optional
        Whom each row belongs to; a person is in one fold.
    rng : Generator
        Deals the folds.
    """
    fold = deal_folds(reviewed, observed, rng)
    if unit is not None:  # the fold of a reviewed row, if there is one
        order = np.argsort(~reviewed, kind="stable")
        _, first, back = np.unique(unit[order], return_index=True, return_inverse=True)
        fold[order] = fold[order[first]][back.reshape(-1)]
    found = [
        _cross_fit(one.design, one.spread, one.hit, reviewed, fold)
        for one in _regressions(score, observed, true, reviewed, n_classes, groups, X)
    ]
    return _shares(found)


@dataclass(frozen=True, eq=False)
class LearnedLabels:
    """What reviewed rows say about every row, with what they leave open.

    Parameters
    ----------
    designs : tuple of float arrays of shape (n, p)
        Columns of the regression of each class; of two classes, of the second.
    means, spreads : tuples of float arrays of shape (p,) and (p, p)
        Coefficients, and a square root of their covariance: Laplace's approximation.
    """

    designs: tuple[Floats, ...]
    means: tuple[Floats, ...]
    spreads: tuple[Floats, ...]

    def probability(self, rng: np.random.Generator | None = None) -> Floats:
        """Probability of every true class, (n, K); with ``rng``, one that is as well possible."""
        found = []
        for design, mean, spread in zip(self.designs, self.means, self.spreads, strict=True):
            off = 0.0 if rng is None else spread @ rng.normal(size=len(mean))
            found.append(_sigmoid(design @ (mean + off)))
        return _shares(found)


def learn_labels(
    score: Floats,
    observed: Codes,
    true: Codes,
    reviewed: Mask,
    *,
    n_classes: int,
    groups: tuple[Codes, ...] = (),
) -> LearnedLabels:
    """Fit the regressions of :func:`soft_labels` to all reviewed rows: to plan, not to estimate.

    Each group's labels may also be wrong more or less often, whichever label it is.
    """
    designs, means, spreads = [], [], []
    for one in _regressions(score, observed, true, reviewed, n_classes, groups, None, own=True):
        x, precision = one.design[reviewed], one.spread**-2
        hit = one.hit[reviewed].astype(np.float64)
        mean = _ridge_logistic(x, hit, np.ones((1, len(x))), precision)[0]
        q = _sigmoid(x @ mean)
        curve = (x * (q * (1 - q))[:, None]).T @ x + np.diag(precision)
        designs.append(one.design)
        means.append(mean)
        spreads.append(np.linalg.inv(np.linalg.cholesky(curve)).T)
    return LearnedLabels(tuple(designs), tuple(means), tuple(spreads))


@dataclass(frozen=True, eq=False)
class _Regression:
    """Columns (n, p), how large coefficients may be (p,), and which rows are hits (n,)."""

    design: Floats
    spread: Floats
    hit: Mask


def _regressions(
    score: Floats,
    observed: Codes,
    true: Codes,
    reviewed: Mask,
    n_classes: int,
    groups: tuple[Codes, ...],
    X: Floats | None,
    *,
    own: bool = False,
) -> Iterator[_Regression]:
    """One for each class; of two classes, for the second. ``own``: labels differ by group."""
    blocks = [_dummies(codes, reviewed) for codes in groups]
    said = observed[:, None] == np.arange(1, n_classes)
    if own:
        label = said - said.mean(0)
        both = [(x[:, :, None] * label[:, None]).reshape(len(x), -1) for x, _ in blocks]
        blocks += [(x, 2.0) for x in both]
    if X is not None:
        blocks.append((_principal(X), 0.5))
    if n_classes == 2:
        yield _Regression(*_design(log_odds(score), said, blocks), true == 1)
        return
    for k in range(n_classes):
        yield _Regression(*_design(log_odds(score[:, k]), said, blocks), true == k)


def _shares(found: list[Floats]) -> Floats:
    """Put the classes' probabilities side by side, (n, K), so that they add up to 1."""
    if len(found) == 1:
        return np.stack([1 - found[0], found[0]], axis=1)
    each = np.stack(found, axis=1)
    return np.asarray(each / each.sum(1, keepdims=True))


def deal_folds(reviewed: Mask, observed: Codes, rng: np.random.Generator) -> Codes:
    """Deal every row a fold, evenly among reviewed and among other rows of each observed label."""
    n_folds = max(2, min(FOLDS, int(reviewed.sum())))
    shuffled = rng.permutation(len(reviewed))
    in_turn = shuffled[np.lexsort((observed[shuffled], reviewed[shuffled]))]
    fold = np.empty(len(reviewed), dtype=np.int64)
    start = int((~reviewed).sum())
    for rows in (in_turn[:start], in_turn[start:]):
        fold[rows] = np.arange(len(rows)) % n_folds
    return fold


def log_odds(score: Floats) -> Floats:
    """Log odds of a probability; of any other score, its distance from the mean."""
    if score.min() >= 0 and score.max() <= 1:
        edge = 1 / (1 + np.exp(_LOGIT_CAP))
        p = np.clip(score, edge, 1 - edge)
        return np.asarray(np.log(p / (1 - p)))
    return np.asarray(score - score.mean())


def _design(
    odds: Floats, said: NDArray[np.bool_], blocks: list[tuple[Floats, float]]
) -> tuple[Floats, Floats]:
    """Columns of the regression, and how large a coefficient of each is expected to be."""
    width = odds.std()
    z = ((odds - odds.mean()) / (width if width > 0 else 1.0))[:, None]
    label = said - said.mean(0)
    parts = [(np.ones_like(z), 5.0), (z, 2.0), (label, 4.0), (label * z, 1.0), *blocks]
    design = np.concatenate([part for part, _ in parts], axis=1)
    spread = np.concatenate([np.full(part.shape[1], size) for part, size in parts])
    return design, spread


def _dummies(codes: Codes, reviewed: Mask) -> tuple[Floats, float]:
    """One column for each group with enough reviewed rows, but for the first."""
    count = np.bincount(codes[reviewed], minlength=codes.max() + 1)
    kept = np.flatnonzero(count >= _LEAST_FOR_DUMMY)
    kept = kept[1:] if len(kept) == len(count) else kept
    member = (codes[:, None] == kept).astype(np.float64)
    return member - member.mean(0), 1.0


def _principal(X: Floats) -> Floats:
    """First principal columns of the features, each with standard deviation 1."""
    width = X.std(0)
    z = (X - X.mean(0))[:, width > 0] / width[width > 0]
    values, axes = np.linalg.eigh(z.T @ z / len(z))
    best = np.argsort(values)[::-1][:_PRINCIPAL]
    best = best[values[best] > 1e-9]
    return np.asarray(z @ axes[:, best] / np.sqrt(values[best]))


def _cross_fit(design: Floats, spread: Floats, hit: Mask, reviewed: Mask, fold: Codes) -> Floats:
    """Probability of a hit for every row, from the model of the folds that it is not in."""
    rows = np.flatnonzero(reviewed)
    seen = (fold[rows] != np.arange(fold.max() + 1)[:, None]).astype(np.float64)  # (F, m)
    coefficient = _ridge_logistic(design[rows], hit[rows].astype(np.float64), seen, spread**-2)
    return _sigmoid((design * coefficient[fold]).sum(1))


def _ridge_logistic(x: Floats, y: Floats, weight: Floats, precision: Floats) -> Floats:
    """Coefficients (F, p) of F regressions that differ in the weights (F, m) of the rows."""
    m, p = x.shape
    products = (x[:, :, None] * x[:, None, :]).reshape(m, p * p)
    penalty = np.diag(precision)
    found = np.zeros((len(weight), p))
    for _ in range(_NEWTON_STEPS):
        q = _sigmoid(found @ x.T)  # (F, m)
        slope = (weight * (y - q)) @ x - found * precision
        curve = ((weight * q * (1 - q)) @ products).reshape(-1, p, p) + penalty
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        # a step of Newton can overshoot where the curve is flat; a short one cannot
        step /= np.maximum(np.abs(step).max(1, keepdims=True) / 3, 1.0)
        found = found + step
        if np.abs(step).max() < 1e-7:
            break
    return np.asarray(found)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -500, 500))))
