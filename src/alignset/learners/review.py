"""Was the review a fair sample? If not, weights that make it one, and anchors where nobody looked.

Rows are sorted into cells: the observed label, and how well it agrees with what x says of it. A
fair review meets every cell in proportion. One that went after positives, or after labels that
look wrong, does not, and a model of the reviewed rows alone would be a model of the odd ones.

- Cells reviewed out of proportion: a reviewed row counts for the rows of its cell.
- Cells never reviewed: a few of their rows are taken to be right ("anchors"). Nothing in the data
  can show otherwise, and a warning says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from alignset.learners.base import Floats, Ints, to_probability
from alignset.learners.linear import Linear
from alignset.rows import Part
from alignset.rows.selection import review_weights, share_reviewed

LEVELS = 16
"""Cells in all: with two classes the agreement of a label with x is cut into eight levels each."""

DOUBT = 1e-4
"""A review less likely than this under a fair draw is taken to be selective."""

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
    unseen: tuple[int, ...]  # observed labels of which no row was reviewed
    absent: tuple[int, ...]  # classes that no reviewed row turned out to have


def read_review(rows: Part, n_classes: int, weight: Floats | None, *, seed: int) -> Review:
    """Return the review, with weights unless they are given, and with anchors where they lack."""
    reviewed, n = rows.reviewed, len(rows)
    cell = _cells(rows, n_classes, seed)
    one = _people(rows)
    size: Floats = np.bincount(cell, one, int(cell.max()) + 1).astype(np.float64)
    count: Floats = np.bincount(cell[reviewed], one[reviewed], len(size)).astype(float)
    selective = bool(reviewed.any()) and weight is None and _odd(size, count)
    empty = (count == 0) & (size > 0) & (selective or not reviewed.any())
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
    return Review(known, own, anchors, selective, tuple(unseen.tolist()), tuple(absent.tolist()))


def _cells(rows: Part, n_classes: int, seed: int) -> Ints:
    """Cell of each row: its observed label, and how well that agrees with x."""
    fold = np.random.default_rng((seed, 27)).permutation(len(rows)) % 2
    agreement = np.zeros(len(rows))
    for part in (0, 1):
        kept, out = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
        if len(kept) and len(out):
            model = Linear(C=0.1).fit(
                rows.X[kept], rows.y_seen[kept], rows.weights[kept], n_classes, seed=seed
            )
            said = to_probability(model.log_odds(rows.X[out]))
            agreement[out] = said[np.arange(len(out)), rows.y_seen[out]]
    level, n_levels = np.zeros(len(rows), dtype=np.int64), max(2, LEVELS // n_classes)
    edges = np.arange(1, n_levels) / n_levels
    for k in range(n_classes):
        own = rows.y_seen == k
        if own.any():
            level[own] = np.searchsorted(np.quantile(agreement[own], edges), agreement[own])
    return np.asarray(rows.y_seen * n_levels + level)


def _people(rows: Part) -> Floats:
    """Return the part of a person that each row is: who has many rows was still drawn once."""
    if rows.unit is None:
        return rows.shares
    return np.asarray(rows.shares / np.bincount(rows.unit, rows.shares)[rows.unit])


def _odd(size: Floats, count: Floats) -> bool:
    """Tell whether counts per cell are out of proportion, by a likelihood-ratio test."""
    expected = count.sum() * size / size.sum()
    seen = count > 0
    statistic = 2 * (count[seen] * np.log(count[seen] / expected[seen])).sum()
    return bool(chi2.sf(statistic, max(1, (size > 0).sum() - 1)) < DOUBT)


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
