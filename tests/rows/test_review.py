import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alignset.rows import draw_review, hold_out

GROUP = np.repeat([0, 1], [800, 200])


def refuses(message):
    return pytest.raises(ValueError, match="^" + re.escape(message) + "$")


@given(st.lists(st.integers(1, 60), min_size=1, max_size=4), st.floats(0, 1), st.integers(0, 99))
def test_each_group_is_reviewed_in_the_same_share(sizes, share, seed):
    group = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    reviewed = draw_review(group, share=share, random_state=seed)
    for g, size in enumerate(sizes):
        assert reviewed[group == g].sum() == round(share * size)


def test_each_group_can_have_its_own_share():
    reviewed = draw_review(GROUP, share=[0.05, 0.5], random_state=0)
    assert np.bincount(GROUP[reviewed]).tolist() == [40, 100]


@given(st.floats(0, 1), st.integers(0, 99))
def test_a_biased_alignment_set_keeps_its_size(minority, seed):
    reviewed = draw_review(GROUP, composition=[1 - minority, minority], random_state=seed)
    assert reviewed.sum() == 100
    assert abs(reviewed[800:].sum() - 100 * minority) < 1


def test_parts_of_a_composition_are_not_lost_to_rounding():
    for k in range(101):
        reviewed = draw_review(GROUP, composition=[1 - k / 100, k / 100], random_state=0)
        assert reviewed[800:].sum() == k


def test_a_larger_share_reviews_the_same_rows_and_more():
    masks = [draw_review(GROUP, share=s, random_state=3) for s in (0.01, 0.05, 0.1, 0.15)]
    for small, large in pairwise(masks):
        assert (small <= large).all()
        assert small.sum() < large.sum()


def test_the_same_seed_reviews_the_same_rows_and_another_seed_others():
    one, same, other = (draw_review(GROUP, random_state=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    generator = draw_review(GROUP, random_state=np.random.default_rng(0))
    np.testing.assert_array_equal(one, generator)


def test_whole_individuals_are_reviewed():
    who = np.arange(1000) // 4
    reviewed = draw_review(GROUP, share=0.2, individuals=who, random_state=0)
    assert set(who[reviewed]).isdisjoint(who[~reviewed])
    assert reviewed.sum() == 200


@given(
    st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1),
    st.floats(0.01, 0.99),
    st.integers(0, 99),
)
def test_a_held_out_row_is_reviewed_and_no_side_is_empty(rows, share, seed):
    group, reviewed = (np.array(c) for c in zip(*rows, strict=True))
    held = hold_out(group, reviewed, share=share, random_state=seed)
    assert (held <= reviewed).all()
    for g in np.unique(group):
        size, out = reviewed[group == g].sum(), held[group == g].sum()
        assert 1 <= out < size if size > 1 else out == 0
        assert abs(out - share * size) <= 1


def test_all_reviewed_rows_of_an_individual_are_held_out_together():
    who = np.arange(1000) % 100
    reviewed = np.arange(1000) < 600
    held = hold_out(np.zeros(1000, int), reviewed, individuals=who, random_state=0)
    assert set(who[held]).isdisjoint(who[reviewed & ~held])
    assert held.sum() == 300


def test_nothing_is_changed_in_place():
    group, reviewed = GROUP.copy(), np.arange(1000) < 500
    draw_review(group, random_state=0)
    hold_out(group, reviewed, random_state=0)[:] = True
    np.testing.assert_array_equal(group, GROUP)
    np.testing.assert_array_equal(reviewed, np.arange(1000) < 500)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"share": 10}, "share must lie in [0, 1], got 10.0; write 0.1 for 10 %."),
        ({"share": -0.1}, "share must lie in [0, 1], got -0.1; write 0.1 for 10 %."),
        (
            {"share": [0.1, 5.0]},
            "share must lie in [0, 1], got 5.0 for group 1; write 0.05 for 5 %.",
        ),
        (
            {"share": [0.1, 0.1, 0.1]},
            "share has shape (3,) but there are 2 groups; "
            "pass one share for all, or one per group.",
        ),
        (
            {"composition": [0.5, 0.2]},
            "composition must hold parts in [0, 1] that sum to 1, got [0.5, 0.2] with sum 0.7.",
        ),
        (
            {"composition": [1.2, -0.2]},
            "composition must hold parts in [0, 1] that sum to 1, got [1.2, -0.2] with sum 1.",
        ),
        (
            {"composition": [1.0]},
            "composition has shape (1,) but there are 2 groups; pass one part per group.",
        ),
        (
            {"composition": [0.2, 0.8], "share": 0.3},
            "composition asks for 240 reviewed rows of group 1 but it has 200; "
            "lower share or composition[1].",
        ),
        (
            {"composition": [0.2, 0.8], "share": [0.1, 0.1]},
            "composition fixes what part of the alignment set each group makes up, so share must "
            "be one number, its total size, got 2 shares.",
        ),
        (
            {"individuals": [1, 2]},
            "individuals has shape (2,) but there are 1000 rows; pass one per row.",
        ),
        (
            {"individuals": [None, *range(998), None]},
            "individuals is missing in 2 of 1000 rows, first in row 0; "
            "give each such row an individual of its own, or drop it.",
        ),
    ],
)
def test_what_is_wrong_with_a_review_is_said(change, message):
    with refuses(message):
        draw_review(GROUP, random_state=0, **change)


@pytest.mark.parametrize("group", [[0.0, 1.0], [-1, 0], [], [[0, 1]], ["a", "b"]])
def test_groups_that_are_no_codes_are_an_error(group):
    with pytest.raises(ValueError, match=r"^group must be a flat array of codes 0, 1, ..., got"):
        draw_review(group, random_state=0)


def test_what_is_wrong_with_a_hold_out_is_said():
    with refuses("reviewed has shape (2,) but group has 1000 entries; pass one per row."):
        hold_out(GROUP, [True, False], random_state=0)
    with refuses("validation share must lie in (0, 1), got 1.0; write 0.1 for 10 %."):
        hold_out(GROUP, GROUP == 0, share=1.0, random_state=0)
    with refuses("individuals has shape (2,) but there are 1000 rows; pass one per row."):
        hold_out(GROUP, GROUP == 0, individuals=[1, 2], random_state=0)
