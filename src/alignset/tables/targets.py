"""Observed labels, true labels, groups and review probabilities of a table, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.labels import EncodedLabels
from alignset.rows.folds import review_strata
from alignset.tables.cells import read_groups, read_labels
from alignset.tables.columns import Columns

MAX_CLASSES, MAX_GROUPS = 20, 50


@dataclass(frozen=True, eq=False)
class Targets:
    """What a table says besides its features.

    Parameters
    ----------
    labels : EncodedLabels
    group_names : array of shape (G,)
        Of several group columns the intersections, "a & b".
    group : int array of shape (n,)
    unit : int array of shape (n,)
        Who a row belongs to; rows of one unit are held out together.
    probability : float array of shape (n,)
        With which a reviewed row was chosen for review; NaN on other rows, and everywhere if no
        column has it.
    """

    labels: EncodedLabels
    group_names: NDArray[Any]
    group: NDArray[np.int64]
    unit: NDArray[np.int64]
    probability: NDArray[np.float64]

    @property
    def reviewed(self) -> NDArray[np.bool_]:
        """Which rows have a true label."""
        return self.labels.reviewed

    @property
    def by_design(self) -> bool:
        """Whether it is known with what probability reviewed rows were chosen."""
        return bool(np.isfinite(self.probability).any())

    @property
    def weight(self) -> NDArray[np.float64]:
        """Rows that each reviewed row stands for: w_i of ``alignset.model.evaluation``; else 0."""
        cell = self.group * len(self.labels.classes) + self.labels.y_seen
        inverse = np.where(self.reviewed, 1 / self.probability if self.by_design else 1.0, 0.0)
        size, total = np.bincount(cell), np.bincount(cell, inverse)
        return np.asarray(inverse * (size / np.where(total > 0, total, 1))[cell])

    @property
    def strata(self) -> NDArray[np.int64]:
        """Group, true class, and right or wrong label of reviewed rows; -1 elsewhere."""
        return review_strata(self.group, self.labels.y_seen, self.labels.y_true)


def read_targets(frame: pd.DataFrame, columns: Columns) -> Targets:
    """Read and check the columns that are no features.

    Examples
    --------
    >>> frame = pd.DataFrame({"told": ["no", "yes"], "reviewed": ["yes", None], "age": [60, 70]})
    >>> read_targets(frame, Columns("told", ("age",), truth="reviewed")).reviewed
    array([ True, False])
    """
    labels = read_labels(frame, columns.label, columns.truth, most=MAX_CLASSES)
    names, group = read_groups(frame, columns.groups)
    if len(names) > MAX_GROUPS:
        raise ValueError(
            f"{' and '.join(map(repr, columns.groups))} make {len(names)} groups, more than "
            f"{MAX_GROUPS}; put values into ranges or leave a group column out."
        )
    unit = np.arange(len(frame))
    if columns.id is not None:
        unit = pd.factorize(frame[columns.id].astype("object"), use_na_sentinel=False)[0]
    return Targets(labels, names, group, unit.astype(np.int64), _chance(frame, columns, labels))


def check_review(targets: Targets, truth: str, *, needs_unreviewed: bool) -> None:
    """Refuse a table in which no row was reviewed, or every one where some must not be."""
    n, reviewed = len(targets.group), int(targets.reviewed.sum())
    if reviewed == 0:
        raise ValueError(
            f"no row is reviewed: column {truth!r} is empty; draw rows to review with `alignset "
            "sample`, and write what the reviewers find into that column."
        )
    if reviewed == n and needs_unreviewed:
        raise ValueError(
            f"all {n} rows are reviewed, so the observed labels have nothing to add; pass --method "
            "alignment_only, or fit any classifier on the true labels."
        )


def _chance(frame: pd.DataFrame, columns: Columns, labels: EncodedLabels) -> NDArray[np.float64]:
    if columns.probability is None:
        return np.full(len(frame), np.nan)
    values = frame[columns.probability]
    chance = pd.to_numeric(values, errors="coerce").to_numpy("float64", na_value=np.nan)
    bad = labels.reviewed & ~((chance > 0) & (chance <= 1))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"column {columns.probability!r} holds {values.iloc[row]} in data row {row + 1}; a "
            "reviewed row has a probability in (0, 1] of having been chosen."
        )
    return np.where(labels.reviewed, chance, np.nan)
