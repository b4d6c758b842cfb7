"""NumPy arrays and torch tensors under one name: the few operations that the two call differently.

A formula is written once, with what both have (``x.sum(-1)``, ``x[..., None]``, ``xp.where``) and
with these. Arrays that a user passes stay NumPy arrays, so a metric needs no torch; a stack of
networks is scored where its tensors are.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""A NumPy array, or a torch tensor on any device."""


def namespace(array: Array) -> Any:
    """Return the module whose functions take this array: ``numpy``, or ``torch`` for a tensor."""
    return np if isinstance(array, np.ndarray | np.generic) else sys.modules["torch"]


def falling(score: Array) -> tuple[Array, Array]:
    """Return scores (..., n) from high to low, NaN first, and the order that makes them so.

    Equal scores keep their order, except on a GPU.
    """
    if namespace(score) is not np:
        ordered, order = score.sort(dim=-1, descending=True)
        return ordered, order
    # sorted upwards from the last to the first, NaN comes last and equal scores backwards
    order = score.shape[-1] - 1 - np.argsort(score[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    return np.take_along_axis(score, order, -1), order


def running_max(values: Array) -> Array:
    """Return the largest value so far along the last axis; a NaN stays."""
    if namespace(values) is not np:
        return values.cummax(-1).values
    return np.maximum.accumulate(values, axis=-1)


def take(values: Array, index: Array) -> Array:
    """Return ``values[..., index]`` along the last axis; both (..., n), of the same shape."""
    if namespace(values) is not np:
        return values.gather(-1, index)
    return np.take_along_axis(values, index, -1)


def put(values: Array, index: Array, new: Array) -> Array:
    """Return values with ``new`` written at ``index`` along the last axis, all (..., n)."""
    if namespace(values) is not np:
        return values.scatter(-1, index, new)
    changed = np.array(values)
    np.put_along_axis(changed, index, new, -1)
    return changed


def with_edge(values: Array, edge: Any, *, last: bool = False) -> Array:
    """Return values (..., n) with one more before each row, or after it, (..., n + 1)."""
    xp = namespace(values)
    shape = (*values.shape[:-1], 1)
    more = xp.full(shape, edge, dtype=values.dtype, device=values.device)
    return xp.concatenate([values, more] if last else [more, values], -1)


def may_be_undefined() -> np.errstate:
    """Let nothing divided by nothing be NaN: a rate without rows; a context or a decorator."""
    return np.errstate(divide="ignore", invalid="ignore")
