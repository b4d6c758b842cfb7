"""Encode and check observed and true labels, and define what "not reviewed" means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNREVIEWED = -1
"""Internal code of an unreviewed row's true label; class codes start at 0, so it never collides."""

ADVICE_IF_UNOBSERVED = (
    "every row needs an observed label, so drop those rows (unreviewed rows are marked in y_true)"
)

Codes = NDArray[np.int64]


class NoReviewWarning(UserWarning):
    """No row was reviewed, so a method that needs reviewed rows was replaced by Standard."""


class NoDisagreementWarning(UserWarning):
    """Every reviewed label was right, so there is no error to learn from."""


class UnreviewedGroupWarning(UserWarning):
    """A group has no reviewed row; anything said about its labels is extrapolated."""


class UnobservedClassWarning(UserWarning):
    """A class occurs among the true labels but is never observed."""


class UnseenCellWarning(UserWarning):
    """No row with some observed label in a group was reviewed; no weight makes up for that."""


class SelectiveReviewWarning(UserWarning):
    """Whether a row was reviewed depends on its observed label."""


class FewReviewedWarning(UserWarning):
    """Hardly any reviewed row turned out to be of some class."""


class NoGroupsWarning(UserWarning):
    """A decision was made without groups, by a threshold that was chosen with them."""


class OutOfTimeWarning(UserWarning):
    """Candidates of a blend were left out, because the time for the fit was over."""


class UnreadCellsWarning(UserWarning):
    """Cells of a column of dates or numbers are neither, and count as missing."""


class LabelSwitchWarning(UserWarning):
    """Held-out reviewed rows show that the model takes one class for another in some group."""


@dataclass(frozen=True)
class EncodedLabels:
    """Labels as class codes ``0..K-1``."""

    classes: NDArray[Any]  # (K,), the labels as they were passed, sorted; code k is classes[k]
    y_seen: Codes  # (n,), observed
    y_true: Codes  # (n,), UNREVIEWED where the row was not reviewed

    @property
    def reviewed(self) -> NDArray[np.bool_]:
        """Which rows have a true label."""
        return np.not_equal(self.y_true, UNREVIEWED)


def is_missing(values: Any) -> NDArray[np.bool_]:
    """Tell which entries are missing: NaN, None, ``pd.NA``, ``NaT`` or masked."""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.getmaskarray(values) | is_missing(values.data)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biu":
        return np.zeros(values.shape, dtype=bool)
    import pandas as pd  # only when needed: training alone saves 70 MB without it

    return np.asarray(pd.isna(np.asarray(values, dtype=object)), dtype=bool)


def check_complete(
    missing: NDArray[np.bool_], name: str, advice: str, *, column: str | None = None
) -> None:
    """Refuse missing entries in the array ``name``, or in ``column`` if it comes from a table."""
    if missing.any():
        what, row = _place(name, column, int(missing.argmax()))
        raise ValueError(
            f"{what} is missing in {missing.sum()} of {len(missing)} rows, first in {row}; "
            f"{advice}."
        )


def encode_labels(y: Any, y_true: Any = None, *, column: str | None = None) -> EncodedLabels:
    """Encode observed and true labels, both (n,), as class codes ``0..K-1``.

    Labels are strings, booleans or whole numbers, in a list, a NumPy array or a pandas or polars
    column; -1 is a class like any other. ``y_true`` is missing where a row was not reviewed; a
    float 1.0 in it matches an integer 1 and a boolean True, because a missing entry turns those
    into floats. All classes have the type of ``y``, even those that occur only in ``y_true``. If
    ``y`` comes from a table, messages call it ``column``.

    Examples
    --------
    >>> labels = encode_labels([0, 1, 1], y_true=[1.0, float("nan"), 1.0])
    >>> labels.classes, labels.y_seen, labels.y_true
    (array([0, 1]), array([0, 1, 1]), array([ 1, -1,  1]))
    """
    missing = is_missing(y)
    name = _place("y", column)[0]
    seen = _present(y, missing, name)
    _kind(seen, name)
    advice = ADVICE_IF_UNOBSERVED
    if column is not None:
        advice = advice.partition(" (")[0]
        advice += f", or pass --keep-na {column} if the words None or NA in it are labels"
    check_complete(missing, "y", advice, column=column)
    n = len(seen)
    unreviewed = np.ones(n, dtype=bool) if y_true is None else is_missing(y_true)
    true = seen[:0] if y_true is None else _present(y_true, unreviewed, "y_true")
    _kind(true, "y_true")
    if len(unreviewed) != n:
        raise ValueError(
            f"y_true has {len(unreviewed)} entries but X has {n} rows; pass one per row, "
            "with NaN where the row was not reviewed."
        )
    both = np.concatenate([seen, _as_type_of(seen, true)])
    classes, codes = np.unique(both, return_inverse=True)
    codes = codes.astype(np.int64, copy=False)
    y_codes = np.full(n, UNREVIEWED, dtype=np.int64)
    y_codes[~unreviewed.reshape(-1)] = codes[n:]
    return EncodedLabels(classes, codes[:n], y_codes)


def encode_shares(y: Any, shares: Any) -> tuple[EncodedLabels, NDArray[np.float64]]:
    """Encode observed labels (n,) and probabilities of true classes (n, K), NaN if not reviewed.

    A DataFrame's columns name the classes; an array has one column per observed class, in sorted
    order. The true label of the result is the most probable class.

    Examples
    --------
    >>> nan = float("nan")
    >>> labels, shares = encode_shares(["no", "yes"], [[0.1, 0.9], [nan, nan]])
    >>> labels.y_true, shares[0]
    (array([ 1, -1]), array([0.1, 0.9]))
    """
    given = np.array(shares, dtype=np.float64)
    labels = encode_labels(y)
    if given.shape[0] != len(labels.y_seen):
        raise ValueError(
            f"y_true has {given.shape[0]} rows but X has {len(labels.y_seen)}; pass one per row, "
            "with NaN where the row was not reviewed."
        )
    if hasattr(shares, "columns"):
        labels, given = _named_shares(y, list(shares.columns), given)
    if given.shape[1] != len(labels.classes):
        raise ValueError(
            f"y_true has {given.shape[1]} columns but y has {len(labels.classes)} classes; pass "
            "one column per class in sorted order, or a DataFrame whose columns are the classes."
        )
    known = ~np.isnan(given).all(axis=1)
    bad = known & ~((given >= 0).all(axis=1) & (np.abs(given.sum(axis=1) - 1) < 1e-6))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"y_true holds {given[row].tolist()} in row {row}; probabilities of classes must not "
            "be negative and must add up to 1, or all be NaN where the row was not reviewed."
        )
    best = np.where(known, np.nan_to_num(given).argmax(axis=1), UNREVIEWED)
    return EncodedLabels(labels.classes, labels.y_seen, best), given


def _named_shares(
    y: Any, names: list[Any], given: NDArray[np.float64]
) -> tuple[EncodedLabels, NDArray[np.float64]]:
    """Put columns that name classes into sorted order; classes without a column have share 0."""
    n = len(given)
    # every class occurs once among the first "true labels", so that all of them are encoded
    rows = np.full(max(n, len(names)), None, dtype=object)
    rows[: len(names)] = names
    if n < len(names):
        raise ValueError(f"y_true has {len(names)} classes but only {n} rows; pass more rows.")
    labels = encode_labels(y, rows[:n])
    found = np.zeros((n, len(labels.classes)))
    found[:, labels.y_true[: len(names)]] = given
    found[np.isnan(given).all(axis=1)] = np.nan
    return labels, found


def encode_known(y: Any, classes: Any, *, column: str | None = None, gaps: bool = False) -> Codes:
    """Encode more labels with classes that are already known; refuse any other label.

    A float 1.0 matches an integer 1 and a boolean True. With ``gaps``, labels may be missing and
    become ``UNREVIEWED``. If ``y`` comes from a table, messages call it ``column``.
    """
    missing = is_missing(y)
    present = _present(y, missing, _place("y", column)[0]).tolist()
    missing = missing.reshape(-1)
    if not gaps:
        check_complete(missing, "y", "every row needs a label", column=column)
    place = {label: code for code, label in enumerate(np.asarray(classes).tolist())}
    unknown = next((i for i, label in enumerate(present) if label not in place), None)
    if unknown is not None:
        what, row = _place("y", column, int(np.flatnonzero(~missing)[unknown]))
        empty = ", and rows that were not reviewed are left empty" if gaps else ""
        raise ValueError(
            f"{what} holds {present[unknown]!r} in {row}, which is not a known label; known "
            f"labels are {', '.join(map(repr, place))}{empty}."
        )
    codes = np.full(len(missing), UNREVIEWED, dtype=np.int64)
    codes[~missing] = [place[label] for label in present]
    return codes


def encode_groups(
    groups: Any, n: int, *, columns: Sequence[str] | None = None, name: str = "groups"
) -> tuple[NDArray[Any], Codes]:
    """Return the sorted group values (G,), as they were passed, and the code of each row (n,).

    With several columns, (n, m), groups are the intersections that occur, named ``"a & b"``. None
    means one group, named ``"all"``. If the m columns come from a table, messages call them
    ``columns``; else the argument is called ``name``.

    Examples
    --------
    >>> encode_groups([["f", 65], ["m", 65], ["f", 65]], n=3)
    (array(['f & 65', 'm & 65'], dtype=object), array([0, 1, 0]))
    """
    if groups is None:
        return np.array(["all"]), np.zeros(n, dtype=np.int64)
    missing = is_missing(groups)
    if missing.ndim not in (1, 2):
        raise ValueError(
            f"{name} must have shape (n,) or (n, m), got an array of shape {missing.shape}."
        )
    if len(missing) != n:
        raise ValueError(f"{name} has {len(missing)} entries but X has {n} rows; pass one per row.")
    advice = "give those rows a group of their own, such as 'unknown', or drop them"
    if name == "units":
        advice = "give each of those rows a unit of its own, or drop them"
    for column, gaps in zip(columns or (), missing.T, strict=False):
        check_complete(gaps, name, advice, column=column)
    rows = np.asarray(missing if missing.ndim == 1 else missing.any(axis=1))
    check_complete(rows, name, advice)
    if missing.ndim == 1 or missing.shape[1] == 1:
        return distinct(_plain(groups, ~missing), name)
    table = np.asarray(groups, dtype=object)
    parts = [distinct(_plain(column, ~rows), name) for column in table.T]
    cells, codes = np.unique(np.stack([c for _, c in parts], axis=1), axis=0, return_inverse=True)
    names = [
        " & ".join(str(values[k]) for (values, _), k in zip(parts, cell, strict=True))
        for cell in cells
    ]
    return np.array(names, dtype=object), codes.reshape(-1).astype(np.int64, copy=False)


def _place(name: str, column: str | None, row: int = 0) -> tuple[str, str]:
    """Name an argument and one of its rows; arrays count from 0, the data rows of a file from 1."""
    if column is None:
        return name, f"row {row}"
    return f"column {column!r}", f"data row {row + 1}"


def _present(values: Any, missing: NDArray[np.bool_], name: str) -> NDArray[Any]:
    """Return the labels that are present, as one flat array."""
    if not (missing.ndim == 1 or (missing.ndim == 2 and missing.shape[1] == 1)):
        raise ValueError(
            f"{name} must have one label per row, got an array of shape {missing.shape}."
        )
    return _plain(values, ~missing)


_NARROW = {"boolean": bool, "integer": np.int64, "floating": float, "mixed-integer-float": float}


def _plain(values: Any, present: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the present values in their natural dtype, without turning any number into text."""
    listed = isinstance(values, (list, tuple))
    array = np.asarray(values, dtype=object) if listed else np.asarray(values)
    flat = array[present]
    if flat.dtype != object:
        return flat
    import pandas as pd

    natural = pd.api.types.infer_dtype(flat, skipna=False)
    if natural == "string":
        return flat.astype(str) if listed else flat
    if natural == "integer" and not all(-(2**63) <= value < 2**63 for value in flat):
        raise ValueError(
            f"{max(flat, key=abs)} does not fit into 64 bits; write such numbers as text."
        )
    return flat.astype(_NARROW[natural]) if natural in _NARROW else flat


def _kind(values: NDArray[Any], name: str) -> str:
    """Tell whether labels are ``"text"`` or ``"number"``; booleans count as numbers."""
    if values.dtype.kind in "biu":
        return "number"
    if values.dtype.kind in "UT" or all(isinstance(v, str) for v in values):
        return "text"
    if values.dtype.kind == "f":
        strange = values[~(np.isfinite(values) & (values == np.floor(values)))]
        if not len(strange):
            return "number"
        said = f"{strange[0]}, which is not a class"
    else:
        said = f"labels of type {_types(values)}, such as {values[0]!r}"
    raise ValueError(
        f"{name} holds {said}; labels must be all strings, all booleans or all whole numbers."
    )


def _as_type_of(seen: NDArray[Any], true: NDArray[Any]) -> NDArray[Any]:
    """Cast true labels to the dtype of the observed ones, if that changes no value."""
    if not len(true) or not len(seen):
        return true if len(true) else seen[:0]
    agree = _kind(seen, "y") == _kind(true, "y_true")
    if agree and seen.dtype.kind == "b":
        agree = bool(np.isin(true, (0, 1)).all())
    if not agree:
        raise ValueError(
            f"y_true holds {_example(true)} but y holds {_example(seen)}; "
            "use the same labels in both."
        )
    if seen.dtype.kind in "UTO":
        return true.astype(object if seen.dtype.kind == "O" else str)
    cast = true.astype(seen.dtype)
    return cast if (cast == true).all() else true.astype(np.int64)


def _example(values: NDArray[Any]) -> str:
    strange = values[~np.isin(values, (0, 1))] if values.dtype.kind in "biuf" else values
    value = (strange if len(strange) else values)[:1].tolist()[0]
    return f"{type(value).__name__} labels such as {value!r}"


def distinct(values: NDArray[Any], name: str) -> tuple[NDArray[Any], Codes]:
    """Return the sorted distinct values and the code of each; refuse types without an order."""
    try:
        names, codes = np.unique(values, return_inverse=True)
    except TypeError:
        raise ValueError(
            f"{name} mixes values of type {_types(values)}; pass one type per column."
        ) from None
    return names, codes.astype(np.int64, copy=False)


def _types(values: NDArray[Any]) -> str:
    return " and ".join(sorted({type(v).__name__ for v in values}))
