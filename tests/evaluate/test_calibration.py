import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from alignset.evaluate import brier, calibration_error
from alignset.evaluate.calibration import equal_parts


def drawn(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p).astype(int), np.column_stack([1 - p, p])


def test_two_classes_count_the_usual_brier_score_twice():
    y, prob = drawn(500)
    assert brier(y, prob) == pytest.approx(2 * brier_score_loss(y, prob[:, 1]))


def test_true_probabilities_are_calibrated_and_sharpened_ones_are_not():
    y, prob = drawn()
    assert calibration_error(y, prob) < 0.02
    logit = np.log(prob[:, 1] / prob[:, 0])
    sure = 1 / (1 + np.exp(-3 * logit))
    assert calibration_error(y, np.column_stack([1 - sure, sure])) > 0.08


def test_a_constant_is_calibrated_if_it_is_the_frequency():
    y = np.array([0, 1] * 500)
    assert calibration_error(y, np.full((1000, 2), 0.5)) == pytest.approx(0.0)
    assert calibration_error(y, np.tile([0.2, 0.8], (1000, 1))) == pytest.approx(0.3)


def test_three_classes_are_looked_at_one_by_one():
    y = np.array([0, 1, 2] * 100)
    assert calibration_error(y, np.eye(3)[y]) == 0.0
    assert calibration_error(y, np.eye(3)[(y + 1) % 3]) == pytest.approx(2 / 3, abs=0.07)


def test_the_order_of_rows_with_the_same_score_says_nothing():
    y, prob = np.repeat([0, 1], 10), np.full((20, 2), 0.5)
    assert calibration_error(y, prob) == pytest.approx(0.0)
    assert calibration_error(np.tile([0, 1], 10), prob) == pytest.approx(0.0)
    rng = np.random.default_rng(0)
    score = rng.integers(0, 4, 57) / 4
    y, prob = rng.integers(0, 2, 57), np.column_stack([1 - score, score])
    order = rng.permutation(57)
    assert calibration_error(y, prob) == pytest.approx(calibration_error(y[order], prob[order]))


def test_parts_have_the_same_size_and_hold_every_row_once():
    rng = np.random.default_rng(1)
    score, size = rng.integers(0, 9, 40) / 9, rng.random(40) * (rng.random(40) < 0.9)
    parts = equal_parts(score, size, 7)
    np.testing.assert_allclose(parts @ size, size.sum() / 7)
    np.testing.assert_allclose(parts.sum(0)[size > 0], 1)
    assert (parts[0] > 0)[score == score[size > 0].min()][0]
