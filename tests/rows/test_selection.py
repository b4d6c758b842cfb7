import numpy as np
import pytest
import scipy.sparse
from problems import make_problem

from alignset.labels import UNREVIEWED
from alignset.rows import Part, review_weights, weigh_review
from alignset.rows.folds import pooled
from alignset.rows.selection import MAX_WEIGHT, unseen_cells


def biased_rows(n=4000, seed=0):
    """Rows of which the minority and observed positives were reviewed far more often."""
    rng = np.random.default_rng(seed)
    group, seen = (rng.random(n) < 0.3).astype(int), (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, 3)) + group[:, None]
    probability = 0.05 + 0.3 * group + 0.2 * seen
    reviewed = rng.random(n) < probability
    true = np.where(reviewed, seen ^ (rng.random(n) < 0.1), UNREVIEWED)
    return Part(X, seen, true, group), probability


def shares(rows, weight, among):
    """Weighted share of the minority and of observed positives."""
    return [np.average(v[among], weights=weight[among]) for v in (rows.group, rows.y_seen)]


@pytest.mark.parametrize("how", ["cells", "classifier", "known"])
def test_weighted_reviewed_rows_look_like_all_rows(how):
    rows, probability = biased_rows()
    weight = review_weights(rows, probability if how == "known" else how)
    everyone = np.ones(len(rows), dtype=bool)
    target = shares(rows, np.ones(len(rows)), everyone)
    before = shares(rows, np.ones(len(rows)), rows.reviewed)
    after = shares(rows, weight, rows.reviewed)
    assert np.abs(np.subtract(before, target)).min() > 0.15
    assert np.abs(np.subtract(after, target)).max() < (1e-9 if how == "cells" else 0.08)


def test_weights_have_mean_one_on_reviewed_rows_and_are_one_elsewhere():
    rows, _ = biased_rows()
    weight = review_weights(rows, "cells")
    assert weight[rows.reviewed].mean() == pytest.approx(1.0)
    assert (weight[~rows.reviewed] == 1.0).all()


def test_a_fair_sample_needs_no_weights():
    rows, _ = biased_rows()
    fair = np.arange(len(rows)) % 4 == 0
    cells = np.lexsort((rows.y_seen, rows.group))
    reviewed = np.zeros(len(rows), dtype=bool)
    reviewed[cells[fair]] = True
    even = Part(rows.X, rows.y_seen, np.where(reviewed, rows.y_seen, UNREVIEWED), rows.group)
    assert np.abs(review_weights(even, "cells") - 1.0).max() < 0.05


def test_no_row_stands_for_too_many():
    rows, probability = biased_rows()
    probability = probability.copy()
    probability[np.flatnonzero(rows.reviewed)[0]] = 1e-6
    weight = review_weights(rows, probability)[rows.reviewed]
    assert weight.max() == pytest.approx(MAX_WEIGHT * np.median(weight))


def test_sparse_rows_can_be_estimated():
    rows, _ = biased_rows(800)
    sparse = Part(scipy.sparse.csr_matrix(rows.X), rows.y_seen, rows.y_true, rows.group)
    np.testing.assert_allclose(
        review_weights(sparse, "classifier"), review_weights(rows, "classifier"), rtol=1e-2
    )


def test_row_weights_count_as_copies():
    rows, _ = biased_rows(300)
    twice = np.repeat(np.arange(300), np.where(np.arange(300) % 2, 2, 1))
    copies = Part(rows.X[twice], rows.y_seen[twice], rows.y_true[twice], rows.group[twice])
    counted = Part(
        rows.X, rows.y_seen, rows.y_true, rows.group, np.where(np.arange(300) % 2, 2.0, 1.0)
    )
    np.testing.assert_allclose(
        review_weights(counted, "cells")[twice], review_weights(copies, "cells")
    )


def test_a_problem_is_weighted_in_training_and_validation_rows_alike():
    problem = make_problem(200, reviewed=0.2)
    weighed = weigh_review(problem, "cells")
    whole = pooled(weighed)
    expected = review_weights(pooled(problem), "cells")
    np.testing.assert_allclose(whole.weight, expected)
    np.testing.assert_array_equal(weighed.train.X, problem.train.X)


def test_cells_nobody_looked_into_are_named():
    seen, true = np.array([0, 0, 1, 1]), np.array([0, -1, -1, -1])
    rows = Part(np.zeros((4, 1)), seen, true, np.array([0, 0, 0, 1]))
    assert unseen_cells(rows) == [(0, 1), (1, 1)]


def test_bad_input_is_refused():
    rows, probability = biased_rows(50)
    with pytest.raises(ValueError, match=r"'cells' or 'classifier'.*got 'cell'"):
        review_weights(rows, "cell")
    with pytest.raises(ValueError, match=r"shape \(49,\) but there are 50 rows"):
        review_weights(rows, probability[1:])
    at = int(np.flatnonzero(rows.reviewed)[0])
    with pytest.raises(ValueError, match=rf"row {at} was reviewed but .* is 0;"):
        review_weights(rows, np.where(np.arange(50) == at, 0.0, probability))
