import pytest
import torch

from alignset.stack.kernels import torch as kernels
from alignset.stack.threads import team


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(kernels, "MIN_WORK", 0)


@pytest.mark.parametrize("shape", [(1, 30, 20, 100), (2, 100, 20, 30), (1, 3, 5, 2), (1, 1, 1, 1)])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("given", [False, True], ids=["own memory", "given memory"])
def test_a_cut_product_is_the_product(shape, with_bias, given):
    n, m, k, p = shape
    g = torch.Generator().manual_seed(0)
    a, b = torch.randn(n, m, k, generator=g), torch.randn(n, p, k, generator=g).transpose(1, 2)
    bias = torch.randn(n, m, 1, generator=g) if with_bias else None
    out = torch.full((n, m, p), torch.nan) if given else None
    with team(2):
        mine = kernels.bmm(a, b, out=out, bias=bias)
    assert out is None or mine is out
    torch.testing.assert_close(mine, torch.bmm(a, b) + (0 if bias is None else bias))


def test_the_number_of_threads_changes_no_bit():
    a, b = torch.randn(1, 40, 500), torch.randn(1, 500, 301)
    results = []
    for size in (1, 2, 3):
        with team(size):
            results.append(kernels.bmm(a, b))
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])
