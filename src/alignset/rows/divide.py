"""From rows to problems: merge equal rows, and set aside part of the reviewed rows to validate.

The estimator, the table workflow and the study all divide their rows by these rules.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alignset.rows.folds import deal
from alignset.rows.merge import merge_rows
from alignset.rows.problem import Part, Problem
from alignset.rows.review import Mask
from alignset.rows.selection import review_weights
from alignset.rows.units import check_share

OBSERVED_SHARE = 0.2
"""Share of the rows that validate, on observed labels, if no row was reviewed."""

MIN_ROWS_TO_HOLD_OUT = 40
"""With fewer rows nothing is held out, and training runs its full length."""

MOST_PARTS = 1000
"""The most parts that a heavy row is split into for training."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Distinct(NamedTuple):
    """Where distinct rows are, what they weigh, and which of them each row is."""

    first: Ints  # position of one copy of each
    weight: Floats  # of all its copies, scaled to a mean of one per copy
    copies: Ints
    which: Ints  # (n,), of every row


def find_distinct(rows: Part) -> Distinct:
    """Find one copy of each distinct row, in an order that does not depend on the input order."""
    codes = [rows.y_seen, rows.y_true, rows.group]
    # rows that were not equally likely to be reviewed, or belong to two people, stay two rows
    for more in (rows.probability, rows.unit, rows.share):
        codes += [] if more is None else [np.unique(more, return_inverse=True)[1].reshape(-1)]
    first, weight, which = merge_rows(rows.X, np.column_stack(codes), rows.weights)
    copies = np.bincount(which, count_copies(rows), len(first)).astype(np.int64)
    # copies of a row of uncertain class are one row together
    size = float((copies * rows.shares[first]).sum())
    return Distinct(first, weight * (size / weight.sum()), copies, which)


def distinct(rows: Part) -> Part:
    """Return one copy of each row, weighted; see :func:`find_distinct`."""
    found = find_distinct(rows)
    return replace(rows.take(found.first), weight=found.weight, copies=found.copies)


def spread(rows: Part) -> Part:
    """Give every row as many copies as it stands for, which share its weight.

    Fifty people who look alike are fifty people: some validate and some train, and no single row
    fills a mini-batch.

    Examples
    --------
    >>> y = np.array([0, 1, 1])
    >>> part = Part(np.eye(3), y, y, 0 * y, np.array([1.0, 1.0, 3.0]), copies=np.array([1, 1, 3]))
    >>> spread(part).weight
    array([1., 1., 1., 1., 1.])
    """
    return replace(split_rows(rows, count_copies(rows)), copies=None)


def split_rows(rows: Part, parts: Ints) -> Part:
    """Split each row into as many as ``parts`` says, which share its weight."""
    if (parts == 1).all():
        return rows
    each = np.repeat(np.arange(len(rows)), parts)
    return replace(rows.take(each), weight=(rows.weights / parts)[each])


def count_parts(rows: Part) -> Ints:
    """Return into how many parts each row is split for training, (n,): by weight, over the median.

    A loss is a mean over a mini-batch: in one without any of the few heavy rows, light ones would
    count as much. Rows that validate are not split, and no part of a row validates another.

    Examples
    --------
    >>> y = np.array([0, 1, 1])
    >>> count_parts(Part(np.eye(3), y, y, 0 * y, np.array([0.7, 0.7, 2.8])))
    array([1, 1, 4])
    """
    weight = rows.weights
    if not len(weight) or weight.max() < 2 * np.median(weight):
        return np.ones(len(weight), dtype=np.int64)
    parts = np.clip(np.rint(weight / np.median(weight)), 1, MOST_PARTS)
    return np.asarray(parts, dtype=np.int64)


def count_copies(rows: Part) -> Ints:
    """Return how many rows each stands for, (n,)."""
    return np.ones(len(rows), dtype=np.int64) if rows.copies is None else rows.copies


@dataclass(frozen=True)
class Division:
    """How to choose the reviewed rows that validate, and how much each counts.

    Parameters
    ----------
    folds : int, optional
        Deal the reviewed rows into this many folds; each validates one problem and trains in the
        others. With fewer reviewed rows there are as many folds as rows.
    share : float, default 0.5
        Without folds, the share of the reviewed rows that validate.
    review_weights : "cells" or "classifier", optional
        How to estimate P(reviewed), by which rows count; ``rows.probability`` takes precedence.
    """

    folds: int | None = None
    share: float = 0.5
    review_weights: str | None = None

    def problems(
        self, rows: Part, n_classes: int, n_groups: int, *, seed: int, clean: bool = False
    ) -> list[Problem]:
        """Return the problems to train: one, or one per fold.

        With ``clean`` every label is right and known (the clean-label bound): the observed labels
        of ``rows`` are the true ones, and all rows that do not validate count as reviewed.
        """
        rows = spread(rows)
        parts, how = count_parts(rows), self.weighted_by(rows)
        if how is not None:
            rows = replace(rows, weight=rows.weights * review_weights(rows, how))
        known = rows
        if not rows.reviewed.any():  # there are only observed labels to validate on
            known = replace(rows, y_true=rows.y_seen)
        found = []
        for aside in self.set_aside(rows, seed):
            train = split_rows(rows.take(~aside), parts[~aside])
            if clean:
                train = replace(train, y_true=train.y_seen)
            validation = known.take(aside & known.reviewed)
            found.append(Problem(train, validation, None, n_classes, n_groups, seed))
        return found

    def weighted_by(self, rows: Part) -> str | Floats | None:
        """Return P(reviewed) if it is known, else how to estimate it; None if rows count alike."""
        return self.review_weights if rows.probability is None else rows.probability

    def set_aside(self, rows: Part, seed: int) -> list[Mask]:
        """Return which rows do not train in each fold; the reviewed rows among them validate.

        If no row was reviewed, part of all rows validates on observed labels.
        """
        n_reviewed = int(rows.reviewed.sum())
        if rows.unit is not None:
            n_reviewed = len(np.unique(rows.unit[rows.reviewed]))
        if self.folds is not None and n_reviewed > 1:
            return deal(rows, min(self.folds, n_reviewed), seed)
        check_share(self.share, "validation share", strict=True)
        if n_reviewed:
            return [_pick(rows, rows.reviewed, self.share, seed)]
        if len(rows) >= MIN_ROWS_TO_HOLD_OUT:
            return [_pick(rows, ~rows.reviewed, OBSERVED_SHARE, seed)]
        return [np.zeros(len(rows), dtype=bool)]


def _pick(rows: Part, among: Mask, share: float, seed: int) -> Mask:
    """Pick a share of the units, evenly over groups, true classes, and right and wrong labels.

    Strata are laid end to end and units are taken at regular intervals: a stratum of any size
    gives its share, rounded up or down by chance. The only unit of a stratum (say, the one wrong
    label) trains. The order of the strata does not depend on the names of classes and groups.
    """
    at = np.flatnonzero(among)
    unit = np.arange(len(at)) if rows.unit is None else rows.unit[at]
    _, first, of_row = np.unique(unit, return_index=True, return_inverse=True)
    rng = np.random.default_rng((seed, 6))
    order = rng.permutation(len(first))
    label = rows.y_true if rows.reviewed.any() else rows.y_seen
    cell = np.column_stack([rows.group, label, rows.y_seen == label])[at[first[order]]]
    _, seen, stratum, size = np.unique(
        cell, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    stratum = stratum.reshape(-1)
    laid = order[np.argsort(seen[stratum], kind="stable")]
    several = np.isin(laid, order[size[stratum] > 1])
    laid = laid[several] if several.any() else laid
    n, chosen = len(laid), np.zeros(len(first), dtype=bool)
    if n > 1:
        count = min(max(round(share * n), 1), n - 1)
        places = np.floor((np.arange(count) + rng.random()) * n / count).astype(np.int64)
        chosen[laid[places]] = True
    held = np.zeros(len(rows), dtype=bool)
    held[at] = chosen[of_row.reshape(-1)]
    return held if rows.unit is None else np.isin(rows.unit, rows.unit[held])
