import batches
import by_hand
import numpy as np
import pytest
import torch
from problems import make_problem, noise_free

from alignset.engine import Trainer
from alignset.methods import AlignmentOnly, Standard, StandardPlus
from alignset.methods.standard import loss_known, loss_plus, loss_theta

KINDS = pytest.mark.parametrize(
    ("n_classes", "n_groups"), [(2, 1), (2, 2), (2, 4), (5, 1), (5, 2), (5, 4)]
)
GAMMA = [[0.0, 0.5, 2.0], [1.0, 1.0, 10.0]]


def compare(loss, expected, n_classes, n_groups, weighted=True):
    """A loss of given outputs against a loop over the rows of every replica."""
    b = batches.make_batch(n_classes=n_classes, n_groups=n_groups, weighted=weighted)
    logits, logit_beta = batches.make_outputs(b)
    got = loss(batches.given(logits, logit_beta), b, batches.hyper(gamma=GAMMA))
    assert got.shape == (2, 3)
    for q in range(2):
        for c in range(3):
            rows = by_hand.rows_of(b, logits, logit_beta, q, c)
            assert got[q, c].item() == pytest.approx(expected(rows, GAMMA[q][c]), rel=1e-9)


@KINDS
@pytest.mark.parametrize("weighted", [False, True])
def test_standard_is_the_mean_over_all_rows(n_classes, n_groups, weighted):
    compare(loss_known, lambda rows, _: by_hand.loss_known(rows), n_classes, n_groups, weighted)


@KINDS
def test_alignment_only_is_the_mean_over_reviewed_rows(n_classes, n_groups):
    compare(loss_theta, lambda rows, _: by_hand.loss_theta(rows), n_classes, n_groups)


@KINDS
def test_standard_plus_is_two_means(n_classes, n_groups):
    compare(
        loss_plus,
        lambda rows, gamma: by_hand.loss_seen(rows) + gamma * by_hand.loss_theta(rows),
        n_classes,
        n_groups,
    )


@pytest.mark.parametrize("loss", [loss_known, loss_theta, loss_plus])
def test_observed_labels_of_reviewed_rows_do_not_matter(loss):
    b = batches.make_batch(n_classes=5)
    logits, _ = batches.make_outputs(b)
    other = type(b)(
        **{name: getattr(b, name) for name in b.__dataclass_fields__}
        | {"y_seen": torch.where(b.aligned > 0, (b.y_seen + 1) % 5, b.y_seen)}
    )
    h = batches.hyper(gamma=GAMMA)
    nets = batches.given(logits)
    assert torch.equal(loss(nets, b, h), loss(nets, other, h))


def test_stages_are_one_loss_on_theta():
    for method, rows in (
        (Standard(), "all"),
        (StandardPlus(), "all"),
        (AlignmentOnly(), "alignment"),
    ):
        (stage,) = method.stages()
        assert stage.rows == rows
        assert [step.trains for step in stage.steps] == [("theta",)]
        assert list(method.networks(4, 3)) == ["theta"]


TRAINER = Trainer(hidden=6, max_epochs=4, n_jobs=1)


def same_bits(a, b):
    return all(
        torch.equal(a.weights["theta"][k], b.weights["theta"][k]) for k in a.weights["theta"]
    )


def test_clean_labels_on_a_noise_free_problem_is_standard_bit_for_bit():
    problem = noise_free(make_problem())
    clean = TRAINER.fit(Standard(), [problem.fully_reviewed()])
    assert same_bits(clean, TRAINER.fit(Standard(), [problem]))
    unreviewed = make_problem(reviewed=0.0, noise=0.0)
    assert (unreviewed.train.y_seen == unreviewed.truth).all()
    clean = TRAINER.fit(Standard(), [unreviewed.fully_reviewed()])
    assert same_bits(clean, TRAINER.fit(Standard(), [unreviewed]))


def test_clean_labels_does_not_see_the_noise():
    noisy, clean = make_problem(noise=0.4), make_problem(noise=0.0)
    np.testing.assert_array_equal(noisy.truth, clean.truth)
    np.testing.assert_array_equal(noisy.train.X, clean.train.X)
    assert (noisy.train.y_seen != clean.train.y_seen).any()
    fits = [TRAINER.fit(Standard(), [p.fully_reviewed()]) for p in (noisy, clean)]
    assert same_bits(*fits)


def test_a_problem_that_does_not_know_the_truth_cannot_be_fully_reviewed():
    problem = make_problem()
    blind = type(problem)(problem.train, problem.validation, None, 2, 2, 0)
    with pytest.raises(ValueError, match="does not know the true label"):
        blind.fully_reviewed()
