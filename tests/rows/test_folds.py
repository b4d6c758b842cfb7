from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from problems import make_problem

from alignset.rows import Part, cross_fit
from alignset.rows.folds import assign_folds, deal, pooled


def rows_of(part):
    """Rows that can be compared: features and labels in one tuple each."""
    X = part.X.toarray() if scipy.sparse.issparse(part.X) else part.X
    return [(*x, s, g) for x, s, g in zip(X.tolist(), part.y_seen, part.group, strict=True)]


def test_every_reviewed_row_validates_once_and_trains_in_all_other_folds():
    problem = make_problem(120, seed=2)
    whole = pooled(problem)
    folds = cross_fit(problem, 4)
    held = [row for fold in folds for row in rows_of(fold.validation)]
    known = zip(rows_of(whole), whole.reviewed, strict=True)
    assert sorted(held) == sorted(row for row, reviewed in known if reviewed)
    for fold in folds:
        assert fold.validation.reviewed.all()
        assert len(fold.train) + len(fold.validation) == len(whole)
        assert sorted(rows_of(fold.train) + rows_of(fold.validation)) == sorted(rows_of(whole))


def test_folds_are_even_over_groups_classes_and_errors():
    problem = make_problem(400, seed=0, reviewed=0.5)
    whole = pooled(problem)
    for held in deal(whole, 5, seed=0):
        for part in (whole.group == 1, whole.y_true == 1, whole.y_seen != whole.y_true):
            share = (held & part & whole.reviewed).sum() / (part & whole.reviewed).sum()
            assert abs(share - 0.2) < 0.05


def test_sparse_rows_and_weights_come_along():
    problem = make_problem(60)
    part = problem.train
    sparse = Part(
        scipy.sparse.csr_matrix(part.X), part.y_seen, part.y_true, part.group, np.arange(60.0)
    )
    validation = Part(
        scipy.sparse.csr_matrix(problem.validation.X),
        problem.validation.y_seen,
        problem.validation.y_true,
        problem.validation.group,
    )
    folds = cross_fit(replace(problem, train=sparse, validation=validation), 3)
    dense = cross_fit(problem, 3)
    for a, b in zip(folds, dense, strict=True):
        np.testing.assert_array_equal(a.train.X.toarray(), b.train.X)
        np.testing.assert_array_equal(a.validation.y_true, b.validation.y_true)
        assert a.train.weight.sum() + a.validation.weight.sum() == np.arange(60).sum() + 36


def test_the_same_seed_deals_the_same_folds():
    problem = make_problem(100)
    for a, b in zip(cross_fit(problem, 3), cross_fit(problem, 3), strict=True):
        np.testing.assert_array_equal(a.validation.X, b.validation.X)


@pytest.mark.parametrize("n_folds", [1, 0, 1000])
def test_impossible_numbers_of_folds_are_refused(n_folds):
    with pytest.raises(ValueError, match=rf"folds must lie between 2 and the \d+ .* got {n_folds}"):
        cross_fit(make_problem(60), n_folds)


def test_rows_are_dealt_as_they_always_were():
    """Results were measured with these folds: permuted, sorted by what labels tell, then dealt."""
    rows = pooled(make_problem(200, seed=3))
    reviewed = np.random.default_rng((7, 5)).permutation(np.flatnonzero(rows.reviewed))
    wrong = rows.y_seen != rows.y_true
    order = reviewed[np.lexsort([v[reviewed] for v in (wrong, rows.y_true, rows.group)])]
    for part, held in enumerate(deal(rows, 4, seed=7)):
        np.testing.assert_array_equal(np.flatnonzero(held), np.sort(order[part::4]))


def test_a_unit_is_dealt_whole_and_its_other_rows_come_along():
    strata = np.array([0, -1, 1, 0, 0, -1, 1, 1])
    units = np.array([2, 2, 0, 2, 1, 4, 3, 0])
    fold = assign_folds(strata, 2, 0, units)
    assert fold[5] == -1
    assert (fold >= 0).sum() == 7
    for unit in range(4):
        assert len(set(fold[units == unit])) == 1
    assert sorted(np.bincount(fold[[0, 2, 4, 6]])) == [2, 2]
    with pytest.raises(ValueError, match="between 2 and the 4 reviewed rows or individuals, got 5"):
        assign_folds(strata, 5, 0, units)
