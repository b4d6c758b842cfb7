import sys
from concurrent.futures import ThreadPoolExecutor

import batches
import numpy as np
import pytest
import torch
from problems import make_problem
from recovery import whole_batch, with_facts

from alignset.engine import Trainer
from alignset.methods import ConfidentLearning
from alignset.methods.confident import loss_kept, weigh
from alignset.stack import cross_entropy

pytest.importorskip("cleanlab")
CLASSES = pytest.mark.parametrize("n_classes", [2, 5])


def flipped(n_classes, n=200, noise=0.3, seed=0):
    """True labels, labels wrong at rates that depend on the class, and the confusion matrix."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    wrong = rng.random(n) < noise * (1 + y) / n_classes
    y_seen = np.where(wrong, (y + rng.integers(1, n_classes, n)) % n_classes, y)
    joint = np.zeros((n_classes, n_classes), dtype=int)
    np.add.at(joint, (y_seen, y), 1)
    return y, y_seen, joint


@CLASSES
def test_perfect_probabilities_give_the_confusion_matrix_as_the_joint(n_classes):
    from cleanlab.count import compute_confident_joint

    y, y_seen, joint = flipped(n_classes)
    found = compute_confident_joint(y_seen, np.eye(n_classes)[y])
    np.testing.assert_array_equal(found, joint)


@CLASSES
def test_perfect_probabilities_prune_exactly_the_wrong_labels(n_classes):
    y, y_seen, joint = flipped(n_classes)
    weight = weigh(y_seen, np.eye(n_classes)[y], reweight=True)
    assert ((weight == 0) == (y != y_seen)).all()
    for k in range(n_classes):
        kept = weight[(y_seen == k) & (y == k)]
        np.testing.assert_allclose(kept, joint[:, k].sum() / joint[k, k])
    plain = weigh(y_seen, np.eye(n_classes)[y], reweight=False)
    np.testing.assert_array_equal(plain, (y == y_seen).astype(float))


def test_what_cannot_be_told_apart_is_kept():
    assert (weigh(np.zeros(5, dtype=int), np.full((5, 2), 0.5), reweight=True) == 1).all()
    assert (weigh(np.array([0, 1]), np.full((2, 2), np.nan), reweight=True) == 1).all()
    missing = weigh(np.array([0, 1] * 10), np.eye(3)[[0, 1] * 10], reweight=True)
    assert (missing == 1).all(), "a class nobody was observed in"


def test_threads_do_not_mix_up_their_rows():
    cases = [flipped(2 + s % 4, seed=s) for s in range(24)]
    args = [(y_seen, np.eye(len(joint))[y], True) for y, y_seen, joint in cases]
    expected = [weigh(*a) for a in args]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda a: weigh(*a), args))
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def fold_nets(outputs):
    return batches.SimpleNamespace(**{f"fold_{k}": lambda _, z=z: z for k, z in enumerate(outputs)})


def test_a_fold_network_does_not_see_its_own_fold():
    method = ConfidentLearning(folds=3)
    b = batches.make_batch(n=40)
    b = with_facts(b, **method.deal(None, b, None).row)
    outputs = [batches.make_outputs(b, seed=s)[0] for s in range(3)]
    loss = method.loss_folds(fold_nets(outputs), b, None)
    fold = b.facts["fold"].expand(2, 3, -1)
    counted = (b.weight > 0).expand(2, 3, -1)
    for k, logits in enumerate(outputs):
        grad = torch.autograd.grad(loss.sum(), logits, retain_graph=True)[0]
        assert ((grad != 0).any(-1) == ((fold != k) & counted)).all()


def test_every_row_has_a_fold_and_folds_are_even():
    b, _, _ = whole_batch(make_problem(2000))
    fold = ConfidentLearning().deal(None, b, None).row["fold"]
    counts = torch.bincount(fold.flatten().long(), minlength=5)
    assert len(counts) == 5
    assert counts.min() > 330


def test_probabilities_come_from_the_network_that_did_not_see_the_row_and_a_is_never_pruned():
    method = ConfidentLearning(folds=2, reweight=False)
    problem = make_problem(300, noise=0.3)
    b, wrong, right = whole_batch(problem)
    b = with_facts(b, **method.deal(None, b, None).row)
    truth = torch.from_numpy(problem.truth)
    good = torch.nn.functional.one_hot(truth, 2).float().reshape(1, 1, -1, 2) * 100
    bad = 100 - good
    mine = [torch.where((b.facts["fold"] == k).unsqueeze(-1), good, bad) for k in range(2)]
    keep = method.keep(fold_nets(mine), b, None).row["keep"][0, 0]
    assert (keep[wrong] == 0).all()
    assert (keep[right] == 1).all()
    lying = method.keep(fold_nets([bad, bad]), b, None).row["keep"][0, 0]
    assert (lying[problem.train.reviewed] == 1).all()


def test_the_loss_is_the_mean_over_the_rows_kept():
    b = batches.make_batch()
    logits, _ = batches.make_outputs(b)
    keep = torch.rand(2, 3, 14, dtype=torch.float64) * (torch.arange(14) % 2)
    loss = loss_kept(batches.given(logits), with_facts(b, keep=keep), None)
    ce, weight = cross_entropy(logits, b.y_known), b.weight * keep
    torch.testing.assert_close(loss, (ce * weight).sum(-1) / weight.sum(-1))


def test_rows_are_kept_per_replica():
    problem = make_problem(60)
    trainer = Trainer(hidden=4, max_epochs=2, n_jobs=1)
    fits = trainer.fit(ConfidentLearning(folds=2), [problem], [{"lr": 1e-3}, {"lr": 1e-2}])
    assert fits.score.isfinite().all()


def test_without_cleanlab_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cleanlab", None)
    with pytest.raises(ImportError, match=r'run `pip install "alignset\[label\]"`'):
        ConfidentLearning()
    monkeypatch.undo()
    with pytest.raises(ValueError, match="folds must be 2 or more, got 1"):
        ConfidentLearning(folds=1)
