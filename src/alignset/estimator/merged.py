"""Rows as they are learned from: equal ones merged, features scaled."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from alignset.estimator.unseen import Origin
from alignset.rows import Part
from alignset.rows.divide import find_distinct
from alignset.rows.features import Scale, canonical, check_single, learn_scale, no_scale


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Distinct rows, how they were scaled, where they came from, and which groups occur."""

    rows: Part
    scale: Scale
    origin: Origin | None
    groups: np.ndarray  # code of each group among those given


def merge(rows: Part, *, standardize: bool) -> MergedRows:
    """Merge rows that are equal, and scale their features."""
    if scipy.sparse.issparse(rows.X):
        rows = replace(rows, X=canonical(rows.X))
    used, group = np.unique(rows.group, return_inverse=True)
    rows = replace(rows, group=group.reshape(-1))
    X, at = rows.X if standardize else check_single(rows.X), find_distinct(rows)
    origin = None if rows.place is None else Origin(at.which, rows.place)
    rows = replace(rows.take(at.first, X[:0]), weight=at.weight, copies=at.copies)
    scale = no_scale(X.shape[1])
    if standardize:
        scale = learn_scale(X, at.first, rows.by_importance().weights)
    return MergedRows(replace(rows, X=scale.trained_rows(X, at.first)), scale, origin, used)
