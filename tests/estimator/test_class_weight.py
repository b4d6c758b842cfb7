"""Rows of a class may count more than others."""

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
    by_hand = fit(sample_weight=np.where(label == "ill", 4.0, 1.0))
    np.testing.assert_array_equal(fit({"ill": 4.0, "well": 1.0}), by_hand)
    np.testing.assert_array_equal(fit({"ill": 4.0}), by_hand)


def test_balanced_classes_find_more_of_the_rare_one():
    _, _, true, _ = made()
    plain, balanced = (fit(how)[:, 0][true == "ill"] for how in (None, "balanced"))
    assert (balanced > 0.5).mean() > (plain > 0.5).mean() + 0.2


@pytest.mark.parametrize("wrong", ["balance", {"sick": 2.0}, 3])
def test_anything_else_is_refused_and_the_classes_are_named(wrong):
    with pytest.raises(ValueError, match="'balanced' or a dict of the classes 'ill', 'well', got"):
        fit(wrong)
