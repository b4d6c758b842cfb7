"""Boosted trees as plain arrays: their nodes, checked before scikit-learn's C code walks them.

scikit-learn follows a node's children without looking whether they exist. A tree is only built if
every child comes after its parent and inside its own tree, every node but the first has exactly one
parent, and every feature exists: then each row ends at a leaf, after fewer steps than nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

from alignset.learners.trees import TreesPredictor
from alignset.model.checked import checked_array, checked_names, checked_present
from alignset.model.network import Arrays

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


def arrays_of_trees(model: TreesPredictor) -> Arrays:
    """Return the fields of all nodes, where trees end, and what sums begin with."""
    if model.nodes["is_categorical"].any():
        raise ValueError("trees with splits by category cannot be saved.")
    found = {name: model.nodes[name].astype(kind) for name, kind in FIELDS.items()}
    found |= {name: getattr(model, name).astype(kind) for name, kind in OTHERS.items()}
    return {name: np.ascontiguousarray(values) for name, values in found.items()}


def trees_of_arrays(arrays: Arrays, inputs: int, classes: int, n_rows: int) -> TreesPredictor:
    """Rebuild trees that read ``inputs`` features; refuse nodes that lead nowhere."""
    checked_names(arrays, {*FIELDS, *OTHERS})
    present = checked_present(checked_array(arrays, "present", (None,), np.int64), classes)
    each = 1 if len(present) == 2 else len(present)
    ends = checked_array(arrays, "ends", (None, each), np.int64)
    base = checked_array(arrays, "base", (each,), np.float64)
    size = len(np.atleast_1d(arrays["value"]))
    fields = {
        name: checked_array(arrays, name, (size,), kind, infinite=name == "num_threshold")
        for name, kind in FIELDS.items()
    }
    _check_nodes(fields, ends.reshape(-1), inputs)
    nodes = np.zeros(size, dtype=PREDICTOR_RECORD_DTYPE)
    for name, values in fields.items():
        nodes[name] = values
    return TreesPredictor(nodes, ends, base, present, classes, n_rows)


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
