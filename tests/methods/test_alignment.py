from dataclasses import replace

import batches
import by_hand
import pytest
import torch
from problems import make_problem, noise_free

from alignset.engine import FixedLength, Trainer
from alignset.methods import Alignment, ablations
from alignset.methods.alignment import MIN_CLEAN_RATE
from alignset.stack import cross_entropy

KINDS = pytest.mark.parametrize(
    ("n_classes", "n_groups"), [(2, 1), (2, 2), (2, 4), (5, 1), (5, 2), (5, 4)]
)
WEIGHTS = {
    "alpha_1": [[0.0, 0.5, 2.0], [1.0, 1.0, 10.0]],
    "alpha_2": [[0.1, 3.0, 0.0], [1.0, 5.0, 2.0]],
    "gamma": [[1.0, 0.0, 0.3], [2.0, 7.0, 1.0]],
}
VARIANTS = {
    "paper": (Alignment(), {}),
    "rate outside A": (Alignment(rate_over_reviewed=False), {"over_reviewed": False}),
    "equal groups": (Alignment(equal_groups=True), {"equal_groups": True}),
    "constant rate": (Alignment(rate_gradient=False), {}),
}


def setting(n_classes=2, n_groups=2, weighted=True):
    b = batches.make_batch(n_classes=n_classes, n_groups=n_groups, weighted=weighted)
    return b, *batches.make_outputs(b)


def noisy_loss(method, b, logits, beta):
    return method.loss_noisy(cross_entropy(logits, b.y_known), beta, b)


def replicas(b, logits, logit_beta):
    for q in range(2):
        for c in range(3):
            yield q, c, by_hand.rows_of(b, logits, logit_beta, q, c)


# every term against a loop


@KINDS
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_noisy_loss_is_a_loop(n_classes, n_groups, variant):
    method, options = VARIANTS[variant]
    b, logits, logit_beta = setting(n_classes, n_groups)
    got = noisy_loss(method, b, logits, torch.sigmoid(logit_beta))
    assert got.shape == (2, 3)
    for q, c, rows in replicas(b, logits, logit_beta):
        expected = by_hand.loss_noisy(rows, n_groups, **options)
        assert got[q, c].item() == pytest.approx(expected, rel=1e-9)


@KINDS
def test_the_loss_of_phi_is_a_loop(n_classes, n_groups):
    b, logits, logit_beta = setting(n_classes, n_groups)
    got = Alignment().loss_phi(logit_beta, b)
    for q, c, rows in replicas(b, logits, logit_beta):
        assert got[q, c].item() == pytest.approx(by_hand.loss_phi(rows), rel=1e-9)


@KINDS
@pytest.mark.parametrize("over_reviewed", [True, False])
def test_the_clean_rate_is_a_loop(n_classes, n_groups, over_reviewed):
    b, logits, logit_beta = setting(n_classes, n_groups)
    method = Alignment(rate_over_reviewed=over_reviewed)
    got = method.clean_rate(torch.sigmoid(logit_beta), b)
    for q, c, rows in replicas(b, logits, logit_beta):
        for k in range(n_groups):
            expected = by_hand.clean_rate(rows, k, over_reviewed=over_reviewed)
            assert got[q, c, k].item() == pytest.approx(expected, rel=1e-9)


@KINDS
def test_the_steps_are_the_papers_sums(n_classes, n_groups):
    b, logits, logit_beta = setting(n_classes, n_groups)
    nets, h = batches.given(logits, logit_beta), batches.hyper(**WEIGHTS)
    method = Alignment()
    got = {name: getattr(method, name)(nets, b, h) for name in ("step_1", "step_2a", "step_2b")}
    for q, c, rows in replicas(b, logits, logit_beta):
        theta, phi = by_hand.loss_theta(rows), by_hand.loss_phi(rows)
        noisy = by_hand.loss_noisy(rows, n_groups)
        own = {name: values[q][c] for name, values in WEIGHTS.items()}
        expected = {
            "step_1": theta + own["alpha_1"] * phi,
            "step_2a": noisy + own["gamma"] * theta,
            "step_2b": noisy + own["alpha_2"] * phi,
        }
        for name, value in expected.items():
            assert got[name][q, c].item() == pytest.approx(value, rel=1e-9)


def test_phi_reads_x_and_the_one_hot_observed_label():
    b, logits, logit_beta = setting(n_classes=5)
    asked = []
    nets = batches.given(logits, logit_beta)
    nets.phi = lambda *blocks: asked.append(blocks) or logit_beta.unsqueeze(-1)
    confidence = Alignment().confidence(nets, b)
    torch.testing.assert_close(confidence, torch.sigmoid(logit_beta))
    ((x, onehot),) = asked
    assert x is b.x
    assert torch.equal(onehot, b.seen_onehot)
    shape = Alignment().networks(n_features=7, n_classes=5)["phi"]
    assert (shape.inputs, shape.outputs) == ((7, 5), 1)


# the properties METHODS section 1 lists


@KINDS
@pytest.mark.parametrize("variant", ["paper", "rate outside A", "constant rate"])
@pytest.mark.parametrize("value", [0.05, 0.7, 1.0])
def test_a_constant_beta_gives_the_mean_cross_entropy_outside_a(
    n_classes, n_groups, variant, value
):
    method, _ = VARIANTS[variant]
    b, logits, logit_beta = setting(n_classes, n_groups)
    got = noisy_loss(method, b, logits, torch.full_like(logit_beta, value))
    for q, c, rows in replicas(b, logits, logit_beta):
        assert got[q, c].item() == pytest.approx(by_hand.loss_seen(rows), rel=1e-9)


@KINDS
@pytest.mark.parametrize("variant", VARIANTS)
def test_scaling_beta_of_a_whole_group_changes_nothing(n_classes, n_groups, variant):
    method, _ = VARIANTS[variant]
    b, logits, logit_beta = setting(n_classes, n_groups)
    beta = torch.sigmoid(logit_beta)
    scaled = torch.where(b.group == n_groups - 1, 0.3 * beta, beta)
    torch.testing.assert_close(
        noisy_loss(method, b, logits, scaled), noisy_loss(method, b, logits, beta)
    )


def test_scaling_beta_outside_a_alone_changes_nothing_when_the_rate_leaves_a_out():
    b, logits, logit_beta = setting()
    beta = torch.sigmoid(logit_beta)
    scaled = torch.where((b.group == 1) & (b.unaligned > 0), 0.3 * beta, beta)

    def both(method):
        return noisy_loss(method, b, logits, scaled), noisy_loss(method, b, logits, beta)

    torch.testing.assert_close(*both(Alignment(rate_over_reviewed=False)))
    now, before = both(Alignment())
    assert (now < before).all()  # the reviewed rows hold the rate up


@KINDS
def test_an_oracle_beta_averages_the_correct_rows_group_by_group(n_classes, n_groups):
    b, logits, logit_beta = setting(n_classes, n_groups)
    g = torch.Generator().manual_seed(5)
    right = torch.rand(b.y_seen.shape, generator=g) < 0.6
    right[..., n_groups * 1 : n_groups * 2] = True  # every group has a correct row outside A
    beta = right.double().expand_as(logit_beta)
    got = noisy_loss(Alignment(rate_over_reviewed=False), b, logits, beta)
    for q, c, rows in replicas(b, logits, logit_beta):
        kept = [bool(right[q, 0, i]) for i in range(len(rows))]  # padding is last
        outside = [(r, k) for r, k in zip(rows, kept, strict=True) if not r.reviewed]
        size = sum(r.weight for r, _ in outside)
        expected = 0.0
        for group in range(n_groups):
            mine = [(r, k) for r, k in outside if r.group == group]
            share = sum(r.weight for r, _ in mine) / size
            expected += share * by_hand.weighted_mean(
                (by_hand.cross_entropy(r.logits, r.y_seen), r.weight) for r, k in mine if k
            )
        assert got[q, c].item() == pytest.approx(expected, rel=1e-9)


def slope_of_beta(method):
    b, logits, logit_beta = setting(weighted=False)
    beta = torch.sigmoid(logit_beta).detach().requires_grad_(True)
    loss = noisy_loss(method, b, logits.detach(), beta)
    return b, logits, beta, torch.autograd.grad(loss.sum(), beta)[0]


def test_with_a_moving_rate_beta_rises_where_the_loss_is_below_its_group_mean():
    b, logits, beta, slope = slope_of_beta(Alignment(rate_over_reviewed=False))
    ce = cross_entropy(logits, b.y_known).detach()
    outside = (b.unaligned > 0).expand_as(ce)
    for k in range(2):
        mine = outside & (b.group == k)
        size, total = outside.sum(-1), mine.sum(-1)
        sum_beta = (beta * mine).sum(-1)
        mean = ((beta * ce * mine).sum(-1) / sum_beta).unsqueeze(-1)
        expected = (total / size / sum_beta).unsqueeze(-1) * (ce - mean)
        torch.testing.assert_close(slope[mine], expected[mine].detach())
        assert (slope[mine] > 0).any()
        assert (slope[mine] < 0).any()


def test_with_a_constant_rate_every_beta_falls():
    b, _, _, slope = slope_of_beta(Alignment(rate_gradient=False))
    outside = (b.unaligned > 0).expand_as(slope)
    assert (slope[outside] > 0).all()
    assert (slope[~outside] == 0).all()


def test_a_group_believed_wholly_wrong_does_not_divide_by_zero():
    b, logits, logit_beta = setting()
    hopeless = (logit_beta.detach() * 0 - 800).requires_grad_(True)
    loss = noisy_loss(Alignment(), b, logits, torch.sigmoid(hopeless))
    assert loss.isfinite().all()
    assert torch.autograd.grad(loss.sum(), hopeless)[0].isfinite().all()
    rate = Alignment().clean_rate(torch.sigmoid(hopeless), b)
    assert (rate == MIN_CLEAN_RATE).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_group_missing_from_the_batch_changes_nothing(variant):
    method, _ = VARIANTS[variant]
    b, logits, logit_beta = setting(n_groups=2)
    wider = replace(b, n_groups=3)
    beta = torch.sigmoid(logit_beta)
    torch.testing.assert_close(
        noisy_loss(method, wider, logits, beta), noisy_loss(method, b, logits, beta)
    )


@pytest.mark.parametrize("step", ["step_1", "step_2a", "step_2b"])
@pytest.mark.parametrize("reviewed", [True, False], ids=["all reviewed", "none reviewed"])
def test_a_batch_from_one_side_of_the_review_is_finite(step, reviewed):
    b, logits, logit_beta = setting()
    b = replace(b, y_true=b.y_seen if reviewed else torch.full_like(b.y_seen, -1))
    nets, h = batches.given(logits, logit_beta), batches.hyper(**WEIGHTS)
    loss = getattr(Alignment(), step)(nets, b, h)
    assert loss.isfinite().all()
    grads = torch.autograd.grad(loss.sum(), (logits, logit_beta), materialize_grads=True)
    assert all(g.isfinite().all() for g in grads)


@pytest.mark.parametrize("step", ["step_1", "step_2a", "step_2b"])
def test_extreme_logits_give_finite_losses_and_gradients(step):
    b, logits, logit_beta = setting()
    logits = (50 * logits.detach().sign()).requires_grad_(True)
    logit_beta = (50 * logit_beta.detach().sign()).requires_grad_(True)
    loss = getattr(Alignment(), step)(
        batches.given(logits, logit_beta), b, batches.hyper(**WEIGHTS)
    )
    assert loss.isfinite().all()
    grads = torch.autograd.grad(loss.sum(), (logits, logit_beta))
    assert all(g.isfinite().all() for g in grads)


# the schedule

TRAINER = Trainer(hidden=6, max_epochs=3, stopping=FixedLength(), n_jobs=1)


def bits(fits, net):
    return fits.weights[net]


def equal_bits(a, b):
    return all(torch.equal(a[k], b[k]) for k in a)


def test_step_1_with_alpha_1_zero_leaves_phi_at_its_start():
    problem = make_problem()
    method = Alignment(alpha_1=0.0, l2=0.0, step_2=False)
    fits = TRAINER.fit(method, [problem])
    shape = method.networks(4, 2)["phi"]
    start = TRAINER.network().init(shape, torch.tensor([problem.seed]), "phi")
    assert equal_bits(bits(fits, "phi"), start)
    decayed = TRAINER.fit(replace(method, l2=0.1), [problem])
    assert not equal_bits(bits(decayed, "phi"), start)


def only_step_2(step):
    """The method after step 1 followed by one epoch of one step of step 2."""

    class One(Alignment):
        def stages(self):
            first, second = super().stages()
            return first, replace(second, steps=(second.steps[step],), epochs=1)

    return One()


def test_2a_leaves_phi_and_2b_leaves_theta_bit_identical():
    problem = make_problem()
    before = TRAINER.fit(Alignment(step_2=False), [problem])
    after_2a = TRAINER.fit(only_step_2(0), [problem])
    after_2b = TRAINER.fit(only_step_2(1), [problem])
    assert equal_bits(bits(after_2a, "phi"), bits(before, "phi"))
    assert not equal_bits(bits(after_2a, "theta"), bits(before, "theta"))
    assert equal_bits(bits(after_2b, "theta"), bits(before, "theta"))
    assert not equal_bits(bits(after_2b, "phi"), bits(before, "phi"))


def test_stages_name_the_rows_steps_and_networks_of_the_paper():
    method = Alignment()
    first, second = method.stages()
    assert (first.rows, second.rows) == ("alignment", "all")
    assert [(s.loss, s.trains) for s in first.steps] == [(method.step_1, ("theta", "phi"))]
    assert [(s.loss, s.trains) for s in second.steps] == [
        (method.step_2a, ("theta",)),
        (method.step_2b, ("phi",)),
    ]
    assert not second.per_batch
    assert second.each_epoch is None


def test_switches_reorder_the_turns():
    method = Alignment(phi_first=True, alternate_batches=True)
    second = method.stages()[1]
    assert [s.trains for s in second.steps] == [("phi",), ("theta",)]
    assert second.per_batch


def trained_after(epochs, **switches):
    class Short(Alignment):
        def stages(self):
            first, second = super().stages()
            return first, replace(second, epochs=epochs)

    problem = make_problem()
    before = TRAINER.fit(Alignment(step_2=False), [problem])
    after = TRAINER.fit(Short(**switches), [problem])
    return {n for n in ("theta", "phi") if not equal_bits(bits(after, n), bits(before, n))}


def test_the_first_epoch_of_step_2_trains_theta_unless_phi_goes_first():
    assert trained_after(1) == {"theta"}
    assert trained_after(2) == {"theta", "phi"}
    assert trained_after(1, phi_first=True) == {"phi"}
    assert trained_after(1, alternate_batches=True) == {"theta", "phi"}


def test_the_rate_on_data_is_the_mean_beta_of_the_training_rows():
    b, logits, logit_beta = setting(n_groups=4)
    method = Alignment(rate_on_data=True)
    assert method.stages()[1].each_epoch is not None
    facts = method.stages()[1].each_epoch(batches.given(logits, logit_beta), b, None)
    rates = facts.replica["clean_rate"]
    rates = rates * 0.5  # a rate of another day, so that the batch's own would show
    known = replace(b, facts={"clean_rate": rates})
    got = noisy_loss(method, known, logits, torch.sigmoid(logit_beta))
    for q, c, rows in replicas(b, logits, logit_beta):
        expected = by_hand.loss_noisy(rows, 4, rates=rates[q, c].tolist())
        assert got[q, c].item() == pytest.approx(expected, rel=1e-9)
        for k in range(4):
            assert 2 * rates[q, c, k].item() == pytest.approx(by_hand.clean_rate(rows, k), rel=1e-9)


def test_ablations_are_other_stages_and_other_terms():
    b, logits, logit_beta = setting()
    nets, h = batches.given(logits, logit_beta), batches.hyper(**WEIGHTS)
    study = ablations()
    assert [len(m.stages()) for m in study.values()] == [1, 2, 2, 2, 2]
    full, noisy = (
        study["full method"],
        noisy_loss(Alignment(), b, logits, torch.sigmoid(logit_beta)),
    )
    plain = study["+ L'_theta"]
    for step in ("step_2a", "step_2b"):
        torch.testing.assert_close(getattr(plain, step)(nets, b, h), noisy)
    gamma, alpha_2 = study["+ gamma L_theta"], study["+ alpha_2 L_phi"]
    torch.testing.assert_close(gamma.step_2a(nets, b, h), full.step_2a(nets, b, h))
    torch.testing.assert_close(gamma.step_2b(nets, b, h), noisy)
    torch.testing.assert_close(alpha_2.step_2a(nets, b, h), noisy)
    torch.testing.assert_close(alpha_2.step_2b(nets, b, h), full.step_2b(nets, b, h))
    assert ablations(Alignment(gamma=3.0))["step 1 only"].gamma == 3.0


def test_a_review_without_a_wrong_label_is_refused():
    with pytest.raises(ValueError, match=r"wrong, but all 100 agree; review more rows, or use Sta"):
        Alignment().check(noise_free(make_problem()))
