"""Cross-fitting: every reviewed row validates in one fold and trains in all others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from alignset.rows.problem import Part, Problem
from alignset.rows.review import Mask
from alignset.rows.units import Codes


def cross_fit(problem: Problem, n_folds: int) -> list[Problem]:
    """Return ``n_folds`` problems that differ in which reviewed rows validate.

    Training and validation rows are put together, and the reviewed rows are dealt into folds,
    evenly over groups, true classes, and right and wrong labels. If the models of all folds are
    averaged, every reviewed row trains most of them, yet no model is stopped or chosen by rows it
    trained on. Rows are dealt one by one: if individuals have several rows, split them yourself.

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
        train, validation = rows.take(~held), rows.take(held)
        folds.append(replace(problem, train=train, validation=validation, truth=known))
    return folds


def deal(rows: Part, n_folds: int, seed: int) -> list[Mask]:
    """Return which reviewed rows each fold sets aside, evenly over groups and kinds of label.

    If a unit has several rows, all of them are set aside, including the unreviewed ones.
    """
    strata = review_strata(rows.group, rows.y_seen, rows.y_true)
    fold = assign_folds(strata, n_folds, seed, rows.unit)
    return [fold == part for part in range(n_folds)]


def review_strata(group: Codes, y_seen: Codes, y_true: Codes) -> Codes:
    """Return one code per group, true class, and right or wrong label; -1 if not reviewed."""
    code = 2 * (group * (int(y_true.max(initial=0)) + 1) + y_true) + (y_seen != y_true)
    return np.where(y_true >= 0, code, -1)


def assign_folds(strata: Codes, n_folds: int, seed: int, units: Codes | None = None) -> Codes:
    """Deal rows into folds, evenly over strata, and return the fold of each: -1 if not dealt.

    Rows of stratum -1 are not dealt. A unit is dealt as a whole, in the stratum of its first row
    that has one; its other rows go with it.
    """
    rows = np.flatnonzero(strata >= 0)
    units = np.arange(len(strata)) if units is None else units
    dealt = rows[np.unique(units[rows], return_index=True)[1]]
    if len(dealt) < 2:
        raise ValueError(
            f"all {len(rows)} reviewed rows belong to {len(dealt)} individual, and nobody would be "
            "left to judge by; review others as well, or check what tells individuals apart."
        )
    if not 2 <= n_folds <= len(dealt):
        raise ValueError(
            f"folds must lie between 2 and the {len(dealt)} reviewed rows or individuals, got "
            f"{n_folds}."
        )
    dealt = np.random.default_rng((seed, 5)).permutation(dealt)
    dealt = dealt[np.argsort(strata[dealt], kind="stable")]
    fold = np.full(int(units.max()) + 1, -1, dtype=np.int64)
    fold[units[dealt]] = np.arange(len(dealt)) % n_folds
    return np.asarray(fold[units])


def pooled(problem: Problem) -> Part:
    """Return the training rows followed by the validation rows."""
    a, b = problem.train, problem.validation
    sparse = scipy.sparse.issparse(a.X)
    X: Any = scipy.sparse.vstack([a.X, b.X]).tocsr() if sparse else np.concatenate([a.X, b.X])
    weight = None
    if a.weight is not None or b.weight is not None:
        weight = np.concatenate([a.weights, b.weights])
    y_seen, y_true = np.concatenate([a.y_seen, b.y_seen]), np.concatenate([a.y_true, b.y_true])
    return Part(X, y_seen, y_true, np.concatenate([a.group, b.group]), weight)
