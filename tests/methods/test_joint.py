from dataclasses import replace
from types import SimpleNamespace

import batches
import numpy as np
import pytest
import torch
from problems import make_problem
from recovery import TRAINER, distance_to_clean, logistic_problem

from alignset.evaluate import auroc
from alignset.labels import UNREVIEWED
from alignset.methods import GLC, JointAlignment, Standard
from alignset.methods.joint import log_error, log_joint
from alignset.rows import Part, Problem
from alignset.stack import cross_entropy

CLASSES = pytest.mark.parametrize("n_classes", [2, 3, 5])
H = {"alpha": 0.7, "gamma": 1.3, "prior": 2.0, "pooling": 5.0}


def setting(n_classes=2, n_groups=2, seed=0):
    """A batch with counted facts, networks with given outputs, and those outputs."""
    b = batches.make_batch(seed, n_classes=n_classes, n_groups=n_groups)
    logits = batches.make_outputs(b)[0]
    g = torch.Generator().manual_seed(7)
    flat = torch.randn(2, 3, 14, n_classes**2, generator=g, dtype=torch.float64)
    nets = SimpleNamespace(theta=lambda _: logits, phi=lambda _: flat)
    h = batches.hyper(**H)
    facts = JointAlignment().count(nets, b, h).replica
    return replace(b, facts={k: v.expand(2, 3, *v.shape[2:]) for k, v in facts.items()}), nets, h


def transition(b, nets, q, c, i):
    """T(x) of one row, written out."""
    n = b.n_classes
    start = np.log(0.9 * (n - 1) / 0.1)
    z = nets.phi(None)[q, c, i].reshape(n, n) + start * torch.eye(n, dtype=torch.float64)
    return torch.softmax(z, -1)


@CLASSES
def test_T_has_rows_that_sum_to_one_and_starts_near_the_identity(n_classes):
    b, nets, _ = setting(n_classes)
    log_T = JointAlignment().log_transition(nets, b)
    torch.testing.assert_close(log_T.exp().sum(-2), torch.ones_like(log_T[..., 0, :]))
    torch.testing.assert_close(log_T[1, 2, :, :, 5].exp(), transition(b, nets, 1, 2, 5))
    silent = SimpleNamespace(phi=lambda _: torch.zeros(2, 3, 14, n_classes**2).double())
    diagonal = JointAlignment().log_transition(silent, b).exp()[0, 0, :, :, 0].diagonal()
    torch.testing.assert_close(diagonal, torch.full_like(diagonal, 0.9))


@CLASSES
def test_the_losses_are_the_formulas_written_row_by_row(n_classes):
    b, nets, h = setting(n_classes)
    got_1 = JointAlignment().step_1(nets, b, h)
    got_2 = JointAlignment().step_2(nets, b, h)
    for q in range(2):
        for c in range(3):
            parts = {"theta": [0, 0], "phi": [0, 0], "obs": [0, 0], "prior": [0, 0]}

            def add(name, value, w, parts=parts):
                parts[name][0] += w * value
                parts[name][1] += w

            for i in range(14):
                w, y, seen = b.weight[q, 0, i], b.y_true[q, 0, i], b.y_seen[q, 0, i]
                T = transition(b, nets, q, c, i)
                p = torch.softmax(nets.theta(None)[q, c, i], -1)
                if y == UNREVIEWED:
                    add("obs", -torch.log((T[:, seen] * p).sum()), w)
                else:
                    add("theta", -p[y].log(), w)
                    add("phi", -T[y, seen].log(), w)
                T_hat = b.facts["T_hat"][q, c, b.group[q, 0, i]]
                add("prior", -(T_hat * T.log()).sum() / n_classes, w)
            mean = {name: total / weight for name, (total, weight) in parts.items()}
            errors = mean["phi"] + 2.0 / b.aligned[q, 0].sum() * mean["prior"]
            torch.testing.assert_close(got_1[q, c], mean["theta"] + 0.7 * errors)
            torch.testing.assert_close(
                got_2[q, c], mean["obs"] + 1.3 * mean["theta"] + 0.7 * errors
            )


@CLASSES
def test_T_hat_is_the_groups_table_pooled_with_all_groups(n_classes):
    b, _, _ = setting(n_classes, n_groups=3)
    counts = torch.zeros(3, n_classes, n_classes, dtype=torch.float64)
    for i in range(14):
        if b.aligned[1, 0, i] > 0:
            counts[b.group[1, 0, i], b.y_true[1, 0, i], b.y_seen[1, 0, i]] += b.weight[1, 0, i]
    pooled = counts.sum(0) + torch.eye(n_classes)
    expected = counts + 5.0 * pooled / pooled.sum(-1, keepdim=True)
    expected = expected / expected.sum(-1, keepdim=True)
    torch.testing.assert_close(b.facts["T_hat"][1, 0], expected)


def test_a_group_nobody_reviewed_is_read_like_the_others():
    b, nets, h = setting()
    b = replace(b, y_true=torch.where(b.group == 1, UNREVIEWED, b.y_true))
    T_hat = JointAlignment().count(nets, b, h).replica["T_hat"][0, 0]
    table = torch.eye(2, dtype=torch.float64)
    for i in range(14):
        if b.aligned[0, 0, i] > 0:
            table[b.y_true[0, 0, i], b.y_seen[0, 0, i]] += b.weight[0, 0, i]
    torch.testing.assert_close(T_hat[1], table / table.sum(-1, keepdim=True))


def test_equal_groups_do_not_count_rows():
    b, nets, _ = setting()
    log_T = JointAlignment().log_transition(nets, b)
    seen = -log_joint(nets.theta(None), log_T, b).logsumexp(-2)
    method = JointAlignment(equal_groups=True)
    got = method.loss_observed(nets.theta(None), log_T, b)
    by_group = [b.mean(seen, b.unaligned * (b.group == g)) for g in range(b.n_groups)]
    torch.testing.assert_close(got, sum(by_group) / b.n_groups)


@CLASSES
def test_an_identity_T_leaves_cross_entropy(n_classes):
    b, nets, _ = setting(n_classes)
    log_T = (
        torch.where(torch.eye(n_classes, dtype=torch.bool).unsqueeze(-1), 0.0, -40.0)
        .double()
        .expand(2, 3, -1, -1, 14)
    )
    loss = JointAlignment().loss_observed(nets.theta(None), log_T, b)
    ce = b.mean(cross_entropy(nets.theta(None), b.y_seen), b.unaligned)
    torch.testing.assert_close(loss, ce)


@CLASSES
def test_confidence_is_the_posterior_of_the_observed_label(n_classes):
    b, nets, _ = setting(n_classes)
    got = JointAlignment().confidence(nets, b)
    for i in range(14):
        T, p = transition(b, nets, 0, 1, i), torch.softmax(nets.theta(None)[0, 1, i], -1)
        seen = b.y_seen[0, 0, i]
        joint = T[:, seen] * p
        torch.testing.assert_close(got[0, 1, i], joint[seen] / joint.sum())


def test_it_watches_the_likelihood_of_both_labels():
    b, nets, h = setting()
    log_T = JointAlignment().log_transition(nets, b)
    ce = cross_entropy(nets.theta(None), b.y_known)
    expected = b.mean(log_error(log_T, b), b.aligned) - b.mean(ce, b.aligned)
    torch.testing.assert_close(JointAlignment().likelihood(nets, b, h), expected)
    watched = [stage.watch is None for stage in JointAlignment().stages()]
    scored = [stage.watch is None for stage in JointAlignment(by_likelihood=False).stages()]
    assert watched == [False, False]
    assert scored == [True, True]


def test_gradients_reach_both_networks_and_stay_finite_at_certainty():
    b, _, h = setting()
    logits = torch.full((2, 3, 14, 2), 0.0, dtype=torch.float64)
    logits[..., 0] = 90.0
    flat = torch.full((2, 3, 14, 4), 0.0, dtype=torch.float64)
    flat[..., 0] = 90.0
    leaves = [logits.requires_grad_(), flat.requires_grad_()]
    sure = SimpleNamespace(theta=lambda _: leaves[0], phi=lambda _: leaves[1])
    grads = torch.autograd.grad(JointAlignment().step_2(sure, b, h).sum(), leaves)
    assert all(g.isfinite().all() and (g != 0).any() for g in grads)


def one_sided_problem(n=1500, seed=0):
    """Noise that depends on x: the observed label of a positive row is wrong where x_1 > 0."""
    rng = np.random.default_rng(seed)

    def part(size, share):
        X = rng.normal(size=(size, 4)).astype(np.float32)
        y = (X[:, 0] + 0.3 * rng.normal(size=size) > 0).astype(np.int64)
        y_seen = np.where((X[:, 1] > 0) & (y == 1), 0, y)
        looked = np.arange(size) < share * size
        return Part(X, y_seen, np.where(looked, y, UNREVIEWED), np.arange(size) % 2), y

    train, truth = part(n, 0.1)
    return Problem(train, part(150, 1.0)[0], part(1500, 1.0)[0], 2, 2, seed, truth=truth)


def test_it_comes_back_to_the_truth_where_noise_depends_on_x():
    problem = one_sided_problem()
    assert distance_to_clean(JointAlignment(), problem) < 0.02
    # one matrix for all rows cannot say that, and plain training learns the noise
    assert distance_to_clean(GLC(), problem) > 0.01
    assert distance_to_clean(Standard(), problem) > 0.04


def test_it_comes_back_to_the_truth_where_noise_depends_on_the_class():
    assert distance_to_clean(JointAlignment(), logistic_problem()) < 0.02


def test_confidence_tells_wrong_labels_from_right_ones():
    problem = one_sided_problem()
    fits = TRAINER.fit(JointAlignment(), [problem], [{"lr": 1e-2}])
    test = problem.test
    confidence = fits.confidence(test.X, test.y_seen)[0]
    assert auroc((test.y_seen == test.y_true).astype(int), confidence) > 0.9


def test_several_classes_and_groups_train():
    problem = make_problem(200, seed=1, n_classes=4, n_groups=3)
    fits = TRAINER.fit(JointAlignment(), [problem], [{}])
    assert np.isfinite(fits.probability(problem.validation.X)).all()


@pytest.mark.parametrize(
    ("name", "value"), [("alpha", -0.1), ("gamma", -1.0), ("prior", -1.0), ("pooling", 0.0)]
)
def test_impossible_settings_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} .*{value}"):
        JointAlignment(**{name: value})
