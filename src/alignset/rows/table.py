"""The type that every loader returns, also made from plain arrays: rows before any noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.labels import check_complete, encode_groups, encode_labels


@dataclass(frozen=True, eq=False)
class Table:
    """A data set: what is known about every row before labels are corrupted and rows are split.

    Parameters
    ----------
    X : ndarray, CSR matrix or DataFrame of shape (n, D)
        Features. A DataFrame still has to go through a preprocessing pipeline.
    y : int array of shape (n,)
        True class, as a code ``0..K-1``.
    group : int array of shape (n,)
        Group, as a code ``0..G-1``.
    name : str
        Short name of the data set.
    feature_names, class_names, group_names : tuple of str
        What the columns and codes stand for.
    observed : int array of shape (n,), optional
        Observed class, if the data set itself has one (real label noise).
    individuals : array of shape (n,), optional
        Whom each row belongs to; the rows of an individual stay in one part of a split.
    test : bool array of shape (n,), optional
        The official test rows, if the data set has any.

    Examples
    --------
    >>> X = np.zeros((3, 2))
    >>> Table(X, np.array([0, 1, 1]), np.zeros(3, int), "t", ("a", "b"), ("no", "yes"), ("all",))
    Table('t', 3 rows x 2 features, 2 classes, groups all)
    """

    X: Any
    y: NDArray[np.int64]
    group: NDArray[np.int64]
    name: str
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    group_names: tuple[str, ...]
    observed: NDArray[np.int64] | None = None
    individuals: NDArray[Any] | None = None
    test: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        n = self.X.shape[0]
        for field in ("y", "group", "observed", "individuals", "test"):
            values = getattr(self, field)
            if values is not None and len(values) != n:
                raise ValueError(
                    f"{field} has {len(values)} entries but X has {n} rows; pass one per row."
                )

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.group_names)

    def __repr__(self) -> str:
        return (
            f"Table({self.name!r}, {len(self)} rows x {self.X.shape[1]} features, "
            f"{self.n_classes} classes, groups {', '.join(self.group_names)})"
        )


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
    """Make a Table from plain arrays whose true labels are all known.

    Parameters
    ----------
    X : array, scipy sparse matrix or DataFrame of shape (n, D)
    y : array-like of shape (n,)
        True labels of any kind that ``encode_labels`` takes.
    groups : array-like of shape (n,) or (n, m), optional
        Group of each row; see ``encode_groups``.
    y_seen : array-like of shape (n,), optional
        Observed labels, if there are any.
    individuals, test : array of shape (n,), optional
        Whom each row belongs to, and the official test rows; see :class:`Table`.

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
