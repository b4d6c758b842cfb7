"""Merging equal rows: the result depends on what rows contain, never on where they stood."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from alignset.rows import merge
from alignset.rows.merge import merge_rows

Array = NDArray[Any]

VALUES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300])
ROW = st.tuples(
    st.tuples(VALUES, VALUES, VALUES),
    st.tuples(st.integers(-1, 1), st.integers(0, 2)),
    st.sampled_from([0.1, 0.2, 0.3, 1.0, 3.0]),
)
TABLES = st.lists(ROW, min_size=1, max_size=25)


def arrays(rows: list[Any]) -> tuple[Array, Array, Array]:
    return (
        np.array([r[0] for r in rows]),
        np.array([r[1] for r in rows], dtype=np.int64),
        np.array([r[2] for r in rows]),
    )


def content(X: Array, codes: Array, weight: Array) -> list[Any]:
    """What merging gives, row by row and in its order; -0.0 is written as 0.0."""
    first, total, which = merge_rows(X, codes, weight)
    dense = X[first].toarray() if scipy.sparse.issparse(X) else X[first]
    np.testing.assert_array_equal(dense[which], X.toarray() if scipy.sparse.issparse(X) else X)
    np.testing.assert_array_equal(codes[first][which], codes)
    table = zip((dense + 0.0).tolist(), codes[first].tolist(), total.tolist(), strict=True)
    return list(table)


def merged_by_hand(rows: list[Any]) -> dict[Any, float]:
    totals: dict[Any, float] = defaultdict(float)
    for x, codes, weight in rows:
        totals[tuple(v + 0.0 for v in x), codes] += weight
    return totals


@given(rows=TABLES)
def test_every_distinct_row_comes_once_with_the_weight_of_its_copies(rows: list[Any]) -> None:
    got = content(*arrays(rows))
    expected = merged_by_hand(rows)
    assert len(got) == len(expected)
    for x, codes, total in got:
        assert total == pytest.approx(expected[tuple(x), tuple(codes)])


@given(rows=TABLES, data=st.data())
def test_the_order_of_rows_changes_not_one_bit(rows: list[Any], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(rows))
    assert content(*arrays(rows)) == content(*arrays(shuffled))


@given(rows=TABLES)
def test_sparse_rows_merge_as_dense_ones_do(rows: list[Any]) -> None:
    X, codes, weight = arrays(rows)
    assert content(scipy.sparse.csr_matrix(X), codes, weight) == content(X, codes, weight)


@given(rows=TABLES)
def test_stored_zeros_are_zeros(rows: list[Any]) -> None:
    X, codes, weight = arrays(rows)
    n, d = X.shape
    columns = np.tile(np.arange(d), n)
    stored = scipy.sparse.csr_matrix((X.reshape(-1), columns, np.arange(n + 1) * d), shape=(n, d))
    assert stored.nnz == n * d
    assert content(stored, codes, weight) == content(X, codes, weight)


@given(rows=TABLES, data=st.data())
def test_rows_of_one_hash_still_merge_exactly_and_in_any_order(
    rows: list[Any], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge, "_hash_features", lambda X: np.zeros(X.shape[0], dtype=np.uint64))
        patch.setattr(merge, "_hash_codes", lambda codes: np.zeros(len(codes), dtype=np.uint64))
        got = content(*arrays(rows))
        X, codes, weight = arrays(rows)
        assert got == content(*arrays(shuffled))
        assert got == content(scipy.sparse.csr_matrix(X), codes, weight)
    assert sorted(got) == sorted(content(*arrays(rows)))


@given(rows=TABLES, flips=st.lists(st.integers(-1, 1), min_size=25, max_size=25))
def test_labels_do_not_decide_the_order_of_different_features(
    rows: list[Any], flips: list[int]
) -> None:
    distinct = list({tuple(v + 0.0 for v in x): (x, codes, 1.0) for x, codes, _ in rows}.values())
    X, codes, weight = arrays(distinct)
    other = codes.copy()
    other[:, 0] = flips[: len(other)]
    assert np.array_equal(merge_rows(X, codes, weight)[0], merge_rows(X, other, weight)[0])


def test_the_same_value_in_another_column_is_another_row() -> None:
    X = np.eye(4)
    first, total, _ = merge_rows(X, np.zeros((4, 1), dtype=np.int64), np.ones(4))
    assert sorted(first.tolist()) == [0, 1, 2, 3]
    assert total.tolist() == [1.0] * 4


def test_hashes_of_many_random_rows_do_not_collide() -> None:
    X = np.random.default_rng(0).integers(0, 3, size=(100_000, 20)).astype(float)
    distinct = np.unique(X, axis=0)
    assert len(np.unique(merge._hash_features(distinct))) == len(distinct)


def test_merging_leaves_its_input_alone() -> None:
    X, codes, weight = np.array([[1.0], [1.0]]), np.zeros((2, 1), dtype=np.int64), np.ones(2)
    first, total, which = merge_rows(X, codes, weight)
    total *= 5
    assert weight.tolist() == [1.0, 1.0]
    assert first.tolist() == [0]
    assert which.tolist() == [0, 0]
