"""Sparse products in C against scipy in double precision, and against the path without C."""

import numpy as np
import pytest
import scipy.sparse
import torch

from alignset import extras
from alignset.stack import kernels
from alignset.stack.kernels.constants import SLAB
from alignset.stack.kernels.torch import Torch
from alignset.stack.sparse import SparseRows, feature_major, take_rows
from alignset.stack.threads import team

pytestmark = pytest.mark.skipif(kernels.which() != "c", reason="needs the kernels in C")

CPU = torch.device("cpu")

# (problems, configs, units, rows, columns)
SHAPES = [
    (1, 1, 1, 1, 1),
    (1, 1, 10, 7, 300),
    (2, 3, 11, 40, 17),
    (1, 1, 64, 16, 50),
    (1, 2, 50, 33, 50),
    (3, 1, 200, 5, 9),
]


def random_rows(q, n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(q, n_rows, n_columns)) * (rng.random((q, n_rows, n_columns)) < 0.2)
    dense[:, n_rows // 2] = 0.0  # an empty row and an empty column
    dense[:, :, n_columns // 3] = 0.0
    return dense.astype(np.float32)


def both_products(shape, threads=1):
    q, c, h, n_rows, n_columns = shape
    rng = np.random.default_rng(1)
    dense = random_rows(q, n_rows, n_columns)
    weight, g = rng.normal(size=(q, c, h, n_columns)), rng.normal(size=(q, c, h, n_rows))
    start = rng.normal(size=(q, c, h, n_rows))
    rows = SparseRows([scipy.sparse.csc_matrix(d) for d in dense], CPU)
    out = torch.tensor(start, dtype=torch.float32)
    with team(threads):
        rows.add_product(feature_major(torch.tensor(weight, dtype=torch.float32)), out)
        gradient = rows.weight_gradient(torch.tensor(g, dtype=torch.float32))
    exact = dense.astype(np.float64)[:, None]
    return (out, gradient), (start + weight @ exact.swapaxes(2, 3), g @ exact)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_are_those_of_double_precision(shape):
    mine, exact = both_products(shape)
    for a, b in zip(mine, exact, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_number_of_threads_changes_no_bit(shape):
    once = both_products(shape)[0]
    for threads in (2, 3):
        for a, b in zip(once, both_products(shape, threads)[0], strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_without_c_agree(shape, monkeypatch):
    mine = both_products(shape)[0]
    monkeypatch.setattr(kernels, "_decided", Torch)
    for a, b in zip(mine, both_products(shape)[0], strict=True):
        torch.testing.assert_close(a, b, rtol=2e-5, atol=2e-5)
        assert a.stride() == b.stride()


def test_a_problem_alone_gives_the_bits_it_gives_in_a_stack():
    dense = random_rows(3, 40, 30)
    columns = [scipy.sparse.csc_matrix(d) for d in dense]
    g = torch.randn(3, 2, 50, 40)
    together = SparseRows(columns, CPU).weight_gradient(g)
    for i in range(3):
        assert torch.equal(
            SparseRows([columns[i]], CPU).weight_gradient(g[i : i + 1])[0], together[i]
        )


def test_not_a_number_stays_in_its_row():
    dense = random_rows(1, 9, 20)
    dense[0, 3, 5] = np.nan
    rows = SparseRows([scipy.sparse.csc_matrix(dense[0])], CPU)
    out = torch.zeros(1, 1, 10, 9)
    rows.add_product(torch.ones(1, 1, 10, 20), out)
    assert out.isnan().any(2).flatten().tolist() == [b == 3 for b in range(9)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_taken_by_column(dtype):
    dense = random_rows(1, 12, 25)[0].astype(dtype)
    for wanted in ([3, 0, 3, 11], [6], [], list(range(12))):
        index = np.array(wanted, dtype=np.int64)
        taken = take_rows(scipy.sparse.csr_matrix(dense), index)
        assert taken.format == "csc"
        assert taken.dtype == dtype
        np.testing.assert_array_equal(taken.toarray(), dense[index])


def test_a_product_asks_for_no_dense_copy_of_x(monkeypatch):
    """Memory by counting: the largest thing made is the result, never rows x columns."""
    sizes, empty = [], torch.empty

    def counted(*shape, **options):
        made = empty(*shape, **options)
        sizes.append(made.numel())
        return made

    monkeypatch.setattr(extras.torch, "empty", counted)
    n_rows, n_columns = 300, 2000
    rows = SparseRows([scipy.sparse.random(n_rows, n_columns, 0.02, "csc", np.float32)], CPU)
    rows.add_product(feature_major(torch.zeros(1, 1, 4, n_columns)), torch.zeros(1, 1, 4, n_rows))
    rows.weight_gradient(torch.zeros(1, 1, 4, n_rows))
    tile = n_rows * SLAB
    assert sorted(sizes) == sorted([tile, tile, 4 * n_columns])
