import math
from dataclasses import replace

import batches
import pytest
import torch
from problems import make_problem

from alignset.engine import Trainer
from alignset.methods import FairGPL
from alignset.stack import cross_entropy

CLASSES = pytest.mark.parametrize("n_classes", [2, 5])
KINDS = pytest.mark.parametrize(("n_classes", "n_groups"), [(2, 1), (2, 3), (5, 1), (5, 3)])


def setting(n_classes=2, n_groups=2, n=30):
    b = batches.make_batch(n=n, n_classes=n_classes, n_groups=n_groups)
    return b, batches.make_outputs(b)[0]


def facts_of(method, b, c=3, **other):
    """The batch with the facts of its own rows, as the engine hands them to a loss."""
    facts = method.rates(None, b, None).replica | other
    return replace(b, facts={k: v.expand(v.shape[0], c, *v.shape[2:]) for k, v in facts.items()})


def neutral(b):
    """Delta of one for every group."""
    return {"delta": torch.ones(b.x.shape[0], 1, b.n_groups, dtype=torch.float64)}


def outside_only(b):
    return replace(b, y_true=torch.full_like(b.y_true, -1))


def plain(b, logits):
    return b.mean(cross_entropy(logits, b.y_known), b.weight)


@KINDS
def test_without_peers_and_noise_it_is_cross_entropy(n_classes, n_groups):
    b, logits = setting(n_classes, n_groups)
    method = FairGPL()
    b = facts_of(method, b, **neutral(b))
    loss = method.loss(batches.given(logits), b, batches.hyper(alpha=0.0))
    torch.testing.assert_close(loss, plain(b, logits))
    torch.testing.assert_close(
        method.stages()[0].steps[0].loss(batches.given(logits), b, batches.hyper()),
        plain(b, logits),
    )


@KINDS
def test_a_constant_predictor_earns_nothing(n_classes, n_groups):
    b, logits = setting(n_classes, n_groups)
    b = outside_only(b)
    method = FairGPL()
    delta = 0.2 + torch.rand(2, 1, n_groups, generator=torch.Generator().manual_seed(0)).double()
    b = facts_of(method, b, delta=delta)
    constant = logits[..., :1, :].expand_as(logits)
    loss = method.loss(batches.given(constant), b, batches.hyper(alpha=1.0))
    assert loss.abs().max() < 1e-12


@KINDS
def test_it_is_a_loop(n_classes, n_groups):
    b, logits = setting(n_classes, n_groups)
    method = FairGPL()
    b = facts_of(method, b)
    alpha = torch.tensor([[0.0, 0.3, 1.0], [0.5, 0.1, 2.0]])
    got = method.loss(batches.given(logits), b, batches.hyper(alpha=alpha))
    log_p = torch.log_softmax(logits, -1)
    for q in range(2):
        for c in range(3):
            total = torch.zeros((), dtype=torch.float64)
            for z in range(n_groups):
                rows = [
                    i for i in range(28) if b.group[q, 0, i] == z and b.y_true[q, 0, i] == -1
                ]  # fmt: skip
                w = {i: b.weight[q, 0, i] for i in rows}
                n_z = sum(w.values())
                freq = [
                    sum(w[i] for i in rows if b.y_seen[q, 0, i] == k) / n_z
                    for k in range(n_classes)
                ]
                own = sum(-w[i] * log_p[q, c, i, b.y_seen[q, 0, i]] for i in rows) / n_z
                peer = sum(
                    -w[i] * freq[k] * log_p[q, c, i, k] for i in rows for k in range(n_classes)
                )
                delta = b.facts["delta"][q, c, z]
                total = total + n_z / delta * (own - alpha[q, c] * peer / n_z)
            ce = cross_entropy(logits, b.y_known)[q, c]
            total = total + (ce * b.aligned[q, 0]).sum()
            torch.testing.assert_close(got[q, c], total / b.weight[q, 0].sum())


@CLASSES
def test_one_group_without_noise_is_plain_peer_loss(n_classes):
    b, logits = setting(n_classes, 1)
    b = outside_only(b)
    method = FairGPL()
    b = facts_of(method, b, **neutral(b))
    loss = method.loss(batches.given(logits), b, batches.hyper(alpha=1.0))
    p = b.weight / b.weight.sum(-1, keepdim=True)  # (2, 1, B)
    every = -torch.log_softmax(logits, -1)  # l(f(x_j), c)
    pairs = torch.einsum("qsj,qsk,qcjm,qskm->qc", p, p, every, b.seen_onehot)
    expected = (cross_entropy(logits, b.y_seen) * p).sum(-1) - pairs
    torch.testing.assert_close(loss, expected)


@CLASSES
def test_peers_from_all_rows_are_the_same_for_every_group(n_classes):
    b, logits = setting(n_classes, 3)
    b = outside_only(b)
    method = FairGPL(within_groups=False)
    b = facts_of(method, b)
    loss = method.loss(batches.given(logits), b, batches.hyper(alpha=0.7))
    p = b.weight / b.weight.sum(-1, keepdim=True)  # (2, 1, B)
    every = -torch.log_softmax(logits, -1)
    pairs = torch.einsum("qsj,qsk,qcjm,qskm->qc", p, p, every, b.seen_onehot).unsqueeze(-1)
    delta = torch.gather(b.facts["delta"], -1, b.group.expand(2, 3, -1))
    expected = ((cross_entropy(logits, b.y_seen) - 0.7 * pairs) / delta * p).sum(-1)
    torch.testing.assert_close(loss, expected)


def test_with_one_group_all_rows_are_its_own():
    b, logits = setting(2, 1)
    losses = [
        method.loss(batches.given(logits), facts_of(method, b), batches.hyper(alpha=0.7))
        for method in (FairGPL(), FairGPL(within_groups=False))
    ]
    torch.testing.assert_close(*losses)


# the affine identity, on a discrete distribution


def discrete(n_classes, rates, seed=0):
    """Rows (x, y~) for every x and y~, weighted by P(x, y~), clean and noisy; one group each."""
    g = torch.Generator().manual_seed(seed)
    n_x, groups = 6, len(rates)
    joint = torch.rand(groups, n_x, n_classes, generator=g, dtype=torch.float64)
    joint = joint / joint.sum()
    logits = torch.randn(1, 1, n_x, n_classes, generator=g, dtype=torch.float64)
    noisy = torch.stack([joint[z] @ transition(n_classes, rate) for z, rate in enumerate(rates)])
    return logits, joint, noisy


def transition(n_classes, rate):
    """A wrong label j is equally likely from every true class: e_j = rate (j + 1) / K."""
    e = rate * torch.arange(1, n_classes + 1, dtype=torch.float64) / n_classes
    T = e.expand(n_classes, -1).clone()
    return T + torch.diag(1 - e.sum() - torch.zeros(n_classes, dtype=torch.float64))


def discrete_batch(joint):
    groups, n_x, k = joint.shape
    z, x, y = torch.meshgrid(
        torch.arange(groups), torch.arange(n_x), torch.arange(k), indexing="ij"
    )
    shape = (1, 1, groups * n_x * k)
    template = batches.make_batch(q=1, n=shape[-1], n_classes=k, n_groups=groups)
    b = replace(
        template,
        y_seen=y.reshape(shape),
        group=z.reshape(shape),
        weight=joint.reshape(shape),
        y_true=torch.full(shape, -1),
    )
    return b, x.reshape(-1)


@CLASSES
def test_noise_scales_the_peer_loss_of_a_group_by_its_delta(n_classes):
    rates = (0.1, 0.3)
    logits, clean, noisy = discrete(n_classes, rates)
    method, values = FairGPL(), []
    for joint, undo in ((clean, False), (noisy, True)):
        b, x = discrete_batch(joint)
        delta = torch.ones(1, 1, 2, dtype=torch.float64)
        if undo:
            for z, rate in enumerate(rates):
                T = transition(n_classes, rate)
                delta[..., z] = (T.trace() - 1) / (n_classes - 1)
        b = facts_of(method, b, c=1, delta=delta)
        rows = logits[..., x, :]
        values.append(method.peer_loss(rows, b, batches.hyper(1, 1, alpha=1.0)))
    torch.testing.assert_close(values[0], values[1], rtol=1e-12, atol=1e-14)


def test_two_classes_have_the_delta_of_the_paper():
    T = torch.tensor([[0.9, 0.1], [0.3, 0.7]])
    assert (T.trace() - 1).item() == pytest.approx(1 - 0.1 - 0.3)


# facts


@KINDS
def test_delta_is_the_smoothed_table_of_A(n_classes, n_groups):
    b, _ = setting(n_classes, n_groups)
    for flip in (False, True):
        got = FairGPL(sign_flip=flip).delta(b)
        for q in range(2):
            for z in range(n_groups):
                trace = 0.0
                for k in range(n_classes):
                    rows = [
                        i for i in range(28)
                        if b.group[q, 0, i] == z and b.y_true[q, 0, i] == k
                    ]  # fmt: skip
                    size = sum(b.weight[q, 0, i].item() for i in rows)
                    right = sum(b.weight[q, 0, i].item() for i in rows if b.y_seen[q, 0, i] == k)
                    trace += (right + 1) / (size + n_classes)
                delta = (trace - 1) / (n_classes - 1)
                expected = max(0.1, abs(delta)) * (-1 if flip and delta < 0 else 1)
                assert got[q, 0, z].item() == pytest.approx(expected)


def test_a_group_nobody_reviewed_is_taken_for_the_average():
    b, _ = setting(2, 2)
    b = replace(b, y_true=torch.where(b.group == 1, -1, b.y_true))
    one_group = replace(b, group=torch.zeros_like(b.group), n_groups=1)
    delta, pooled = FairGPL().delta(b), FairGPL().delta(one_group)
    torch.testing.assert_close(delta, pooled.expand(2, 1, 2))


def test_permuting_rows_inside_a_group_changes_nothing():
    b, logits = setting(2, 2)
    method = FairGPL()
    order = torch.arange(30)
    order[torch.arange(0, 28, 2)] = torch.arange(0, 28, 2).flip(0)  # rows of group 0
    moved = replace(
        b, y_seen=b.y_seen[..., order], y_true=b.y_true[..., order], weight=b.weight[..., order]
    )
    h = batches.hyper(alpha=0.5)
    torch.testing.assert_close(
        method.loss(batches.given(logits), facts_of(method, b), h),
        method.loss(batches.given(logits[..., order, :]), facts_of(method, moved), h),
    )


# numerics


@CLASSES
@pytest.mark.parametrize("flip", [False, True])
def test_the_loss_has_a_lower_bound_and_finite_gradients(n_classes, flip):
    b, logits = setting(n_classes, 2)
    method = FairGPL(sign_flip=flip)
    sign = -1.0 if flip else 1.0
    b = facts_of(method, b, delta=torch.full((2, 1, 2), sign * 0.1, dtype=torch.float64))
    extreme = (50 * logits.detach().sign()).requires_grad_(True)
    loss = method.loss(batches.given(extreme), b, batches.hyper(alpha=1.0))
    assert loss.min() > math.log(1e-5) / 0.1
    assert torch.autograd.grad(loss.sum(), extreme)[0].isfinite().all()


def test_sign_flip_lets_a_group_worse_than_chance_count_negatively():
    b, logits = setting(2, 1)
    b = replace(b, y_true=torch.where(b.aligned > 0, 1 - b.y_seen, -1))
    assert FairGPL(sign_flip=True).delta(b).max() < 0
    assert FairGPL().delta(b).min() > 0
    h = batches.hyper(alpha=1.0)
    flipped, straight = (
        m.peer_loss(logits, facts_of(m, b), h) for m in (FairGPL(sign_flip=True), FairGPL())
    )
    torch.testing.assert_close(flipped, -straight)


@pytest.mark.parametrize(("n_classes", "n_groups"), [(2, 1), (3, 3)])
def test_all_stages_train(n_classes, n_groups):
    problem = make_problem(60, n_classes=n_classes, n_groups=n_groups)
    fits = Trainer(hidden=4, max_epochs=3, n_jobs=1).fit(FairGPL(warm_up=2), [problem])
    assert fits.epochs[0, 0].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"alpha": -0.1}, "alpha must be 0 or more, got -0.1"),
        ({"warm_up": -1}, "warm_up must be 0 or more, got -1"),
    ],
)
def test_impossible_settings_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        FairGPL(**values)
