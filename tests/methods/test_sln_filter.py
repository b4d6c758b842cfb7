from dataclasses import replace

import batches
import pytest
import torch
from problems import make_problem

from alignset.engine import Trainer
from alignset.methods import SLNFilter
from alignset.stack import Draws, cross_entropy

CLASSES = pytest.mark.parametrize("n_classes", [2, 5])


def setting(n_classes=2, n=14):
    b = batches.make_batch(n_classes=n_classes, n=n)
    return b, batches.make_outputs(b)[0]


def plain(b, logits):
    return b.mean(cross_entropy(logits, b.y_known), b.weight)


def many_draws(b, method, logits, h, n=2000):
    """Row losses (n, q, c, B) under n independent draws."""
    keys = torch.arange(n)
    return torch.stack(
        [
            method.loss_noisy(
                logits, replace(b, draw=Draws(torch.full_like(b.draw.key, k), b.draw.row)), h
            )
            for k in keys.tolist()
        ]
    )


@CLASSES
def test_without_noise_and_filter_it_is_cross_entropy(n_classes):
    b, logits = setting(n_classes)
    loss = SLNFilter().loss(batches.given(logits), b, batches.hyper(sigma=0.0, threshold=0.0))
    torch.testing.assert_close(loss, plain(b, logits))


@CLASSES
def test_the_burn_in_is_cross_entropy(n_classes):
    b, logits = setting(n_classes)
    loss = SLNFilter().stages()[0].steps[0].loss(batches.given(logits), b, batches.hyper())
    torch.testing.assert_close(loss, plain(b, logits))


@CLASSES
def test_the_noise_has_the_mean_and_variance_of_the_paper(n_classes):
    b, logits = setting(n_classes, n=8)
    logits = logits.detach()
    sigma = 0.7
    losses = many_draws(b, SLNFilter(), logits, batches.hyper(sigma=sigma))
    ce = cross_entropy(logits, b.y_known)
    variance = sigma**2 * torch.log_softmax(logits, -1).square().sum(-1)
    outside = (b.unaligned > 0).expand_as(ce)
    off = (losses.mean(0) - ce).abs() / (variance / len(losses)).sqrt()
    assert off[outside].max() < 5  # standard errors
    torch.testing.assert_close(losses.var(0)[outside], variance[outside], rtol=0.15, atol=0)


def test_reviewed_rows_get_no_noise_and_are_always_kept():
    b, logits = setting()
    h = batches.hyper(sigma=2.0, threshold=1.0)
    method = SLNFilter()
    reviewed = (b.aligned > 0).expand(2, 3, -1)
    rows = method.loss_noisy(logits, b, h)
    ce = cross_entropy(logits, b.y_known)
    assert torch.equal(rows[reviewed], ce[reviewed])
    assert not torch.isclose(rows, ce)[(b.unaligned > 0).expand(2, 3, -1)].any()
    assert torch.equal(method.kept(logits, b, h), reviewed)


@CLASSES
def test_the_gradient_is_the_closed_form(n_classes):
    b, logits = setting(n_classes)
    h = batches.hyper(sigma=0.5, threshold=0.0)
    z = b.draw.normal(n_classes).to(logits.dtype) * (b.unaligned > 0).unsqueeze(-1)
    onehot = torch.nn.functional.one_hot(b.y_known, n_classes).to(logits.dtype)
    target = onehot + 0.5 * z
    (got,) = torch.autograd.grad(SLNFilter().loss_noisy(logits, b, h).sum(), logits)
    p = torch.softmax(logits, -1)
    torch.testing.assert_close(got, p * target.sum(-1, keepdim=True) - target)


@CLASSES
def test_a_row_is_kept_by_the_probability_of_its_observed_label(n_classes):
    b, logits = setting(n_classes)
    kappa = torch.tensor([[0.1, 0.4, 0.6], [0.2, 0.5, 0.9]])
    kept = SLNFilter().kept(logits, b, batches.hyper(threshold=kappa))
    p = torch.softmax(logits, -1)
    for q in range(2):
        for c in range(3):
            for i in range(14):
                expected = p[q, c, i, b.y_seen[q, 0, i]] >= kappa[q, c] or b.aligned[q, 0, i] > 0
                assert kept[q, c, i] == expected


def test_the_loss_is_the_mean_over_kept_rows():
    b, logits = setting()
    h = batches.hyper(sigma=0.3, threshold=0.5)
    method = SLNFilter()
    rows, kept = method.loss_noisy(logits, b, h), method.kept(logits, b, h)
    weight = b.weight * kept
    expected = (rows * weight).sum(-1) / weight.sum(-1)
    torch.testing.assert_close(method.loss(batches.given(logits), b, h), expected)


def test_a_batch_with_nothing_kept_is_skipped():
    b, logits = setting()
    nobody = replace(b, y_true=torch.full_like(b.y_true, -1))
    loss = SLNFilter().loss(batches.given(logits), nobody, batches.hyper(sigma=1.0, threshold=1.0))
    (grad,) = torch.autograd.grad(loss.sum(), logits)
    assert not loss.any()
    assert not grad.any()


@CLASSES
def test_gradients_are_finite_for_extreme_logits(n_classes):
    b, logits = setting(n_classes)
    extreme = (50 * logits.detach().sign()).requires_grad_(True)
    loss = SLNFilter().loss(batches.given(extreme), b, batches.hyper(sigma=1.0, threshold=0.5))
    assert torch.autograd.grad(loss.sum(), extreme)[0].isfinite().all()


def test_noise_is_fresh_every_step():
    b, logits = setting()
    h = batches.hyper(sigma=1.0)
    first, second = many_draws(b, SLNFilter(), logits, h, n=2)
    assert not torch.isclose(first, second)[(b.unaligned > 0).expand(2, 3, -1)].any()


def test_the_burn_in_has_its_length_and_averaging_reaches_the_engine():
    method = SLNFilter(burn_in=3, average=0.9)
    assert [(s.epochs, s.average) for s in method.stages()] == [(3, None), (None, 0.9)]
    fits = Trainer(hidden=4, max_epochs=2, n_jobs=1).fit(method, [make_problem(40)])
    assert fits.epochs[0, 0].tolist() == [3, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sigma": -0.1}, "sigma must be 0 or more, got -0.1"),
        ({"threshold": 60.0}, r"threshold must lie in \[0, 1\], got 60.0; 0 keeps every row"),
        ({"burn_in": -1}, "burn_in must be 0 or more, got -1"),
        ({"average": 1.0}, r"average must lie in \(0, 1\), got 1.0; pass None for no averaging"),
    ],
)
def test_impossible_settings_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        SLNFilter(**values)


def test_a_config_is_held_to_the_same_rules():
    with pytest.raises(ValueError, match=r"sigma must be 0 or more, got -1\.0"):
        Trainer(hidden=4, max_epochs=1).fit(SLNFilter(), [make_problem(40)], [{"sigma": -1.0}])
