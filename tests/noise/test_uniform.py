import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alignset.noise import flip_uniform


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


def test_same_seed_same_labels_and_the_input_stays():
    y = np.arange(100) % 3
    one, same = (flip_uniform(y, rate=0.5, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(one.y_seen, same.y_seen)
    one.y_seen[:] = 7
    np.testing.assert_array_equal(y, np.arange(100) % 3)


def test_a_rate_outside_its_range_is_an_error():
    message = "noise rate must lie in [0, 1), got 1.5; write 0.015 for 1.5 %."
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        flip_uniform([0, 1], rate=1.5)
