import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alignset.review.design import (
    allocate,
    draw_stratified,
    draw_systematic,
    even,
    inclusion_probabilities,
    neyman,
    proportional,
    propose,
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=6).filter(any),
    st.floats(0, 1),
    st.integers(0, 30),
)
def test_an_allocation_keeps_its_bounds_and_its_sum(sizes, share, floor):
    filled = sum(size > 0 for size in sizes)
    total = round(filled + share * (sum(sizes) - filled))
    counts = allocate(sizes, sizes, total, floor=floor)
    assert counts.sum() == total
    assert (counts <= sizes).all()
    assert (counts[np.array(sizes) > 0] >= 1).all()
    if sum(min(size, floor) for size in sizes) <= total:
        assert (counts >= np.minimum(sizes, floor)).all()


def test_proportional_shares_are_exact_where_they_are_whole():
    assert allocate([600, 300, 100], [600, 300, 100], 50).tolist() == [30, 15, 5]


def test_a_full_cell_passes_its_draws_on():
    assert allocate([5, 100, 100], [1, 1, 1], 45).tolist() == [5, 20, 20]


def test_a_floor_that_costs_too_much_is_lowered():
    assert allocate([50, 50, 2], [50, 50, 2], 12, floor=30).tolist() == [5, 5, 2]


def test_neyman_has_the_smallest_variance_of_all_allocations():
    sizes, rates, total = np.array([120, 60, 20]), np.array([0.05, 0.4, 0.2]), 30
    best = allocate(sizes, neyman(sizes, rates), total)

    def variance(counts):
        return (sizes**2 * rates * (1 - rates) * (1 / np.array(counts) - 1 / sizes)).sum()

    others = (
        (a, b, total - a - b)
        for a, b in itertools.product(range(1, 29), repeat=2)
        if 1 <= total - a - b <= 20
    )
    assert variance(best) <= min(map(variance, others)) * 1.01
    assert variance(best) < variance(allocate(sizes, proportional(sizes, rates), total))


def test_even_gives_every_group_the_same():
    sizes = np.array([[900, 100], [30, 70]])
    counts = allocate(sizes, even(sizes, sizes), 100)
    assert counts.sum(1).tolist() == [50, 50]
    assert counts.tolist() == [[45, 5], [15, 35]]


@pytest.mark.parametrize(
    ("sizes", "total", "said"),
    [
        ([3, 4], 8, "cannot draw 8 of 7 rows; ask for fewer."),
        (
            [3, 4, 5],
            2,
            "cannot draw 2 rows from 3 group x label cells; draw at least 3, one from each, or use "
            "fewer groups.",
        ),
    ],
)
def test_an_impossible_total_is_refused(sizes, total, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        allocate(sizes, sizes, total)


def test_stratified_draws_are_uniform_within_strata_and_shuffled_over_them():
    stratum = np.array([0] * 4 + [1] * 6)
    rng = np.random.default_rng(0)
    drawn = np.stack([draw_stratified(stratum, np.array([1, 3]), rng) for _ in range(4000)])
    share = np.bincount(drawn.reshape(-1), minlength=10) / 4000
    assert share == pytest.approx([0.25] * 4 + [0.5] * 6, abs=0.03)
    assert (drawn < 4).mean(0) == pytest.approx([0.25] * 4, abs=0.03)  # any place on the sheet


def test_inclusion_probabilities_sum_to_n_and_stay_proportional_below_one():
    size = np.array([100.0, 30.0, 2.0, 1.0, 1.0, 1.0])
    chance = inclusion_probabilities(size, 4)
    assert chance.sum() == pytest.approx(4)
    assert chance[:2].tolist() == [1, 1]
    assert chance[2:] == pytest.approx(2 * size[2:] / 5)
    assert inclusion_probabilities(size, 6).tolist() == [1.0] * 6


@pytest.mark.parametrize("size", [[1.0, 0.0], [1.0, np.nan], [1.0, np.inf]])
def test_a_row_without_a_chance_is_refused(size):
    with pytest.raises(ValueError, match="positive, finite size"):
        inclusion_probabilities(size, 1)


def test_systematic_draws_have_exactly_the_probabilities_asked_for():
    rng = np.random.default_rng(1)
    chance = inclusion_probabilities(rng.exponential(size=30) + 0.05, 9)
    n_draws = 6000
    counts = np.zeros(30)
    for _ in range(n_draws):
        rows = draw_systematic(chance, rng)
        assert len(rows) == len(np.unique(rows)) == 9
        counts[rows] += 1
    z = (counts / n_draws - chance) / np.sqrt(np.maximum(chance * (1 - chance), 1e-12) / n_draws)
    assert abs(z[chance < 1]).max() < 4
    assert (counts[chance == 1] == n_draws).all()


def test_systematic_draws_reach_every_pair():
    chance = np.full(6, 1 / 3)
    rng = np.random.default_rng(2)
    pairs = {tuple(sorted(draw_systematic(chance, rng).tolist())) for _ in range(500)}
    assert len(pairs) == 15


def test_chances_mix_doubt_with_a_floor():
    confidence = np.array([0.5, 0.9, 1.0, 0.0] * 10)
    drawn, chance = propose(confidence, 4, floor=0.4, random_state=0)
    doubt = np.sqrt(confidence * (1 - confidence))
    assert chance == pytest.approx(4 * (0.4 / 40 + 0.6 * doubt / doubt.sum()))
    assert len(np.unique(drawn)) == 4


def test_chances_are_kept_over_many_draws():
    rng = np.random.default_rng(0)
    confidence = rng.random(25)
    counts = np.zeros(25)
    for _ in range(4000):
        drawn, chance = propose(confidence, 6, random_state=rng)
        counts[drawn] += 1
    z = (counts / 4000 - chance) / np.sqrt(chance * (1 - chance) / 4000)
    assert abs(z).max() < 4


def test_no_doubt_at_all_is_a_random_sample():
    _, chance = propose(np.array([1.0, 0.0, 1.0, 1.0]), 2, random_state=0)
    assert chance.tolist() == [0.5] * 4


def test_all_rows_can_be_asked_for():
    drawn, chance = propose(np.array([0.5, 0.99, 1.0]), 3, random_state=0)
    assert sorted(drawn.tolist()) == [0, 1, 2]
    assert chance.tolist() == [1.0] * 3


@pytest.mark.parametrize(("n", "floor", "said"), [(0, 0.2, "next must"), (2, 0, "floor must")])
def test_impossible_proposals_are_refused(n, floor, said):
    with pytest.raises(ValueError, match=said):
        propose(np.array([0.5, 0.6]), n, floor=floor, random_state=0)
