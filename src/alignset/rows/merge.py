"""Merge equal rows, and order rows by their content instead of their position."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Hash = NDArray[np.uint64]

MOST_COPIES = 10
"""On average, how many rows a row may stand for; larger weights are no numbers of rows."""


def merge_rows(
    X: Any, codes: NDArray[np.int64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Find the distinct rows, in an order that depends only on their content.

    A fit on the result cannot depend on row order, and a row of weight 3 is the same as three
    copies of it. Features decide the order before codes do, so that different labels or group
    names for the same features do not change it.

    Parameters
    ----------
    X : float64 array or CSR matrix of shape (n, D)
    codes : int array of shape (n, m)
        Anything else that distinguishes rows: labels, group.
    weight : float array of shape (n,), positive

    Returns
    -------
    first, total : arrays of length m
        Position of one copy of each distinct row, and the summed weight of its copies.
    which : int array of shape (n,)
        Which distinct row each row is a copy of.
    """
    keys = np.stack([_hash_features(X), _hash_codes(codes)])
    # the weights of copies are sorted, too: the last bit of a sum depends on the order
    order = np.lexsort((weight, keys[1], keys[0]))
    same = (keys[:, order[1:]] == keys[:, order[:-1]]).all(axis=0)
    equal = _equal(X, codes, order, same)
    if (same & ~equal).any():
        order = _by_content(X, codes, weight, order, same)
        equal = _equal(X, codes, order, same)
    starts = np.flatnonzero(np.concatenate([[True], ~equal]))
    which = np.empty(len(order), dtype=np.int64)
    which[order] = np.concatenate([[0], np.cumsum(~equal)])
    return order[starts], np.add.reduceat(weight[order], starts), which


def _by_content(
    X: Any,
    codes: NDArray[np.int64],
    weight: NDArray[np.float64],
    order: NDArray[np.int64],
    same: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Order rows with equal hashes by their content: slow, exact, and almost never needed.

    Merging compares neighbours, so A, B, A with the same hash would stay three rows, in the order
    of the input; sorted as A, A, B they merge like any others.
    """
    block = np.concatenate([[0], np.cumsum(~same)])
    shared = order[np.isin(block, block[1:][same])]
    dense = X[shared].toarray() if scipy.sparse.issparse(X) else X[shared]
    # adding zero turns -0.0 into 0.0
    table = np.column_stack([dense + 0.0, codes[shared]])
    rank = np.zeros(len(order), dtype=np.int64)
    rank[shared] = np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)
    return order[np.lexsort((weight[order], rank[order], block))]


def _mix(value: Hash) -> Hash:
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(value ^ (value >> np.uint64(31)), dtype=np.uint64)


def _hash_features(X: Any) -> Hash:
    """Sum of a hash of every (column, non-zero value): the same for dense and sparse rows."""
    if scipy.sparse.issparse(X):
        hashed = _hash_values(X.indices.astype(np.uint64), X.data)
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashed, dtype=np.uint64)])
        return np.asarray(running[X.indptr[1:]] - running[X.indptr[:-1]], dtype=np.uint64)
    total = np.zeros(X.shape[0], dtype=np.uint64)
    for j in range(X.shape[1]):
        total += _hash_values(np.uint64(j), X[:, j])
    return total


def _hash_values(column: Any, values: NDArray[np.float64]) -> Hash:
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    start = _mix(np.atleast_1d(column).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    return np.where(values == 0, np.uint64(0), _mix(bits ^ start))


def _hash_codes(codes: NDArray[np.int64]) -> Hash:
    total = np.zeros(len(codes), dtype=np.uint64)
    for column in codes.T:
        total = _mix(total ^ column.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    return total


def _equal(
    X: Any, codes: NDArray[np.int64], order: NDArray[np.int64], asked: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell which neighbours in ``order`` are equal rows, looking only where ``asked``."""
    equal = np.zeros(len(asked), dtype=bool)
    at = np.flatnonzero(asked)
    if not len(at):
        return equal
    a, b = order[at], order[at + 1]
    if scipy.sparse.issparse(X):
        features = np.asarray((X[a] != X[b]).sum(axis=1)).reshape(-1) == 0
    else:
        features = (X[a] == X[b]).all(axis=1)
    equal[at] = features & (codes[a] == codes[b]).all(axis=1)
    return equal


def copies_of(weight: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many rows each row stands for: its weight, if weights are whole numbers, and few.

    Other weights say how much a row matters, not that there are several of it.

    Examples
    --------
    >>> copies_of(np.array([3.0, 0.0, 1.0])), copies_of(np.array([1.5, 0.0, 1.0]))
    (array([3, 0, 1]), array([1, 0, 1]))
    """
    whole = not (weight % 1).any() and weight.sum() <= MOST_COPIES * len(weight)
    return weight.astype(np.int64) if whole else (weight > 0).astype(np.int64)


def check_weights(sample_weight: Any, n: int) -> NDArray[np.float64]:
    """Return one finite, non-negative weight per row; None means 1 for each."""
    try:
        weight = np.array(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight must hold one number per row, got {sample_weight!r}."
        ) from error
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weight.shape} but X has {n} rows; pass one number per row."
        )
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError(
            "sample_weight must be finite, not negative and not all zero, got values from "
            f"{weight.min()} to {weight.max()}."
        )
    return weight
