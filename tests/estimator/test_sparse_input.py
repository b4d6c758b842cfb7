"""Sparse matrices whose indices point outside: compiled code followed them."""

import numpy as np
import pytest
import scipy.sparse

from alignset import NoisyLabelClassifier
from alignset.estimator.as_model import as_model
from alignset.rows.features import as_float, check_sparse


def matrix(n=80, seed=0):
    return scipy.sparse.random(n, 6, 0.5, "csr", random_state=seed)


def damaged(kind, index):
    X = matrix().asformat(kind)
    if kind == "lil":
        X.rows[3] = [*X.rows[3][:-1], index]
    else:
        (X.coords[1] if kind == "coo" else X.indices)[-1] = index
    return X


KINDS = ["csr", "csc", "coo", "lil"]


@pytest.mark.parametrize("index", [1_000_000, -5])
@pytest.mark.parametrize("kind", KINDS)
def test_indices_outside_the_matrix_are_refused(kind, index):
    if kind == "lil" and index < 0:
        pytest.skip("the last of a row is looked at")
    for check in (check_sparse, lambda X: as_float(X, np.float64)):
        with pytest.raises(ValueError, match=r"X is a damaged sparse matrix \(indices must be"):
            check(damaged(kind, index))


@pytest.mark.parametrize("kind", [*KINDS, "bsr", "dok", "dia"])
def test_a_good_matrix_of_any_kind_is_taken(kind):
    X = matrix().asformat(kind)
    check_sparse(X)
    assert np.allclose(as_float(X, np.float64).toarray(), matrix().toarray())


def test_pointers_that_go_astray_are_refused():
    X = matrix()
    X.indptr[5] = 10**6
    with pytest.raises(ValueError, match="X is a damaged sparse matrix"):
        check_sparse(X)


def test_fit_and_predict_look_before_they_compute():
    X = matrix()
    y = (np.arange(80) % 2).astype(int)
    classifier = NoisyLabelClassifier("observed", random_state=0).fit(X, y, y_true=y)
    model = as_model(classifier)
    bad = damaged("csr", 1_000_000)
    told = "X is a damaged sparse matrix"
    with pytest.raises(ValueError, match=told):
        NoisyLabelClassifier("observed").fit(bad, y, y_true=y)
    for predict in (classifier.predict, classifier.predict_proba, model.predict_proba):
        with pytest.raises(ValueError, match=told):
            predict(bad)
