"""Boosted trees: scikit-learn's HistGradientBoostingClassifier, kept as plain arrays of nodes.

Where the matrix was made of a table, trees read the table's own columns: a category is split into
two sets of its levels, a gap is a gap.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
from alignset.rows.raw import AS_THEY_ARE, RawColumns
from alignset.stack.wanted import check_wanted

BINS = 64
BINNED_ROWS = 50_000
"""Bins of a column, and how many rows they are learned from."""

LEVEL_ROWS = 200
"""Rows per level from which a category may be split into sets of levels: fewer teach it noise."""

LevelSets = NDArray[np.uint32]
"""One set of levels per row: 256 bits in 8 numbers, as scikit-learn keeps them."""


def bits_of(sets: LevelSets) -> NDArray[np.uint8]:
    """Return 1 for every level that is in a set, (sets, 256)."""
    return np.unpackbits(sets.astype("<u4").view(np.uint8), axis=1, bitorder="little")


def levels_of(own: LevelSets, most: int) -> list[int]:
    """Return the levels below ``most`` in one set."""
    return [int(level) for level in np.flatnonzero(bits_of(own[None])[0, :most])]


def no_sets() -> LevelSets:
    """Return the sets of trees that split no category."""
    return np.zeros((0, 8), dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class TreesPredictor(Predictor):
    """Sums of trees: one tree per round and class (two classes share one)."""

    nodes: NDArray[Any]  # the nodes of all trees, one after the other, in scikit-learn's layout
    ends: Ints  # (rounds, trees per round): where each tree ends
    base: Floats  # (trees per round,)
    present: Ints  # the classes that occurred
    n_classes: int
    n_rows: int
    raw: RawColumns = AS_THEY_ARE
    left: LevelSets = field(default_factory=no_sets)  # a split's levels that go left

    def log_odds(self, X: Any) -> Floats:
        """Return centred log-odds (n, K)."""
        X = np.ascontiguousarray(self.raw.read(X))
        raw = np.tile(self.base, (len(X), 1))
        start = 0
        # sets say of every level where it goes, so that each counts as known
        known = ~np.zeros((len(self.raw.categories), 8), dtype=np.uint32)
        own = np.arange(X.shape[1], dtype=np.uint32)
        for ends in self.ends:
            for k, end in enumerate(ends):
                tree = TreePredictor(self.nodes[start:end], self.left, self.left)
                raw[:, k] += tree.predict(X, known, own, 1)
                start = end
        if raw.shape[1] == 1:
            raw = np.hstack([-raw, raw]) / 2
        odds = log_odds(to_probability(raw))
        return spread_classes(odds, self.present, self.n_classes, self.n_rows)


@dataclass(frozen=True)
class Trees(Learner):
    """Gradient-boosted trees of histograms; they take gaps and categories as they are.

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
    raw: RawColumns = AS_THEY_ARE
    level_rows: int = LEVEL_ROWS  # 0 if it is settled which categories are split
    name = "trees"
    takes_sparse = False

    def reading(self, raw: RawColumns) -> Trees:
        """Return trees that read the columns of the table."""
        return replace(self, raw=raw)

    def fit(self, X: Any, y: Ints, weight: Floats, n_classes: int, *, seed: int) -> Predictor:
        """Fit on one core, so that the number of cores changes no bit."""
        present, codes = np.unique(y, return_inverse=True)
        if len(present) < 2:
            return constant(y, weight, n_classes)
        raw = self._read_with(len(y))
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
            categorical_features=list(range(len(raw.categories))) or None,
        )
        bins = TableBins.of(raw, raw.read(X))
        with threadpool_limits(1):
            model.fit(bins.fitted, codes, sample_weight=weight)
        nodes, ends, left = _as_arrays(model, bins)
        base = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
        return TreesPredictor(nodes, ends, base, present, n_classes, len(y), raw, left)

    def _read_with(self, n: int) -> RawColumns:
        """Return the columns of the table that so many rows are read by."""
        return self.raw.with_levels(n / self.level_rows) if self.level_rows else self.raw

    def settle(self, X: Any, y: Ints, weight: Floats, n_classes: int, *, seed: int) -> Trees:
        """Return the trees with the best cross-validated log loss for these labels.

        Their size is chosen, and whether categories are split into sets or read as 0/1 columns.
        """
        order = np.random.default_rng((seed, 25)).permutation(len(y))
        ways = dict.fromkeys([self.raw.with_levels(0), self._read_with(len(y))])
        sizes = [replace(size, raw=raw, level_rows=0) for raw in ways for size in SIZES]
        loss = np.zeros(len(sizes))
        for out, kept in _splits(order):
            if not len(out) or not len(kept):
                return self
            for i, size in enumerate(sizes):
                check_wanted()
                model = size.fit(X[kept], y[kept], weight[kept], n_classes, seed=seed)
                loss[i] += weight[out] @ row_log_loss(model.log_odds(X[out]), y[out])
        return sizes[int(loss.argmin())]


def _splits(order: Ints) -> list[tuple[Ints, Ints]]:
    """Return rows to judge sizes by, and rows to fit: two halves, or, of many rows, most."""
    if len(order) <= 2 * JUDGING:
        return [(order[part::2], order[1 - part :: 2]) for part in (0, 1)]
    return [(order[:JUDGING], order[JUDGING:MOST_ROWS])]


SIZES = (Trees(), Trees(100, 0.08, 15, 0.7), Trees(150, 0.1, 31, 0.7))
"""From cautious to bold; the first is what few rows are fitted with."""

JUDGING, MOST_ROWS = 3_000, 20_000
"""Rows that judge the size of trees, and how many there are with those that are fitted."""


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


@dataclass(frozen=True, eq=False)
class TableBins:
    """What trees are fitted to: levels of categories, counted anew, then bins of numbers."""

    fitted: Floats
    levels: list[Ints]  # of each category, those that occur: level k of the fit is levels[k]
    edges: list[Floats]  # of each number

    @classmethod
    def of(cls, raw: RawColumns, X: Floats) -> TableBins:
        """Learn the bins of a table's columns."""
        split = len(raw.categories)
        edges = find_edges(X[:, split:])
        fitted = np.hstack([X[:, :split], to_bins(X[:, split:], edges)])
        fitted[:, np.isnan(fitted).all(axis=0)] = 0.0  # scikit-learn has no bin for nothing
        levels = []
        for column in fitted[:, :split].T:
            found, column[:] = np.unique(column, return_inverse=True)
            levels.append(found.astype(np.int64))
        return cls(fitted, levels, edges)


def _as_arrays(
    model: HistGradientBoostingClassifier, bins: TableBins
) -> tuple[NDArray[Any], Ints, LevelSets]:
    """Return the nodes of all trees, with values and levels of the table, and where trees end."""
    trees = [tree for of_round in model._predictors for tree in of_round]
    ends = np.cumsum([len(tree.nodes) for tree in trees])
    nodes = np.concatenate([tree.nodes for tree in trees])
    inner, split = nodes["is_leaf"] == 0, len(bins.levels)
    for j, own in enumerate(bins.edges):
        at = np.flatnonzero((nodes["feature_idx"] == split + j) & inner)
        number = np.floor(nodes["num_threshold"][at])
        # a split on missing alone has an infinite threshold, which stays
        cut = np.isfinite(number) & (number < len(own))
        nodes["num_threshold"][at[cut]] = own[number[cut].astype(np.int64)]
        nodes["num_threshold"][at[~cut]] = np.inf
    left = _sets(nodes, [tree.raw_left_cat_bitsets for tree in trees], bins.levels)
    return nodes, ends.reshape(len(model._predictors), -1), left


def _sets(nodes: NDArray[Any], fitted: list[LevelSets], levels: list[Ints]) -> LevelSets:
    """Return the sets of all trees, in the order of the nodes that split by them.

    A level that no row of the fit had goes where missing values would go: to the larger side.
    """
    at = np.flatnonzero(nodes["is_categorical"])
    if not len(at):
        return no_sets()
    nodes["bitset_idx"][at] = np.arange(len(at))
    counted = bits_of(np.concatenate(fitted))
    found = np.repeat(nodes["missing_go_to_left"][at, None], counted.shape[1], axis=1)
    for j, own in enumerate(levels):
        of = np.flatnonzero(nodes["feature_idx"][at] == j)
        found[of[:, None], own] = counted[of, : len(own)]
    return np.packbits(found, axis=1, bitorder="little").view("<u4").astype(np.uint32)
