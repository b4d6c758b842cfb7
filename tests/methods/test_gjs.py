import math
from dataclasses import replace
from itertools import pairwise

import batches
import pytest
import torch

from alignset.methods import GJS, Perturbation
from alignset.stack import Draws, cross_entropy

CLASSES = pytest.mark.parametrize("n_classes", [2, 5])
PI = (0.1, 0.3, 0.5, 0.7, 0.9)


def predictions(n_classes, views=1, n=40, seed=0):
    """One-hot labels (1, 1, n, K) and log-probabilities of each view."""
    g = torch.Generator().manual_seed(seed)
    label = torch.nn.functional.one_hot(torch.randint(n_classes, (1, 1, n), generator=g), n_classes)
    logits = 2 * torch.randn(views, 1, 1, n, n_classes, generator=g, dtype=torch.float64)
    return label.double(), list(torch.log_softmax(logits, -1))


def gjs(log_p, label, pi):
    pi = torch.tensor([[pi]], dtype=torch.float64)
    return GJS.divergence(torch.stack(log_p, -3), label, pi)


def scale(pi):
    return -(1 - pi) * math.log1p(-pi)


def entropy(p):
    return -torch.special.xlogy(p, p).sum(-1)


@CLASSES
@pytest.mark.parametrize("views", [1, 2, 3])
@pytest.mark.parametrize("pi", PI)
def test_it_is_entropy_of_the_mean_less_mean_entropy(n_classes, views, pi):
    label, log_p = predictions(n_classes, views)
    parts = [label] + [one.exp() for one in log_p]
    weights = [pi] + [(1 - pi) / views] * views
    mean = sum(w * p for w, p in zip(weights, parts, strict=True))
    inside = sum(w * entropy(p) for w, p in zip(weights, parts, strict=True))
    torch.testing.assert_close(gjs(log_p, label, pi) * scale(pi), entropy(mean) - inside)


@CLASSES
def test_small_pi_is_cross_entropy(n_classes):
    label, log_p = predictions(n_classes)
    ce = -(label * log_p[0]).sum(-1)
    errors = [(gjs(log_p, label, pi) - ce).abs().max().item() for pi in (1e-3, 1e-4, 1e-5)]
    assert errors[-1] < 1e-2
    for larger, smaller in pairwise(errors):
        assert smaller == pytest.approx(larger / 10, rel=0.35)  # O(pi)


@CLASSES
def test_large_pi_is_absolute_error_to_first_order(n_classes):
    label, log_p = predictions(n_classes)
    p = (label * log_p[0].exp()).sum(-1)
    rest = 1e-6
    first_order = (1 - p) + ((1 - p) + p * p.log()) / -math.log(rest)
    torch.testing.assert_close(gjs(log_p, label, 1 - rest), first_order, atol=1e-6, rtol=0)
    assert (first_order - (1 - p)).abs().max() > 1e-2  # so the correction was needed


@CLASSES
@pytest.mark.parametrize("pi", PI)
def test_it_splits_into_label_against_mean_and_views_against_each_other(n_classes, pi):
    label, log_p = predictions(n_classes, views=2)
    mean = torch.stack(log_p).exp().mean(0)
    together = gjs([mean.log()], label, pi) * scale(pi)
    apart = entropy(mean) - torch.stack([entropy(one.exp()) for one in log_p]).mean(0)
    torch.testing.assert_close(gjs(log_p, label, pi) * scale(pi), together + (1 - pi) * apart)


@CLASSES
@pytest.mark.parametrize("pi", PI)
def test_it_is_bounded_by_the_entropy_of_the_weights(n_classes, pi):
    label, log_p = predictions(n_classes, views=2, n=400)
    value = gjs(log_p, label, pi) * scale(pi)
    weights = torch.tensor([pi, (1 - pi) / 2, (1 - pi) / 2], dtype=torch.float64)
    assert value.min() >= 0
    assert value.max() <= entropy(weights)
    # reached where label and prediction are sure and disagree
    sure = (80 * label.roll(1, -1)).log_softmax(-1)
    bound = entropy(torch.tensor([pi, 1 - pi], dtype=torch.float64))
    assert (gjs([sure], label, pi) * scale(pi)).max().item() == pytest.approx(bound.item())


@CLASSES
def test_it_is_zero_only_where_label_and_views_agree(n_classes):
    label, log_p = predictions(n_classes, views=2)
    same = (label * 80).log_softmax(-1)
    assert gjs([same, same], label, 0.5).abs().max() < 1e-12
    assert gjs([same, log_p[0]], label, 0.5).min() > 1e-6
    assert gjs(log_p, label, 0.5).min() > 1e-6


@CLASSES
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("pi", [0.1, 0.9])
def test_values_and_gradients_are_finite_for_extreme_logits(n_classes, dtype, pi):
    label, log_p = predictions(n_classes, views=2)
    logits = [(50 * one.roll(i, -1).sub(one.mean(-1, keepdim=True)).sign()).to(dtype)
              for i, one in enumerate(log_p)]  # fmt: skip
    logits = [z.requires_grad_(True) for z in logits]
    log_p = torch.stack([z.log_softmax(-1) for z in logits], -3)
    loss = GJS.divergence(log_p, label.to(dtype), torch.tensor([[pi]], dtype=dtype))
    assert loss.isfinite().all()
    assert loss.min() >= -1e-6
    for grad in torch.autograd.grad(loss.sum(), logits):
        assert grad.isfinite().all()


@CLASSES
def test_reviewed_rows_keep_cross_entropy(n_classes):
    b = batches.make_batch(n_classes=n_classes)
    logits = batches.make_outputs(b)[0]
    h = batches.hyper(pi=0.5)
    ce = cross_entropy(logits, b.y_known)
    own = GJS.divergence(logits.log_softmax(-1).unsqueeze(-3), b.seen_onehot, h.pi)
    expected = b.mean(torch.where(b.aligned > 0, ce, own), b.weight)
    torch.testing.assert_close(GJS(n_views=1).loss(batches.given(logits), b, h), expected)


@CLASSES
def test_a_tiny_pi_makes_the_whole_loss_cross_entropy(n_classes):
    b = batches.make_batch(n_classes=n_classes)
    logits = batches.make_outputs(b)[0]
    loss = GJS(n_views=1).loss(batches.given(logits), b, batches.hyper(pi=1e-7))
    expected = b.mean(cross_entropy(logits, b.y_known), b.weight)
    torch.testing.assert_close(loss, expected, rtol=1e-6, atol=1e-6)


# views


def mixed_batch(n=4000):
    """One problem; columns: many values, 0/1, two other values, constant."""
    b = batches.make_batch(q=1, n=n, n_features=4)
    x = b.x.clone()
    x[..., 0] = 3 + 2 * x[..., 0]
    x[..., 1] = (x[..., 1] > 1.0).double()
    x[..., 2] = torch.where(x[..., 2] > 0, 5.0, -2.0).double()
    x[..., 3] = 7.0
    x[..., -2:, :] = 999.0  # padding
    return replace(b, x=x, weight=(b.weight > 0).double())


def perturbed(perturbation, b, name="view"):
    facts = {k: v.expand(1, 3, -1) for k, v in perturbation.spread(b).replica.items()}
    return perturbation.view(replace(b, facts=facts), name)[..., :-2, :]


def test_the_spread_of_a_column_leaves_padding_out():
    b = mixed_batch()
    real = b.x[..., :-2, :]
    facts = Perturbation.spread(b).replica
    assert facts["spread"].shape == (1, 1, 4)
    assert facts["spread"][0, 0, 0].item() == pytest.approx(real[..., 0].std(correction=0).item())
    assert not facts["spread"][0, 0, 1:].any()
    torch.testing.assert_close(facts["of_high"][0, 0, 1], real[..., 1].mean())


def test_views_have_noise_relative_to_the_spread_and_keep_two_values():
    b = mixed_batch()
    real = b.x[..., :-2, :]
    view = perturbed(Perturbation(noise=0.2, swap=0.3), b)
    assert view.shape == real.shape  # shared by all configs
    moved = (view - real)[..., 0]
    assert moved.std().item() == pytest.approx(0.2 * real[..., 0].std().item(), rel=0.05)
    assert abs(moved.mean().item()) < 0.03
    for column in (1, 2):
        assert set(view[..., column].unique().tolist()) == set(real[..., column].unique().tolist())
        share = (real[..., column] == real[..., column].max()).double().mean()
        changed = (view != real)[..., column].double().mean()
        assert changed.item() == pytest.approx((0.3 * 2 * share * (1 - share)).item(), abs=0.02)
        now = (view[..., column] == real[..., column].max()).double().mean()
        assert now.item() == pytest.approx(share.item(), abs=0.02)
    assert torch.equal(view[..., 3], real[..., 3])


def test_views_differ_and_no_perturbation_leaves_x_alone():
    b = mixed_batch(100)
    some, none = Perturbation(), Perturbation(noise=0.0, swap=0.0)
    assert not torch.equal(perturbed(some, b, "view 0"), perturbed(some, b, "view 1"))
    assert torch.equal(perturbed(none, b), b.x[..., :-2, :])


def test_two_equal_views_are_one():
    b = mixed_batch(30)
    logits = batches.make_outputs(b)[0]
    h = batches.hyper(q=1, pi=0.5)
    facts = {k: v.expand(1, 3, -1) for k, v in Perturbation.spread(b).replica.items()}
    twice = batches.given(torch.cat([logits, logits], -2))
    two = GJS(n_views=2).loss(twice, replace(b, facts=facts), h)
    torch.testing.assert_close(two, GJS(n_views=1).loss(batches.given(logits), b, h))


def test_views_are_fresh_every_step():
    b = mixed_batch(30)
    later = replace(b, draw=Draws(b.draw.key + 1, b.draw.row))
    assert not torch.equal(perturbed(Perturbation(), b), perturbed(Perturbation(), later))


@pytest.mark.parametrize("pi", [0.0, 1.0, -0.1, 50.0])
def test_pi_outside_its_range_is_refused(pi):
    with pytest.raises(ValueError, match=rf"pi must lie in \(0, 1\), got {pi}; use Standard\(\)"):
        GJS(pi=pi)


def test_other_impossible_settings_are_refused():
    with pytest.raises(ValueError, match="n_views must be 1 or more, got 0; 1 is plain JS"):
        GJS(n_views=0)
    with pytest.raises(ValueError, match="noise must be a standard deviation >= 0, got -1"):
        Perturbation(noise=-1.0)
    with pytest.raises(ValueError, match=r"swap must be a share in \[0, 1\], got 10"):
        Perturbation(swap=10.0)
