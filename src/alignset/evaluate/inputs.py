"""Check what a user passes to a metric, and turn it into arrays."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alignset.evaluate.ranked import Ranked, one_vs_rest, rank
from alignset.labels import check_complete, distinct, is_missing

Floats = NDArray[np.float64]
Weights = ArrayLike | None
"""How much each row counts (n,), >= 0; None counts each as 1."""


class EmptyCellWarning(UserWarning):
    """A metric is NaN because a class, or a class in some group, has no row."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """Checked arguments of a metric, as float64 and int64 arrays."""

    prob: Floats  # (n, K) score of each class; of two classes only column 1 has a meaning
    y: NDArray[np.int64]  # (n,) class code
    group: NDArray[np.int64]  # (n,) group code
    where: NDArray[Any]  # (n,) weight; bool where none was given
    classes: tuple[Any, ...]  # what the codes stand for
    groups: tuple[Any, ...]

    def ranked(self, where: NDArray[Any] | None = None) -> Ranked:
        """Sort rows by falling score, for each class against the rest, on a leading class axis.

        ``where`` (..., n) may weight them differently.
        """
        rows = one_vs_rest(self.prob, self.y, self.group, self.where if where is None else where)
        return rank(*rows, len(self.groups))


def check_inputs(
    y_true: ArrayLike,
    y_score: ArrayLike,
    groups: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> Inputs:
    """Check and encode labels, scores, groups and weights as ``auroc`` and ``aueoc`` take them."""
    labels = _complete("y_true", y_true)
    score = np.asarray(y_score, dtype=np.float64)
    if score.ndim not in (1, 2) or (score.ndim == 2 and score.shape[1] < 2):
        raise ValueError(
            f"y_score has shape {score.shape}; pass scores of the positive class, shape (n,), "
            "or one column per class, shape (n, K) with K >= 2."
        )
    _check_length("y_score", score, len(labels))
    unscored = int(np.isnan(score.reshape(len(score), -1)).any(axis=1).sum())
    if unscored:
        raise ValueError(
            f"y_score is NaN in {unscored} rows; drop them, or find out why they have no score."
        )
    score = np.nan_to_num(score)  # an infinite score ranks as the largest finite one
    classes, y = _encode_classes(labels, 2 if score.ndim == 1 else score.shape[1])
    names = _complete("groups", np.zeros(len(labels), np.int64) if groups is None else groups)
    _check_length("groups", names, len(labels))
    group_names, group = distinct(names, "groups")
    prob = score if score.ndim == 2 else np.stack([np.zeros_like(score), score], axis=1)
    return Inputs(
        prob,
        y,
        group,
        check_weight(sample_weight, len(y)),
        tuple(classes),
        tuple(group_names.tolist()),
    )


def check_probability(inputs: Inputs) -> None:
    """Refuse scores that an integral over thresholds in [0, 1] would cut off."""
    score = inputs.prob
    outside = (score < 0) | (score > 1)
    if outside.any():
        raise ValueError(
            f"y_score must lie in [0, 1] to integrate over thresholds, got {score[outside][0]}; "
            "pass probabilities, or use aueoc_over_fpr, which uses only the order of the scores."
        )


def warn_if_empty(inputs: Inputs, *, by_group: bool, stacklevel: int = 3) -> None:
    """Warn about every class, or every class in every group, that has no row."""
    shape = (len(inputs.groups), len(inputs.classes))
    count = np.zeros(shape)
    np.add.at(count, (inputs.group, inputs.y), inputs.where)
    if not by_group:
        cells = [
            f"no row has class {inputs.classes[k]!r}" for k in np.flatnonzero(count.sum(0) == 0)
        ]
    else:
        cells = [
            f"no row of group {inputs.groups[g]!r} has class {inputs.classes[k]!r}"
            for g, k in np.argwhere(count == 0)
        ]
    if cells:
        advice = "; merge small groups or add rows" if by_group else ""
        warnings.warn(
            f"{', '.join(cells)}; the metric is NaN{advice}.",
            EmptyCellWarning,
            stacklevel=stacklevel,
        )


def check_weight(sample_weight: Weights, n: int) -> NDArray[Any]:
    """Return how much each row counts (n,): numbers, or True if no weights were given."""
    if sample_weight is None:
        return np.ones(n, dtype=bool)
    weight = np.array(sample_weight, dtype=np.float64)
    _check_length("sample_weight", weight, n)
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        raise ValueError(f"sample_weight must be finite and not negative, got {weight[bad][0]}.")
    return weight


def _check_length(name: str, values: NDArray[Any], n: int) -> None:
    """Refuse an array that does not have one entry per row."""
    if len(values) != n:
        raise ValueError(f"{name} has {len(values)} entries but y_true has {n}; pass one per row.")


def _complete(name: str, values: Any) -> NDArray[Any]:
    """Return a one-dimensional array, if no entry is missing."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; pass one entry per row, shape (n,).")
    if len(array) == 0:
        raise ValueError(f"{name} is empty; a metric needs at least one row.")
    check_complete(is_missing(values), name, "drop those rows first")
    return array


def _encode_classes(labels: NDArray[Any], n_classes: int) -> tuple[list[Any], NDArray[np.int64]]:
    """Class names and codes ``0..n_classes-1``; integer codes may leave classes empty."""
    names, codes = distinct(labels, "y_true")
    if len(names) == n_classes:
        return names.tolist(), codes
    if names.dtype.kind in "biuf" and np.isin(names, np.arange(n_classes)).all():
        return list(range(n_classes)), labels.astype(np.int64)
    shown = ", ".join(repr(name) for name in names[:5].tolist())
    raise ValueError(
        f"y_score is for {n_classes} classes but y_true has {len(names)} ({shown}"
        f"{', ...' if len(names) > 5 else ''}); pass scores of shape (n, K) with one column per "
        "class in sorted order, or integer class codes 0..K-1."
    )
