import math

import pytest
from scipy.stats import loguniform, uniform

import alignset.methods
from alignset.methods.registry import METHODS
from alignset.methods.space import accepts, check_space, from_plain, refusal, to_plain


@pytest.mark.parametrize(
    ("limit", "inside", "outside"),
    [
        ("[0, 1)", (0, 0.5), (-0.1, 1, math.nan)),
        ("(0, 1]", (0.5, 1), (0, 1.1, math.inf)),
        ("(0, inf); says why", (1e-300, 1e300), (0, math.inf, math.nan)),
        ("(0, inf]", (1.0, math.inf), (0, -math.inf)),
    ],
)
def test_limits_are_intervals(limit, inside, outside):
    assert all(accepts(limit, value) for value in inside)
    assert not any(accepts(limit, value) for value in outside)


def test_an_error_says_what_is_accepted_and_what_to_do():
    assert str(refusal("a", "[0, inf)", -1)) == "a must be 0 or more, got -1."
    assert str(refusal("a", "(0, inf]", 0)) == "a must be above 0, got 0."
    assert str(refusal("a", "[0, 1); try 0", 1)) == "a must lie in [0, 1), got 1; try 0."


@pytest.mark.parametrize(
    "plain", [{"log_uniform": [0.1, 10.0]}, {"uniform": [-1.0, 1.0]}, {"choice": [0.5, 1.0]}]
)
def test_ranges_are_plain_data_and_back(plain):
    assert to_plain(from_plain(plain)) == plain


def test_a_range_of_one_value_is_that_value():
    assert from_plain({"log_uniform": [0.1, 0.1]}) == [0.1]
    assert from_plain({"uniform": [0, 0]}) == [0.0]


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"log_uniform": [0.0, 1.0]}, r"needs 0 < low <= high .*, got 0\.0 and 1\.0"),
        ({"log_uniform": [2.0, 1.0]}, "needs 0 < low <= high"),
        ({"uniform": [2.0, 1.0]}, r"needs low <= high, got 2\.0 and 1\.0"),
        ({"uniform": [2.0]}, r"a range must be \[low, high\]"),
        ({"choice": []}, r"a range must be \[low, high\]"),
        ({"normal": [0, 1]}, r"a range must be \[low, high\], .* got \{'normal': \[0, 1\]\}"),
        ({}, r"a range must be \[low, high\]"),
    ],
)
def test_what_is_no_range_is_refused(plain, message):
    with pytest.raises(ValueError, match=message):
        from_plain(plain)


@pytest.mark.parametrize("name", METHODS)
def test_the_own_ranges_of_a_method_stay_inside_its_limits(name):
    method = METHODS[name]
    check_space(method.search_space(), method.all_limits())
    for limited in method.all_limits():
        with pytest.raises(ValueError, match=f"^{limited} must .*, got -1"):
            method(**{limited: -1})


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("LogUniform", (1e-4, 1e-2), loguniform(1e-4, 1e-2)),
        ("Uniform", (0.4, 1.0), uniform(0.4, 0.6)),
        ("Choice", ((0.1, 0.5),), [0.1, 0.5]),
    ],
)
def test_the_old_ranges_answer_for_one_release(name, arguments, expected):
    with pytest.warns(DeprecationWarning, match=f"alignset.methods.{name} is now .*scipy|a list"):
        made = getattr(alignset.methods, name)(*arguments)
    assert to_plain(made) == to_plain(expected)
    with pytest.raises(AttributeError, match="no attribute 'Lognormal'"):
        alignset.methods.Lognormal  # noqa: B018
