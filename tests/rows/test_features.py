import numpy as np
import pytest
import scipy.sparse

from alignset.rows.features import check_single, learn_scale


@pytest.mark.parametrize("factor", [1e300, 1e200, 1e-200, 1e-300])
def test_features_of_any_size_are_scaled_alike(factor):
    X = np.random.default_rng(0).normal(3, 2, size=(50, 2))
    rows, weight = np.arange(50), np.ones(50)
    expected = learn_scale(X, rows, weight)(X)
    np.testing.assert_allclose(learn_scale(X * factor, rows, weight)(X * factor), expected)
    sparse = scipy.sparse.csr_matrix(X * factor)
    assert abs(learn_scale(sparse, rows, weight)(sparse)).max() == pytest.approx(1)


@pytest.mark.parametrize("value", [1e307, 1e-305])
def test_features_that_no_double_can_square_are_refused(value):
    X = np.array([[1.0, value], [2.0, 0.0]])
    for given in (X, scipy.sparse.csr_matrix(X)):
        with pytest.raises(ValueError, match=r"column 1 of X holds values up to .*another unit"):
            learn_scale(given, np.arange(2), np.ones(2))


@pytest.mark.parametrize("value", [1e50, 1e-50])
def test_features_that_are_not_scaled_must_suit_single_precision(value):
    X = np.array([[1.0, value], [2.0, 0.0]])
    for given in (X, scipy.sparse.csr_matrix(X)):
        with pytest.raises(ValueError, match=r"column 1 of X holds .*pass standardize=True"):
            check_single(given)
    constant = np.array([[1.0, 1e-50], [2.0, 1e-50]])  # as rounding leaves it
    assert check_single(constant) is constant


def test_a_value_too_far_from_training_is_refused_instead_of_becoming_nan():
    X = np.array([[1.0, 2.0], [2.0, 3.0]])
    scale = learn_scale(X, np.arange(2), np.ones(2))
    for value in (1e30, -1e300, 1.7e308):
        with pytest.raises(ValueError, match=r"column 1 of X holds .* standard deviations from"):
            scale(np.array([[1.0, value]]))
