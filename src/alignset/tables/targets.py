"""What a table says about its rows besides features: labels, groups, cells, probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.labels import (
    Codes,
    EncodedLabels,
    check_complete,
    encode_groups,
    encode_known,
    encode_labels,
    is_missing,
)
from alignset.rows.folds import review_strata
from alignset.tables.bins import refuse_numbers
from alignset.tables.columns import Columns
from alignset.tables.files import check_columns

Floats = NDArray[np.float64]
MAX_CLASSES, MAX_GROUPS = 20, 50


@dataclass(frozen=True, eq=False)
class Cells:
    """Group and observed label of every row, as codes."""

    groups: NDArray[Any]  # (G,), what the codes stand for
    labels: NDArray[Any]  # (K,)
    group: Codes  # (n,)
    label: Codes  # (n,)

    @property
    def counts(self) -> Codes:
        """Rows per cell, (G, K)."""
        return self.count(np.ones(len(self.group), dtype=bool))

    def count(self, where: NDArray[np.bool_]) -> Codes:
        """Rows per cell, (G, K), among the rows selected by ``where``."""
        shape = len(self.groups), len(self.labels)
        flat = np.bincount(self.flat[where], minlength=shape[0] * shape[1])
        return flat.reshape(shape).astype(np.int64)

    @property
    def flat(self) -> Codes:
        """Cell of each row as one code, ``group * K + label``, (n,)."""
        return self.group * len(self.labels) + self.label


def read_cells(table: pd.DataFrame, *, label: str | None, group: str | Sequence[str] = ()) -> Cells:
    """Find the group x observed-label cell of every row.

    Without a label column there is one label, and without a group column one group, both named
    ``"all"``; several group columns are intersected.

    Examples
    --------
    >>> table = pd.DataFrame({"obs": [0, 1, 1], "sex": ["f", "f", "m"]})
    >>> read_cells(table, label="obs", group="sex").counts.tolist()
    [[1, 1], [0, 1]]
    """
    columns = [group] if isinstance(group, str) else list(dict.fromkeys(group))
    check_columns(table, [*([] if label is None else [label]), *columns])
    if label in columns:
        raise ValueError(f"column {label!r} cannot be both the label and a group.")
    labels, y = np.array(["all"]), np.zeros(len(table), dtype=np.int64)
    if label is not None:
        encoded = read_labels(table, label)
        labels, y = encoded.classes, encoded.y_seen
    names, codes = read_groups(table, columns)
    return Cells(names, labels, codes, y)


def read_groups(table: pd.DataFrame, columns: Sequence[str]) -> tuple[NDArray[Any], Codes]:
    """Return the group names and the code of each row; no columns means one group.

    Columns of many numbers or dates are refused: those name no groups.
    """
    for name in columns:
        refuse_numbers(table[name])
    values = table[list(columns)].to_numpy(object) if columns else None
    return encode_groups(values, len(table), columns=columns)


def read_labels(
    table: pd.DataFrame, label: str, truth: str | None = None, *, most: int | None = None
) -> EncodedLabels:
    """Read observed and true labels; refuse one class, more than ``most``, and unknown classes."""
    encoded = encode_labels(table[label].to_numpy(object), column=label)
    if len(encoded.classes) < 2:
        raise ValueError(
            f"column {label!r} has one class, {encoded.classes.tolist()[0]!r}, in all "
            f"{len(table)} rows; a label needs at least two."
        )
    if most is not None and len(encoded.classes) > most:
        raise ValueError(
            f"column {label!r} has {len(encoded.classes)} different values; a label can have at "
            f"most {most} classes."
        )
    if truth is None:
        return encoded
    true = table[truth].to_numpy(object)
    return replace(encoded, y_true=encode_known(true, encoded.classes, column=truth, gaps=True))


def guessed_rates(guess: float | Mapping[Any, float], cells: Cells) -> Floats:
    """Return the guessed noise rate of each cell, (G, K), from one rate or one per label."""
    labels = cells.labels.tolist()
    by_label = dict(guess) if isinstance(guess, Mapping) else dict.fromkeys(labels, guess)
    if set(by_label) != set(labels):
        raise ValueError(
            f"guess names the labels {', '.join(map(repr, by_label))} but the table has "
            f"{', '.join(map(repr, labels))}; give one rate for each, or one for all."
        )
    for rate in by_label.values():
        if not 0 < rate < 1:
            raise ValueError(f"guess must lie in (0, 1), got {rate}; write 0.2 for 20 %.")
    return np.tile([float(by_label[name]) for name in labels], (len(cells.groups), 1))


@dataclass(frozen=True, eq=False)
class Targets:
    """What a table says besides its features."""

    labels: EncodedLabels
    group_names: NDArray[Any]  # (G,); "a & b" with several group columns
    group: Codes  # (n,)
    unit: Codes  # (n,), person a row belongs to; a unit's rows are held out together
    probability: Floats  # (n,), of choosing a reviewed row; NaN elsewhere, or everywhere if unknown
    soft: Floats | None = None  # (n, K), how sure true labels are, if reviewers err
    draws: Codes | None = None  # (M, n), sets of true labels that are as well possible

    def with_truth(
        self, frame: pd.DataFrame, columns: Columns, soft: Floats, draws: Codes | None, best: Codes
    ) -> Targets:
        """Return the same with true labels that are not certain; ``best`` (n,) are likeliest."""
        labels = replace(self.labels, y_true=best)
        return replace(
            self, labels=labels, probability=_chance(frame, columns, labels), soft=soft, draws=draws
        )

    @property
    def reviewed(self) -> NDArray[np.bool_]:
        """Which rows have a true label."""
        return self.labels.reviewed

    @property
    def by_design(self) -> bool:
        """Whether the selection probabilities of reviewed rows are known."""
        return bool(np.isfinite(self.probability).any())

    @property
    def weight(self) -> Floats:
        """Rows each reviewed row represents (w_i in ``alignset.model.evaluation``); 0 elsewhere."""
        cell = self.group * len(self.labels.classes) + self.labels.y_seen
        inverse = np.where(self.reviewed, 1 / self.probability if self.by_design else 1.0, 0.0)
        size, total = np.bincount(cell), np.bincount(cell, inverse)
        return np.asarray(inverse * (size / np.where(total > 0, total, 1))[cell])

    def take(self, rows: NDArray[np.bool_]) -> Targets:
        """Return some of the rows."""
        labels = replace(
            self.labels, y_seen=self.labels.y_seen[rows], y_true=self.labels.y_true[rows]
        )
        own = (self.group[rows], self.unit[rows], self.probability[rows])
        soft = None if self.soft is None else self.soft[rows]
        draws = None if self.draws is None else self.draws[:, rows]
        return Targets(labels, self.group_names, *own, soft, draws)

    @property
    def strata(self) -> Codes:
        """Stratum of reviewed rows by group, true class, and right or wrong label; -1 elsewhere."""
        return review_strata(self.group, self.labels.y_seen, self.labels.y_true)


def read_targets(frame: pd.DataFrame, columns: Columns) -> Targets:
    """Read and check the columns that are not features.

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
            f"{MAX_GROUPS}; group values into ranges or leave out a group column."
        )
    unit = np.arange(len(frame)) if columns.unit is None else read_units(frame, columns.unit)
    return Targets(labels, names, group, unit, _chance(frame, columns, labels))


def read_units(frame: pd.DataFrame, name: str) -> Codes:
    """Return a number for whom each row belongs to, (n,)."""
    advice = "every row needs one, so fill it in, or leave the column out"
    check_complete(is_missing(frame[name]), "ids", advice, column=name)
    return units_of(frame, name)


def units_of(frame: pd.DataFrame, name: str) -> Codes:
    """Return the same, (n,); rows that name nobody are each of a person of their own."""
    unit = pd.factorize(frame[name].astype("object"))[0].astype(np.int64)
    nobody = is_missing(frame[name])
    unit[nobody] = unit.max(initial=-1) + 1 + np.arange(nobody.sum())
    return unit


def if_shared(unit: Codes) -> Codes | None:
    """Return whom rows belong to, None if nobody has two: intervals then count rows."""
    return None if len(np.unique(unit)) == len(unit) else unit


def check_review(targets: Targets, truth: str | None, *, needs_unreviewed: bool) -> None:
    """Refuse a table without reviewed rows, or without unreviewed ones if they are needed."""
    if truth is None:
        raise ValueError("name the column of true labels with --truth; without one, see `plan`.")
    n, reviewed = len(targets.group), int(targets.reviewed.sum())
    if reviewed == 0:
        raise ValueError(
            f"no row is reviewed: column {truth!r} is empty; draw rows to review with `alignset "
            "sample`, and enter what the reviewers find in that column."
        )
    if reviewed == n and needs_unreviewed:
        raise ValueError(
            f"all {n} rows are reviewed, so the observed labels add nothing; pass --method "
            "reviewed, or fit any classifier on the true labels."
        )


def _chance(frame: pd.DataFrame, columns: Columns, labels: EncodedLabels) -> Floats:
    if columns.probability is None:
        return np.full(len(frame), np.nan)
    values = frame[columns.probability]
    chance = pd.to_numeric(values, errors="coerce").to_numpy("float64", na_value=np.nan)
    bad = labels.reviewed & ~((chance > 0) & (chance <= 1))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"column {columns.probability!r} holds {values.iloc[row]} in data row {row + 1}; a "
            "reviewed row needs a selection probability in (0, 1]."
        )
    return np.where(labels.reviewed, chance, np.nan)
