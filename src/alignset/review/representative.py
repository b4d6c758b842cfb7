"""Do reviewed rows look like the others? A classifier two-sample test within each group.

If a classifier can tell better than chance whether a row it has not seen was reviewed, the
reviewed rows are not like the rest (Lopez-Paz and Oquab 2017). Where selection probabilities are
known, a reviewed row has weight 1 / pi - 1, which makes reviewed rows represent the unreviewed
ones if, and only if, the probabilities are right and nobody skipped the hard cases.

The AUROC is the mean over folds, each scored by a classifier trained on the others. Its variance
is that of a fold (DeLong et al. 1988) times 1/K + 1/(K - 1) (Nadeau and Bengio 2003): classifiers
that share training rows agree by chance, and the naive 1/K called 10 % of simulated random samples
different instead of the 2.5 % asked for; with both terms it was 1 to 4 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FOLDS = 5
MIN_ROWS = 15
"""Minimum reviewed, and minimum unreviewed, rows for a test."""
MAX_COMPARED = 4000
"""Maximum unreviewed rows in a test; with a few hundred reviewed rows, more would not help."""
STRENGTH = 0.02
"""Inverse penalty of the classifier, small enough that it does not memorise single rows."""


@dataclass(frozen=True)
class TwoSampleTest:
    """How well a group's reviewed rows can be told from its other rows."""

    group: Any
    reviewed: int  # reviewed rows, and other rows below, that the classifier was tested on
    compared: int
    auroc: float  # cross-fitted; 0.5 if they are alike, NaN with too few rows
    low: float  # its interval
    high: float
    weighted: bool  # whether selection probabilities were corrected for


def choose_compared(unreviewed: Ints, rng: np.random.Generator) -> Ints:
    """Return at most ``MAX_COMPARED`` unreviewed rows, chosen at random."""
    if len(unreviewed) <= MAX_COMPARED:
        return unreviewed
    return np.sort(rng.choice(unreviewed, MAX_COMPARED, replace=False))


def two_sample_test(
    group: Any,
    X: Floats,
    reviewed: NDArray[np.bool_],
    weight: Floats | None,
    *,
    unit: Ints | None = None,
    level: float,
    random_state: int | np.random.Generator | None,
) -> TwoSampleTest:
    """Test whether one group's reviewed rows differ from its other rows.

    Parameters
    ----------
    group : object
        Name of the group.
    X : float array of shape (n, D)
        Features, the observed label among them.
    reviewed : bool array of shape (n,)
    weight : float array of shape (n,) or None
        Rows that each reviewed row represents; None counts them equally.
    unit : int array of shape (n,), optional
        Whom each row belongs to: folds keep a person whole, and the variance counts persons.
    level : float
    random_state : int, Generator or None

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, reviewed = rng.normal(size=(400, 2)), np.arange(400) < 100
    >>> X[reviewed, 0] += 1
    >>> test = two_sample_test("all", X, reviewed, None, level=0.95, random_state=0)
    >>> test.low > 0.6
    True
    """
    w = np.ones(len(X)) if weight is None else np.where(reviewed, weight, 1.0)
    use = w > 0
    X, y, w = X[use], reviewed[use], w[use]
    whose = np.arange(len(X)) if unit is None else np.unique(unit[use], return_inverse=True)[1]
    n = int(y.sum()), int((~y).sum())
    fold = _folds(y, whose, np.random.default_rng(random_state))
    few = any(len(np.unique(fold[kind])) < FOLDS for kind in (y, ~y))  # or all of a few persons
    if min(n) < MIN_ROWS or few:
        none = float("nan")
        return TwoSampleTest(group, *n, none, none, none, weight is not None)
    Z = _features(X)
    parts = [_held_out(Z, y, w, whose, fold == k) for k in range(FOLDS)]
    area = float(np.mean([part[0] for part in parts]))
    spread = float(np.mean([part[1] for part in parts])) * (1 / FOLDS + 1 / (FOLDS - 1))
    reach = float(norm.isf((1 - level) / 2) * np.sqrt(spread))
    bounds = max(area - reach, 0.0), min(area + reach, 1.0)
    return TwoSampleTest(group, *n, area, *bounds, weight is not None)


def _features(X: Floats) -> Floats:
    """Standardise columns, and add the squares of those with more than two values."""
    spread = X.std(0)
    Z = (X[:, spread > 0] - X[:, spread > 0].mean(0)) / spread[spread > 0]
    squares = Z[:, [len(np.unique(column)) > 2 for column in Z.T]] ** 2
    squares = np.minimum(squares, 9.0) - 1
    return np.hstack([Z, squares / np.maximum(squares.std(0), 1e-9)])


def _folds(y: NDArray[np.bool_], whose: Ints, rng: np.random.Generator) -> Ints:
    """Deal persons evenly into folds, those with a reviewed row and the others."""
    looked = np.bincount(whose, y) > 0
    fold = np.empty(len(looked), dtype=np.int64)
    for kind in (True, False):
        own = rng.permutation(np.flatnonzero(looked == kind))
        fold[own] = np.arange(len(own)) % FOLDS
    return fold[whose]


def _held_out(
    Z: Floats, y: NDArray[np.bool_], w: Floats, whose: Ints, held: NDArray[np.bool_]
) -> tuple[float, float]:
    """AUROC and its variance on rows a classifier has not seen."""
    train = ~held
    balanced = np.where(y, w / w[train & y].sum(), w / w[train & ~y].sum()) * (train & y).sum()
    if Z.shape[1] == 0:
        return 0.5, 0.0
    classifier = LogisticRegression(C=STRENGTH, max_iter=500)
    classifier.fit(Z[train], y[train], sample_weight=balanced[train])
    score = classifier.decision_function(Z[held])
    return weighted_auroc(score, y[held], w[held], whose[held])


def weighted_auroc(
    score: Floats, y: NDArray[np.bool_], w: Floats, whose: Ints | None = None
) -> tuple[float, float]:
    """Weighted AUROC and its variance by placements (DeLong et al. 1988); ties count one half.

    Placements of rows of the same person are added up first (Obuchowski 1997).
    """
    above = _placement(score[y], score[~y], w[~y])
    below = 1 - _placement(score[~y], score[y], w[y])
    area = float(above @ w[y] / w[y].sum())
    part: Floats = np.empty(len(y))
    for own, off in ((y, above - area), (~y, below - area)):
        n = len(off)
        part[own] = w[own] * off / w[own].sum() * np.sqrt(n / max(n - 1, 1))
    if whose is not None:
        part = np.asarray(np.bincount(whose, part))
    return area, float((part**2).sum())


def _placement(score: Floats, others: Floats, w: Floats) -> Floats:
    """Return the weighted share of the others that lie below each score."""
    order = np.argsort(others)
    total = np.concatenate([[0.0], np.cumsum(w[order])])
    left = np.searchsorted(others[order], score, side="left")
    right = np.searchsorted(others[order], score, side="right")
    return np.asarray((total[left] + total[right]) / 2 / total[-1])
