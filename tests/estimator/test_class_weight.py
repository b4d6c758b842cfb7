"""Rows of a class may count more than others."""

import warnings

import numpy as np
import pytest

from alignset.estimator import NoisyLabelClassifier
from alignset.learners import Blend

SMALL = Blend(strategies=("observed", "both"), learners=("linear",), network=None)


def made(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    true = np.where(X[:, 0] + rng.normal(size=n) > 1.5, "ill", "well")
    seen = np.where(rng.random(n) < 0.1, "well", true)
    reviewed = np.where(np.arange(n) % 4 == 0, true, None)
    return X, seen, true, reviewed


def fit(class_weight=None, **options):
    X, seen, _, reviewed = made()
    clf = NoisyLabelClassifier(SMALL, class_weight=class_weight, random_state=0, n_jobs=1)
    return clf.fit(X, seen, y_true=reviewed, **options).predict_proba(X)


def test_it_is_a_weight_by_the_true_class_where_known_and_the_observed_one_elsewhere():
    _, seen, _, reviewed = made()
    label = np.where(reviewed == None, seen, reviewed)  # noqa: E711
    by_hand = fit(sample_weight=np.where(label == "ill", 4.5, 1.0))
    np.testing.assert_array_equal(fit({"ill": 4.5, "well": 1.0}), by_hand)
    np.testing.assert_array_equal(fit({"ill": 4.5}), by_hand)


def test_balanced_classes_find_more_of_the_rare_one():
    _, _, true, _ = made()
    plain, balanced = (fit(how)[:, 0][true == "ill"] for how in (None, "balanced"))
    assert (balanced > 0.5).mean() > (plain > 0.5).mean() + 0.2


@pytest.mark.parametrize("wrong", ["balance", {"sick": 2.0}, 3])
def test_anything_else_is_refused_and_the_classes_are_named(wrong):
    with pytest.raises(ValueError, match="'balanced' or a dict of the classes 'ill', 'well', got"):
        fit(wrong)


@pytest.mark.parametrize("wrong", [{"ill": np.nan}, {"ill": -1.0}, {"ill": 0.0, "well": 0.0}])
def test_weights_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match="finite numbers that are not negative and not all zero"):
        fit(wrong)


@pytest.mark.parametrize("how", ["class", "sample", "sample and units"])
@pytest.mark.filterwarnings("ignore::alignset.labels.FewReviewedWarning")
def test_weights_do_not_put_copies_of_a_row_on_both_sides_of_a_fold(how):
    rng = np.random.default_rng(0)
    n = 600
    X, true = rng.normal(size=(n, 5)), (rng.random(n) < 0.15).astype(float)
    y = np.where((true == 1) & (rng.random(n) < 0.2), 0, true).astype(int)
    y_true = np.where(rng.random(n) < 0.4, true, np.nan)
    clf = NoisyLabelClassifier("both_trees", random_state=0, folds=3)
    options = {"sample_weight": np.exp(1.2 * rng.normal(size=n))}
    if how == "class":
        clf.set_params(class_weight="balanced")
        options = {}
    elif how == "sample and units":
        options = {"sample_weight": np.where(true == 1, 6.0, 1.0), "units": np.arange(n)}
    found = clf.fit(X, y, y_true=y_true, **options).candidates_[-1]
    assert 0.3 < found.auroc < 0.7


def test_class_weights_leave_noise_rates_and_the_look_at_the_review_alone():
    X, seen, _, reviewed = made(1000)
    rates = []
    for how in (None, "balanced", {"ill": 0.2}):
        clf = NoisyLabelClassifier(SMALL, class_weight=how, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rates.append(clf.fit(X, seen, y_true=reviewed).noise_rates_)
    assert rates[0] == rates[1] == rates[2]


def test_balanced_weights_count_copies():
    X, seen, _, reviewed = made(120)
    times = np.random.default_rng(1).integers(1, 4, len(seen))
    each = np.repeat(np.arange(len(seen)), times)
    clf = NoisyLabelClassifier(SMALL, class_weight="balanced", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighed = clf.fit(X, seen, y_true=reviewed, sample_weight=times).predict_proba(X)
        copied = clf.fit(X[each], seen[each], y_true=reviewed[each]).predict_proba(X)
    np.testing.assert_array_equal(weighed, copied)
