"""Boosted trees as one node of an ONNX graph.

ONNX compares features with thresholds in double precision, but hands out the sum of leaves in
single precision. Each leaf is therefore split in two: a multiple of a power of two, coarse enough
that sums of such numbers have no rounding error, and the small rest, whose rounding error is too
small to matter. The two sums are added in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.learners.trees import TreesPredictor
from alignset.model.onnx_graph import Graph

BITS = 22
"""Single precision holds whole numbers up to 2 ** 24; two bits are left for rounding."""


def add_trees(graph: Graph, model: TreesPredictor, x: str) -> str:
    """Add the sums of trees (n, trees per round), what they begin with included."""
    each = len(model.base)
    found = graph.add(
        "TreeEnsembleRegressor", [x], domain="ai.onnx.ml", n_targets=2 * each,
        **_nodes(graph, model), **_leaves(graph, model),
    )  # fmt: skip
    sums = graph.add("Cast", [found], to=graph.double)
    both = graph.add("MatMul", [sums, np.vstack([np.eye(each)] * 2)])
    return graph.add("Add", [both, model.base])


def _places(model: TreesPredictor) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each node's tree, and its place in it."""
    ends = model.ends.reshape(-1)
    starts = np.concatenate([[0], ends[:-1]])
    tree = np.repeat(np.arange(len(ends)), ends - starts)
    return tree, np.arange(len(model.nodes)) - starts[tree]


def _nodes(graph: Graph, model: TreesPredictor) -> dict[str, Any]:
    tree, place = _places(model)
    nodes, inner = model.nodes, model.nodes["is_leaf"] == 0
    modes = np.where(inner, "BRANCH_LEQ", "LEAF").tolist()
    threshold = np.where(inner, nodes["num_threshold"], 0.0)
    whole = {
        "nodes_treeids": tree,
        "nodes_nodeids": place,
        "nodes_featureids": np.where(inner, nodes["feature_idx"], 0),
        "nodes_truenodeids": np.where(inner, nodes["left"], 0),
        "nodes_falsenodeids": np.where(inner, nodes["right"], 0),
        "nodes_missing_value_tracks_true": np.where(inner, nodes["missing_go_to_left"], 0),
    }
    return {
        "nodes_modes": modes,
        "nodes_values_as_tensor": graph.doubles("thresholds", threshold),
        **{name: values.tolist() for name, values in whole.items()},
    }


def _leaves(graph: Graph, model: TreesPredictor) -> dict[str, Any]:
    tree, place = _places(model)
    each = len(model.base)
    leaf = np.flatnonzero(model.nodes["is_leaf"])
    coarse, rest = _split(model.nodes["value"][leaf], tree[leaf])
    target = tree[leaf] % each
    return {
        "target_treeids": np.tile(tree[leaf], 2).tolist(),
        "target_nodeids": np.tile(place[leaf], 2).tolist(),
        "target_ids": np.concatenate([target, target + each]).tolist(),
        "target_weights_as_tensor": graph.doubles("leaves", np.concatenate([coarse, rest])),
    }


def _split(value: Any, tree: NDArray[np.int64]) -> tuple[Any, Any]:
    """Return multiples of a power of two whose sums are exact, and what is left of each value."""
    largest = np.zeros(tree.max() + 1)
    np.maximum.at(largest, tree, abs(value))
    unit = 2.0 ** (np.ceil(np.log2(max(largest.sum(), 1e-300))) - BITS)
    coarse = np.round(value / unit) * unit
    return coarse, value - coarse
