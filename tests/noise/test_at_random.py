import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alignset.noise import flip_by_class, flip_by_group, flip_uniform

MATRIX = np.array([[0.7, 0.1, 0.2], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]])


def test_rates_and_targets_are_uniform():
    y = np.random.default_rng(0).integers(0, 4, 40_000)
    noise = flip_uniform(y, rate=0.3, random_state=0)
    assert noise.rate == pytest.approx(0.3, abs=0.01)
    for k in range(4):
        rows = y == k
        seen = np.bincount(noise.y_seen[rows], minlength=4) / rows.sum()
        np.testing.assert_allclose(seen, np.where(np.arange(4) == k, 0.7, 0.1), atol=0.015)


@given(st.lists(st.integers(0, 4), min_size=1), st.floats(0, 0.99), st.integers(0, 99))
def test_flipped_rows_and_only_they_change_class(y, rate, seed):
    noise = flip_uniform(y, rate=rate, n_classes=5, random_state=seed)
    np.testing.assert_array_equal(noise.flipped, noise.y_seen != y)
    assert ((noise.y_seen >= 0) & (noise.y_seen < 5)).all()
    assert (noise.probability == rate).all()


def test_a_rate_of_zero_flips_nothing():
    assert not flip_uniform([0, 1, 1], rate=0.0, random_state=0).flipped.any()


def test_a_higher_rate_flips_the_same_rows_and_more():
    y = np.arange(100) % 3
    long = flip_uniform(y, rate=0.5, random_state=np.random.default_rng(0))
    low = flip_uniform(y, rate=0.2, random_state=np.random.default_rng(0))
    assert (low.flipped <= long.flipped).all()


def test_same_seed_same_uniform_noise_and_the_input_stays():
    y = np.arange(100) % 3
    one, same = (flip_uniform(y, rate=0.5, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(one.y_seen, same.y_seen)
    one.y_seen[:] = 7
    np.testing.assert_array_equal(y, np.arange(100) % 3)


def test_a_rate_outside_its_range_is_an_error():
    message = "noise rate must lie in [0, 1), got 1.5; write 0.015 for 1.5 %."
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        flip_uniform([0, 1], rate=1.5)


def test_each_group_has_its_own_rate():
    group = np.repeat([0, 1, 2], 20_000)
    y = np.tile([0, 1, 2, 3], 15_000)
    noise = flip_by_group(y, group, rate=[0.1, 0.2, 0.6], random_state=0)
    for g, rate in enumerate([0.1, 0.2, 0.6]):
        assert noise.flipped[group == g].mean() == pytest.approx(rate, abs=0.015)
        assert (noise.probability[group == g] == rate).all()
    np.testing.assert_array_equal(noise.flipped, noise.y_seen != y)


def test_one_rate_for_all_groups_is_uniform_noise():
    y, group = np.arange(300) % 3, np.arange(300) % 2
    np.testing.assert_array_equal(
        flip_by_group(y, group, rate=0.4, random_state=5).y_seen,
        flip_uniform(y, rate=0.4, random_state=5).y_seen,
    )


def test_noise_by_group_leaves_its_input():
    y, group = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    flip_by_group(y, group, rate=0.9, random_state=0).y_seen[:] = 5
    assert y.tolist() == [0, 1, 0, 1]
    assert group.tolist() == [0, 0, 1, 1]


def test_a_rate_outside_its_range_names_the_group():
    message = "noise rate must lie in [0, 1), got 40.0 for group 1; write 0.4 for 40 %."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        flip_by_group([0, 1], [0, 1], rate=[0.2, 40.0])


def test_observed_classes_follow_the_matrix():
    y = np.repeat([0, 1, 2], 20_000)
    noise = flip_by_class(y, MATRIX, random_state=0)
    for k in range(3):
        seen = np.bincount(noise.y_seen[y == k], minlength=3) / 20_000
        np.testing.assert_allclose(seen, MATRIX[k], atol=0.015)
    assert not noise.flipped[y == 1].any()
    np.testing.assert_allclose(noise.probability[[0, 20_000, 40_000]], [0.3, 0.0, 0.5])
    np.testing.assert_array_equal(noise.flipped, noise.y_seen != y)


@given(st.integers(2, 5), st.integers(0, 200))
def test_observed_codes_are_classes_whatever_the_rounding(n_classes, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(n_classes), n_classes)
    noise = flip_by_class(rng.integers(0, n_classes, 50), matrix, random_state=seed)
    assert ((noise.y_seen >= 0) & (noise.y_seen < n_classes)).all()


def test_same_seed_same_noise_by_class_and_the_input_stays():
    y, matrix = np.arange(90) % 3, MATRIX.copy()
    one, same = (flip_by_class(y, matrix, random_state=2) for _ in range(2))
    np.testing.assert_array_equal(one.y_seen, same.y_seen)
    one.y_seen[:] = 8
    np.testing.assert_array_equal(y, np.arange(90) % 3)
    np.testing.assert_array_equal(matrix, MATRIX)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            [[1.0, 0.0]],
            "matrix must be square with at least 2 classes, got shape (1, 2); "
            "pass one row per true class and one column per observed class.",
        ),
        (
            [[1.0, 0.0], [0.0, 1.0]],
            "y holds class 2 but matrix has 2 classes; pass at least 3 rows and columns.",
        ),
        (
            [[1.0, 0.0, 0.0], [0.3, 0.5, 0.3], [0.0, 0.0, 1.0]],
            "row 1 of matrix must hold probabilities that sum to 1, got [0.3, 0.5, 0.3] "
            "with sum 1.1.",
        ),
        (
            [[1.0, 0.0, 0.0], [-0.5, 1.0, 0.5], [0.0, 0.0, 1.0]],
            "row 1 of matrix must hold probabilities that sum to 1, got [-0.5, 1.0, 0.5] "
            "with sum 1.",
        ),
        (
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]],
            "noise rate must lie in [0, 1), got 1.0 for class 2; write 0.1 for 10 %.",
        ),
    ],
)
def test_a_matrix_that_is_none_is_an_error(matrix, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        flip_by_class([0, 1, 2], matrix)
