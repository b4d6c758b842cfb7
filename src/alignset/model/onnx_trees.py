"""Boosted trees as one node of an ONNX graph.

ONNX compares features with thresholds in double precision, but hands out the sum of leaves in
single precision. Each leaf is therefore split in two: a multiple of a power of two, coarse enough
that sums of such numbers have no rounding error, and the small rest, whose rounding error is too
small to matter. The two sums are added in double precision.

A split by a set of levels becomes a chain of nodes that each compare with one level; all of them
lead to the same node if they find it, as converters of LightGBM write it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from alignset.learners.trees import TreesPredictor, levels_of
from alignset.model.onnx_graph import Graph
from alignset.rows.raw import AS_THEY_ARE, RawColumns

BITS = 22
"""Single precision holds whole numbers up to 2 ** 24; two bits are left for rounding."""


def add_trees(graph: Graph, model: TreesPredictor, x: str) -> str:
    """Add the sums of trees (n, trees per round), what they begin with included."""
    each = len(model.base)
    x = _read_raw(graph, model, x)
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
    """Return the nodes as ONNX lists them, splits by levels as chains."""
    tree, place = _places(model)
    nodes, inner = model.nodes, model.nodes["is_leaf"] == 0
    whole = {
        "treeids": tree,
        "nodeids": place,
        "featureids": np.where(inner, nodes["feature_idx"], 0),
        "truenodeids": np.where(inner, nodes["left"], 0),
        "falsenodeids": np.where(inner, nodes["right"], 0),
        "missing_value_tracks_true": np.where(inner, nodes["missing_go_to_left"], 0),
    }
    plain, links = nodes["is_categorical"] == 0, _chains(model)
    modes = np.where(inner, "BRANCH_LEQ", "LEAF")[plain].tolist()
    threshold = np.where(inner, nodes["num_threshold"], 0.0)[plain].tolist()
    modes += ["BRANCH_EQ"] * len(links)
    threshold += [link.level for link in links]
    found = {
        name: own[plain].tolist() + [getattr(link, name) for link in links]
        for name, own in whole.items()
    }
    # runtimes take the first node that they see of a tree for its root
    order = np.lexsort([found["nodeids"], found["treeids"]]).tolist()
    return {
        "nodes_modes": [modes[i] for i in order],
        "nodes_values_as_tensor": graph.doubles("thresholds", [threshold[i] for i in order]),
        **{f"nodes_{name}": [own[i] for i in order] for name, own in found.items()},
    }


class Link(NamedTuple):
    """One node of a chain, which compares a category with one level."""

    level: float
    treeids: int
    nodeids: int
    featureids: int
    truenodeids: int
    falsenodeids: int
    missing_value_tracks_true: int = 0  # a category is never missing


def _chains(model: TreesPredictor) -> list[Link]:
    """Return what splits by levels become; the first of a chain has the place of the split."""
    tree, place = _places(model)
    free = np.bincount(tree).tolist()  # the next place in each tree
    found = []
    for at in np.flatnonzero(model.nodes["is_categorical"]).tolist():
        node, own = model.nodes[at], int(tree[at])
        levels, there, elsewhere = _fewer(model, node)
        more = range(free[own], free[own] + len(levels) - 1)
        free[own] += len(more)
        path = [int(place[at]), *more, elsewhere]
        found += [
            Link(float(level), own, path[i], int(node["feature_idx"]), there, path[i + 1])
            for i, level in enumerate(levels)
        ]
    return found


def _fewer(model: TreesPredictor, node: Any) -> tuple[list[int], int, int]:
    """Return the levels of the shorter list, where they go, and where the others go."""
    first, end = model.raw.categories[node["feature_idx"]]
    count, sides = end - first + 1, (int(node["left"]), int(node["right"]))
    left = levels_of(model.left[node["bitset_idx"]], count)
    if 2 * len(left) <= count:
        return left or [-1], *sides  # no row has level -1
    return sorted({*range(count)} - {*left}) or [-1], *sides[::-1]


def _read_raw(graph: Graph, model: TreesPredictor, x: str) -> str:
    """Add what ``RawColumns.read`` does, for as many columns as the trees look at."""
    raw = model.raw
    if raw == AS_THEY_ARE:
        return x
    inner = model.nodes["is_leaf"] == 0
    count = max(int(model.nodes["feature_idx"][inner].max(initial=0)) + 1 - len(raw.categories), 1)
    used = sum(end - first for first, end in raw.categories) + len(raw.gaps)
    kept, gap_of = raw.others(count + used)[:count], dict(raw.gaps)
    values = graph.add("Gather", [x, np.array(kept)], axis=1)
    if set(kept) & set(gap_of):
        marks = graph.add("Gather", [x, np.array([gap_of.get(j, j) for j in kept])], axis=1)
        on = graph.add("Greater", [marks, 0.0])
        gap = graph.add("And", [on, np.array([[j in gap_of for j in kept]])])
        values = graph.add("Where", [gap, np.nan, values])
    if not raw.categories:
        return values
    return graph.add("Concat", [_levels(graph, raw, x), values], axis=1)


def _levels(graph: Graph, raw: RawColumns, x: str) -> str:
    """Add the level of each category, (n, categories), one beyond the last if none is on."""
    columns = np.concatenate([np.arange(first, end) for first, end in raw.categories])
    beyond = np.array([end - first for first, end in raw.categories], dtype=np.float64)
    # a level that is on takes from the number for none what it lacks to it
    lacks = scipy.linalg.block_diag(*(np.arange(n)[:, None] - n for n in beyond))
    on = graph.add("Greater", [graph.add("Gather", [x, columns], axis=1), 0.0])
    found = graph.add("MatMul", [graph.add("Cast", [on], to=graph.double), lacks])
    return graph.add("Add", [found, beyond])


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
