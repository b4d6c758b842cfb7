from dataclasses import replace

import batches
import pytest
import torch
from real_nets import Nets, make_net, one_of, row_gradients
from recovery import CONFIGS, TRAINER, logistic_problem, whole_batch

from alignset.labels import UNREVIEWED
from alignset.methods import LearningToReweight
from alignset.stack import cross_entropy

CLASSES = pytest.mark.parametrize("n_classes", [2, 5])
BALANCE = pytest.mark.parametrize(
    ("balanced", "per_group"), [(False, False), (True, False), (False, True), (True, True)]
)


def setting(n_classes):
    b = batches.make_batch(n_classes=n_classes)
    return b, Nets(theta=make_net(b))


def review_weight(b, q, i, balanced, per_group):
    """Weight of reviewed row i: its share of its cell."""

    def cell(j):
        return (int(b.y_true[q, 0, j]) if balanced else 0, int(b.group[q, 0, j]) * per_group)

    reviewed = b.aligned[q, 0].nonzero().flatten().tolist()
    if i not in reviewed:
        return 0.0
    return float(b.weight[q, 0, i] / sum(b.weight[q, 0, j] for j in reviewed if cell(j) == cell(i)))


@CLASSES
@BALANCE
def test_every_cell_of_a_counts_the_same(n_classes, balanced, per_group):
    b = batches.make_batch(n_classes=n_classes)
    weight = LearningToReweight(balanced=balanced, per_group=per_group).review_weight(b)
    for q in range(2):
        expected = [review_weight(b, q, i, balanced, per_group) for i in range(14)]
        assert weight[q, 0].tolist() == pytest.approx(expected)


@CLASSES
@BALANCE
def test_weights_are_inner_products_of_row_gradients_with_the_gradient_on_a(
    n_classes, balanced, per_group
):
    method = LearningToReweight(balanced=balanced, per_group=per_group)
    b, nets = setting(n_classes)
    found = method.helpfulness(nets, b, nets.theta(b.x))
    for q in range(2):
        share = torch.tensor([review_weight(b, q, i, balanced, per_group) for i in range(14)])
        for c in range(3):
            model = one_of(nets.theta, q, c)
            known = row_gradients(model, b.x[q, 0], b.y_known[q, 0])
            seen = row_gradients(model, b.x[q, 0], b.y_seen[q, 0])
            on_a = sum(s * g for s, g in zip(share, known, strict=True)) / share.sum()
            expected = torch.stack([torch.relu(g @ on_a) for g in seen])
            torch.testing.assert_close(found[q, c], expected)
    assert (found == 0).any()
    assert (found > 0).any()


@CLASSES
def test_the_loss_is_cross_entropy_with_these_weights(n_classes):
    b, nets = setting(n_classes)
    method = LearningToReweight()
    loss = method.loss(nets, b, None)
    w = method.helpfulness(nets, b, nets.theta(b.x)) * b.unaligned
    w = w / w.sum(-1, keepdim=True) * b.unaligned.sum(-1, keepdim=True)
    ce = cross_entropy(nets.theta(b.x), b.y_known)
    torch.testing.assert_close(loss, ((w + b.aligned) * ce).sum(-1) / b.weight.sum(-1))


def test_weights_are_constants_to_the_gradient():
    b, nets = setting(2)
    leaves = list(nets.theta.params.values())
    method = LearningToReweight()
    w = method.helpfulness(nets, b, nets.theta(b.x)) * b.unaligned
    w = w / w.sum(-1, keepdim=True) * b.unaligned.sum(-1, keepdim=True) + b.aligned
    for leaf in leaves:
        leaf.requires_grad_(True)
    got = torch.autograd.grad(method.loss(nets, b, None).sum(), leaves)
    ce = cross_entropy(nets.theta(b.x), b.y_known)
    expected = torch.autograd.grad((w * ce).sum(-1).div(b.weight.sum(-1)).sum(), leaves)
    torch.testing.assert_close(got, expected)


def test_where_no_row_helps_only_a_is_learnt_from():
    b, nets = setting(2)
    nobody = replace(b, y_true=torch.full_like(b.y_true, UNREVIEWED))
    assert (LearningToReweight().loss(nets, nobody, None) == 0).all()


def test_wrong_rows_weigh_less_than_right_ones():
    problem = logistic_problem()
    nets = TRAINER.fit(LearningToReweight(), [problem], CONFIGS).nets(0)
    b, wrong, right = whole_batch(problem)
    w = LearningToReweight().helpfulness(nets, b, nets.theta(b.x))[0, 0]
    assert w[wrong].mean() < 0.8 * w[right].mean()
