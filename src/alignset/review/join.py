"""Add what reviewers found to the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from alignset.labels import is_missing
from alignset.review.ids import DESIGN, REVIEWED, ROW, id_key, id_text, row_ids
from alignset.review.sheet import CANNOT_TELL, Reviews
from alignset.tables.files import check_columns
from alignset.tables.targets import read_labels


@dataclass(frozen=True, eq=False)
class Joined:
    """A table with its reviews, and how many there were.

    The table has the true label (missing where unknown), and the stratum, wave and probability of
    every row that was on a sheet.

    Examples
    --------
    >>> Joined(pd.DataFrame({"obs": [0, 1]}), n_reviewed=0, n_cannot_tell=0, n_open=0).n_open
    0
    """

    table: pd.DataFrame
    n_reviewed: int  # rows of the sheet with a true label
    n_cannot_tell: int  # looked at, but without one
    n_open: int  # without an answer

    def frame(self) -> pd.DataFrame:
        """Return the table."""
        return self.table


def join(table: pd.DataFrame, reviews: Reviews, *, label: str, truth: str = REVIEWED) -> Joined:
    """Add what reviewers found to the table the sheet was drawn from.

    Parameters
    ----------
    table : DataFrame
        If it has the columns of earlier sheets, the new reviews are added to those.
    reviews : Reviews
        From :func:`alignset.review.sheet.read_reviews`.
    label : str
        Column of the observed label; true labels are written with its values.
    truth : str, default="reviewed"
        Column for the true labels.

    Examples
    --------
    >>> table = pd.DataFrame({"obs": [0, 1, 1]})
    >>> rows = {"id": ["2"], "reviewed": ["0"], "probability": [0.5], "stratum": ["1"], "wave": [1]}
    >>> join(table, Reviews("row", pd.DataFrame(rows)), label="obs").frame()["reviewed"].tolist()
    [<NA>, <NA>, 0]
    """
    check_columns(table, [label])
    if reviews.n_open == len(reviews.rows):
        raise ValueError(
            f"none of the {reviews.n_open} rows of the sheet has an answer, so there is nothing to "
            f"add; write the true label or {CANNOT_TELL!r} in its column {REVIEWED!r}."
        )
    classes, rows = read_labels(table, label).classes, reviews.rows
    values = _values(rows, classes.tolist())
    at = _positions(table, reviews)
    out = table.copy()
    true = _objects(out, truth)
    done = ~is_missing(true[at])
    if done.any():
        row = rows["id"].tolist()[done.argmax()]
        raise ValueError(f"row {row!r} of the sheet is already reviewed in the table.")
    true[at] = values
    # integers stay integers even if some are missing
    out[truth] = pd.array(true.tolist(), dtype=_DTYPES.get(classes.dtype.kind, object))
    for name in DESIGN:
        column = _objects(out, name)
        column[at] = rows[name].to_numpy(object)
        out[name] = pd.array(column.tolist(), dtype=_DTYPES[name])
    found = len(values) - reviews.n_cannot_tell - reviews.n_open
    return Joined(out, found, reviews.n_cannot_tell, reviews.n_open)


_DTYPES: Mapping[str, Any] = {
    **dict(zip(DESIGN, ("string", "Int64", "Float64"), strict=True)),
    "b": "boolean",
    "i": "Int64",
    "u": "Int64",
}
"""Types of the columns a sheet adds, and of true labels by the kind of the observed ones."""


def _values(rows: pd.DataFrame, classes: list[Any]) -> list[Any]:
    """Return answers as values of the label column, None where there is no answer."""
    texts = [id_text(value) for value in classes]
    if CANNOT_TELL in (text.casefold() for text in texts):
        raise ValueError(f"{CANNOT_TELL!r} is a class of the label; rename it in the table.")
    forms: tuple[Callable[[str], str], ...] = (str, id_key, lambda text: id_key(text).casefold())
    known = [_unambiguous(map(form, texts), classes) for form in forms]
    values: list[Any] = []
    for row, answer in zip(rows["id"], rows["reviewed"], strict=True):
        if pd.isna(answer) or answer == CANNOT_TELL:
            values.append(None)
            continue
        places = zip(known, forms, strict=True)
        found = next((of[form(answer)] for of, form in places if form(answer) in of), None)
        if found is None:
            accepted = ", ".join(repr(text) for text in texts)
            raise ValueError(
                f"row {row!r} of the sheet was reviewed as {answer!r}; answer {accepted} or "
                f"{CANNOT_TELL!r}, or leave it empty."
            )
        values.append(found)
    return values


def _unambiguous(names: Iterable[str], values: Sequence[Any]) -> dict[str, Any]:
    """Return the value of each name that belongs to only one."""
    listed = list(names)
    count = Counter(listed)
    return {name: v for name, v in zip(listed, values, strict=True) if count[name] == 1}


def _positions(table: pd.DataFrame, reviews: Reviews) -> Any:
    """Return the position in the table of each row of the sheet."""
    ids = row_ids(table, None if reviews.id_column == ROW else reviews.id_column)
    place = {id_key(id_text(value)): position for position, value in enumerate(ids.tolist())}
    keys = reviews.rows["id"].map(id_key)
    for row, key in zip(reviews.rows["id"], keys, strict=True):
        if key not in place:
            raise ValueError(
                f"the sheet has a row with {reviews.id_column} {row!r}, but the table does not; "
                "join the sheet to the table it was drawn from."
            )
    return keys.map(place).to_numpy(np.int64)


def _objects(table: pd.DataFrame, name: str) -> Any:
    """Return a column as objects, with None for missing entries or a missing column."""
    if name not in table:
        return np.full(len(table), None, dtype=object)
    values = table[name].to_numpy(object, copy=True)
    values[is_missing(values)] = None
    return values
