"""Was the review a fair sample? If not, weights that make it one, and anchors where nobody looked.

Rows are sorted into cells: the observed label, and how well it agrees with what x says of it. A
fair review meets every cell in proportion. One that went after positives, or after labels that
look wrong, does not, and a model of the reviewed rows alone would be a model of the odd ones.

- Cells reviewed out of proportion: a reviewed row counts for the rows of its cell.
- Cells never reviewed: a few of their rows are taken to be right ("anchors"). Nothing in the data
  can show otherwise, and a warning says so.
- Hardly a reviewed label right: rows were picked because their label was wrong. No weight makes a
  fair sample of them; they correct labels, and judge nothing. Unless the review is even, and errors
  fit x as other labels do: then it is the labels of the table that are mostly wrong.

A review is compared with the table by observed labels and how well they agree with x, and by
observed labels within groups; rows are sorted in the way in which it is odder.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from scipy.stats import chi2

from alignset.learners.base import Floats, Ints, to_probability
from alignset.learners.linear import Linear
from alignset.rows import Part
from alignset.rows.selection import persons, picked_as_wrong, review_weights, share_reviewed

LEVELS = 16
"""Cells in all: with two classes the agreement of a label with x is cut into eight levels each."""

DOUBT = 1e-4
"""A review less likely than this under a fair draw is taken to be selective."""

ERRORS = 2.0
"""Standard errors by which x must speak for wrong labels."""

FEWEST, MOST = 5, 1000
"""Anchors per cell."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Review:
    """Rows whose true label is known or taken as known, and how much each of them counts."""

    rows: Part  # anchors have their observed label as true label
    weight: Floats  # (n,), 1 where it is not known
    anchors: Mask
    selective: bool  # whether the review depends on the observed label
    picked: bool  # whether it went after labels that are wrong
    unseen: tuple[int, ...]  # observed labels of which no row was reviewed
    absent: tuple[int, ...]  # classes that no reviewed row turned out to have


def read_review(rows: Part, n_classes: int, weight: Floats | None, *, seed: int) -> Review:
    """Return the review, with weights unless they are given, and with anchors where they lack."""
    reviewed, n = rows.reviewed, len(rows)
    said = _expected(rows, n_classes, seed)
    ways = [_Way(_cells(rows, said)), _Way(*_labels_of(rows, n_classes))]
    way, selective, picked = ways[0], False, False
    if reviewed.any() and weight is None:
        oddness, at = min((each.oddness(rows), i) for i, each in enumerate(ways))
        selective = oddness < DOUBT
        picked = picked_as_wrong(rows, n_classes) and (selective or not _errors_fit(rows, said))
        way, selective = (way, False) if picked else (ways[at], selective)
    cell = way.cell
    empty = way.empty(rows) if selective or not reviewed.any() else np.zeros(1 + cell.max(), bool)
    anchors = _draw(rows, cell, empty, seed)
    classes = np.arange(n_classes)
    observed = np.isin(classes, rows.y_seen)
    absent = classes[observed & ~np.isin(classes, rows.y_true[reviewed])]
    if reviewed.any() and len(absent):
        anchors |= _draw(rows, rows.y_seen, np.isin(classes, [] if selective else absent), seed)
    known = replace(rows, y_true=np.where(anchors, rows.y_seen, rows.y_true))
    own = np.ones(n) if weight is None else weight
    if selective or not reviewed.any():
        own = review_weights(known, share_reviewed(known, cell))
    unseen = classes[observed & ~np.isin(classes, rows.y_seen[reviewed])]
    return Review(
        known, own, anchors, selective, picked, tuple(unseen.tolist()), tuple(absent.tolist())
    )


def _expected(rows: Part, n_classes: int, seed: int) -> Floats:
    """Return P(observed label | x) (n, K) by a model that did not see the row."""
    fold = np.random.default_rng((seed, 27)).permutation(len(rows)) % 2
    said = np.zeros((len(rows), n_classes))
    for part in (0, 1):
        kept, out = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
        if len(kept) and len(out):
            model = Linear(C=0.1).fit(
                rows.X[kept], rows.y_seen[kept], rows.weights[kept], n_classes, seed=seed
            )
            said[out] = to_probability(model.log_odds(rows.X[out]))
    return said


def _cells(rows: Part, said: Floats) -> Ints:
    """Cell of each row: its observed label, and how well that agrees with x."""
    (n, n_classes), level = said.shape, np.zeros(len(rows), dtype=np.int64)
    agreement, n_levels = said[np.arange(n), rows.y_seen], max(2, LEVELS // n_classes)
    edges = np.arange(1, n_levels) / n_levels
    for k in range(n_classes):
        own = rows.y_seen == k
        if own.any():
            level[own] = np.searchsorted(np.quantile(agreement[own], edges), agreement[own])
    return np.asarray(rows.y_seen * n_levels + level)


def _errors_fit(rows: Part, said: Floats) -> bool:
    """Tell whether x speaks for wrong labels and against true ones, beyond chance.

    It does where most labels of the table are wrong. Where wrong labels were picked from among
    right ones, x speaks against them.
    """
    at = rows.reviewed & (rows.y_seen != rows.y_true)
    usual = np.bincount(rows.y_seen, rows.shares, said.shape[1]) + 0.5
    odds = np.log(np.maximum(said[at], 1e-12) / usual)
    each = np.arange(len(odds))
    gain = odds[each, rows.y_seen[at]] - odds[each, rows.y_true[at]]
    own = persons(rows)[at] / persons(rows)[at].sum()
    mean = own @ gain
    whose = np.arange(len(gain)) if rows.unit is None else rows.unit[at]
    return bool(mean > ERRORS * np.sqrt((np.bincount(whose, own * (gain - mean)) ** 2).sum()))


@dataclass(frozen=True, eq=False)
class _Way:
    """A way to sort rows into cells; within a stratum, cells should be reviewed evenly."""

    cell: Ints  # (n,)
    stratum: Ints | None = None  # (n,), None: all rows are one

    def oddness(self, rows: Part) -> float:
        """Return how likely a fair review is as uneven, by a likelihood-ratio test."""
        (size, count), (whole, seen) = self._counts(rows)
        expected = size * seen / np.maximum(whole, 1e-12)
        statistic = 2 * (xlogy(count, count) - xlogy(count, expected)).sum()
        left, rest = size - count, size - expected
        statistic += 2 * (xlogy(left, left) - xlogy(left, rest)).sum()
        used = size[seen > 0] > 0
        strata = len(np.unique(self._of(rows)[rows.reviewed]))
        return float(chi2.sf(statistic, max(1, used.sum() - strata)))

    def empty(self, rows: Part) -> Mask:
        """Return the cells of which no row was reviewed, in strata of which some row was."""
        (size, count), (_, seen) = self._counts(rows)
        return np.asarray((count == 0) & (size > 0) & ((seen > 0) | ~rows.reviewed.any()))

    def _of(self, rows: Part) -> Ints:
        return np.zeros(len(rows), dtype=np.int64) if self.stratum is None else self.stratum

    def _counts(self, rows: Part) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Return people, and people reviewed, of each cell and of the stratum of each cell."""
        one, at, of = persons(rows), rows.reviewed, self._of(rows)
        stratum = np.zeros(int(self.cell.max()) + 1, dtype=np.int64)
        stratum[self.cell] = of
        own = [np.bincount(self.cell, w, len(stratum)).astype(float) for w in (one, one * at)]
        whole = [np.bincount(of, w).astype(float)[stratum] for w in (one, one * at)]
        return (own[0], own[1]), (whole[0], whole[1])


def _labels_of(rows: Part, n_classes: int) -> tuple[Ints, Ints]:
    """Return cells of group x observed label, and the group: groups may be reviewed unevenly."""
    return rows.group * n_classes + rows.y_seen, rows.group


def _draw(rows: Part, cell: Ints, empty: Mask, seed: int) -> Mask:
    """Draw anchors from the empty cells, as densely as the others were reviewed."""
    reviewed, found = rows.reviewed, np.zeros(len(rows), dtype=bool)
    rng = np.random.default_rng((seed, 28))
    filled = max(1.0, rows.shares[~empty[cell]].sum())
    density = rows.shares[reviewed].sum() / filled if reviewed.any() else 1.0
    for c in np.flatnonzero(empty):
        at = np.flatnonzero((cell == c) & ~reviewed)
        n = int(np.clip(round(density * len(at)), FEWEST, MOST))
        found[rng.permutation(at)[:n]] = True
    return found
