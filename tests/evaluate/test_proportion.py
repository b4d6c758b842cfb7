import re

import numpy as np
import pytest
from scipy.stats import binom, binomtest, hypergeom

from alignset.evaluate.proportion import (
    clopper_pearson,
    effective_size,
    expected_half_width,
    kish_size,
    to_whole_rows,
    wilson,
)

RULES = {"wilson": wilson, "exact": clopper_pearson}
by_rule = pytest.mark.parametrize("name", list(RULES))


@by_rule
@pytest.mark.parametrize("n", [1, 7, 300])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_are_those_of_scipy(name, n, level):
    wrong = np.unique([0, 1, n // 3, n])
    low, high = RULES[name](wrong / n, n, level=level)
    for i, k in enumerate(wrong.tolist()):
        oracle = binomtest(k, n).proportion_ci(confidence_level=level, method=name)
        assert (low[i], high[i]) == pytest.approx((oracle.low, oracle.high), abs=1e-12)


@by_rule
def test_no_draw_says_nothing_and_all_draws_say_everything(name):
    low, high = RULES[name]([0.0, 0.3, 1.0, 0.3], [0.0, 0.0, np.inf, np.inf])
    assert low.tolist() == [0, 0, 1, 0.3]
    assert high.tolist() == [1, 1, 1, 0.3]


@by_rule
def test_an_interval_holds_its_rate_and_shrinks_with_size(name):
    rate = np.linspace(0, 1, 11)
    before = np.full(11, np.inf)
    for size in (0.5, 3.7, 20.2, 1e3, 1e6):
        low, high = RULES[name](rate, size)
        assert ((low <= rate) & (rate <= high) & (low >= 0) & (high <= 1)).all()
        assert (high - low < before).all()
        before = high - low


@pytest.mark.parametrize(
    ("rate", "size", "level", "said"),
    [
        (1.2, 10, 0.95, "rate must lie in [0, 1], got 1.2."),
        (0.2, -1, 0.95, "size must not be negative, got -1.0."),
        (0.2, 10, 95, "level must lie in (0, 1), got 95; write 0.95 for 95 %."),
    ],
)
@by_rule
def test_impossible_numbers_are_refused(name, rate, size, level, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        RULES[name](rate, size, level=level)


@by_rule
@pytest.mark.parametrize(
    ("n", "rate", "exact"), [(20, 0.1, 0.95), (60, 0.2, 0.95), (200, 0.4, 0.95)]
)
def test_coverage_of_large_populations(name, n, rate, exact):
    k = np.arange(n + 1)
    low, high = RULES[name](k / n, n)
    covered = binom.pmf(k, n, rate)[(low <= rate) & (rate <= high)].sum()
    assert covered >= (exact if name == "exact" else 0.93)


def finite_coverage(rule, population, n):
    """Probability that the interval holds the rate, for every possible number of wrong rows."""
    covered = []
    for wrong in range(population + 1):
        seen = np.arange(max(0, n - (population - wrong)), min(n, wrong) + 1)
        chance = hypergeom.pmf(seen, population, wrong, n)
        total = 0.0
        for x, p in zip(seen.tolist(), chance, strict=True):
            low, high = rule(x / n, float(effective_size(n, population)))
            low, high = to_whole_rows(float(low), float(high), wrong=x, n=n, population=population)
            total += p * (low <= wrong / population + 1e-12 and wrong / population <= high + 1e-12)
        covered.append(total)
    return np.array(covered)


@pytest.mark.parametrize(("population", "n"), [(12, 6), (40, 10), (40, 30), (100, 90), (60, 60)])
def test_coverage_of_small_populations_by_counting_all_samples(population, n):
    exact = finite_coverage(clopper_pearson, population, n)
    score = finite_coverage(wilson, population, n)
    assert exact.min() >= 0.94
    assert score.min() >= 0.88
    assert score.mean() >= 0.95


def test_whole_rows_are_what_saves_nearly_complete_samples():
    low, high = clopper_pearson(0.0, float(effective_size(90, 100)))
    assert high < 0.01  # less than one row, though each of ten unseen rows may be wrong
    assert to_whole_rows(float(low), float(high), wrong=0, n=90, population=100) == (0.0, 0.01)
    assert to_whole_rows(0.0, 1.0, wrong=3, n=8, population=10) == (0.3, 0.5)
    assert to_whole_rows(0.1, 0.2, wrong=7, n=10, population=10) == (0.7, 0.7)


@by_rule
def test_the_expected_half_width_is_an_average_over_samples(name):
    n, rate = 40, 0.15
    by_hand = 0.0
    for k in range(n + 1):
        low, high = RULES[name](k / n, n)
        by_hand += binom.pmf(k, n, rate) * float(high - low) / 2
    assert expected_half_width(rate, n, rule=RULES[name]) == pytest.approx(by_hand, abs=1e-12)


def test_the_expected_half_width_has_ends():
    assert expected_half_width(0.2, 0.0) == 0.5
    assert expected_half_width(0.2, float("inf")) == 0.0
    below, above = expected_half_width(0.2, 19_999), expected_half_width(0.2, 20_001)
    assert below == pytest.approx(above, rel=1e-3)


def test_kishs_size_is_of_rows_that_count_alike():
    assert kish_size([2.0] * 7) == pytest.approx(7)
    assert kish_size([1.0, 3.0, 3.0]) == pytest.approx(kish_size([1.0, 3.0], copies=[1, 2]))
    assert kish_size([1.0, 9.0]) < 2
