from dataclasses import replace

import batches
import by_hand
import pytest
import torch
from problems import make_problem

from alignset.engine import FixedLength, Trainer
from alignset.engine.rows import FactTable, Rows
from alignset.engine.train import sizes_of
from alignset.methods import ELR, Standard
from alignset.methods.base import Hyper
from alignset.methods.elr import MARGIN, empty_memory

CLASSES = pytest.mark.parametrize("n_classes", [2, 5])


def setting(n_classes, c=3):
    """A batch that starts with an empty memory, the outputs, and what was remembered."""
    b = batches.make_batch(n_classes=n_classes)
    memory = empty_memory(None, b, None).row["memory"].expand(2, c, -1, -1)
    kept = {}
    b = replace(b, facts={"memory": memory}, remember=kept.__setitem__)
    return b, batches.make_outputs(b, c)[0], kept


@CLASSES
def test_a_weight_of_zero_gives_cross_entropy(n_classes):
    b, logits, _ = setting(n_classes)
    loss = ELR().loss(batches.given(logits), b, batches.hyper(lambda_=0.0, beta=0.7))
    for q in range(2):
        for c in range(3):
            expected = by_hand.loss_known(by_hand.rows_of(b, logits, logits[..., 0], q, c))
            assert loss[q, c].item() == pytest.approx(expected)


def test_a_weight_of_zero_trains_as_standard_does():
    trainer = Trainer(hidden=6, max_epochs=4, stopping=FixedLength(), n_jobs=1)
    fits = [trainer.fit(m, [make_problem()]) for m in (ELR(lambda_=0.0), Standard())]
    mine, theirs = (f.weights["theta"] for f in fits)
    for key in mine:
        torch.testing.assert_close(mine[key], theirs[key])


@CLASSES
def test_the_regulariser_pulls_towards_the_memory(n_classes):
    """Its derivative by the logits is -p (t - <t, p>) / (1 - <t, p>)."""
    b, logits, kept = setting(n_classes)
    on, off = (batches.hyper(lambda_=v, beta=0.7) for v in (1.0, 0.0))
    losses = [ELR().loss(batches.given(logits), b, h) for h in (on, off)]
    grad = torch.autograd.grad((losses[0] - losses[1]).sum(), logits)[0]
    p, t = logits.softmax(-1), kept["memory"]
    inner = (p * t).sum(-1, keepdim=True)
    share = (b.weight / b.weight.sum(-1, keepdim=True)).unsqueeze(-1)
    torch.testing.assert_close(grad, -share * p * (t - inner) / (1 - inner))


@CLASSES
def test_the_memory_is_a_moving_average_outside_a_and_the_truth_on_a(n_classes):
    b, logits, kept = setting(n_classes)
    h = batches.hyper(lambda_=3.0, beta=0.7)
    p = logits.softmax(-1)
    expected = torch.zeros_like(p)
    for _ in range(4):
        ELR().loss(batches.given(logits), b, h)
        expected = 0.7 * expected + 0.3 * p
        b = replace(b, facts=dict(kept))
    outside = (b.unaligned > 0).expand(2, 3, -1)
    torch.testing.assert_close(kept["memory"][outside], expected[outside])
    on_a = (b.aligned > 0).expand(2, 3, -1)
    truth = torch.nn.functional.one_hot(b.y_true.clamp_min(0), n_classes).double()
    torch.testing.assert_close(kept["memory"][on_a], truth.expand_as(p)[on_a])
    assert not kept["memory"].requires_grad


def test_training_writes_the_memory_and_keeps_it_on_the_simplex():
    problem = make_problem(60, n_classes=3)
    rows = Rows.of([problem.train], multiple=1, kind=sizes_of(problem), device="cpu")
    facts, problem_row = FactTable(), torch.zeros(1, dtype=torch.int64)
    b = rows.everything(problem_row, facts)
    facts.row = {"memory": empty_memory(None, b, None).row["memory"]}
    h = Hyper(lambda_=torch.full((1, 1), 3.0), beta=torch.full((1, 1), 0.7))
    logits = torch.randn(1, 1, 60, 3) * 30
    for _ in range(5):
        b = rows.everything(problem_row, facts)
        assert ELR().loss(batches.given(logits), b, h).isfinite().all()
        total = facts.row["memory"].sum(-1)
        assert (facts.row["memory"] >= 0).all()
        assert (total <= 1 + 1e-6).all()
    outside = b.y_true < 0
    assert total[outside].min() > 0.8
    assert (total[~outside] == 1).all()


@CLASSES
def test_sure_predictions_give_finite_gradients(n_classes):
    b, _, _ = setting(n_classes)
    sure = torch.nn.functional.one_hot(b.y_known, n_classes).double() * 100 - 50
    for sign in (1, -1):
        logits = (sign * sure).expand(2, 3, -1, -1).clone().requires_grad_(True)
        loss = ELR().loss(batches.given(logits), b, batches.hyper(lambda_=3.0, beta=0.7))
        assert torch.autograd.grad(loss.sum(), logits)[0].isfinite().all()
        assert (loss >= 3 * torch.log(torch.tensor(MARGIN))).all()


def test_settings_are_checked():
    with pytest.raises(ValueError, match=r"lambda_ must be 0 or more, got -1\.0"):
        ELR(lambda_=-1.0)
    with pytest.raises(ValueError, match=r"beta must lie in \[0, 1\), got 1\.0"):
        ELR(beta=1.0)
