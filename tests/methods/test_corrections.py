from dataclasses import replace

import batches
import by_hand
import pytest
import torch
from recovery import bias, distance_to_clean, logistic_problem, with_facts

from alignset.methods import Backward, Forward, Standard
from alignset.methods.corrections import (
    MIN_SINGULAR_VALUE,
    count_transitions,
    damped_inverse,
    loss_backward,
    loss_forward,
)

CLASSES = pytest.mark.parametrize("n_classes", [2, 5])


def transitions(n_classes, noise=0.3, seed=0):
    g = torch.Generator().manual_seed(seed)
    off = torch.rand(2, 3, n_classes, n_classes, generator=g, dtype=torch.float64)
    off = off / off.sum(-1, keepdim=True)
    return (1 - noise) * torch.eye(n_classes).double() + noise * off


def through(loss, n_classes, T, logits=None, **changes):
    b = replace(batches.make_batch(n_classes=n_classes), **changes)
    logits = batches.make_outputs(b)[0] if logits is None else logits
    b = with_facts(b, T=T, T_inverse=damped_inverse(T))
    return loss(batches.given(logits), b, None), b, logits


@CLASSES
def test_transitions_are_counted_on_a_with_one_added(n_classes):
    b = batches.make_batch(n_classes=n_classes, n=30, weighted=False)
    T = count_transitions(None, b, None).replica["T"]
    for q in range(2):
        counts = [[1.0] * n_classes for _ in range(n_classes)]
        for i in range(28):
            if b.y_true[q, 0, i] >= 0:
                counts[b.y_true[q, 0, i]][b.y_seen[q, 0, i]] += 1
        for k, row in enumerate(counts):
            assert T[q, 0, k].tolist() == pytest.approx([v / sum(row) for v in row])


@CLASSES
@pytest.mark.parametrize("loss", [loss_forward, loss_backward])
def test_without_noise_both_are_cross_entropy(n_classes, loss):
    T = torch.eye(n_classes).double().expand(2, 3, -1, -1)
    got, b, logits = through(loss, n_classes, T)
    for q in range(2):
        for c in range(3):
            rows = by_hand.rows_of(b, logits, logits[..., 0], q, c)
            assert got[q, c].item() == pytest.approx(by_hand.loss_known(rows), abs=1e-5)


@CLASSES
def test_forward_with_a_permutation_is_cross_entropy_on_permuted_labels(n_classes):
    order = torch.arange(n_classes).roll(1)
    T = torch.eye(n_classes).double()[order].expand(2, 3, -1, -1)  # class k is seen as order[k]
    b = batches.make_batch(n_classes=n_classes)
    unpermuted = torch.empty_like(order)
    unpermuted[order] = torch.arange(n_classes)
    got, _, logits = through(loss_forward, n_classes, T)
    identity = torch.eye(n_classes).double().expand(2, 3, -1, -1)
    expected, _, _ = through(loss_forward, n_classes, identity, logits, y_seen=unpermuted[b.y_seen])
    torch.testing.assert_close(got, expected)


@CLASSES
def test_the_backward_loss_is_unbiased(n_classes):
    """sum_j T_ij l_backward(j) = l(i), exactly."""
    T = transitions(n_classes)
    loss = -torch.randn(2, 3, n_classes).double().log_softmax(-1)
    corrected = (damped_inverse(T) @ loss.unsqueeze(-1)).squeeze(-1)  # by observed label
    expected = (T @ corrected.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(expected, loss, rtol=1e-12, atol=1e-12)


@CLASSES
def test_the_backward_loss_by_loops(n_classes):
    T = transitions(n_classes)
    got, b, logits = through(loss_backward, n_classes, T)
    inverse, losses = torch.linalg.inv(T), -logits.log_softmax(-1)
    for q in range(2):
        for c in range(3):
            on_a, outside = [], []
            for i in range(b.y_seen.shape[-1]):
                w, true = b.weight[q, 0, i].item(), int(b.y_true[q, 0, i])
                if true >= 0:
                    on_a.append((losses[q, c, i, true].item(), w))
                else:
                    value = inverse[q, c, b.y_seen[q, 0, i]] @ losses[q, c, i]
                    outside.append((value.item(), w))
            size_a, size = (sum(w for _, w in pairs) for pairs in (on_a, outside))
            expected = size_a * by_hand.weighted_mean(on_a)
            expected += size * max(0.0, by_hand.weighted_mean(outside))
            assert got[q, c].item() == pytest.approx(expected / (size + size_a))


def test_a_negative_risk_moves_nothing():
    T = transitions(2, noise=0.8)
    b = batches.make_batch(n_classes=2)
    logits = (torch.nn.functional.one_hot(b.y_seen, 2).double() * 12).expand(2, 3, -1, -1)
    logits = logits.clone().requires_grad_(True)
    loss, _, _ = through(loss_backward, 2, T, logits)
    grad = torch.autograd.grad(loss.sum(), logits)[0]
    assert (grad[(b.unaligned > 0).expand(2, 3, -1)] == 0).all()
    assert (loss >= 0).all()


def test_a_singular_matrix_has_a_bounded_inverse():
    flat = torch.full((2, 2), 0.5, dtype=torch.float64)
    inverse = damped_inverse(flat)
    assert inverse.isfinite().all()
    assert torch.linalg.matrix_norm(inverse, 2) <= 1 / MIN_SINGULAR_VALUE + 1e-9


@pytest.mark.parametrize("loss", [loss_forward, loss_backward])
def test_extreme_logits_give_finite_gradients(loss):
    logits = torch.full((2, 3, 14, 2), 50.0, dtype=torch.float64)
    logits[..., 1] = -50.0
    for flip in (1, -1):
        z = (flip * logits).requires_grad_(True)
        value, _, _ = through(loss, 2, transitions(2), z)
        assert value.isfinite().all()
        assert torch.autograd.grad(value.sum(), z)[0].isfinite().all()


def test_backward_starts_with_forward():
    first, second = Backward(warm_epochs=3).stages()
    assert first.epochs == 3
    assert first.steps[0].loss is loss_forward
    assert second.steps[0].loss is loss_backward
    with pytest.raises(ValueError, match="warm_epochs must be 1 or more, got 0"):
        Backward(warm_epochs=0)


@pytest.mark.parametrize(("method", "most"), [(Forward(), 0.03), (Backward(), 0.08)])
def test_noise_by_class_is_recovered_from(method, most):
    problem = logistic_problem()
    assert distance_to_clean(method, problem) < 0.02
    assert abs(bias(method, problem)) < most
    assert bias(Standard(), problem) > 0.1, "what there is to recover from"
