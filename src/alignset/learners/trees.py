"""Boosted trees: scikit-learn's HistGradientBoostingClassifier, kept as plain arrays of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from threadpoolctl import threadpool_limits

from alignset.learners.base import (
    Floats,
    Ints,
    Learner,
    Predictor,
    constant,
    log_odds,
    row_log_loss,
    spread_classes,
    to_probability,
)

BINS = 64
BINNED_ROWS = 50_000
"""Bins of a column, and how many rows they are learned from."""

NO_CATEGORIES = np.zeros((0, 8), dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class TreesPredictor(Predictor):
    """Sums of trees: one tree per round and class (two classes share one)."""

    nodes: NDArray[Any]  # the nodes of all trees, one after the other, in scikit-learn's layout
    ends: Ints  # (rounds, trees per round): where each tree ends
    base: Floats  # (trees per round,)
    present: Ints  # the classes that occurred
    n_classes: int
    n_rows: int

    def log_odds(self, X: Any) -> Floats:
        """Return centred log-odds (n, K)."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        raw = np.tile(self.base, (len(X), 1))
        start = 0
        none = np.zeros(0, dtype=np.uint32)
        for ends in self.ends:
            for k, end in enumerate(ends):
                tree = TreePredictor(self.nodes[start:end], NO_CATEGORIES, NO_CATEGORIES)
                raw[:, k] += tree.predict(X, NO_CATEGORIES, none, 1)
                start = end
        if raw.shape[1] == 1:
            raw = np.hstack([-raw, raw]) / 2
        odds = log_odds(to_probability(raw))
        return spread_classes(odds, self.present, self.n_classes, self.n_rows)


@dataclass(frozen=True)
class Trees(Learner):
    """Gradient-boosted trees of histograms; they take missing values as they are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)); y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> said = Trees().fit(X, y, np.ones(200), 2, seed=0).log_odds(X)
    >>> bool((said.argmax(1) == y).mean() > 0.9)
    True
    """

    rounds: int = 80
    rate: float = 0.08
    leaves: int = 6
    columns: float = 0.5  # share of the columns that a split may choose from
    l2: float = 1.0
    name = "trees"
    takes_sparse = False

    def fit(self, X: Any, y: Ints, weight: Floats, n_classes: int, *, seed: int) -> Predictor:
        """Fit on one core, so that the number of cores changes no bit."""
        present, codes = np.unique(y, return_inverse=True)
        if len(present) < 2:
            return constant(y, weight, n_classes)
        model = HistGradientBoostingClassifier(
            max_iter=self.rounds,
            learning_rate=self.rate,
            max_leaf_nodes=self.leaves,
            l2_regularization=self.l2,
            max_features=self.columns,
            max_bins=BINS,
            min_samples_leaf=int(np.clip(len(y) // 50, 5, 20)),
            early_stopping=False,
            random_state=seed % 2**32,
        )
        edges = find_edges(X)
        with threadpool_limits(1):
            model.fit(to_bins(X, edges), codes, sample_weight=weight)
        return _as_arrays(model, edges, present, n_classes, len(y))

    def settle(self, X: Any, y: Ints, weight: Floats, n_classes: int, *, seed: int) -> Trees:
        """Return the size of trees with the best cross-validated log loss for these labels."""
        order = np.random.default_rng((seed, 25)).permutation(len(y))[:MOST_ROWS]
        loss = np.zeros(len(SIZES))
        for part in range(FOLDS):
            out, kept = order[part::FOLDS], np.delete(order, np.s_[part::FOLDS])
            if not len(out) or not len(kept):
                return self
            for i, size in enumerate(SIZES):
                model = size.fit(X[kept], y[kept], weight[kept], n_classes, seed=seed)
                loss[i] += weight[out] @ row_log_loss(model.log_odds(X[out]), y[out])
        return SIZES[int(loss.argmin())]


SIZES = (Trees(), Trees(100, 0.08, 15, 0.7), Trees(150, 0.1, 31, 0.7))
"""From cautious to bold; the first is what few rows are fitted with."""

FOLDS = 2
MOST_ROWS = 6_000
"""Folds and rows that the size is chosen with."""


def find_edges(X: Floats) -> list[Floats]:
    """Return the values between which each column is cut into at most ``BINS`` bins.

    scikit-learn's own bins are weighted if rows are, and then take longer than the trees.
    """
    rows = X[:: max(1, len(X) // BINNED_ROWS)]
    return [_edges(column[~np.isnan(column)]) for column in rows.T]


def _edges(values: Floats) -> Floats:
    distinct = np.unique(values)
    if len(distinct) <= BINS:
        return np.asarray((distinct[1:] + distinct[:-1]) / 2)
    cut = np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1], method="lower")
    # between two values, never at one: a rounding error must not change the side
    above = np.minimum(np.searchsorted(distinct, cut, side="right"), len(distinct) - 1)
    return np.unique((distinct[above] + distinct[above - 1]) / 2)


def to_bins(X: Floats, edges: list[Floats]) -> Floats:
    """Return the bin of every value, NaN where it is missing; x <= edges[k] has a bin <= k."""
    found = np.empty(X.shape)
    for j, own in enumerate(edges):
        found[:, j] = np.searchsorted(own, X[:, j])
    found[np.isnan(X)] = np.nan
    return found


def _as_arrays(
    model: HistGradientBoostingClassifier,
    edges: list[Floats],
    present: Ints,
    n_classes: int,
    n_rows: int,
) -> TreesPredictor:
    """Return the nodes of all trees, with thresholds of values instead of bins."""
    trees = model._predictors
    sizes = [[len(tree.nodes) for tree in of_round] for of_round in trees]
    ends = np.cumsum(np.reshape(sizes, -1)).reshape(np.shape(sizes))
    nodes = np.concatenate([tree.nodes for of_round in trees for tree in of_round])
    for j, own in enumerate(edges):
        at = np.flatnonzero((nodes["feature_idx"] == j) & (nodes["is_leaf"] == 0))
        bins = np.floor(nodes["num_threshold"][at])
        # a split on missing alone has an infinite threshold, which stays
        cut = np.isfinite(bins) & (bins < len(own))
        nodes["num_threshold"][at[cut]] = own[bins[cut].astype(np.int64)]
        nodes["num_threshold"][at[~cut]] = np.inf
    base = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
    return TreesPredictor(nodes, ends, base, present, n_classes, n_rows)
