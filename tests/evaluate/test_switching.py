"""Classes that changed places are found, and nothing else is."""

import numpy as np
import pytest

from alignset.evaluate.switching import switched_groups


def predictions(n=60, classes=2, groups=2, signal=2.0, seed=0, shares=None):
    """Probabilities that rank the true class high, with true classes and groups."""
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, size=n, p=shares)
    logits = rng.normal(size=(n, classes)) + signal * np.eye(classes)[y]
    prob = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return prob, y, rng.integers(groups, size=n)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_a_switched_group_is_named_with_its_order(classes, seed):
    prob, y, group = predictions(200, classes, seed=seed)
    order = [1, 0, *range(2, classes)]
    prob[group == 1] = prob[group == 1][:, order]
    (found,) = switched_groups(prob, y, group)
    assert (found.group, found.order, found.moved) == (1, tuple(order), [0, 1])
    assert found.gain > 2 * found.error > 0
    assert found.n_rows == ((group == 1) & (y < 2)).sum()


def test_classes_in_a_ring_are_told_from_a_swap():
    prob, y, group = predictions(200, 3, groups=1)
    (found,) = switched_groups(prob[:, [2, 0, 1]], y, group)
    assert found.order == (1, 2, 0)


@pytest.mark.parametrize("classes", [2, 3])
def test_an_ordinary_model_has_no_switch(classes):
    for seed in range(30):
        assert not switched_groups(*predictions(80, classes, 3, signal=1.0, seed=seed))


@pytest.mark.parametrize(("classes", "groups"), [(2, 1), (2, 5), (4, 2)])
def test_predictions_at_random_rarely_look_switched(classes, groups):
    found = [
        bool(switched_groups(*predictions(40 * groups, classes, groups, signal=0.0, seed=s)))
        for s in range(400)
    ]
    assert np.mean(found) < 0.05


def test_a_class_expected_too_often_is_no_switch():
    # 95 % are of class 0 and the model says 1, yet it ranks the rows of class 1 higher
    prob, y, group = predictions(300, groups=1, shares=[0.95, 0.05])
    odds = 20 * prob[:, 1] / prob[:, 0]
    biased = np.column_stack([1 / (1 + odds), odds / (1 + odds)])
    assert (biased[np.arange(300), 1 - y] > 0.5).mean() > 0.7
    assert not switched_groups(biased, y, group)


@pytest.mark.parametrize(
    ("prob", "y"),
    [
        (np.eye(2)[np.ones(9, int)], np.zeros(9, int)),  # too few rows
        (np.eye(2)[np.ones(20, int)], np.zeros(20, int)),  # one class only: cannot tell
        (np.full((20, 2), 0.5), np.arange(20) % 2),  # the same for every row
        (np.tile([0.3, 0.7], (20, 1)), np.arange(20) % 2),
        (np.zeros((0, 2)), np.zeros(0, int)),
    ],
)
def test_where_the_rows_cannot_tell_nothing_is_said(prob, y):
    assert switched_groups(prob, y, np.zeros(len(y), int)) == []


def test_hard_predictions_that_are_all_wrong_are_a_switch():
    y = np.arange(12) % 2
    (found,) = switched_groups(np.eye(2)[1 - y], y, np.zeros(12, int))
    assert (found.gain, found.error) == (1.0, 0.0)


@pytest.mark.parametrize(("classes", "groups", "rows"), [(8, 1, 60), (8, 4, 40), (12, 2, 60)])
@pytest.mark.parametrize("shares", ["even", "uneven"])
def test_many_classes_at_random_rarely_look_switched(classes, groups, rows, shares):
    often = None if shares == "even" else [0.6] + [0.4 / (classes - 1)] * (classes - 1)
    drawn = [
        predictions(rows * groups, classes, groups, signal=0.0, seed=seed, shares=often)
        for seed in range(300)
    ]
    assert np.mean([bool(switched_groups(*each)) for each in drawn]) < 0.05


def test_two_swaps_and_a_ring_among_eight_classes_are_all_named():
    prob, y, group = predictions(600, 8, groups=1, signal=3.0)
    order = [1, 0, 3, 2, 5, 6, 4, 7]
    (found,) = switched_groups(prob[:, np.argsort(order)], y, group)
    assert found.order == tuple(order)
    assert found.moved == list(range(7))
