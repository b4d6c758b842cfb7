"""Rows of uncertain class: a matrix of probabilities in place of a vector of true labels."""

import numpy as np
import pandas as pd
import pytest

from alignset.estimator import NoisyLabelClassifier
from alignset.estimator.soft import expand_soft
from alignset.labels import encode_shares
from alignset.learners import Blend
from alignset.rows import Part
from alignset.rows.divide import find_distinct

LINEAR = Blend(("observed", "reviewed", "both"), ("linear",), None)


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    true = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
    seen = np.where(rng.random(n) < 0.2, 1 - true, true)
    reviewed = rng.random(n) < 0.25
    return X, seen, np.where(reviewed, true, np.nan), rng


def one_hot(y_true):
    P = np.full((len(y_true), 2), np.nan)
    known = ~np.isnan(y_true)
    P[known] = np.eye(2)[y_true[known].astype(int)]
    return P


def fit(X, seen, y_true, **more):
    clf = NoisyLabelClassifier(more.pop("method", LINEAR), random_state=0, n_jobs=1)
    return clf.fit(X, seen, y_true=y_true, **more)


@pytest.mark.parametrize("method", [LINEAR, "standard_plus"])
def test_a_one_hot_matrix_gives_the_same_bits_as_the_vector(method):
    X, seen, y_true, _ = table()
    settings = {"n_configs": 1, "max_epochs": 3, "random_state": 0, "n_jobs": 1}
    one = NoisyLabelClassifier(method, **settings).fit(X, seen, y_true=y_true)
    other = NoisyLabelClassifier(method, **settings).fit(X, seen, y_true=one_hot(y_true))
    assert (one.predict_proba(X) == other.predict_proba(X)).all()
    assert one.noise_rates_ == other.noise_rates_


def test_columns_of_a_frame_name_the_classes_in_any_order():
    X, seen, y_true, _ = table()
    names = np.array(["no", "yes"])
    P = one_hot(y_true)
    frame = pd.DataFrame({"yes": P[:, 1], "no": P[:, 0]})
    a, b = fit(X, names[seen], P), fit(X, names[seen], frame)
    assert (a.predict_proba(X) == b.predict_proba(X)).all()


def test_a_soft_row_is_weighted_copies_in_one_unit():
    X, seen, y_true, _ = table()
    P = one_hot(y_true)
    known = np.flatnonzero(~np.isnan(y_true))
    P[known] = 0.9 * P[known] + 0.05
    soft = fit(X, seen, P)
    twice = np.concatenate([np.arange(len(X)), known])
    label = np.concatenate([y_true, 1 - y_true[known]])
    weight = np.ones(len(twice))
    weight[known], weight[len(X) :] = 0.95, 0.05
    again = np.random.default_rng(1).permutation(len(twice))
    rows = Part(X, seen, np.where(np.isnan(y_true), -1, y_true).astype(int), 0 * seen)
    made = expand_soft(rows, P)
    assert len(made) == len(twice)
    # the same content, whichever way it was written down
    by_hand = Part(
        X[twice], seen[twice], np.where(np.isnan(label), -1, label).astype(int), 0 * seen[twice],
        weight, None, twice, weight,
    ).take(again)  # fmt: skip
    by_hand = Part(**{**vars(by_hand), "share": np.where(by_hand.reviewed, by_hand.weight, 1.0)})
    (i, w, *_), (j, v, *_) = find_distinct(made), find_distinct(by_hand)
    assert np.array_equal(made.X[i], by_hand.X[j])
    assert np.allclose(w, v, rtol=1e-12)
    assert np.isclose(w.sum(), len(X))  # copies are one row together
    assert np.isfinite(soft.predict_proba(X)).all()


def test_noise_rates_are_expected_ones():
    X, seen, y_true, _ = table()
    P = one_hot(y_true)
    known = ~np.isnan(y_true)
    P[known] = 0.9 * P[known] + 0.05
    found = fit(X, seen, P).noise_rates_["all"]
    expected = (1 - P[known, seen[known]]).mean()
    assert np.isclose(found, expected)


def test_soft_labels_cost_little_where_they_are_nearly_certain():
    X, seen, y_true, _ = table(800)
    P = one_hot(y_true)
    known = ~np.isnan(y_true)
    P[known] = 0.98 * P[known] + 0.01
    hard, soft = fit(X, seen, y_true), fit(X, seen, P)
    gap = hard.predict_proba(X)[:, 1] - soft.predict_proba(X)[:, 1]
    assert np.abs(gap).max() < 0.06
    assert len(soft.candidates_) == len(hard.candidates_)


def test_half_and_half_says_nothing():
    """Rows that are of either class with probability one half must not teach a direction."""
    X, seen, y_true, _ = table(800)
    known = ~np.isnan(y_true)
    P = np.where(known[:, None], 0.5, np.nan) * np.ones((1, 2))
    clf = fit(X, seen, P, method="reviewed_linear")
    assert np.abs(clf.predict_proba(X)[:, 1] - 0.5).max() < 0.01


@pytest.mark.parametrize(
    ("P", "said"),
    [
        ([[0.5, 0.6], [1, 0]], "row 0"),
        ([[-0.1, 1.1], [1, 0]], "not be negative"),
        ([[1, 0, 0], [0, 1, 0]], "3 columns but y has 2 classes"),
        ([[1.0, 0.0]], "1 rows but X has 2"),
    ],
)
def test_a_wrong_matrix_is_refused(P, said):
    with pytest.raises(ValueError, match=said):
        encode_shares([0, 1], np.array(P, dtype=float))


def test_a_class_that_is_never_observed_can_be_named_by_a_column():
    shares = pd.DataFrame({"c": [0.2, np.nan, 0.0], "a": [0.8, np.nan, 1.0]})
    labels, found = encode_shares(["a", "b", "a"], shares)
    assert labels.classes.tolist() == ["a", "b", "c"]
    assert labels.y_true.tolist() == [0, -1, 0]
    assert found[0].tolist() == [0.8, 0.0, 0.2]
    assert np.isnan(found[1]).all()


def test_three_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    true = np.digitize(X[:, 0], [-0.5, 0.5])
    seen = np.where(rng.random(300) < 0.2, rng.integers(0, 3, 300), true)
    P = np.full((300, 3), np.nan)
    P[:120] = 0.85 * np.eye(3)[true[:120]] + 0.05
    clf = fit(X, seen, P, method="both_linear")
    assert (clf.predict(X) == true).mean() > 0.8
    assert np.isclose(clf.noise_rates_["all"], (1 - P[np.arange(120), seen[:120]]).mean())
