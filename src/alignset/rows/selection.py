"""Reviewed rows are not always a fair sample: weights that make the alignment set one.

A reviewed row counts 1 / P(reviewed), scaled to a mean of one, so that the weighted alignment set
looks like all rows. The probability is known (a review plan), counted, or estimated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from alignset.rows.folds import pooled
from alignset.rows.problem import Part, Problem

HOW = ("cells", "classifier")
"""Ways to estimate which rows were likely to be reviewed."""

MAX_WEIGHT = 20.0
"""The largest weight, relative to the median: it limits the variance at the price of some bias."""

WORSE = 0.6
"""Labels that are right less often than this share of what guessing gets right were picked."""

BY_CHANCE = 0.05

Weights = NDArray[np.float64]


def weigh_review(problem: Problem, how: str) -> Problem:
    """Return the problem with its reviewed rows weighted; see :func:`review_weights`.

    Examples
    --------
    >>> from alignset.data import make_synthetic
    >>> from alignset.rows import split
    >>> table = make_synthetic(1000, random_state=0).table
    >>> biased = split(table, table.y, composition=[0.5, 0.5], seed=0)
    >>> problem = weigh_review(biased, "cells")
    >>> minority = problem.train.reviewed & (problem.train.group == 1)
    >>> bool(problem.train.weight[minority].max() < 1)
    True
    """
    rows = pooled(problem)
    rows = replace(rows, weight=rows.weights * review_weights(rows, how))
    first = np.arange(len(rows)) < len(problem.train)
    return replace(problem, train=rows.take(first), validation=rows.take(~first))


def review_weights(rows: Part, how: str | Any) -> Weights:
    """Return how much each row counts (n,): 1 if it was not reviewed.

    Parameters
    ----------
    rows : Part
        All rows, reviewed or not.
    how : "cells", "classifier" or array of shape (n,)
        Count P(reviewed) in each cell of group x observed label; estimate it from features, group
        and observed label by logistic regression; or take it as given.

    Examples
    --------
    >>> seen, true = np.array([0, 0, 0, 1, 1, 1]), np.array([0, -1, -1, 1, 1, -1])
    >>> rows = Part(np.zeros((6, 1)), seen, true, np.zeros(6, int))
    >>> review_weights(rows, "cells")
    array([1.5 , 1.  , 1.  , 0.75, 0.75, 1.  ])
    """
    probability = review_probability(rows, how)
    weight = np.ones(len(rows))
    if rows.reviewed.any():
        size = rows.weights[rows.reviewed]
        own = 1.0 / probability[rows.reviewed]
        own = np.minimum(own, MAX_WEIGHT * np.median(own))
        weight[rows.reviewed] = own / np.average(own, weights=size)
    return weight


def review_probability(rows: Part, how: str | Any) -> Weights:
    """Return P(reviewed) of each row: counted, estimated or given, as in :func:`review_weights`."""
    if not isinstance(how, str):
        return check_probability(how, rows.reviewed)
    if how not in HOW:
        raise ValueError(
            f"review weights must be {' or '.join(map(repr, HOW))}, or selection "
            f"probabilities, one per row, got {how!r}."
        )
    return _counted(rows) if how == "cells" else _estimated(rows)


def unseen_cells(rows: Part) -> list[tuple[int, int]]:
    """Return the cells (group, observed label) without reviewed rows; no weight replaces them."""
    everywhere = set(zip(rows.group.tolist(), rows.y_seen.tolist(), strict=True))
    looked = rows.reviewed
    into = set(zip(rows.group[looked].tolist(), rows.y_seen[looked].tolist(), strict=True))
    return sorted(everywhere - into)


def _counted(rows: Part) -> Weights:
    """P(reviewed) in the row's cell of group x observed label."""
    _, cell = np.unique(np.column_stack([rows.group, rows.y_seen]), axis=0, return_inverse=True)
    return share_reviewed(rows, cell)


def share_reviewed(rows: Part, cell: NDArray[np.int64]) -> Weights:
    """Return the share of its cell that was reviewed, for each row (n,)."""
    size = rows.weights
    reviewed, whole = np.bincount(cell, size * rows.reviewed), np.bincount(cell, size)
    return np.asarray(reviewed[cell] / whole[cell])


def _estimated(rows: Part) -> Weights:
    """P(reviewed | x, group, observed label), by logistic regression."""
    import scipy.sparse
    from sklearn.linear_model import LogisticRegression

    if rows.reviewed.all() or not rows.reviewed.any():
        return np.ones(len(rows))
    codes = [np.eye(int(c.max()) + 1)[c] for c in (rows.group, rows.y_seen)]
    if scipy.sparse.issparse(rows.X):
        X: Any = scipy.sparse.hstack([rows.X, *codes]).tocsr()
    else:
        X = np.hstack([rows.X, *codes])
    model = LogisticRegression(C=0.1, max_iter=1000)
    model.fit(X, rows.reviewed, sample_weight=rows.weights)
    return np.asarray(model.predict_proba(X)[:, 1].clip(1e-6))


def picked_as_wrong(rows: Part, n_classes: int) -> bool:
    """Tell whether so many labels are wrong that rows must have been picked because theirs was.

    Labels that say nothing are right as often as by chance. Hardly any are less often right than
    ``WORSE`` of that; a review that says so, beyond chance, went after wrong ones. Of a label that
    is rare, most may well be wrong (a screening flag), so that it is no evidence; of the others,
    right ones are counted as the labels lie in the table, and persons instead of their rows.

    Examples
    --------
    >>> seen, true = np.arange(90) % 2, np.full(90, -1)
    >>> true[:20] = 1 - seen[:20]
    >>> rows = Part(np.zeros((90, 1)), seen, true, np.zeros(90, int))
    >>> picked_as_wrong(rows, 2), picked_as_wrong(replace(rows, y_seen=np.arange(90) // 75), 2)
    (True, False)
    """
    looked, seen = rows.reviewed, rows.y_seen
    part = np.bincount(seen, rows.shares, minlength=n_classes) / rows.shares.sum()
    at = looked & (part >= 0.5 / n_classes)[seen]
    if looked.all() or not at.any():
        return False
    seen, one = seen[at], persons(rows)[at]
    own = one * (part / np.maximum(np.bincount(seen, one, n_classes), 1e-12))[seen]
    own /= own.sum()
    n = 1 / (own**2 / one).sum()  # as many rows as would be equally precise
    right = own @ (rows.y_true[at] == seen)
    chance = own @ np.minimum(part, 1 / n_classes)[seen]
    less = binom.cdf(np.ceil(right * n - 1e-9), np.floor(n + 1e-9), WORSE * chance)
    return bool(less < BY_CHANCE)


def persons(rows: Part) -> Weights:
    """Return the part of a person that each row is (n,): reviewed ones are one in all, as others.

    Who has many rows was still drawn once, whether all of them were reviewed or a single one.
    """
    if rows.unit is None:
        return rows.shares
    whose = rows.unit * 2 + rows.reviewed
    return np.asarray(rows.shares / np.bincount(whose, rows.shares)[whose])


def check_probability(probability: Any, reviewed: NDArray[np.bool_]) -> Weights:
    """Return selection probabilities, one per row; only those of reviewed rows are checked."""
    values = np.asarray(probability, dtype=np.float64)
    if values.shape != reviewed.shape:
        raise ValueError(
            f"selection probabilities have shape {values.shape} but there are {len(reviewed)} "
            "rows; pass one per row."
        )
    wrong = ~((values > 0) & (values <= 1))
    if (wrong & reviewed).any():
        at = int(np.flatnonzero(wrong & reviewed)[0])
        raise ValueError(
            f"row {at} was reviewed but its selection probability is {values[at]:g}; for a "
            "reviewed row it must lie in (0, 1]."
        )
    return values
