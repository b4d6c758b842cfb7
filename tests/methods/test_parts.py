from dataclasses import replace
from types import SimpleNamespace

import batches
import numpy as np
import pytest
import torch
from problems import make_problem

from alignset.engine import Trainer
from alignset.engine.rows import FactTable, Rows, Sizes
from alignset.methods import Parts
from alignset.rows import Part
from alignset.stack import cross_entropy

CLASSES = pytest.mark.parametrize("n_classes", [2, 5])
VARIANTS = pytest.mark.parametrize("reweight", [False, True])


def simplex(*shape, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.softmax(torch.randn(*shape, generator=g, dtype=torch.float64), -1)


def setting(n_classes=2):
    b = batches.make_batch(n_classes=n_classes)
    return b, batches.make_outputs(b)[0]


def with_T(b, T):
    return replace(b, facts={"column": Parts.column(T, b)})


def plain(b, logits):
    return b.mean(cross_entropy(logits, b.y_known), b.weight)


def many_rows(n, n_classes):
    """One problem of n rows, all reviewed, as a batch (1, 1, n)."""
    y = np.arange(n) % n_classes
    part = Part(np.zeros((n, 1), np.float32), y, y, np.zeros_like(y))
    rows = Rows.of(
        [part], multiple=1, kind=Sizes(1, n_classes, 1), device="cpu", dtype=torch.float64
    )
    return rows.everything(torch.zeros(1, dtype=torch.int64), FactTable())


# the loss


@CLASSES
@VARIANTS
def test_identity_T_is_cross_entropy_in_both_variants(n_classes, reweight):
    b, logits = setting(n_classes)
    T = torch.eye(n_classes, dtype=torch.float64).expand(2, 3, 14, -1, -1)
    loss = Parts(reweight=reweight).loss(batches.given(logits), with_T(b, T), batches.hyper())
    torch.testing.assert_close(loss, plain(b, logits), rtol=1e-6, atol=1e-6)


@CLASSES
@VARIANTS
def test_the_corrected_loss_is_a_loop(n_classes, reweight):
    b, logits = setting(n_classes)
    T = simplex(2, 3, 14, n_classes, n_classes)
    got = Parts(reweight=reweight).loss(batches.given(logits), with_T(b, T), batches.hyper())
    f = torch.softmax(logits, -1)
    for q in range(2):
        for c in range(3):
            total, weight = 0.0, 0.0
            for i in range(12):
                seen, w = b.y_seen[q, 0, i], b.weight[q, 0, i]
                mixed = sum(f[q, c, i, k] * T[q, c, i, k, seen] for k in range(n_classes))
                if b.y_true[q, 0, i] >= 0:
                    row = -f[q, c, i, b.y_true[q, 0, i]].log()
                elif reweight:
                    ratio = min(f[q, c, i, seen] / mixed, torch.tensor(10.0))
                    row = -ratio * f[q, c, i, seen].log()
                else:
                    row = -mixed.log()
                total, weight = total + w * row, weight + w
            torch.testing.assert_close(got[q, c], total / weight, rtol=1e-6, atol=1e-8)


@CLASSES
def test_the_weight_is_a_constant_until_the_revision(n_classes):
    b, logits = setting(n_classes)
    method = Parts(reweight=True)
    T = simplex(2, 3, 14, n_classes, n_classes).requires_grad_(True)
    column = method.column(T, b)
    fixed = method.corrected(logits, column, b, attached=False)
    attached = method.corrected(logits, column, b, attached=True)
    torch.testing.assert_close(fixed, attached)
    (none,) = torch.autograd.grad(fixed.sum(), T, allow_unused=True)
    (some,) = torch.autograd.grad(attached.sum(), T)
    assert none is None
    assert some.any()


def test_reviewed_rows_bypass_T():
    b, logits = setting()
    everyone = replace(b, y_true=torch.where(b.weight > 0, b.y_seen, -1))
    for reweight in (False, True):
        T = simplex(2, 3, 14, 2, 2)
        loss = Parts(reweight=reweight).loss(
            batches.given(logits), with_T(everyone, T), batches.hyper()
        )
        torch.testing.assert_close(loss, plain(everyone, logits))


@CLASSES
@VARIANTS
def test_gradients_are_finite_for_extreme_logits(n_classes, reweight):
    b, logits = setting(n_classes)
    extreme = (50 * logits.detach().sign()).requires_grad_(True)
    T = torch.eye(n_classes, dtype=torch.float64).expand(2, 3, 14, -1, -1)
    loss = Parts(reweight=reweight).loss(batches.given(extreme), with_T(b, T), batches.hyper())
    assert torch.autograd.grad(loss.sum(), extreme)[0].isfinite().all()


# the parts


def test_coefficients_lie_on_the_simplex_and_padding_changes_nothing():
    b = batches.make_batch(n=30)
    g = torch.Generator().manual_seed(3)
    z = torch.rand(2, 3, 30, 6, generator=g, dtype=torch.float64)
    h = Parts(n_parts=4).parts(z, b)
    assert h.shape == (2, 3, 30, 4)
    assert h.min() >= 0
    torch.testing.assert_close(h.sum(-1), torch.ones(2, 3, 30, dtype=torch.float64))
    z[..., -2:, :] = 1e6  # padding rows
    torch.testing.assert_close(Parts(n_parts=4).parts(z, b), h)


def test_a_dead_unit_and_a_dead_row_do_no_harm():
    b = batches.make_batch(n=30)
    z = torch.rand(2, 3, 30, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    z[..., 2] = 0.0
    z[..., 5, :] = 0.0
    h = Parts(n_parts=4).parts(z, b)
    assert h.isfinite().all()
    torch.testing.assert_close(h[..., 5, :], torch.full((2, 3, 4), 0.25, dtype=torch.float64))
    assert torch.equal(Parts(n_parts=4).parts(torch.zeros_like(z), b), torch.full_like(h, 0.25))


def test_rows_made_of_separate_parts_are_told_apart():
    """Two kinds of rows that light disjoint units get disjoint coefficients."""
    b = many_rows(200, 2)
    g = torch.Generator().manual_seed(0)
    z = torch.rand(1, 1, 200, 8, generator=g, dtype=torch.float64) + 0.5
    kind = torch.arange(200) < 100
    z[..., kind, :4] = 0.0
    z[..., ~kind, 4:] = 0.0
    h = Parts(n_parts=2).parts(z, b)[0, 0]
    means = torch.stack([h[kind].mean(0), h[~kind].mean(0)])
    assert means.max(-1).values.min() > 0.95
    assert means.argmax(-1).unique().numel() == 2


# the part matrices


def simulated_pairs(parts, P, seed=0):
    """Observed labels drawn from T(x) = sum_m h_m P^m, as a reviewed batch."""
    n, k = parts.shape[0], P.shape[-1]
    b = many_rows(n, k)
    T = torch.einsum("nm,mij->nij", parts, P)
    own = T[torch.arange(n), b.y_true[0, 0]]
    seen = torch.multinomial(own, 1, generator=torch.Generator().manual_seed(seed)).squeeze(-1)
    return replace(b, y_seen=seen.reshape(1, 1, n))


@CLASSES
def test_known_part_matrices_are_recovered_from_pairs(n_classes):
    n = 20000 * n_classes
    g = torch.Generator().manual_seed(5)
    parts = torch.softmax(4 * torch.randn(n, 2, generator=g, dtype=torch.float64), -1)
    eye = torch.eye(n_classes, dtype=torch.float64)
    P = 0.5 * simplex(2, n_classes, n_classes, seed=1) + 0.5 * torch.stack([eye, eye.roll(1, 0)])
    b = simulated_pairs(parts, P)
    got = Parts(n_parts=2).part_matrices(
        parts.reshape(1, 1, n, 2), b, torch.ones(1, 1, dtype=torch.float64)
    )
    torch.testing.assert_close(got[0, 0], P, atol=0.03, rtol=0)


@CLASSES
def test_one_part_is_the_table_of_A_with_a_pseudo_count(n_classes):
    b, _ = setting(n_classes)
    prior = torch.tensor([[0.5, 1.0, 2.0], [1.0, 3.0, 0.1]], dtype=torch.float64)
    got = Parts(n_parts=1).part_matrices(torch.ones(2, 3, 14, 1, dtype=torch.float64), b, prior)
    for q in range(2):
        for c in range(3):
            table = prior[q, c] * torch.eye(n_classes, dtype=torch.float64)
            for i in range(14):
                if b.aligned[q, 0, i] > 0:
                    table[b.y_true[q, 0, i], b.y_seen[q, 0, i]] += b.weight[q, 0, i]
            torch.testing.assert_close(got[q, c, 0], table / table.sum(-1, keepdim=True))


@CLASSES
def test_one_part_is_class_conditional_forward_correction(n_classes):
    b, logits = setting(n_classes)
    method = Parts(n_parts=1)
    nets = SimpleNamespace(theta=FeaturesOf(logits))
    T = method.transition(nets, b, batches.hyper(prior=1.0))
    assert torch.allclose(T, T[..., :1, :, :])  # the same for every row
    loss = method.loss(nets, with_T(b, T), batches.hyper())
    mixed = torch.softmax(logits, -1) @ T[..., 0, :, :]
    forward = -(mixed.log() * b.seen_onehot).sum(-1)
    ce = cross_entropy(logits, b.y_known)
    expected = b.mean(torch.where(b.aligned > 0, ce, forward), b.weight)
    torch.testing.assert_close(loss, expected, rtol=1e-6, atol=1e-6)


@CLASSES
def test_T_is_row_stochastic(n_classes):
    b, logits = setting(n_classes)
    nets = SimpleNamespace(theta=FeaturesOf(logits))
    T = Parts(n_parts=3).transition(nets, b, batches.hyper(prior=1.0))
    assert T.shape == (2, 3, 14, n_classes, n_classes)
    assert T.min() >= 0
    torch.testing.assert_close(T.sum(-1), torch.ones_like(T[..., 0]))


class FeaturesOf:
    """A network with given logits whose features are the positive part of them."""

    def __init__(self, logits):
        self.logits = logits

    def __call__(self, x):
        return self.logits

    def features(self, x):
        return self.logits.detach().relu()


# the revision


def test_the_revision_starts_at_T_and_keeps_rows_stochastic():
    b, logits = setting(5)
    T = simplex(2, 3, 14, 5, 5)
    start = torch.randn(2, 3, 1, 25, generator=torch.Generator().manual_seed(0)).double()
    method = Parts(revise=True)
    nets = SimpleNamespace(theta=lambda _: logits, delta=lambda _: start)
    D_0 = method.start_of_revision(nets, b, batches.hyper()).replica["D_0"]
    b = replace(b, facts={"T": T, "D_0": D_0, "column": method.column(T, b)})
    torch.testing.assert_close(
        method.loss_revised(nets, b, batches.hyper()), method.loss(nets, b, batches.hyper())
    )
    seen = []
    moved = SimpleNamespace(theta=lambda _: logits, delta=lambda _: start + 3.0 * start.sign())

    class Spy(Parts):
        @staticmethod
        def column(T, b):
            seen.append(T)
            return Parts.column(T, b)

    Spy(revise=True).loss_revised(moved, b, batches.hyper())
    assert seen[0].min() >= 0
    torch.testing.assert_close(seen[0].sum(-1), torch.ones_like(seen[0][..., 0]))
    assert not torch.allclose(seen[0], T)


def test_without_revision_there_is_one_network():
    assert list(Parts().networks(4, 3)) == ["theta"]
    assert Parts(revise=True).networks(4, 3)["delta"].outputs == 9


@pytest.mark.parametrize("n_classes", [2, 3])
@VARIANTS
def test_all_stages_train(n_classes, reweight):
    method = Parts(reweight=reweight, revise=True, warm_up=2, n_parts=3)
    problem = make_problem(60, n_classes=n_classes, n_groups=1)
    fits = Trainer(hidden=4, max_epochs=2, n_jobs=1).fit(method, [problem])
    assert fits.epochs[0, 0].tolist() == [2, 2, 2]
    assert np.isfinite(fits.probability(problem.validation.X)).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"prior": 0.0}, "prior must be above 0, got 0.0"),
        ({"n_parts": 0}, "n_parts must be 1 or more, got 0"),
        ({"warm_up": -1}, "warm_up must be 0 or more, got -1"),
    ],
)
def test_impossible_settings_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        Parts(**values)
