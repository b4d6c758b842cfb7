import batches
import by_hand
import pytest
import torch
from recovery import bias, distance_to_clean, logistic_problem, with_facts

from alignset.labels import UNREVIEWED
from alignset.methods import GLC, Standard
from alignset.methods.glc import loss_noisy

CLASSES = pytest.mark.parametrize("n_classes", [2, 5])


def noisy_net(logits):
    return batches.SimpleNamespace(noisy=lambda _: logits)


def sure(y, n_classes):
    """Logits whose softmax is one-hot at y to double precision."""
    return torch.nn.functional.one_hot(y, n_classes).double() * 100


def confusion(b, q, group=None):
    """Rows of the weighted confusion matrix on A, by loops; None where a class is missing."""
    rows = [[0.0] * b.n_classes for _ in range(b.n_classes)]
    for i in range(b.y_seen.shape[-1]):
        true, seen = int(b.y_true[q, 0, i]), int(b.y_seen[q, 0, i])
        if true != UNREVIEWED and (group is None or int(b.group[q, 0, i]) == group):
            rows[true][seen] += float(b.weight[q, 0, i])
    return [[v / sum(row) for v in row] if sum(row) else None for row in rows]


@CLASSES
@pytest.mark.parametrize("counts", [False, True])
def test_one_hot_posteriors_give_the_confusion_matrix_of_a(n_classes, counts):
    b = batches.make_batch(n_classes=n_classes, n=40)
    nets = noisy_net(sure(b.y_seen.expand(2, 3, 40), n_classes))
    C_hat = GLC(counts=counts).estimate(nets, b, None).replica["C_hat"].squeeze(-3)
    for q in range(2):
        for k, row in enumerate(confusion(b, q)):
            expected = [float(j == k) for j in range(n_classes)] if row is None else row
            for c in range(C_hat.shape[1]):
                assert C_hat[q, c, k].tolist() == pytest.approx(expected)


def test_posteriors_are_averaged_over_the_reviewed_rows_of_each_class():
    b = batches.make_batch(n_classes=2)
    logits, _ = batches.make_outputs(b)
    C_hat = GLC().estimate(noisy_net(logits), b, None).replica["C_hat"]
    p = logits.softmax(-1)
    for i in range(2):
        mine = (b.y_true == i) * b.weight
        expected = (p * mine.unsqueeze(-1)).sum(-2) / mine.sum(-1, keepdim=True)
        torch.testing.assert_close(C_hat[..., 0, i, :], expected)
    torch.testing.assert_close(C_hat.sum(-1), torch.ones_like(C_hat[..., 0]))


@CLASSES
def test_per_group_matrices_fall_back_on_all_groups_then_on_the_identity(n_classes):
    b = batches.make_batch(n_classes=n_classes, n_groups=3)
    C_hat = GLC(counts=True, per_group=True).estimate(None, b, None).replica["C_hat"]
    assert C_hat.shape == (2, 1, 3, n_classes, n_classes)
    for q in range(2):
        pooled = confusion(b, q)
        for g in range(3):
            for k, own in enumerate(confusion(b, q, g)):
                identity = [float(j == k) for j in range(n_classes)]
                assert C_hat[q, 0, g, k].tolist() == pytest.approx(own or pooled[k] or identity)


@CLASSES
@pytest.mark.parametrize("per_group", [False, True])
def test_the_identity_gives_cross_entropy(n_classes, per_group):
    b = batches.make_batch(n_classes=n_classes)
    logits, beta = batches.make_outputs(b)
    C_hat = torch.eye(n_classes).double().expand(2, 1, 2 if per_group else 1, -1, -1)
    loss = GLC(per_group=per_group).loss(batches.given(logits), with_facts(b, C_hat=C_hat), None)
    for q in range(2):
        for c in range(3):
            expected = by_hand.loss_known(by_hand.rows_of(b, logits, beta, q, c))
            assert loss[q, c].item() == pytest.approx(expected, abs=1e-5)


@CLASSES
def test_a_uniform_matrix_takes_the_gradient_from_unreviewed_rows(n_classes):
    b = batches.make_batch(n_classes=n_classes)
    logits, _ = batches.make_outputs(b)
    C_hat = torch.full((2, 1, 1, n_classes, n_classes), 1 / n_classes, dtype=torch.float64)
    loss = GLC().loss(batches.given(logits), with_facts(b, C_hat=C_hat), None)
    grad = torch.autograd.grad(loss.sum(), logits)[0]
    outside = (b.unaligned > 0).expand(2, 3, -1)
    assert grad[outside].abs().max() < 1e-15
    assert (grad[(b.aligned > 0).expand(2, 3, -1)] != 0).any(-1).all()


@CLASSES
def test_each_row_is_seen_through_the_matrix_of_its_group(n_classes):
    b = batches.make_batch(n_classes=n_classes)
    logits, _ = batches.make_outputs(b)
    C_hat = torch.rand(2, 3, 2, n_classes, n_classes, dtype=torch.float64)
    C_hat = C_hat / C_hat.sum(-1, keepdim=True)
    b = with_facts(b, C_hat=C_hat)
    loss = GLC(per_group=True).loss(batches.given(logits), b, None)
    p = logits.softmax(-1)
    for q in range(2):
        for c in range(3):
            pairs = []
            for i in range(b.y_seen.shape[-1]):
                g, seen, true = (int(t[q, 0, i]) for t in (b.group, b.y_seen, b.y_true))
                mixed = sum(p[q, c, i, k] * C_hat[q, c, g, k, seen] for k in range(n_classes))
                known = p[q, c, i, true] if true != UNREVIEWED else mixed
                pairs.append((-known.log().item(), b.weight[q, 0, i].item()))
            assert loss[q, c].item() == pytest.approx(by_hand.weighted_mean(pairs))


def test_the_noisy_network_sees_unreviewed_rows_only():
    b = batches.make_batch()
    logits, _ = batches.make_outputs(b)
    loss = loss_noisy(noisy_net(logits), b, None)
    grad = torch.autograd.grad(loss.sum(), logits)[0]
    assert (grad[(b.aligned > 0).expand(2, 3, -1)] == 0).all()


@pytest.mark.parametrize("counts", [False, True])
def test_noise_by_class_is_recovered_from(counts):
    problem, method = logistic_problem(), GLC(counts=counts)
    assert distance_to_clean(method, problem) < 0.02
    assert abs(bias(method, problem)) < 0.03
    assert bias(Standard(), problem) > 0.1, "what there is to recover from"
