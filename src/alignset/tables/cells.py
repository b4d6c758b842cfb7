"""Which group x observed-label cell each row of a table falls into, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.labels import Codes, EncodedLabels, encode_groups, encode_known, encode_labels
from alignset.tables.files import check_columns


@dataclass(frozen=True, eq=False)
class Cells:
    """Group and observed label of every row, as codes.

    Parameters
    ----------
    groups, labels : arrays of shape (G,) and (K,)
        What the codes stand for.
    group, label : int arrays of shape (n,)

    Examples
    --------
    >>> table = pd.DataFrame({"obs": [0, 1, 1], "sex": ["f", "f", "m"]})
    >>> read_cells(table, label="obs", group="sex").counts
    array([[1, 1],
           [0, 1]])
    """

    groups: NDArray[Any]
    labels: NDArray[Any]
    group: Codes
    label: Codes

    @property
    def counts(self) -> Codes:
        """Rows per cell, (G, K)."""
        return self.count(np.ones(len(self.group), dtype=bool))

    def count(self, where: NDArray[np.bool_]) -> Codes:
        """Rows per cell, (G, K), among the rows that count."""
        shape = len(self.groups), len(self.labels)
        flat = np.bincount(self.flat[where], minlength=shape[0] * shape[1])
        return flat.reshape(shape).astype(np.int64)

    @property
    def flat(self) -> Codes:
        """Cell of each row as one code, ``group * K + label``, (n,)."""
        return self.group * len(self.labels) + self.label


def read_cells(table: pd.DataFrame, *, label: str | None, group: str | Sequence[str] = ()) -> Cells:
    """Find the group x observed-label cell of every row.

    Parameters
    ----------
    table : DataFrame
    label : str or None
        Column of the observed label; None leaves labels out: one label, named ``"all"``.
    group : str or sequence of str
        Group columns; several mean their intersections, none means one group named ``"all"``.

    Examples
    --------
    >>> table = pd.DataFrame({"obs": [0, 1], "sex": ["f", "m"]})
    >>> read_cells(table, label="obss", group="sex")
    Traceback (most recent call last):
        ...
    ValueError: the table has no column 'obss'; did you mean 'obs'? it has obs, sex.
    """
    columns = group_columns(group)
    check_columns(table, [*([] if label is None else [label]), *columns])
    if label in columns:
        raise ValueError(f"column {label!r} cannot be both the label and a group.")
    labels, y = np.array(["all"]), np.zeros(len(table), dtype=np.int64)
    if label is not None:
        encoded = read_labels(table, label)
        labels, y = encoded.classes, encoded.y_seen
    names, codes = read_groups(table, columns)
    return Cells(names, labels, codes, y)


def group_columns(group: str | Sequence[str]) -> list[str]:
    """List the group columns, one or several, each once."""
    return [group] if isinstance(group, str) else list(dict.fromkeys(group))


def read_groups(table: pd.DataFrame, columns: Sequence[str]) -> tuple[NDArray[Any], Codes]:
    """Return the names of the groups and the code of each row; no columns are one group."""
    values = table[list(columns)].to_numpy(object) if columns else None
    return encode_groups(values, len(table), columns=columns)


def read_labels(
    table: pd.DataFrame, label: str, truth: str | None = None, *, most: int | None = None
) -> EncodedLabels:
    """Read observed and true labels; refuse one class, more than ``most``, and unknown ones."""
    encoded = encode_labels(table[label].to_numpy(object), column=label)
    if len(encoded.classes) < 2:
        raise ValueError(
            f"column {label!r} has one class, {encoded.classes.tolist()[0]!r}, in all "
            f"{len(table)} rows; a label needs at least two."
        )
    if most is not None and len(encoded.classes) > most:
        raise ValueError(
            f"column {label!r} has {len(encoded.classes)} different values; a label has at most "
            f"{most} classes."
        )
    if truth is None:
        return encoded
    true = table[truth].to_numpy(object)
    return replace(encoded, y_true=encode_known(true, encoded.classes, column=truth, gaps=True))


def guessed_rates(guess: float | Mapping[Any, float], cells: Cells) -> NDArray[np.float64]:
    """Return the guessed noise rate of each cell, (G, K), from one rate or one per label."""
    labels = cells.labels.tolist()
    by_label = dict(guess) if isinstance(guess, Mapping) else dict.fromkeys(labels, guess)
    if set(by_label) != set(labels):
        raise ValueError(
            f"guess has the labels {', '.join(map(repr, by_label))} but the table has "
            f"{', '.join(map(repr, labels))}; give one rate for each, or one for all."
        )
    for rate in by_label.values():
        if not 0 < rate < 1:
            raise ValueError(f"guess must lie in (0, 1), got {rate}; write 0.2 for 20 %.")
    return np.tile([float(by_label[name]) for name in labels], (len(cells.groups), 1))
