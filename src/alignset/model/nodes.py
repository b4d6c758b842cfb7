"""Boosted trees as plain arrays: their nodes, checked before scikit-learn's C code walks them.

scikit-learn follows a node's children without looking whether they exist. A tree is only built if
every child comes after its parent and inside its own tree, every node but the first has exactly one
parent, and every feature and every set of levels exists: then each row ends at a leaf, after fewer
steps than nodes.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

from alignset.learners.trees import TreesPredictor, no_sets
from alignset.model.checked import checked_array, checked_count, checked_names, checked_present
from alignset.model.network import Arrays
from alignset.rows.raw import AS_THEY_ARE, MOST_LEVELS, RawColumns

FIELDS = {
    "value": np.float64,
    "num_threshold": np.float64,
    "feature_idx": np.int32,
    "left": np.int32,
    "right": np.int32,
    "is_leaf": np.uint8,
    "missing_go_to_left": np.uint8,
}
"""Fields of a node that predictions need, as they are written; the others are about training."""

OTHERS = {"ends": np.int64, "base": np.float64, "present": np.int64}

OF_CATEGORIES = {"is_categorical": np.uint8, "bitset_idx": np.uint32}
"""Further fields of a node where there are categories; ``levels`` are the sets that go left."""


def arrays_of_trees(model: TreesPredictor) -> Arrays:
    """Return the fields of all nodes, where trees end, and what sums begin with."""
    fields = FIELDS | (OF_CATEGORIES if model.raw.categories else {})
    found = {name: model.nodes[name].astype(kind) for name, kind in fields.items()}
    found |= {name: getattr(model, name).astype(kind) for name, kind in OTHERS.items()}
    if model.raw.categories:
        found["levels"] = model.left
    return {name: np.ascontiguousarray(values) for name, values in found.items()}


def trees_of_arrays(
    arrays: Arrays, inputs: int, classes: int, n_rows: int, raw: RawColumns = AS_THEY_ARE
) -> TreesPredictor:
    """Rebuild trees that read ``inputs`` features; refuse nodes that lead nowhere."""
    known = FIELDS | (OF_CATEGORIES if raw.categories else {})
    checked_names(arrays, {*known, *OTHERS, *(["levels"] if raw.categories else [])})
    present = checked_present(checked_array(arrays, "present", (None,), np.int64), classes)
    each = 1 if len(present) == 2 else len(present)
    ends = checked_array(arrays, "ends", (None, each), np.int64)
    base = checked_array(arrays, "base", (each,), np.float64)
    size = len(np.atleast_1d(arrays["value"]))
    fields = {
        name: checked_array(arrays, name, (size,), kind, infinite=name == "num_threshold")
        for name, kind in known.items()
    }
    _check_nodes(fields, ends.reshape(-1), len(raw.categories) + len(raw.others(inputs)))
    left = no_sets()
    if raw.categories:
        left = checked_array(arrays, "levels", (None, left.shape[1]), np.uint32)
        _check_splits(fields, len(left), len(raw.categories))
    nodes = np.zeros(size, dtype=PREDICTOR_RECORD_DTYPE)
    for name, values in fields.items():
        nodes[name] = values
    return TreesPredictor(nodes, ends, base, present, classes, n_rows, raw, left)


def _check_nodes(fields: dict[str, NDArray[Any]], ends: NDArray[np.int64], inputs: int) -> None:
    size = len(fields["value"])
    if (np.diff(ends, prepend=0) < 1).any() or (ends[-1] if len(ends) else 0) != size:
        raise ValueError("weights.safetensors holds trees that do not end where they should")
    if max(fields[name].max(initial=0) for name in ("is_leaf", "missing_go_to_left")) > 1:
        raise ValueError("weights.safetensors holds switches of a tree that are not 0 or 1")
    starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]])[: len(ends)]
    first, end = (np.repeat(x, ends - starts) for x in (starts, ends))
    inner = np.flatnonzero(fields["is_leaf"] == 0)
    children = [first[inner] + fields[side][inner] for side in ("left", "right")]
    for child in children:
        if ((child <= inner) | (child >= end[inner])).any():
            raise ValueError("weights.safetensors holds a tree with a branch that leads nowhere")
    roots = np.zeros(size, dtype=bool)
    roots[starts] = True
    if not np.array_equal(np.sort(np.concatenate(children)), np.flatnonzero(~roots)):
        raise ValueError("weights.safetensors holds a tree with a node without one parent")
    feature = fields["feature_idx"][inner]
    if ((feature < 0) | (feature >= inputs)).any():
        raise ValueError(f"weights.safetensors holds a tree that reads beyond {inputs} features")


def _check_splits(fields: dict[str, NDArray[Any]], sets: int, categories: int) -> None:
    """Refuse a split by levels of what is no category, or by a set that is not there."""
    split = fields["is_categorical"]
    if split.max(initial=0) > 1:
        raise ValueError("weights.safetensors holds switches of a tree that are not 0 or 1")
    at = np.flatnonzero(split)
    beyond = fields["bitset_idx"][at] >= sets
    if (beyond | (fields["feature_idx"][at] >= categories)).any():
        raise ValueError("weights.safetensors holds a tree that splits by levels that do not exist")


def told_raw(raw: RawColumns) -> dict[str, Any]:
    """Return what JSON says of trees that read a table's columns: nothing of others."""
    each = {"categories": raw.categories, "gaps": raw.gaps}
    return {} if raw == AS_THEY_ARE else {name: [*map(list, own)] for name, own in each.items()}


def reads_raw(about: Any) -> bool:
    """Tell whether what JSON says is of trees that read a table's columns."""
    return "categories" in about


def checked_raw(about: Any, inputs: int) -> RawColumns:
    """Return which of ``inputs`` columns belong together; refuse columns that do not exist."""
    if not reads_raw(about):
        return AS_THEY_ARE
    categories, gaps = (_pairs(about[name], inputs) for name in ("categories", "gaps"))
    used = [j for first, end in categories for j in range(first, end)]
    used += [indicator for _, indicator in gaps]
    wide = any(not 0 < end - first <= MOST_LEVELS for first, end in categories)
    numbers = [column for column, _ in gaps]
    beyond = any(j >= inputs for pair in gaps for j in pair)
    if wide or beyond or len(set(used)) < len(used) or set(used) & set(numbers):
        raise ValueError("manifest.json describes columns of trees that cannot be")
    return RawColumns(categories, gaps)


def _pairs(given: Any, inputs: int) -> tuple[tuple[int, int], ...]:
    """Return pairs of columns, or of the first and the one after the last."""
    pairs = isinstance(given, list) and all(isinstance(p, list) and len(p) == 2 for p in given)
    if not pairs:
        raise ValueError(f"manifest.json must list pairs of columns, got {given!r}")
    found = [tuple(checked_count(j, inputs, "a column") for j in pair) for pair in given]
    return cast(tuple[tuple[int, int], ...], tuple(found))
