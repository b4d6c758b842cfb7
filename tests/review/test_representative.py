import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from alignset.review.design import draw_systematic, inclusion_probabilities
from alignset.review.representative import (
    MAX_COMPARED,
    MIN_ROWS,
    choose_compared,
    two_sample_test,
    weighted_auroc,
)


def drawn(rng, n=800, n_reviewed=100, shift=0.0, squared=False):
    """Rows, which are reviewed, and what each reviewed row stands for."""
    X = rng.normal(size=(n, 6))
    X[:, -1] = X[:, -1] > 1
    score = X[:, 0] ** 2 - 1 if squared else X[:, 0]
    chance = inclusion_probabilities(np.exp(shift * score), n_reviewed)
    reviewed = np.zeros(n, dtype=bool)
    reviewed[draw_systematic(chance, rng)] = True
    return X, reviewed, 1 / chance - 1


def flagged(reps, weighted=False, **options):
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(reps):
        X, reviewed, weight = drawn(rng, **options)
        w = weight if weighted else None
        hits += two_sample_test("g", X, reviewed, w, level=0.95, random_state=rng).low > 0.5
    return hits / reps


def test_the_auroc_is_that_of_scikit_learn_with_ties_and_weights():
    rng = np.random.default_rng(0)
    y, w = rng.random(200) < 0.3, rng.random(200) + 0.1
    score = rng.integers(0, 20, 200) + 5.0 * y
    area, _ = weighted_auroc(score, y, w)
    assert area == pytest.approx(roc_auc_score(y, score, sample_weight=w))


def test_the_variance_is_what_repeated_samples_show():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(600):
        y = np.arange(150) < 50
        found.append(weighted_auroc(rng.normal(size=150) + 0.8 * y, y, np.ones(150)))
    areas, variances = np.array(found).T
    assert np.mean(variances) == pytest.approx(areas.var(), rel=0.15)


def test_random_rows_pass_as_often_as_they_should():
    assert flagged(120) <= 0.06  # 2.5 % asked for
    assert flagged(60, n=300, n_reviewed=30) <= 0.09


def test_rows_drawn_by_known_unequal_probabilities_pass_with_weights_only():
    assert flagged(60, weighted=True, shift=0.8) <= 0.1
    assert flagged(20, weighted=False, shift=0.8) >= 0.9


@pytest.mark.parametrize("squared", [False, True])
def test_rows_picked_by_a_feature_are_noticed(squared):
    assert flagged(20, shift=0.6, squared=squared) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_false_alarms_over_many_samples(weighted):
    rate = flagged(400, weighted=weighted, shift=0.8 if weighted else 0.0)
    assert rate < 0.06


def test_too_few_rows_are_not_tested():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    for n in (0, 1, MIN_ROWS - 1, 100 - MIN_ROWS + 1, 100):
        test = two_sample_test("g", X, np.arange(100) < n, None, level=0.95, random_state=0)
        assert np.isnan([test.auroc, test.low, test.high]).all()
        assert (test.reviewed, test.compared) == (n, 100 - n)


def test_rows_that_are_all_the_same_cannot_be_told_apart():
    test = two_sample_test(
        "g", np.ones((60, 2)), np.arange(60) < 20, None, level=0.95, random_state=0
    )
    assert (test.auroc, test.low, test.high) == (0.5, 0.5, 0.5)


def test_the_same_seed_gives_the_same_test():
    X, reviewed, _ = drawn(np.random.default_rng(0))
    first, second = (
        two_sample_test("g", X, reviewed, None, level=0.9, random_state=7) for _ in range(2)
    )
    assert first == second


def test_a_large_table_is_compared_with_some_of_its_rows():
    rng = np.random.default_rng(0)
    rows = np.arange(10_000)
    some = choose_compared(rows, rng)
    assert len(np.unique(some)) == MAX_COMPARED
    assert choose_compared(rows[:50], rng).tolist() == list(range(50))
