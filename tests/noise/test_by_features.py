import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from alignset.data import make_multiclass
from alignset.noise import flip_by_features


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
    st.floats(0.0, 0.99),
    st.integers(2, 5),
    st.booleans(),
    st.integers(0, 99),
)
def test_the_realised_rate_is_exact_in_every_group(sizes, rate, n_classes, lowest, seed):
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    # Few distinct values, so that scores tie.
    x, y = rng.integers(0, 2, (len(group), 2)), rng.integers(0, n_classes, len(group))
    rates = [rate / (g + 1) for g in range(len(sizes))]
    noise = flip_by_features(
        y, x, group, rate=rates, lowest=lowest, n_classes=n_classes, random_state=seed
    )
    np.testing.assert_array_equal(noise.y_seen != y, noise.flipped)
    np.testing.assert_array_equal(noise.probability, noise.flipped)
    assert noise.y_seen.min() >= 0
    assert noise.y_seen.max() < n_classes
    for g, size in enumerate(sizes):
        assert noise.flipped[group == g].sum() == round(rates[g] * size)


def test_the_rows_above_the_percentile_are_flipped():
    rng = np.random.default_rng(0)
    x, y, w = rng.standard_normal((200, 4)), rng.integers(0, 2, 200), rng.standard_normal(4)
    z_m = 1 / (1 + np.exp(-x @ w))
    high = flip_by_features(y, x, rate=0.3, coefficients=w)
    low = flip_by_features(y, x, rate=0.3, coefficients=w, lowest=True)
    np.testing.assert_array_equal(high.flipped, z_m > np.percentile(z_m, 70))
    np.testing.assert_array_equal(low.flipped, z_m < np.percentile(z_m, 30))
    assert high.rate == 0.3


@pytest.mark.parametrize("lowest", [False, True])
def test_equal_scores_are_told_apart_by_row_order(lowest):
    # More rows than an unstable sort leaves in order by chance.
    x = np.arange(3000)[:, None] % 2
    noise = flip_by_features(
        np.zeros(3000, int), x, rate=0.25, n_classes=2, lowest=lowest, coefficients=[1.0]
    )
    expected = np.arange(3000)[(x[:, 0] == 0) == lowest][:750]
    np.testing.assert_array_equal(np.flatnonzero(noise.flipped), expected)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_sparse_and_dense_features_give_the_same_flips(n_classes):
    table = make_multiclass(200, n_classes=n_classes, random_state=1)
    x = np.where(table.X > 0.5, table.X, 0.0)
    dense = flip_by_features(table.y, x, table.group, rate=[0.2, 0.4], random_state=7)
    for make in (sparse.csr_matrix, sparse.csr_array, sparse.coo_array):
        noise = flip_by_features(table.y, make(x), table.group, rate=[0.2, 0.4], random_state=7)
        np.testing.assert_array_equal(noise.y_seen, dense.y_seen)


def test_flipped_rows_go_to_several_classes_even_when_all_features_are_positive():
    rng = np.random.default_rng(0)
    x, y = rng.random((2000, 10)), rng.integers(0, 4, 2000)
    noise = flip_by_features(y, x, rate=0.5, random_state=0)
    assert (np.bincount(noise.y_seen[noise.flipped], minlength=4) > 50).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_same_seed_gives_the_same_flips_and_another_seed_others(n_classes):
    table = make_multiclass(300, n_classes=n_classes, random_state=0)
    one, same, other = (
        flip_by_features(table.y, table.X, rate=0.3, random_state=s) for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.y_seen, same.y_seen)
    assert (one.flipped != other.flipped).any()


def test_passed_coefficients_need_no_random_state_for_two_classes():
    table = make_multiclass(100, n_classes=2, random_state=0)
    one, two = (
        flip_by_features(table.y, table.X, rate=0.3, coefficients=np.ones(8)) for _ in range(2)
    )
    np.testing.assert_array_equal(one.y_seen, two.y_seen)


def test_drawn_coefficients_are_normal_with_sd_a_third():
    x, y = np.eye(5000), np.zeros(5000, int)
    w = np.random.default_rng(3).normal(0, 0.33, 5000)
    drawn = flip_by_features(y, sparse.csr_array(x), rate=0.4, n_classes=2, random_state=3)
    passed = flip_by_features(y, sparse.csr_array(x), rate=0.4, n_classes=2, coefficients=w)
    np.testing.assert_array_equal(drawn.flipped, passed.flipped)


def test_the_input_is_not_changed():
    table = make_multiclass(100, random_state=0)
    w = np.ones(8)
    kept = table.y.copy(), table.X.copy(), table.group.copy(), w.copy()
    noise = flip_by_features(
        table.y, table.X, table.group, rate=0.5, coefficients=w, random_state=0
    )
    noise.y_seen[:] = 9
    for before, now in zip(kept, (table.y, table.X, table.group, w), strict=True):
        np.testing.assert_array_equal(before, now)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"rate": [0.2, 40.0]},
            "noise rate must lie in [0, 1), got 40.0 for group 1; write 0.4 for 40 %.",
        ),
        ({"rate": 40}, "noise rate must lie in [0, 1), got 40.0; write 0.4 for 40 %."),
        ({"rate": 1.0}, "noise rate must lie in [0, 1), got 1.0; write 0.1 for 10 %."),
        ({"rate": -0.1}, "noise rate must lie in [0, 1), got -0.1; write 0.1 for 10 %."),
        ({"rate": 25.0}, "noise rate must lie in [0, 1), got 25.0; write 0.25 for 25 %."),
        ({"rate": float("nan")}, "noise rate must lie in [0, 1), got nan; write 0.1 for 10 %."),
        (
            {"rate": [0.1, 0.2, 0.3]},
            "noise rate has shape (3,) but there are 2 groups; "
            "pass one noise rate for all, or one per group.",
        ),
        (
            {"coefficients": [1.0]},
            "coefficients must be 2 finite numbers, one per column of X, got shape (1,).",
        ),
        (
            {"coefficients": [1.0, np.inf]},
            "coefficients must be 2 finite numbers, one per column of X, got shape (2,).",
        ),
        ({"X": np.ones(4)}, "X must have rows and columns, got shape (4,)."),
        ({"X": np.ones((3, 2))}, "y has 4 entries but X has 3 rows; pass one per row."),
        (
            {"X": np.full((4, 2), np.nan)},
            "X holds 8 NaN or infinite values (in float64), first in row 0; "
            "impute or drop them first.",
        ),
        (
            {"X": sparse.csr_array(np.diag([np.inf, 1.0, 1.0, 1.0]))},
            "X holds 1 NaN or infinite values (in float64), first in row 0; "
            "impute or drop them first.",
        ),
        ({"group": [0, 0, 1]}, "group has 3 entries but y has 4; pass one per row."),
        (
            {"group": [0, 0, 2, 2]},
            "group 1 has no rows; codes must run from 0 to 2 without gaps, "
            "as encode_groups makes them.",
        ),
        (
            {"group": [0.0, 0.0, 1.0, 1.0]},
            "group must be a flat array of codes 0, 1, ..., got float64 values of shape "
            "(4,); encode_labels and encode_groups make such codes.",
        ),
        (
            {"y": [-1, 1, 1, 1]},
            "y must be a flat array of codes 0, 1, ..., got int64 values of shape (4,); "
            "encode_labels and encode_groups make such codes.",
        ),
        (
            {"y": np.zeros(0, dtype=int)},
            "y must be a flat array of codes 0, 1, ..., got int64 values of shape (0,); "
            "encode_labels and encode_groups make such codes.",
        ),
        (
            {"y": [0, 0, 0, 0]},
            "labels cannot be flipped among 1 classes when y holds code 0; "
            "pass n_classes of at least 2.",
        ),
        (
            {"n_classes": 2, "y": [0, 1, 2, 0]},
            "labels cannot be flipped among 2 classes when y holds code 2; "
            "pass n_classes of at least 3.",
        ),
    ],
)
def test_what_is_wrong_is_said(change, message):
    inputs = {"y": [0, 1, 0, 1], "X": np.ones((4, 2)), "group": [0, 0, 1, 1], "rate": 0.5}
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        flip_by_features(**{**inputs, **change})
