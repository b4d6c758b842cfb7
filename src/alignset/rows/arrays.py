"""Plain arrays as a Table, so that they can be split."""

from __future__ import annotations

from typing import Any

import numpy as np

from alignset.labels import check_complete, encode_groups, encode_labels
from alignset.rows.table import Table


def from_arrays(
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    y_seen: Any = None,
    individuals: Any = None,
    test: Any = None,
    name: str = "arrays",
) -> Table:
    """Make a Table of plain arrays whose true labels are all known.

    Parameters
    ----------
    X : array, scipy sparse matrix or DataFrame of shape (n, D)
    y : array-like of shape (n,)
        True labels of any kind ``encode_labels`` takes.
    groups : array-like of shape (n,) or (n, m), optional
        Group of each row; see ``encode_groups``.
    y_seen : array-like of shape (n,), optional
        Observed labels, where they are already there.
    individuals, test : array of shape (n,), optional
        Who each row belongs to, and the official test rows; see :class:`Table`.

    Examples
    --------
    >>> from_arrays(np.eye(4), ["no", "yes", "no", "yes"], ["f", "m", "f", "m"])
    Table('arrays', 4 rows x 4 features, 2 classes, groups f, m)
    """
    import pandas as pd

    X = np.asarray(X) if isinstance(X, (list, tuple)) else X
    columns = X.columns if isinstance(X, pd.DataFrame) else range(X.shape[1])
    labels = encode_labels(y if y_seen is None else y_seen, None if y_seen is None else y)
    if y_seen is not None:
        advice = "a table to split needs every true label, so drop those rows"
        check_complete(~labels.reviewed, "y", advice)
    group_names, group = encode_groups(groups, X.shape[0])
    return Table(
        X=X,
        y=labels.y_seen if y_seen is None else labels.y_true,
        group=group,
        name=name,
        feature_names=tuple(str(c) for c in columns),
        class_names=tuple(str(c) for c in labels.classes),
        group_names=tuple(str(g) for g in group_names),
        observed=None if y_seen is None else labels.y_seen,
        individuals=None if individuals is None else np.asarray(individuals),
        test=None if test is None else np.asarray(test, dtype=bool),
    )
