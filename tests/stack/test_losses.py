import pytest
import torch
from torch.nn import functional as F

from alignset.stack import (
    binary_cross_entropy,
    cross_entropy,
    log_softmax,
    marginal_cross_entropy,
    softmax,
)

EXTREME = torch.tensor([[50.0, -50.0], [-50.0, 50.0], [50.0, 50.0], [0.0, -50.0]])


@pytest.mark.parametrize("n_classes", [2, 5])
def test_cross_entropy_and_its_gradient_equal_torch(n_classes):
    g = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 3, 7, n_classes, generator=g, dtype=torch.float64, requires_grad=True)
    y = torch.randint(n_classes, (2, 1, 7), generator=g)
    weight = torch.rand(2, 3, 7, generator=g, dtype=torch.float64)
    mine = cross_entropy(logits, y)
    flat = y.expand(2, 3, 7).reshape(-1)
    theirs = F.cross_entropy(logits.reshape(-1, n_classes), flat, reduction="none").reshape(2, 3, 7)
    torch.testing.assert_close(mine, theirs)
    grads = [torch.autograd.grad((loss * weight).sum(), logits)[0] for loss in (mine, theirs)]
    torch.testing.assert_close(*grads)


def test_cross_entropy_is_finite_for_extreme_logits():
    logits = EXTREME.clone().requires_grad_(True)
    loss = cross_entropy(logits, torch.tensor([1, 1, 0, 1]))
    torch.testing.assert_close(loss.detach(), torch.tensor([100.0, 0.0, 0.6931472, 50.0]))
    assert torch.autograd.grad(loss.sum(), logits)[0].isfinite().all()


@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_row_without_a_class_is_finite_and_moves_nothing_once_masked(n_classes):
    logits = torch.randn(1, 1, 3, n_classes, requires_grad=True)
    loss = cross_entropy(logits, torch.tensor([[[0, -1, 1]]]))
    assert loss.isfinite().all()
    masked = (loss * torch.tensor([1.0, 0.0, 1.0])).sum()
    grad = torch.autograd.grad(masked, logits)[0]
    assert (grad[0, 0, 1] == 0).all()
    assert (grad[0, 0, [0, 2]] != 0).all()


def test_binary_cross_entropy_and_its_gradient_equal_torch():
    g = torch.Generator().manual_seed(0)
    logit = torch.randn(2, 3, 7, generator=g, dtype=torch.float64, requires_grad=True)
    target = torch.randint(2, (2, 1, 7), generator=g).double()
    mine = binary_cross_entropy(logit, target)
    theirs = F.binary_cross_entropy_with_logits(logit, target.expand(2, 3, 7), reduction="none")
    torch.testing.assert_close(mine, theirs)
    grads = [torch.autograd.grad(loss.sum(), logit)[0] for loss in (mine, theirs)]
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("target", [0.0, 1.0])
def test_binary_cross_entropy_is_finite_for_extreme_logits(target):
    logit = torch.tensor([50.0, -50.0, 0.0], requires_grad=True)
    loss = binary_cross_entropy(logit, torch.full((3,), target))
    assert loss.isfinite().all()
    assert (loss >= 0).all()
    assert torch.autograd.grad(loss.sum(), logit)[0].isfinite().all()


@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_second_derivative_is_refused_not_wrong(n_classes):
    logits = torch.randn(2, 3, 7, n_classes, dtype=torch.float64, requires_grad=True)
    loss = cross_entropy(logits, torch.zeros(2, 1, 7, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="have no second derivative"):
        torch.autograd.grad(loss.sum(), logits, create_graph=True)


def test_softmax_and_its_logarithm_equal_torch():
    logits = torch.randn(2, 3, 7, 5)
    torch.testing.assert_close(log_softmax(logits), F.log_softmax(logits, dim=-1))
    torch.testing.assert_close(softmax(logits), F.softmax(logits, dim=-1))
    assert log_softmax(EXTREME).isfinite().all()


@pytest.mark.parametrize("n_classes", [2, 5])
def test_marginal_cross_entropy_is_the_log_of_a_sum(n_classes):
    g = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 3, 7, n_classes, generator=g, dtype=torch.float64)
    likelihood = torch.rand(2, 1, 7, n_classes, generator=g, dtype=torch.float64)
    expected = -(logits.softmax(-1) * likelihood).sum(-1).log()
    torch.testing.assert_close(marginal_cross_entropy(logits, likelihood), expected)


def test_marginal_cross_entropy_is_finite_where_what_was_seen_is_impossible():
    logits = EXTREME.clone().requires_grad_(True)
    for likelihood in ([0.0, 1.0], [0.0, 0.0]):
        loss = marginal_cross_entropy(logits, torch.tensor(likelihood))
        assert loss.isfinite().all()
        assert torch.autograd.grad(loss.sum(), logits)[0].isfinite().all()
