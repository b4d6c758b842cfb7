import batches
import pytest
import torch
from problems import make_problem, without_review

from alignset.labels import UNREVIEWED
from alignset.methods import Alignment, Method, Standard, StandardPlus
from alignset.methods.base import Hyper, Nets


@pytest.fixture(params=[(2, 1), (2, 2), (5, 4)], ids=lambda kg: f"K{kg[0]}-G{kg[1]}")
def batch(request):
    n_classes, n_groups = request.param
    return batches.make_batch(n_classes=n_classes, n_groups=n_groups)


def cells(b):
    """(problem row, row) of every row, padding included."""
    return [(q, i) for q in range(b.y_seen.shape[0]) for i in range(b.y_seen.shape[-1])]


def test_every_row_that_counts_is_aligned_or_unaligned(batch):
    for q, i in cells(batch):
        weight, reviewed = batch.weight[q, 0, i], batch.y_true[q, 0, i] != UNREVIEWED
        assert batch.aligned[q, 0, i] == (weight if reviewed else 0)
        assert batch.unaligned[q, 0, i] == (0 if reviewed else weight)
    assert (batch.aligned[..., -2:] == 0).all()
    assert (batch.unaligned[..., -2:] == 0).all()


def test_the_known_label_is_the_true_one_where_reviewed(batch):
    for q, i in cells(batch):
        true, seen = batch.y_true[q, 0, i], batch.y_seen[q, 0, i]
        assert batch.y_known[q, 0, i] == (seen if true == UNREVIEWED else true)
        assert batch.correct[q, 0, i] == float(seen == true)


def test_one_hot_labels_and_membership_are_loops(batch):
    for q, i in cells(batch):
        for k in range(batch.n_classes):
            assert batch.seen_onehot[q, 0, i, k] == float(batch.y_seen[q, 0, i] == k)
        for g in range(batch.n_groups):
            expected = batch.weight[q, 0, i] if batch.group[q, 0, i] == g else 0
            assert batch.membership[q, 0, i, g] == expected


def test_group_means_leave_padding_and_other_groups_out(batch):
    values = torch.randn(2, 3, batch.y_seen.shape[-1], dtype=torch.float64)
    means = batch.group_means(values)
    for q in range(2):
        for g in range(batch.n_groups):
            mine = (batch.group[q, 0] == g) & (batch.weight[q, 0] > 0)
            weight = batch.weight[q, 0, mine]
            expected = (values[q, :, mine] * weight).sum(-1) / weight.sum()
            torch.testing.assert_close(means[q, :, g], expected)


def test_a_group_without_rows_has_mean_zero():
    b = batches.make_batch(n_groups=2)
    nobody = batches.make_batch(n_groups=3)
    b = type(b)(**{**vars_of(nobody), "group": b.group})
    assert (b.group_means(torch.ones(2, 3, 14, dtype=torch.float64))[..., 2] == 0).all()


def vars_of(batch):
    return {name: getattr(batch, name) for name in batch.__dataclass_fields__}


def test_hyperparameters_are_the_float_fields():
    assert Standard.hyperparameters() == ("lr", "l2")
    assert Alignment.hyperparameters() == ("lr", "l2", "alpha_1", "alpha_2", "gamma")
    assert StandardPlus(gamma=3.0, lr=0.1).hyper_defaults() == {"lr": 0.1, "l2": 1e-3, "gamma": 3.0}


def test_an_unknown_hyperparameter_or_network_is_named():
    with pytest.raises(AttributeError, match="no hyperparameter named 'gama'"):
        Hyper(gamma=torch.zeros(1)).gama  # noqa: B018
    with pytest.raises(AttributeError, match="no network named 'psi'"):
        Nets().psi  # noqa: B018


def test_a_method_is_an_interface():
    with pytest.raises(TypeError, match="abstract"):
        Method()


def test_predictions_are_the_softmax_and_confidence_is_the_belief_in_the_observed_label():
    b = batches.make_batch(n_classes=5)
    logits, _ = batches.make_outputs(b)
    nets = batches.given(logits)
    prob = Standard().predict(nets, b.x)
    torch.testing.assert_close(prob, torch.softmax(logits, -1))
    confidence = Standard().confidence(nets, b)
    for q, i in cells(b):
        torch.testing.assert_close(confidence[q, :, i], prob[q, :, i, b.y_seen[q, 0, i]])


def test_without_review_only_a_method_that_needs_none_is_accepted():
    problem = without_review(make_problem())
    Standard().check(problem)
    with pytest.raises(ValueError, match="StandardPlus needs reviewed rows in the training part"):
        StandardPlus().check(problem)
