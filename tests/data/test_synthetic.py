import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from alignset.data import make_multiclass, make_synthetic, make_synthetic_released
from alignset.noise import flip_by_features


@pytest.fixture(scope="module")
def released():
    return make_synthetic_released()


def test_the_released_rows_are_the_published_ones(released):
    table = released.table
    assert f"{table.X.sum():.6f}" == "354.505679"
    assert table.X.shape == (5000, 30)
    assert table.y.sum() == 2500
    assert table.group.sum() == 1000
    assert table.group_names == ("majority", "minority")
    # METHODS 4.3 D3: positive rates of the released data
    assert table.y[table.group == 0].mean() == pytest.approx(0.479, abs=5e-4)
    assert table.y[table.group == 1].mean() == pytest.approx(0.585, abs=5e-4)


@pytest.mark.parametrize(
    ("rate", "majority", "minority"), [([0.2, 0.4], 800, 400), ([0.3, 0.5], 1200, 500)]
)
def test_the_released_flips_are_the_published_ones(released, rate, majority, minority):
    table = released.table
    noise = flip_by_features(
        table.y,
        table.X,
        table.group,
        rate=rate,
        coefficients=released.noise_coefficients,
        lowest=True,
    )
    assert noise.flipped.sum() == majority + minority
    assert noise.flipped[table.group == 0].sum() == majority
    assert noise.flipped[table.group == 1].sum() == minority
    np.testing.assert_array_equal(noise.y_seen != table.y, noise.flipped)


def test_the_first_flipped_rows_at_30_and_50_percent_are_the_published_ones(released):
    table, w_m = released.table, released.noise_coefficients
    noise = flip_by_features(
        table.y, table.X, table.group, rate=[0.3, 0.5], coefficients=w_m, lowest=True
    )
    assert np.flatnonzero(noise.flipped)[:8].tolist() == [0, 8, 12, 13, 14, 19, 25, 27]


def test_the_released_noise_leans_on_the_sensitive_feature(released):
    assert released.noise_coefficients[0] == -1.1
    assert released.noise_coefficients.shape == (30,)


@pytest.mark.parametrize("make", [make_synthetic, make_synthetic_released])
def test_the_paper_features_are_hidden_from_each_group(make):
    table = make(2000, random_state=3).table
    minority = table.group == 1
    assert minority.mean() == 0.2
    assert table.X[minority, 0].max() < table.X[~minority, 0].min()
    assert not table.X[~minority, 10:20].any()
    assert not table.X[minority, 20:30].any()
    assert table.X[minority, 10:20].all()
    assert table.X[~minority, 20:30].all()
    assert table.y.mean() == 0.5


def test_as_written_the_label_depends_on_features_that_are_hidden_later():
    table = make_synthetic(4000, random_state=0).table
    # Recompute from the same draws: a linear label of all features, cut at its median.
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((4000, 30)), rng.standard_normal(30)
    np.testing.assert_array_equal(table.y, x @ w > np.median(x @ w))
    seen = table.X @ w
    assert ((seen > np.median(seen)) != table.y).mean() > 0.05


def test_as_released_the_label_depends_on_what_can_be_seen_only():
    table = make_synthetic_released(4000, random_state=5).table
    rng = np.random.RandomState(5)
    rng.normal(size=(4000, 30))
    w, exponent = rng.normal(size=30), rng.randint(1, 3, 30)
    z = (table.X**exponent) @ w
    np.testing.assert_array_equal(table.y, z > np.median(z))
    assert set(exponent) == {1, 2}


@pytest.mark.parametrize("make", [make_synthetic, make_synthetic_released])
def test_the_same_seed_gives_the_same_rows_and_another_seed_others(make):
    one, same, other = (make(500, random_state=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.table.X, same.table.X)
    np.testing.assert_array_equal(one.noise_coefficients, same.noise_coefficients)
    assert (one.table.X != other.table.X).any()


@pytest.mark.parametrize("make", [make_synthetic, make_synthetic_released])
def test_the_global_generator_is_left_alone(make):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    make(100, random_state=0)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_a_generator_is_as_good_as_a_seed():
    one = make_synthetic(100, random_state=np.random.default_rng(4)).table
    np.testing.assert_array_equal(one.X, make_synthetic(100, random_state=4).table.X)


def test_too_few_rows_are_an_error():
    for make in (make_synthetic, make_synthetic_released):
        with pytest.raises(ValueError, match="n must be at least 10, got 9; with fewer rows"):
            make(9, random_state=0)
    with pytest.raises(ValueError, match="n must be at least 16, got 15"):
        make_multiclass(15, n_classes=4, n_groups=3, random_state=0)


@pytest.mark.parametrize(("n_classes", "n_groups"), [(2, 1), (3, 2), (5, 4)])
def test_every_class_occurs_in_every_group(n_classes, n_groups):
    n = n_classes * (n_groups + 1)
    table = make_multiclass(n, n_classes=n_classes, n_groups=n_groups, random_state=0)
    cells = set(zip(table.y.tolist(), table.group.tolist(), strict=True))
    assert len(cells) == n_classes * n_groups == table.n_classes * table.n_groups


def test_the_multiclass_table_can_be_learnt():
    table = make_multiclass(600, n_classes=4, n_groups=3, random_state=0)
    model = LogisticRegression().fit(table.X[:400], table.y[:400])
    assert model.score(table.X[400:], table.y[400:]) > 0.8


@pytest.mark.parametrize(
    "counts",
    [
        {"n_classes": 1, "n_groups": 2, "n_features": 8},
        {"n_classes": 3, "n_groups": 0, "n_features": 8},
        {"n_classes": 3, "n_groups": 2, "n_features": 0},
    ],
)
def test_counts_too_small_for_a_table_are_an_error(counts):
    with pytest.raises(ValueError, match="must be at least 2, 1 and 1, got"):
        make_multiclass(100, random_state=0, **counts)
