"""Which group x observed-label cell each row of a table falls into, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.labels import Codes, encode_groups, encode_labels, is_missing
from alignset.tables import files


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
    if label is None:
        labels, y = np.array(["all"]), np.zeros(len(table), dtype=np.int64)
    else:
        labels, y = read_label(table, label)
    names, codes = encode_groups(table[columns].to_numpy(object) if columns else None, len(table))
    return Cells(names, labels, codes, y)


def group_columns(group: str | Sequence[str]) -> list[str]:
    """List the group columns, one or several, each once."""
    return [group] if isinstance(group, str) else list(dict.fromkeys(group))


def read_label(table: pd.DataFrame, label: str) -> tuple[NDArray[Any], Codes]:
    """Return the classes of a label column and the code of each row; refuse missing or one class.

    Examples
    --------
    >>> read_label(pd.DataFrame({"obs": ["no", "no"]}), "obs")
    Traceback (most recent call last):
        ...
    ValueError: column 'obs' has one class, 'no', in all 2 rows; a label needs at least two.
    """
    values = table[label]
    missing = is_missing(values.to_numpy(object))
    if missing.any():
        raise ValueError(
            f"column {label!r} is missing in {missing.sum()} of {len(table)} rows, first in row "
            f"{missing.argmax()}; every row needs an observed label, so drop those rows."
        )
    try:
        encoded = encode_labels(values.to_numpy(object))
    except ValueError as error:
        raise ValueError(f"column {label!r}: {error}") from None
    if len(encoded.classes) < 2:
        raise ValueError(
            f"column {label!r} has one class, {encoded.classes.tolist()[0]!r}, in all "
            f"{len(table)} rows; a label needs at least two."
        )
    return encoded.classes, encoded.y_seen


def check_columns(table: pd.DataFrame, columns: Iterable[str]) -> None:
    """Refuse an empty table, columns of the same name, and columns that are not there."""
    if len(table) == 0:
        raise ValueError("the table has no rows.")
    names = list(table.columns)
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the table has more than one column {twice[0]!r}; rename one of them.")
    files.check_columns(columns, [str(name) for name in names], "the table")


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
