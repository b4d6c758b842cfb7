"""One formula, two kinds of arrays: NumPy's and torch's answers are the same."""

import numpy as np
import pytest
import torch

from alignset.evaluate import arrays, ranked
from alignset.evaluate.ranked import METRICS, one_vs_rest, rank
from alignset.evaluate.validation import HarmonicMean, LogLikelihood

SHAPE = (4, 60)


def rows(n_classes=2, n_groups=2, levels=None, seed=0):
    """Probabilities, labels, groups and weights of four models, as NumPy arrays."""
    rng = np.random.default_rng(seed)
    prob = rng.dirichlet(np.ones(n_classes), SHAPE)
    prob = prob if levels is None else (prob * levels).round() / levels
    codes = rng.integers(0, n_classes, SHAPE), rng.integers(0, n_groups, SHAPE)
    return prob, *codes, rng.integers(0, 3, SHAPE).astype(float)


def both(function, *given):
    """Return what a function makes of NumPy arrays, and of the same as tensors."""
    mine = function(*given)
    theirs = function(*(torch.tensor(np.asarray(each)) for each in given))
    return np.asarray(mine), theirs.numpy()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("n_classes", "n_groups", "levels"), [(2, 2, None), (2, 3, 4), (3, 2, 4), (3, 1, None)]
)
@pytest.mark.parametrize("weighted", [True, False])
def test_a_metric_is_the_same_for_arrays_and_tensors(metric, n_classes, n_groups, levels, weighted):
    def measure(*given):
        return METRICS[metric](rank(*one_vs_rest(*given), n_groups))

    *given, weight = rows(n_classes, n_groups, levels)
    mine, theirs = both(measure, *given, weight if weighted else weight > 0)
    assert mine.shape == SHAPE[:1]
    assert np.isfinite(mine).all()
    np.testing.assert_allclose(mine, theirs, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("score", [HarmonicMean(), HarmonicMean(ranked.odds_over_fpr)])
def test_a_stopping_score_is_the_same_for_arrays_and_tensors(score):
    prob, y, group, weight = rows(levels=5)
    group[1] = 0  # a group is empty
    y[2] = 1  # a class is empty
    for each in (score, LogLikelihood()):
        mine, theirs = both(lambda *given, each=each: each(*given, 2), prob, y, group, weight)
        assert np.isfinite(mine).all()
        np.testing.assert_allclose(mine, theirs, rtol=1e-14, atol=1e-14)


def test_scores_fall_with_nan_first_and_ties_in_order():
    score = np.array([[0.5, np.nan, 0.5, np.inf, 0.1], [3.0, 3.0, -np.inf, 2.0, 3.0]])
    (mine, order), (theirs, their_order) = (
        arrays.falling(score),
        arrays.falling(torch.tensor(score)),
    )
    np.testing.assert_array_equal(mine, theirs.numpy())
    np.testing.assert_array_equal(order, their_order.numpy())
    assert order.tolist() == [[1, 3, 0, 2, 4], [0, 1, 4, 3, 2]]


@pytest.mark.parametrize("metric", [m for m in METRICS if m not in ("aueoc", "hm")])
def test_a_score_that_is_no_number_makes_no_number_of_a_metric(metric):
    prob, y, group, weight = rows()
    prob[0, 5] = np.nan
    weight[0, 5] = 1

    def measure(*given):
        return METRICS[metric](rank(*one_vs_rest(*given), 2))

    mine, theirs = both(measure, prob, y, group, weight)
    assert np.isnan(mine).tolist() == np.isnan(theirs).tolist() == [True, False, False, False]


def test_values_are_put_and_taken_along_the_last_axis():
    values, index = np.zeros((2, 3)), np.array([[2, 0], [1, 1]])
    new = np.array([[5.0, 6.0], [7.0, 7.0]])
    mine, theirs = both(arrays.put, values, index, new)
    assert mine.tolist() == theirs.tolist() == [[6.0, 0.0, 5.0], [0.0, 7.0, 0.0]]
    assert not values.any()
    mine, theirs = both(arrays.take, mine, index)
    assert mine.tolist() == theirs.tolist() == new.tolist()


def test_an_edge_is_added_before_or_after_even_of_nothing():
    for n in (0, 2):
        for last in (False, True):
            mine, theirs = both(
                lambda v, last=last: arrays.with_edge(v, 7, last=last), np.ones((3, n), int)
            )
            assert mine.shape == theirs.shape == (3, n + 1)
            assert mine[:, -1 if last else 0].tolist() == [7, 7, 7]
