from dataclasses import replace

import batches
import by_hand
import pytest
import torch
from real_nets import Nets, make_net, one_of, row_gradients
from recovery import TRAINER, logistic_problem, whole_batch
from torch.func import functional_call

from alignset.engine import FixedLength, Trainer
from alignset.labels import UNREVIEWED
from alignset.methods import MetaWeightNet
from alignset.methods.mwnet import alignment_with_meta, loss_meta, loss_weighted, row_weight
from alignset.stack import cross_entropy

CLASSES = pytest.mark.parametrize("n_classes", [2, 5])
ETA = 0.3


def setting(n_classes=2):
    b = batches.make_batch(n_classes=n_classes)
    weight = make_net(b, n_inputs=1, n_outputs=1, stream="weight", seed=9)
    return b, Nets(theta=make_net(b), weight=weight), batches.hyper(virtual_lr=ETA)


def constant_weight(nets, logit):
    """V that answers sigmoid(logit) whatever it is asked."""
    params = {k: torch.zeros_like(v) for k, v in nets.weight.params.items()}
    params["b2"] = params["b2"] + logit
    return Nets(theta=nets.theta, weight=replace(nets.weight, params=params))


@CLASSES
@pytest.mark.parametrize(("logit", "v"), [(0.0, 0.5), (40.0, 1.0)])
def test_a_constant_weight_gives_that_many_cross_entropies(n_classes, logit, v):
    b, nets, h = setting(n_classes)
    nets = constant_weight(nets, logit)
    got, logits = loss_weighted(nets, b, h), nets.theta(b.x)
    for q in range(2):
        for c in range(3):
            rows = by_hand.rows_of(b, logits, logits[..., 0], q, c)
            expected = sum(
                r.weight
                * (1 if r.reviewed else v)
                * by_hand.cross_entropy(r.logits, r.y_true if r.reviewed else r.y_seen)
                for r in rows
            ) / sum(r.weight for r in rows)
            assert got[q, c].item() == pytest.approx(expected)


def meta_gradient_by_hand(nets, b, q, c):
    """d L_A(theta') / d Theta by differentiating through the virtual step, as the paper does."""
    theta, v = one_of(nets.theta, q, c), one_of(nets.weight, q, c)
    x, weight, aligned = b.x[q, 0], b.weight[q, 0], b.aligned[q, 0]

    def losses(params, y):
        out = functional_call(theta, params, (x,))
        return torch.nn.functional.cross_entropy(out, y.clamp_min(0), reduction="none")

    start = dict(theta.named_parameters())
    ce = losses(start, b.y_known[q, 0])
    w = torch.sigmoid(v(ce.detach().log1p().unsqueeze(-1))).squeeze(-1)
    w = torch.where(aligned > 0, 1.0, w)
    train = (weight * w * ce).sum() / weight.sum()
    slopes = torch.autograd.grad(train, list(start.values()), create_graph=True)
    virtual = {k: p - ETA * g for (k, p), g in zip(start.items(), slopes, strict=True)}
    meta = (aligned * losses(virtual, b.y_true[q, 0])).sum() / aligned.sum()
    return torch.autograd.grad(meta, list(v.parameters()))


@CLASSES
def test_the_meta_gradient_is_that_through_the_virtual_step(n_classes):
    b, nets, h = setting(n_classes)
    leaves = nets.weight.params
    for leaf in leaves.values():
        leaf.requires_grad_(True)
    grads = torch.autograd.grad(loss_meta(nets, b, h).sum(), list(leaves.values()))
    found = dict(zip(leaves, grads, strict=True))
    with torch.no_grad():
        logits = nets.theta(b.x)
        w = row_weight(nets, b, cross_entropy(logits, b.y_known))
        alike = alignment_with_meta(nets, b, h, logits, w)
    scale = ETA * (b.unaligned * alike.abs()).sum(-1) / b.weight.sum(-1)
    for q in range(2):
        for c in range(3):
            expected = meta_gradient_by_hand(nets, b, q, c)
            names = ["w0.0", "b0", "w1", "b1", "w2", "b2"]
            for name, theirs in zip(names, expected, strict=True):
                mine = found[name][q, c].reshape(theirs.shape) * scale[q, c]
                torch.testing.assert_close(mine, theirs)


def test_a_row_that_pulls_like_a_does_gains_weight():
    b, nets, _ = setting()
    h = batches.hyper(virtual_lr=0.0)
    logits = nets.theta(b.x)
    w = torch.full((2, 3, 14), 0.5, dtype=torch.float64, requires_grad=True)
    alike = alignment_with_meta(nets, b, h, logits, w.detach())
    for q in range(2):
        for c in range(3):
            model = one_of(nets.theta, q, c)
            rows = row_gradients(model, b.x[q, 0], b.y_seen[q, 0])
            known = row_gradients(model, b.x[q, 0], b.y_known[q, 0])
            on_a = sum(a * g for a, g in zip(b.aligned[q, 0], known, strict=True))
            expected = torch.stack([g @ on_a for g in rows]) / b.aligned[q, 0].sum()
            torch.testing.assert_close(alike[q, c], expected)


def test_without_a_meta_gradient_the_weight_net_stays():
    b, nets, h = setting()
    nobody = replace(b, y_true=torch.full_like(b.y_true, UNREVIEWED))
    leaves = list(nets.weight.params.values())
    for leaf in leaves:
        leaf.requires_grad_(True)
    grads = torch.autograd.grad(loss_meta(nets, nobody, h).sum(), leaves)
    assert all((g == 0).all() for g in grads)


def test_the_weight_net_moves_before_theta_on_every_batch():
    (stage,) = MetaWeightNet().stages()
    assert stage.together
    assert [step.trains for step in stage.steps] == [("weight",), ("theta",)]
    with pytest.raises(ValueError, match=r"virtual_lr must be 0 or more, got -1\.0"):
        MetaWeightNet(virtual_lr=-1.0)


def test_one_config_alone_trains():
    fits = Trainer(hidden=4, max_epochs=1, n_jobs=1).fit(MetaWeightNet(), [logistic_problem(60)])
    assert fits.score.isfinite().all()


def test_wrong_rows_weigh_less_than_right_ones():
    """After some hundred steps: at first rows of large loss are the ones that help."""
    problems = [logistic_problem(seed=seed) for seed in range(3)]
    trainer = replace(TRAINER, max_epochs=150, stopping=FixedLength(), n_batches=5)
    fits = trainer.fit(MetaWeightNet(), problems, [{"lr": 1e-3, "l2": 1e-3}])
    for p, problem in enumerate(problems):
        nets, (b, wrong, right) = fits.nets(p), whole_batch(problem)
        w = row_weight(nets, b, cross_entropy(nets.theta(b.x), b.y_known))[0, 0]
        assert w[wrong].mean() < 0.6 * w[right].mean()
