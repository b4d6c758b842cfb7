import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alignset.noise import flip_by_class

MATRIX = np.array([[0.7, 0.1, 0.2], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]])


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


def test_same_seed_same_labels_and_the_input_stays():
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
            "row = true class, column = observed class.",
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
            "noise rate must lie in [0, 1), got 1.0 for class 2; write 0.4 for 40 %.",
        ),
    ],
)
def test_a_matrix_that_is_none_is_an_error(matrix, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        flip_by_class([0, 1, 2], matrix)
