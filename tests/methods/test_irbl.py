from types import SimpleNamespace

import batches
import by_hand
import numpy as np
import pytest
import torch
from recovery import bias, distance_to_clean, logistic_problem, with_facts

from alignset.methods import IRBL
from alignset.methods.irbl import loss_trusted, loss_untrusted, loss_weighted

CLASSES = pytest.mark.parametrize("n_classes", [2, 5])


def literal_weights(prob_trusted, prob_untrusted, y, sample_quality):
    """IRBL's weights as biquality-learn defines them (bqlearn.irbl, Nodet et al. 2021)."""
    numerator = prob_trusted[np.arange(len(y)), y]
    denominator = prob_untrusted[np.arange(len(y)), y]
    weight = np.where(denominator != 0, numerator / denominator, 0.0)
    weight[sample_quality == 1] = 1.0
    return weight


@CLASSES
@pytest.mark.parametrize("cap", [np.inf, 1.5])
def test_weights_are_those_of_biquality_learn(n_classes, cap):
    b = batches.make_batch(n_classes=n_classes, n=30)
    trusted, untrusted = batches.make_outputs(b)[0], batches.make_outputs(b, seed=2)[0]
    nets = SimpleNamespace(trusted=lambda _: trusted, untrusted=lambda _: untrusted)
    found = IRBL(cap=cap).weights(nets, b, batches.hyper(cap=cap)).row["importance"]
    for q in range(2):
        for c in range(3):
            expected = literal_weights(
                trusted[q, c].softmax(-1).detach().numpy(),
                untrusted[q, c].softmax(-1).detach().numpy(),
                b.y_seen[q, 0].numpy(),
                (b.y_true[q, 0] >= 0).numpy().astype(int),
            )
            real = b.weight[q, 0].numpy() > 0
            capped = np.minimum(expected, cap)
            np.testing.assert_allclose(found[q, c].detach().numpy()[real], capped[real])


@CLASSES
def test_weights_of_one_give_cross_entropy(n_classes):
    b = batches.make_batch(n_classes=n_classes)
    logits, beta = batches.make_outputs(b)
    ones = torch.ones(2, 3, 14, dtype=torch.float64)
    loss = loss_weighted(batches.given(logits), with_facts(b, importance=ones), None)
    for q in range(2):
        for c in range(3):
            expected = by_hand.loss_known(by_hand.rows_of(b, logits, beta, q, c))
            assert loss[q, c].item() == pytest.approx(expected)


def test_each_classifier_sees_its_own_rows():
    b = batches.make_batch()
    logits, _ = batches.make_outputs(b)
    nets = SimpleNamespace(trusted=lambda _: logits, untrusted=lambda _: logits)
    for loss, hidden in ((loss_trusted, b.unaligned), (loss_untrusted, b.aligned)):
        grad = torch.autograd.grad(loss(nets, b, None).sum(), logits)[0]
        assert (grad[(hidden > 0).expand(2, 3, -1)] == 0).all()
        assert (grad != 0).any()


def test_a_network_that_is_sure_gives_a_capped_weight():
    b = batches.make_batch()
    sure = torch.nn.functional.one_hot(b.y_seen, 2).double() * 200
    nets = SimpleNamespace(trusted=lambda _: sure, untrusted=lambda _: -sure)
    found = IRBL().weights(nets, b, batches.hyper(c=1, cap=10.0)).row["importance"]
    assert (found[b.unaligned > 0] == 10.0).all()
    with pytest.raises(ValueError, match="cap must be above 0, got 0"):
        IRBL(cap=0.0)


def test_noise_by_class_is_recovered_from():
    problem = logistic_problem()
    assert distance_to_clean(IRBL(), problem) < 0.02
    assert abs(bias(IRBL(), problem)) < 0.03
