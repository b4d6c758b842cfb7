import pytest
import torch

from alignset.stack import binary_cross_entropy, cross_entropy, group_sums, kernels
from alignset.stack.kernels import c
from alignset.stack.reduce import sum_rows

pytestmark = pytest.mark.skipif(kernels.which() != "c", reason="needs the kernels in C")

EXTREME = torch.tensor([-200.0, -88.0, -30.0, -1e-4, 0.0, 1e-6, 0.3, 17.0, 30.0, 95.0])


def numbers(*shape, seed=3):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def logits_of(margins):
    """Logits (Q, C, B, 2), feature-major in memory, whose difference is ``margins``."""
    return torch.stack([torch.zeros_like(margins), margins], -2).mT


def pair(z, shared):
    return cross_entropy(logits_of(z), (shared > 0).long())


CASES = {
    "pair": pair,
    "logit": binary_cross_entropy,
    "sum": sum_rows,
    "groups": lambda z, shared: group_sums(z, torch.stack([shared, shared**2, 1 - shared], -1)),
}


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("n_rows", [1, 15, 76])
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients_equal_torch_in_double_precision(case, n_rows, own):
    z, shared = 3 * numbers(2, 3, n_rows), numbers(2, 3 if own else 1, n_rows, seed=4)
    assert c._rowwise(z, shared, (3, 3))
    results = []
    for dtype in (torch.float32, torch.float64):
        leaf = z.to(dtype).requires_grad_(True)
        out = CASES[case](leaf, shared.to(dtype))
        wave = torch.linspace(-1, 1, out.numel(), dtype=dtype).reshape(out.shape)
        grad = torch.autograd.grad((out * wave).sum(), leaf)[0]
        results.append((out.detach(), grad))
    for single, double in zip(*results, strict=True):
        torch.testing.assert_close(single, double.float(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", ["pair", "logit"])
def test_extreme_logits_keep_their_digits(case):
    z, shared = EXTREME.reshape(1, 1, -1), torch.zeros(1, 1, len(EXTREME))
    leaf, double = z.clone().requires_grad_(True), z.double().requires_grad_(True)
    loss = CASES[case](leaf, shared)
    exact = CASES[case](double, shared.double())
    torch.testing.assert_close(loss, exact.float(), rtol=1e-6, atol=1e-37)
    slopes = [torch.autograd.grad(v.sum(), x)[0] for v, x in ((loss, leaf), (exact, double))]
    torch.testing.assert_close(slopes[0], slopes[1].float(), rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize("case", CASES)
def test_nan_stays_nan_and_in_its_replica(case):
    z, shared = numbers(2, 3, 20), numbers(2, 1, 20, seed=4)
    whole = CASES[case](z, shared)
    z[1, 2, 5] = torch.nan
    broken = CASES[case](z, shared)
    others = torch.ones(2, 3, dtype=torch.bool)
    others[1, 2] = False
    assert torch.equal(broken[others], whole[others])
    assert broken[1, 2].isnan().any()


def test_what_it_cannot_do_is_left_to_torch():
    z, shared = numbers(2, 3, 5), numbers(2, 1, 5)
    assert c._rowwise(z, shared, (3, 3))
    assert not c._rowwise(z.double(), shared.double(), (3, 3))
    assert not c._rowwise(z, shared.clone().requires_grad_(True), (3, 3))
    assert not c._rowwise(z[:, :1], numbers(2, 3, 5), (3, 3))
    assert not c._rowwise(z, shared[:1], (3, 3))
    assert not c._rowwise(z[0], shared[0], (3, 3))
    assert not c._rowwise(z[..., :0], shared[..., :0], (3, 3))
    assert not c._rowwise(z, torch.zeros(2, 1, 0, 5), (3, 4))


@pytest.mark.parametrize("case", CASES)
def test_a_second_derivative_is_refused_not_wrong(case):
    z = numbers(1, 1, 4).requires_grad_(True)
    loss = CASES[case](z, torch.zeros(1, 1, 4))
    with pytest.raises(RuntimeError, match="no second derivative; write such a loss with torch"):
        torch.autograd.grad((loss.sum() * z).sum(), z, create_graph=True)
