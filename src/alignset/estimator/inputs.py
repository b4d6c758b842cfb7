"""What a fit accepts: features of any kind, labels and groups that belong to the same rows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from alignset.labels import EncodedLabels, UnreadCellsWarning
from alignset.rows.features import check_sparse
from alignset.rows.merge import check_weights
from alignset.rows.selection import HOW, check_probability
from alignset.stack import Backbone, Module

if TYPE_CHECKING:
    from alignset.estimator.classifier import NoisyLabelClassifier

NOT_REVIEWED = (-1, -1.0, "")
"""What some libraries write for a missing label."""

MOST_COPIES = 10
"""On average, how many copies of a row are counted when the encoding of a table is learned."""

MOST_GROUPS = 50
"""More groups than this are refused if there is one for every 20 rows: a column of numbers."""


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


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
    times = check_weights(weight, len(frame))
    if (times % 1).any() or times.sum() > MOST_COPIES * len(frame):
        times = (times > 0).astype(float)
    return frame.iloc[np.repeat(np.arange(len(frame)), times.astype(np.int64))]


def _holds(values: Any) -> Any:
    """Return what a column holds; refuse text of too many values unless it is a categorical."""
    from alignset.tables.kinds import Holds, what_holds

    found = what_holds(values)
    if found.kind != "text":
        return found
    if str(values.dtype) == "category":
        return Holds("category")
    raise ValueError(
        f"column {values.name!r} of X holds text with {values.nunique()} values, too many to learn "
        f"from; drop it with X.drop(columns={values.name!r}), or keep its most frequent values "
        f"with X[{values.name!r}].astype('category')."
    )


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
        return X.set_axis([str(name) for name in X.columns], axis=1)
    values = np.asarray(X)
    if values.ndim != 2 or values.dtype.kind != "f" or not np.isnan(values).any():
        return None
    import pandas as pd

    return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])


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


def check_index(X: Any, **named: Any) -> None:
    """Refuse pandas columns whose index is not that of X: their rows would be mixed up."""
    index = getattr(X, "index", None)
    if index is None or callable(index):
        return
    for name, values in named.items():
        other = getattr(values, "index", None)
        if other is None or callable(other) or len(other) != len(index) or other.equals(index):
            continue
        at = int(np.flatnonzero(np.asarray(other) != np.asarray(index))[0])
        raise ValueError(
            f"{name} and X are pandas objects whose rows have different names: row {at} is "
            f"{index[at]!r} in X and {other[at]!r} in {name}. Use {name}.loc[X.index] to put them "
            f"in the same order, or {name}.to_numpy() if they already are."
        )


def check_not_reviewed(labels: EncodedLabels) -> None:
    """Refuse -1 and the empty text as a true label that is never observed: they mean nothing."""
    for code, name in enumerate(labels.classes.tolist()):
        if name in NOT_REVIEWED and code not in labels.y_seen and code in labels.y_true:
            raise ValueError(
                f"y_true holds {name!r} in {int((labels.y_true == code).sum())} rows, and no row "
                f"is observed as {name!r}; mark rows that were not reviewed with NaN or None."
            )


def check_groups_are_few(names: Any, n: int) -> None:
    """Refuse a column of numbers as groups."""
    if len(names) > MOST_GROUPS and len(names) > n / 20:
        raise ValueError(
            f"groups holds {len(names)} different values in {n} rows; a group needs many rows, so "
            "bin a column of numbers first, for example with pandas.qcut(age, 4)."
        )


def check_device(device: Any) -> None:
    """Refuse a device that torch does not know by that name."""
    if not (isinstance(device, str) and device.split(":")[0] in ("cpu", "cuda")):
        raise ValueError(
            f"device must be 'cpu', 'cuda' or 'cuda:N', got {device!r}; an NVIDIA GPU is 'cuda'."
        )


def check_hidden(hidden: Any) -> None:
    """Refuse a width that is not a number, such as scikit-learn's tuple of layers."""
    if not is_whole(hidden) or hidden < 1:
        raise ValueError(
            f"hidden must be a whole number of at least 1, the width of both hidden layers "
            f"(hidden >= 1), got {hidden!r}; pass backbone= for another shape."
        )


def check_settings(clf: NoisyLabelClassifier, review_probability: Any) -> None:
    """Refuse settings of an estimator that cannot be meant."""
    check_device(clf.device)
    check_hidden(clf.hidden)
    if clf.n_configs < 1:
        raise ValueError(f"n_configs must be at least 1, got {clf.n_configs}.")
    if clf.folds is not None and not (is_whole(clf.folds) and clf.folds >= 2):
        raise ValueError(
            "folds must be a whole number of at least 2, or None to hold out validation_share "
            f"once, got {clf.folds!r}."
        )
    if not (is_whole(clf.ensemble) and 1 <= clf.ensemble <= clf.n_configs):
        raise ValueError(
            f"ensemble must be a whole number from 1 to n_configs={clf.n_configs}, the number "
            f"of configs to choose from, got {clf.ensemble!r}."
        )
    if clf.review_weights is not None and clf.review_weights not in HOW:
        raise ValueError(
            f"review_weights must be {' or '.join(map(repr, HOW))} or None, got "
            f"{clf.review_weights!r}; pass known probabilities to fit(review_probability=...)."
        )
    if clf.review_weights is not None and review_probability is not None:
        raise ValueError(
            f"review_weights={clf.review_weights!r} estimates what review_probability gives; "
            "pass only one of the two."
        )


def as_backbone(backbone: Any) -> Any:
    """Return a backbone; a function that makes a torch module becomes one."""
    if backbone is None or isinstance(backbone, Backbone):
        return backbone
    if hasattr(backbone, "predict_proba"):
        raise ValueError(
            f"backbone must be a network, got the classifier {backbone!r}; pass it as estimator="
        )
    if hasattr(backbone, "forward") and not isinstance(backbone, type):
        raise ValueError(
            f"backbone must make a network for given sizes, got one network, "
            f"{type(backbone).__name__}; pass a function, such as lambda d, k: nn.Linear(d, k)."
        )
    if callable(backbone):
        return Module(backbone)
    raise ValueError(
        f"backbone must be a Backbone, or a function (inputs, outputs) -> nn.Module, got "
        f"{backbone!r}."
    )


def seed_of(random_state: Any) -> int:
    """Return a whole number for what scikit-learn takes as ``random_state``."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(np.random.default_rng(random_state).integers(2**31))


def on_reviewed(probability: Any, labels: EncodedLabels) -> NDArray[np.float64] | None:
    """Return P(reviewed), checked; set to 1 on the other rows, where it is not used."""
    if probability is None:
        return None
    known = check_probability(probability, labels.reviewed)
    return np.where(labels.reviewed, known, 1.0)


def repeated(unit: Any) -> Any:
    """Return units, or None if each has one row: then rows are units."""
    return None if len(np.unique(unit)) == len(unit) else unit


def weigh_classes(class_weight: Any, labels: EncodedLabels) -> NDArray[np.float64]:
    """Return how much each row counts for its class: the true one, if that is known.

    Examples
    --------
    >>> labels = EncodedLabels(np.array(["no", "yes"]), np.array([0, 1, 1]), np.array([-1, 0, -1]))
    >>> weigh_classes({"yes": 3}, labels)
    array([1., 1., 3.])
    """
    codes = np.where(labels.reviewed, labels.y_true, labels.y_seen)
    try:
        return np.asarray(compute_sample_weight(class_weight, labels.classes[codes]), dtype=float)
    except ValueError as error:
        names = ", ".join(map(repr, labels.classes.tolist()))
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict of the classes {names}, got "
            f"{class_weight!r} ({error})."
        ) from None
