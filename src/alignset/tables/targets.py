"""Observed labels, true labels, groups and review probabilities of a table, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.labels import EncodedLabels, encode_groups, encode_labels, is_missing
from alignset.rows.folds import review_strata
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

    @property
    def y(self) -> NDArray[Any]:
        """Observed labels as they were written."""
        return np.asarray(self.labels.classes[self.labels.y_seen])

    @property
    def y_true(self) -> NDArray[np.object_]:
        """True labels as they were written, None where not reviewed."""
        values = self.labels.classes.astype(object)[self.labels.y_true]
        values[~self.reviewed] = None
        return np.asarray(values)


def read_targets(frame: pd.DataFrame, columns: Columns) -> Targets:
    """Read and check the columns that are no features."""
    labels = _labels(frame, columns)
    names, group = _groups(frame, columns.groups)
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


def _labels(frame: pd.DataFrame, columns: Columns) -> EncodedLabels:
    seen = frame[columns.label].to_numpy(object)
    n, missing = len(seen), is_missing(seen)
    if missing.any():
        raise ValueError(
            f"column {columns.label!r} is missing in {missing.sum()} of {n} rows, first in data "
            f"row {missing.argmax() + 1}; every row needs an observed label, so drop those rows."
        )
    try:
        observed = encode_labels(seen)
    except ValueError as error:
        raise ValueError(f"column {columns.label!r}: {error}") from None
    known = observed.classes.tolist()
    if len(known) < 2:
        raise ValueError(
            f"column {columns.label!r} has one class, {known[0]!r}, in all {n} rows; a label "
            "needs at least two."
        )
    if len(known) > MAX_CLASSES:
        raise ValueError(
            f"column {columns.label!r} has {len(known)} different values; a label has at most "
            f"{MAX_CLASSES} classes."
        )
    if columns.truth is None:
        return observed
    true = np.array(frame[columns.truth].to_numpy(object))
    unreviewed, place = is_missing(true), set(known)
    strange = [i for i in np.flatnonzero(~unreviewed).tolist() if true[i] not in place]
    if strange:
        raise ValueError(
            f"column {columns.truth!r} holds {true[strange[0]]!r} in data row {strange[0] + 1}, "
            f"which {columns.label!r} never holds; its labels are {', '.join(map(repr, known))}, "
            "and rows that were not reviewed are left empty."
        )
    true[unreviewed] = None
    return encode_labels(seen, true)


def _groups(frame: pd.DataFrame, groups: tuple[str, ...]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if not groups:
        return encode_groups(None, len(frame))
    for name in groups:
        missing = frame[name].isna().to_numpy()
        if missing.any():
            raise ValueError(
                f"group column {name!r} is missing in {missing.sum()} of {len(frame)} rows, first "
                f"in data row {missing.argmax() + 1}; write a group such as 'unknown' there, or "
                "drop those rows."
            )
    names, codes = encode_groups(frame[list(groups)].to_numpy(object), len(frame))
    if len(names) > MAX_GROUPS:
        raise ValueError(
            f"{' and '.join(map(repr, groups))} make {len(names)} groups, more than "
            f"{MAX_GROUPS}; put values into ranges or leave a group column out."
        )
    return names, codes


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
