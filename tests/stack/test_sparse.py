import numpy as np
import pytest
import scipy.sparse
import torch

from alignset.stack import MLP, NetShape
from alignset.stack.sparse import SparseRows, feature_major, worth_it

Q, C, B, D, H = 2, 3, 7, 11, 5


def random_rows(seed=0):
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(Q, B, D)) * (rng.random((Q, B, D)) < 0.3)
    rows = SparseRows([scipy.sparse.csc_matrix(d) for d in dense], torch.device("cpu"))
    return rows, torch.from_numpy(dense).unsqueeze(1)


def random_params(mlp, shape):
    g = torch.Generator().manual_seed(0)
    start = mlp.init(shape, torch.arange(Q), "theta")
    return {
        k: torch.randn(Q, C, *v.shape[2:], generator=g, dtype=torch.float64)
        for k, v in start.items()
    }


@pytest.mark.parametrize("by_feature", [False, True], ids=["by unit", "by feature"])
@pytest.mark.parametrize("inputs", [(D,), (D, 2)], ids=["one block", "two blocks"])
def test_a_network_on_sparse_rows_equals_the_one_on_dense_rows(inputs, by_feature):
    mlp, shape = MLP(hidden=H), NetShape(inputs, 2)
    rows, dense = random_rows()
    extra = (torch.randn(Q, 1, B, 2, dtype=torch.float64),) if len(inputs) == 2 else ()
    params = random_params(mlp, shape)
    if by_feature:
        params = mlp.for_sparse(params)
    leaves = {k: v.requires_grad_(True) for k, v in params.items()}
    results = []
    for x in (rows, dense):
        out = mlp.apply(shape, leaves, (x, *extra))
        results.append((out, torch.autograd.grad((out**2).sum(), list(leaves.values()))))
    torch.testing.assert_close(results[0][0], results[1][0])
    for mine, theirs in zip(results[0][1], results[1][1], strict=True):
        torch.testing.assert_close(mine, theirs)


def test_the_gradient_of_sparse_weights_has_their_layout():
    rows, _ = random_rows()
    weight = feature_major(torch.zeros(Q, C, H, D, dtype=torch.float64))
    g = torch.randn(Q, C, H, B, dtype=torch.float64)
    assert rows.weight_gradient(g).stride() == weight.stride()


def test_sparse_rows_stand_for_a_dense_block():
    rows, dense = random_rows()
    assert rows.shape == dense.shape
    assert rows.dtype == dense.dtype
    assert torch.equal(rows.dense(), dense)


def test_sparse_products_are_used_for_wide_thin_matrices_only():
    def matrix(d, density):
        return scipy.sparse.random(50, d, density=density, format="csr", random_state=0)

    assert worth_it(matrix(1000, 0.02))
    assert not worth_it(matrix(1000, 0.5))
    assert not worth_it(matrix(20, 0.02))
