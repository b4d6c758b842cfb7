import numpy as np
import pytest
from scipy.stats import loguniform, randint, uniform

from alignset.engine import draw_configs
from alignset.methods import SLNFilter
from alignset.methods.registry import METHODS

SPACE = {"lr": loguniform(1e-4, 1e-2), "gamma": uniform(0.0, 2.0), "l2": [0.0, 0.1]}


def drawn_by_hand(space, n, seed):
    """The rule in plain NumPy: names in alphabetical order, one uniform number a value."""
    rng, configs = np.random.default_rng(seed), []
    for _ in range(n):
        config = {}
        for name in sorted(space):
            values = space[name]
            if isinstance(values, list):
                config[name] = float(rng.choice(values))
                continue
            low, high = values.support()
            if values.dist.name == "loguniform":
                config[name] = float(np.exp(rng.uniform(np.log(low), np.log(high))))
            else:
                config[name] = float(rng.uniform(low, high))
        configs.append(config)
    return configs


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("name", METHODS)
def test_values_are_those_of_the_logarithmic_and_the_even_scale(name, seed):
    space = METHODS[name].search_space()
    got, expected = draw_configs(space, 20, seed), drawn_by_hand(space, 20, seed)
    for one, other in zip(got, expected, strict=True):
        assert list(one) == list(other)
        np.testing.assert_allclose(list(one.values()), list(other.values()), rtol=1e-12)
        # training reads them in single precision, so its results are the same bits
        assert np.float32(list(one.values())).tolist() == np.float32(list(other.values())).tolist()


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


def test_whole_numbers_tuples_and_arrays_are_drawn_too():
    space = {"a": randint(1, 4), "b": (1, 2), "c": np.array([0.5])}
    for config in draw_configs(space, 20, 0):
        assert config["a"] in (1.0, 2.0, 3.0)
        assert config["b"] in (1.0, 2.0)
        assert config["c"] == 0.5


def test_no_global_random_state_is_touched():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    draw_configs(SPACE, 3, 0)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (loguniform(2.0, 1.0), r"space of lr must hold numbers, got loguniform\(2\.0, 1\.0\); log"),
        (loguniform(-1.0, 1.0), r"space of lr must hold numbers, got loguniform\(-1\.0, 1\.0\)"),
        (uniform(0.0, -1.0), r"got uniform\(0\.0, -1\.0\); .* uniform a start and a width above 0"),
        (uniform(loc=0.0, scale=-1.0), r"got uniform\(loc=0\.0, scale=-1\.0\)"),
        (
            [],
            r"space of lr must be a distribution such as .* at least one value, got \[\]",
        ),
        (0.01, r"space of lr must be a distribution .* got 0\.01"),
        ("log", r"space of lr must be a distribution .* got 'log'"),
        ([0.1, "much"], r"space of lr must hold numbers, got \[0\.1, 'much'\]"),
        ([0.1, float("nan")], r"space of lr must hold numbers, got \[0\.1, nan\]"),
        (uniform(-1.0, 2.0), r"lr must be 0 or more, got uniform\(-1\.0, 2\.0\)"),
        ([0.1, -0.1], r"lr must be 0 or more, got \[0\.1, -0\.1\]"),
    ],
)
def test_a_range_that_is_none_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        draw_configs({"lr": values}, 3, 0)


def test_l2_and_what_a_method_limits_must_be_reachable_values():
    with pytest.raises(ValueError, match="l2 must be 0 or more"):
        draw_configs({"l2": uniform(-0.1, 0.2)}, 1, 0)
    limits = SLNFilter.all_limits()
    with pytest.raises(ValueError, match=r"threshold must lie in \[0, 1\], got uniform\("):
        draw_configs({"threshold": uniform(0.5, 1.0)}, 1, 0, limits=limits)
    assert draw_configs({"threshold": uniform(0.0, 1.0)}, 1, 0, limits=limits)
