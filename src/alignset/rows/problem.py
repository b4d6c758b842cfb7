"""A problem: one data set with its noise, its review and its split, ready to train on."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.labels import UNREVIEWED


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one part of a split.

    Parameters
    ----------
    X : float array or CSR matrix of shape (n, D)
    y_seen : int array of shape (n,)
        Observed class code.
    y_true : int array of shape (n,)
        True class code; ``UNREVIEWED`` (-1) where the row was not reviewed.
    group : int array of shape (n,)
    weight : float array of shape (n,), optional
        How much each row counts; None counts each as 1.
    probability : float array of shape (n,), optional
        P(reviewed) for each row, if the review was planned; only used on reviewed rows.
    unit : int array of shape (n,), optional
        Which unit each row belongs to; its rows validate together. None makes each row a unit.
    share : float array of shape (n,), optional
        Part of a row that each is: a row of uncertain class is one copy per class, in one unit,
        each weighted by its probability. None makes each a whole row.
    copies : int array of shape (n,), optional
        How many rows that are alike each stands for; None makes each one row.
    importance : float array of shape (n,), optional
        How much a row of its class matters, beside its weight; see :meth:`by_importance`.
    place : int array of shape (n,), optional
        Position of each among the rows that a user gave, where somebody will ask.

    Examples
    --------
    >>> Part(np.eye(2), np.array([0, 1]), np.array([1, UNREVIEWED]), np.array([0, 0])).reviewed
    array([ True, False])
    """

    X: Any
    y_seen: NDArray[np.int64]
    y_true: NDArray[np.int64]
    group: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None
    probability: NDArray[np.float64] | None = None
    unit: NDArray[np.int64] | None = None
    share: NDArray[np.float64] | None = None
    copies: NDArray[np.int64] | None = None
    importance: NDArray[np.float64] | None = None
    place: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def reviewed(self) -> NDArray[np.bool_]:
        """Which rows are in the alignment set A."""
        return np.not_equal(self.y_true, UNREVIEWED)

    @property
    def weights(self) -> NDArray[np.float64]:
        """How much each row counts, as numbers."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @property
    def shares(self) -> NDArray[np.float64]:
        """Part of a row that each is, as numbers: what to count rows by."""
        return np.ones(len(self)) if self.share is None else self.share

    def by_importance(self) -> Part:
        """Return the rows weighted by their importance, too, with the same total weight."""
        if self.importance is None:
            return self
        weight = self.weights * self.importance
        scaled = weight * (self.weights.sum() / weight.sum())
        return replace(self, weight=scaled, importance=None)

    def take(self, rows: Any, X: Any = None) -> Part:
        """Return the rows that a mask or positions select, with features ``X`` if given."""
        kept: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)[1:]}
        kept = {name: None if values is None else values[rows] for name, values in kept.items()}
        return Part(self.X[rows] if X is None else X, **kept)


@dataclass(frozen=True, eq=False)
class Problem:
    """Data + noise + review + split + seed: what a method is trained on.

    Parameters
    ----------
    train : Part
        Rows to train on; true labels only on the reviewed ones.
    validation : Part
        The other reviewed rows, for early stopping and choosing a config.
    test : Part or None
        Rows to report on, all with true labels.
    n_classes, n_groups : int
    seed : int
        Seed of the split, from which the engine derives its random streams.
    name : str, default=""
    truth : int array of shape (n_train,), optional
        True label of every training row, if a simulation knows it. No method ever sees it: it is
        used by :meth:`fully_reviewed`, the clean-label bound.

    Examples
    --------
    >>> part = Part(np.eye(2), np.array([0, 1]), np.array([0, UNREVIEWED]), np.array([0, 0]))
    >>> problem = Problem(part, part, None, n_classes=2, n_groups=1, seed=0, truth=part.y_seen)
    >>> problem.n_features, problem.fully_reviewed().train.y_true
    (2, array([0, 1]))
    """

    train: Part
    validation: Part
    test: Part | None
    n_classes: int
    n_groups: int
    seed: int
    name: str = ""
    truth: NDArray[np.int64] | None = None

    @property
    def n_features(self) -> int:
        """Number of feature columns."""
        return int(self.train.X.shape[1])

    def fully_reviewed(self) -> Problem:
        """Return the same problem with every training row reviewed (Clean labels).

        The observed labels are replaced by the true ones, too, so that no noise remains.
        """
        if self.truth is None:
            raise ValueError(
                "this problem does not know the true label of every training row; "
                "only a problem that split() made from a Table can be fully reviewed."
            )
        clean = replace(self.train, y_seen=self.truth, y_true=self.truth)
        return replace(self, train=clean, name=f"{self.name} fully reviewed".strip())
