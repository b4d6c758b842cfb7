import math
from dataclasses import replace
from types import SimpleNamespace

import batches
import by_hand
import pytest
import torch
from problems import make_problem
from recovery import with_facts

from alignset.engine import FixedLength, Trainer
from alignset.methods import CoTeaching, Standard
from alignset.stack import cross_entropy

CLASSES = pytest.mark.parametrize("n_classes", [2, 5])
ONE = batches.hyper(exponent=1.0)


def pair(theta, peer):
    return SimpleNamespace(theta=lambda _: theta, peer=lambda _: peer)


def setting(n_classes=2, n=40, weighted=False, epoch=100, **options):
    """A batch past the ramp, with rho^ of its own reviewed rows, and two networks' outputs."""
    b = batches.make_batch(n_classes=n_classes, n=n, weighted=weighted)
    method = CoTeaching(**options)
    facts = method.estimate(None, b, None).replica
    b = with_facts(replace(b, epoch=epoch), **facts)
    return method, b, batches.make_outputs(b)[0], batches.make_outputs(b, seed=5)[0]


@CLASSES
def test_without_wrong_labels_on_a_both_are_trained_with_cross_entropy(n_classes):
    method, b, theta, peer = setting(n_classes)
    b = with_facts(b, rho=torch.zeros(2, 1, 1, dtype=torch.float64))
    loss = method.loss(pair(theta, peer), b, ONE)
    for q in range(2):
        for c in range(3):
            rows = [by_hand.rows_of(b, z, z[..., 0], q, c) for z in (theta, peer)]
            expected = sum(map(by_hand.loss_known, rows))
            assert loss[q, c].item() == pytest.approx(expected)


def test_without_wrong_labels_theta_trains_as_standard_does():
    problem = make_problem(noise=0.0)
    trainer = Trainer(hidden=6, max_epochs=4, stopping=FixedLength(), n_jobs=1)
    mine, theirs = (trainer.fit(m, [problem]).weights["theta"] for m in (CoTeaching(), Standard()))
    for key in mine:
        torch.testing.assert_close(mine[key], theirs[key])


@CLASSES
def test_the_estimated_share_of_wrong_labels_is_that_of_a(n_classes):
    _, b, _, _ = setting(n_classes, weighted=True)
    for q in range(2):
        reviewed = [i for i in range(40) if b.y_true[q, 0, i] >= 0 and b.weight[q, 0, i] > 0]
        for group in (None, 0, 1):
            mine = [i for i in reviewed if group is None or b.group[q, 0, i] == group]
            expected = by_hand.weighted_mean(
                (float(b.y_seen[q, 0, i] != b.y_true[q, 0, i]), float(b.weight[q, 0, i]))
                for i in mine
            )
            rho = CoTeaching(per_group=group is not None).estimate(None, b, None).replica["rho"]
            assert rho[q, 0, group or 0].item() == pytest.approx(expected)


def test_a_group_nobody_reviewed_takes_the_overall_share():
    _, b, _, _ = setting()
    lone = replace(b, group=torch.where(b.y_true >= 0, 0, 1))
    rho = CoTeaching(per_group=True).estimate(None, lone, None).replica["rho"]
    torch.testing.assert_close(rho[..., 0], rho[..., 1])


@pytest.mark.parametrize(("exponent", "epochs"), [(1.0, 10), (0.5, 5), (2.0, 15)])
def test_the_share_dropped_ramps_up_from_nothing(exponent, epochs):
    method, b, _, _ = setting(ramp_epochs=epochs)
    h = batches.hyper(exponent=exponent)
    for epoch in (1, 2, 4, 8, 200):
        rate = method.forget_rate(replace(b, epoch=epoch), h)
        ramp = min((epoch - 1) ** exponent / epochs, 1.0)
        torch.testing.assert_close(rate, b.facts["rho"].expand_as(rate) * ramp)


@CLASSES
@pytest.mark.parametrize("rate", [0.0, 0.3, 0.55, 1.0])
def test_the_rows_of_smallest_loss_are_picked_to_the_floor(n_classes, rate):
    method, b, theta, _ = setting(n_classes)
    ce = cross_entropy(theta, b.y_known)
    picked = method.pick(ce, b, torch.full((2, 3, 1), 1 - rate, dtype=torch.float64))
    for q in range(2):
        candidates = [i for i in range(40) if b.unaligned[q, 0, i] > 0]
        count = math.floor((1 - rate) * len(candidates) + 1e-9)
        for c in range(3):
            best = sorted(candidates, key=lambda i: ce[q, c, i].item())[:count]
            assert picked[q, c].nonzero().flatten().tolist() == sorted(best)


def test_groups_are_ranked_apart():
    method, b, theta, _ = setting(per_group=True)
    ce = cross_entropy(theta, b.y_known)
    share = torch.tensor([0.25, 0.75], dtype=torch.float64).expand(2, 3, 2)
    picked = method.pick(ce, b, share)
    for q in range(2):
        for g, part in enumerate((0.25, 0.75)):
            mine = (b.group[q, 0] == g) & (b.unaligned[q, 0] > 0)
            assert picked[q, 0, mine].sum() == math.floor(part * mine.sum())
            kept, left = ce[q, 0, mine & (picked[q, 0] > 0)], ce[q, 0, mine & (picked[q, 0] == 0)]
            assert kept.max() < left.min()


def test_a_row_of_weight_two_counts_as_two_rows():
    method, b, theta, _ = setting(n=14)
    ce = cross_entropy(theta, b.y_known)[:1, :1]
    doubled = torch.arange(14) % 3 == 1
    heavy = replace(b, **{k: getattr(b, k)[:1] for k in ("x", "y_seen", "y_true", "group")})
    heavy = replace(heavy, weight=torch.where(doubled, 2.0, 1.0).double().expand(1, 1, -1))
    index = torch.cat([torch.arange(14), torch.arange(14)[doubled]]).sort().values
    copies = replace(
        heavy,
        **{k: getattr(heavy, k)[..., index] for k in ("y_seen", "y_true", "group")},
        weight=torch.ones(1, 1, len(index), dtype=torch.float64),
    )
    share = torch.full((1, 1, 1), 0.6, dtype=torch.float64)
    by_copies = torch.zeros(14, dtype=torch.float64)
    by_copies.index_add_(0, index, method.pick(ce[..., index], copies, share)[0, 0])
    torch.testing.assert_close(method.pick(ce, heavy, share)[0, 0], by_copies)


@CLASSES
def test_each_network_learns_from_what_the_other_picked(n_classes):
    method, b, theta, peer = setting(n_classes, weighted=True)
    b = with_facts(b, rho=torch.full((2, 1, 1), 0.4, dtype=torch.float64))
    loss = method.loss(pair(theta, peer), b, ONE)
    share = torch.full((2, 3, 1), 0.6, dtype=torch.float64)
    grad = torch.autograd.grad(loss.sum(), theta)[0]
    by_peer = method.pick(cross_entropy(peer, b.y_known), b, share)
    learnt = (by_peer > 0) | (b.aligned > 0)
    assert ((grad != 0).any(-1) == learnt).all()


def test_swapping_the_networks_changes_nothing():
    method, b, theta, peer = setting()
    forth, back = (method.loss(nets, b, ONE) for nets in (pair(theta, peer), pair(peer, theta)))
    torch.testing.assert_close(forth, back)


def test_prediction_and_confidence_are_means_of_both():
    method, b, theta, peer = setting(5)
    mean = (theta.softmax(-1) + peer.softmax(-1)) / 2
    torch.testing.assert_close(method.predict(pair(theta, peer), b.x), mean)
    seen = mean.gather(-1, b.y_seen.expand(2, 3, -1).unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(method.confidence(pair(theta, peer), b), seen)


def test_settings_are_checked():
    with pytest.raises(ValueError, match=r"exponent must be above 0, got 0\.0"):
        CoTeaching(exponent=0.0)
    with pytest.raises(ValueError, match="ramp_epochs must be 1 or more, got 0"):
        CoTeaching(ramp_epochs=0)
