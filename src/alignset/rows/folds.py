"""The whole alignment set trains: every reviewed row validates once and trains otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from alignset.rows.problem import Part, Problem
from alignset.rows.review import Mask


def cross_fit(problem: Problem, n_folds: int) -> list[Problem]:
    """Return ``n_folds`` problems that differ in which reviewed rows validate.

    Training and validation rows are put together and the reviewed ones dealt into folds, evenly
    over groups, true classes, and right and wrong labels. Averaging the models of all folds lets
    every reviewed row train most of them, while no model is stopped or chosen by rows it trained
    on. Rows are dealt one by one: where individuals have several rows, split them yourself.

    Examples
    --------
    >>> from alignset.data import make_synthetic
    >>> from alignset.rows import split
    >>> table = make_synthetic(1000, random_state=0).table
    >>> folds = cross_fit(split(table, table.y, share=0.10, seed=0), 5)
    >>> [(int(fold.train.reviewed.sum()), len(fold.validation)) for fold in folds[:2]]
    [(64, 16), (64, 16)]
    """
    rows = pooled(problem)
    truth = problem.truth
    if truth is not None:
        truth = np.concatenate([truth, problem.validation.y_true])
    folds = []
    for held in deal(rows, n_folds, problem.seed):
        known = None if truth is None else truth[~held]
        train, validation = take(rows, ~held), take(rows, held)
        folds.append(replace(problem, train=train, validation=validation, truth=known))
    return folds


def deal(rows: Part, n_folds: int, seed: int) -> list[Mask]:
    """Return which reviewed rows each fold holds out, evenly over what labels can tell."""
    reviewed = np.flatnonzero(rows.reviewed)
    if not 2 <= n_folds <= len(reviewed):
        raise ValueError(
            f"folds must lie between 2 and the {len(reviewed)} reviewed rows, got {n_folds}."
        )
    reviewed = np.random.default_rng((seed, 5)).permutation(reviewed)
    wrong = rows.y_seen != rows.y_true
    order = np.lexsort((wrong[reviewed], rows.y_true[reviewed], rows.group[reviewed]))
    masks = []
    for fold in range(n_folds):
        held = np.zeros(len(rows), dtype=bool)
        held[reviewed[order][fold::n_folds]] = True
        masks.append(held)
    return masks


def pooled(problem: Problem) -> Part:
    """Return the training rows and, below them, the validation rows."""
    a, b = problem.train, problem.validation
    sparse = scipy.sparse.issparse(a.X)
    X: Any = scipy.sparse.vstack([a.X, b.X]).tocsr() if sparse else np.concatenate([a.X, b.X])
    weight = None
    if a.weight is not None or b.weight is not None:
        weight = np.concatenate([weights(a), weights(b)])
    y_seen, y_true = np.concatenate([a.y_seen, b.y_seen]), np.concatenate([a.y_true, b.y_true])
    return Part(X, y_seen, y_true, np.concatenate([a.group, b.group]), weight)


def weights(part: Part) -> Any:
    """Return how much each row counts, as numbers."""
    return np.ones(len(part)) if part.weight is None else part.weight


def take(part: Part, keep: Mask) -> Part:
    """Return some of the rows."""
    weight = None if part.weight is None else part.weight[keep]
    return Part(part.X[keep], part.y_seen[keep], part.y_true[keep], part.group[keep], weight)
