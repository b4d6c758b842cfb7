import numpy as np
import pytest

from alignset.engine import draw_configs
from alignset.methods.space import Choice, LogUniform, Uniform

SPACE = {"lr": LogUniform(1e-4, 1e-2), "gamma": Uniform(0.0, 2.0), "l2": Choice((0.0, 0.1))}


def test_the_first_configs_of_a_longer_draw_are_the_shorter_draw():
    assert draw_configs(SPACE, 7, 3)[:4] == draw_configs(SPACE, 4, 3)
    assert draw_configs(SPACE, 4, 3) != draw_configs(SPACE, 4, 4)


def test_the_order_of_names_does_not_matter():
    backwards = dict(reversed(SPACE.items()))
    assert draw_configs(backwards, 5, 0) == draw_configs(SPACE, 5, 0)


def test_values_lie_in_their_ranges_and_fill_them():
    configs = draw_configs(SPACE, 400, 0)
    lr = np.log10([c["lr"] for c in configs])
    assert -4 <= lr.min() < -3.9
    assert -2.1 < lr.max() <= -2
    assert np.mean(lr < -3) == pytest.approx(0.5, abs=0.1)
    assert np.mean([c["gamma"] for c in configs]) == pytest.approx(1.0, abs=0.1)
    assert {c["l2"] for c in configs} == {0.0, 0.1}


def test_no_global_random_state_is_touched():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    draw_configs(SPACE, 3, 0)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0)])
def test_a_log_uniform_range_must_be_positive(low, high):
    with pytest.raises(ValueError, match="needs 0 < low <= high, got"):
        LogUniform(low, high)
