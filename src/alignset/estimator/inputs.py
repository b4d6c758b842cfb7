"""What a fit accepts: features of any kind, labels and groups that belong to the same rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from alignset.labels import (
    ADVICE_IF_UNOBSERVED,
    EncodedLabels,
    UnreadCellsWarning,
    check_complete,
    is_missing,
)
from alignset.rows.features import check_sparse
from alignset.rows.merge import check_weights, copies_of
from alignset.rows.selection import check_probability

NOT_REVIEWED = ("", "-1", "-1.0", "nan", "none", "na", "n/a", "null", "nat", "<na>", "missing")
"""What people and libraries write for a missing label."""

MOST_GROUPS = 50
"""More groups than this are refused if there is one for every 20 rows: a column of numbers."""


def check_given(X: Any, y: Any) -> None:
    """Refuse tables without columns, and observed labels that are missing or too few or many."""
    if is_frame(X) and X.shape[1] == 0:
        raise ValueError("X has no columns; pass a table with at least one feature.")
    gaps = is_missing(y)
    if gaps.ndim not in (1, 2):
        return  # scikit-learn says what is wrong
    n = (X if hasattr(X, "shape") else np.asarray(X, dtype=object)).shape[:1]
    if any(n) and len(gaps) and len(gaps) != n[0]:
        raise ValueError(f"y has {len(gaps)} entries but X has {n[0]} rows; pass one per row.")
    missing = np.asarray(gaps if gaps.ndim == 1 else gaps.any(axis=1))
    check_complete(missing, "y", ADVICE_IF_UNOBSERVED)


def learn_encoder(X: Any, weight: Any = None) -> Any:
    """Return how to turn a table with text, dates or gaps into numbers; None if it needs none.

    The command line encodes tables in the same way: numbers are filled with their median and say
    where they were missing, text becomes one column per level, rare levels one for all; dates,
    numbers with units and codes written as text are read as such. Text of too many values is
    refused, unless its dtype is ``category``. Weights that are whole numbers count as copies.
    """
    frame = as_frame(X)
    if frame is None:
        return None
    frame = _with_copies(frame, weight)
    from alignset.tables.preprocess import fit_preprocessing

    kinds = {name: _holds(frame[name]) for name in frame.columns}
    made = fit_preprocessing(frame, kinds, scaled=False)  # the estimator scales distinct rows
    for name, cells in made.unread_cells(frame).items():
        warnings.warn(
            f"column {name!r} has {len(cells)} cells that are no number or date, such as "
            f"{cells[0]!r}; they count as missing.",
            UnreadCellsWarning,
            stacklevel=2,
        )
    return made


def _with_copies(frame: Any, weight: Any) -> Any:
    """Repeat rows as often as they count, unless weights are shares or enormous."""
    if weight is None:
        return frame
    times = copies_of(check_weights(weight, len(frame)))
    return frame.iloc[np.repeat(np.arange(len(frame)), times)]


def _holds(values: Any) -> Any:
    """Return what a column holds; refuse text of too many values unless it is a categorical."""
    from pandas import to_numeric

    from alignset.tables.columns import MIN_ROWS_FOR_ID
    from alignset.tables.kinds import MOSTLY_NUMBERS, Holds, what_holds

    found = what_holds(values)
    if found.kind != "text":
        return found
    if str(values.dtype) == "category":
        return Holds("category")
    name, several = values.name, values.nunique()
    if several == len(values) >= MIN_ROWS_FOR_ID:
        raise ValueError(
            f"column {name!r} of X is different in every row, like an identifier; drop it with "
            f"X.drop(columns={name!r})."
        )
    if to_numeric(values.dropna(), errors="coerce").notna().mean() > MOSTLY_NUMBERS:
        raise ValueError(
            f"column {name!r} of X holds numbers that are written as text; use "
            f"X[{name!r}] = pandas.to_numeric(X[{name!r}])."
        )
    raise ValueError(
        f"column {values.name!r} of X holds text with {values.nunique()} values, too many to learn "
        f"from; drop it with X.drop(columns={values.name!r}), or keep its most frequent values "
        f"with X[{values.name!r}].astype('category')."
    )


def as_pandas(X: Any) -> Any:
    """Return a polars table as one of pandas; anything else as it is."""
    if not (hasattr(X, "to_pandas") and hasattr(X, "get_columns")):
        return X
    import pandas as pd

    return pd.DataFrame({name: _column(X[name]) for name in X.columns})


def _column(values: Any) -> Any:
    """Return a column of polars as an array, or, with text, gaps or dates, as a list."""
    found = values.to_numpy()
    return found if found.dtype.kind in "biufM" else values.to_list()


def is_frame(X: Any) -> bool:
    """Tell whether features are a pandas DataFrame, without importing pandas."""
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and getattr(X, "ndim", 0) == 2


def as_frame(X: Any) -> Any:
    """Return features that need encoding as a DataFrame with text as names; None for others."""
    if scipy.sparse.issparse(X):
        check_sparse(X)
        return None
    if is_frame(X):
        numbers = all(dtype.kind in "biuf" for dtype in map(_numpy_dtype, X.dtypes))
        if numbers and not X.isna().to_numpy().any():
            return None
        return _named(X)
    values = np.asarray(X)
    if values.ndim != 2 or values.dtype.kind != "f" or not np.isnan(values).any():
        return None
    import pandas as pd

    return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])


def _named(X: Any) -> Any:
    names = [str(name) for name in X.columns]
    twice = (
        {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else ()
    )
    if twice:
        raise ValueError(
            f"X has several columns called {sorted(twice)[0]!r}; give each a name of its own."
        )
    return X.set_axis(names, axis=1)


def _numpy_dtype(dtype: Any) -> Any:
    return dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", np.dtype(object))


def encode_features(encoder: Any, X: Any) -> Any:
    """Return a table as numbers, as in training; it may have no gaps this time."""
    frame = as_frame(X)
    if frame is None:
        import pandas as pd

        names = X.columns if hasattr(X, "columns") else [f"x{j}" for j in range(np.shape(X)[1])]
        frame = pd.DataFrame(np.asarray(X), columns=[str(name) for name in names])
    found = encoder.transform(frame)
    if not np.isfinite(found).all():
        column = encoder.feature_names[int((~np.isfinite(found)).any(0).argmax())]
        raise ValueError(f"X contains infinity in {column!r}; replace or drop those values.")
    return found


def check_no_gaps(X: Any) -> None:
    """Refuse gaps where the fit saw none: nothing was learned of what they mean."""
    values = X.tocoo().data if scipy.sparse.issparse(X) else X
    values = values.to_numpy() if is_frame(values) else np.asarray(values)
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError(
            "X contains NaN, but the rows that the model was fitted to had no gaps, so that it "
            "does not know what one means; fill it, or fit to rows that have gaps, too."
        )


def check_index(X: Any, **named: Any) -> None:
    """Refuse pandas columns whose index is not that of X: their rows would be mixed up.

    If X has none, that of the first column which has one counts.
    """
    known = [(name, _index(values)) for name, values in {"X": X, **named}.items()]
    known = [(name, index) for name, index in known if index is not None]
    for name, index in known[1:]:
        first, own = known[0]
        if len(index) != len(own) or index.equals(own):
            continue
        at = int(np.flatnonzero(np.asarray(index) != np.asarray(own))[0])
        here, there = own[[at]].tolist()[0], index[[at]].tolist()[0]
        raise ValueError(
            f"{name} and {first} are pandas objects whose rows have different names: row {at} is "
            f"{here!r} in {first} and {there!r} in {name}. Use {name}.loc[{first}.index] to put "
            f"them in the same order, or {name}.to_numpy() if they already are."
        )


def _index(values: Any) -> Any:
    index = getattr(values, "index", None)
    return None if callable(index) or not hasattr(index, "equals") else index


def check_not_reviewed(labels: EncodedLabels) -> None:
    """Refuse true labels that are never observed, and look like a sign for "not reviewed"."""
    for code, name in enumerate(labels.classes.tolist()):
        count, seen = int((labels.y_true == code).sum()), bool((labels.y_seen == code).any())
        if seen and name == "nan":
            raise ValueError(
                "y holds the text 'nan', which NumPy makes of a missing value among text; every "
                "row needs an observed label, so drop those rows."
            )
        sign = str(name).strip().lower() in NOT_REVIEWED or 2 * count > len(labels.y_seen)
        if count and not seen and sign:
            raise ValueError(
                f"y_true holds {name!r} in {count} rows, and no row is observed as {name!r}; mark "
                "rows that were not reviewed with NaN or None (an array of text turns NaN into "
                "'nan', so use dtype=object)."
            )


def check_groups_are_few(names: Any, n: int) -> None:
    """Refuse a column of numbers as groups."""
    if len(names) > MOST_GROUPS and len(names) > n / 20:
        raise ValueError(
            f"groups holds {len(names)} different values in {n} rows; a group needs many rows, so "
            "bin a column of numbers first, for example with pandas.qcut(age, 4)."
        )


def seed_of(random_state: Any) -> int:
    """Return a whole number for what scikit-learn takes as ``random_state``."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    if not (random_state is None or isinstance(random_state, np.random.Generator)):
        raise ValueError(
            "random_state must be a whole number of 0 or more, a RandomState, a Generator, or None "
            f"for another result each time, got {random_state!r}."
        )
    return int(np.random.default_rng(random_state).integers(2**31))


def on_reviewed(probability: Any, labels: EncodedLabels) -> NDArray[np.float64] | None:
    """Return P(reviewed), checked; set to 1 on the other rows, where it is not used."""
    if probability is None:
        return None
    n, shape = len(labels.reviewed), np.shape(probability)
    if shape != (n,):
        raise ValueError(
            f"review_probability has shape {shape} but X has {n} rows; pass one number per row."
        )
    known = check_probability(probability, labels.reviewed)
    return np.where(labels.reviewed, known, 1.0)


def repeated(unit: Any, copies: Any = None) -> Any:
    """Return units, or None if each has one row: then rows are units."""
    single = copies is None or (copies <= 1).all()
    return None if single and len(np.unique(unit)) == len(unit) else unit


def weigh_classes(class_weight: Any, labels: EncodedLabels, weight: Any = None) -> Any:
    """Return how much each row counts for its class: the true one, if that is known.

    None if all classes count alike.

    Examples
    --------
    >>> labels = EncodedLabels(np.array(["no", "yes"]), np.array([0, 1, 1]), np.array([-1, 0, -1]))
    >>> weigh_classes({"yes": 3}, labels)
    array([1., 1., 3.])
    """
    if class_weight is None:
        return None
    codes = np.where(labels.reviewed, labels.y_true, labels.y_seen)
    present, names = np.unique(codes), ", ".join(map(repr, labels.classes.tolist()))
    accepted = f"class_weight must be None, 'balanced' or a dict of the classes {names}"
    try:
        y, of = labels.classes[codes], labels.classes[present]
        of = compute_class_weight(class_weight, classes=of, y=y)
    except ValueError as error:
        raise ValueError(f"{accepted}, got {class_weight!r} ({error}).") from None
    if isinstance(class_weight, str) and weight is not None:  # as if by copies
        total = np.bincount(codes, weight)[present]
        of = np.divide(total.sum(), len(present) * total, out=np.zeros(len(of)), where=total > 0)
    if not (np.isfinite(of).all() and (of >= 0).all() and of.any()):
        raise ValueError(
            f"{accepted}, with finite numbers that are not negative and not all zero, got "
            f"{class_weight!r}."
        )
    return of[np.searchsorted(present, codes)]
