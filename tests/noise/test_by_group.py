import re

import numpy as np
import pytest

from alignset.noise import flip_by_group, flip_uniform


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


def test_the_input_stays():
    y, group = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    flip_by_group(y, group, rate=0.9, random_state=0).y_seen[:] = 5
    assert y.tolist() == [0, 1, 0, 1]
    assert group.tolist() == [0, 0, 1, 1]


def test_a_rate_outside_its_range_names_the_group():
    message = "noise rate must lie in [0, 1), got 40.0 for group 1; write 0.4 for 40 %."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        flip_by_group([0, 1], [0, 1], rate=[0.2, 40.0])
