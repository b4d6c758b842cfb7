"""scikit-learn's own estimator checks, without one expected failure."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_X_y

from alignset.estimator import NoisyLabelClassifier
from alignset.learners import Blend
from alignset.methods import JointAlignment, Standard

SMALL: dict[str, Any] = {"n_configs": 2, "max_epochs": 40, "hidden": 16, "folds": 2}
# each part of the default once, and fewer candidates; the network is a method of its own
TREES = Blend(strategies=("observed",), network=None, folds=2)
JOINT = Blend(strategies=("both", "joint"), learners=("linear",), network=None, folds=2)
FULL = Blend(network=None, folds=2)


class ReviewedClassifier(NoisyLabelClassifier):
    """Takes the labels it is given as the truth, spoils some, and reviews about half of the rows.

    What happens to a row depends on its content, as it must where a check repeats or permutes rows.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ReviewedClassifier:
        try:
            with warnings.catch_warnings(action="ignore"):
                rows, truth = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
        except (TypeError, ValueError):
            return super().fit(X, y, sample_weight=sample_weight)  # to raise its own error
        dense = rows.toarray() if scipy.sparse.issparse(rows) else rows
        key = np.round(np.abs(dense).sum(1) * 997).astype(np.int64)
        classes, codes = np.unique(truth, return_inverse=True)
        seen = classes[np.where(key % 11 == 0, codes + 1, codes) % len(classes)]
        true = np.where(key % 2 == 0, truth.astype(object), None)
        seen = seen.reshape(np.asarray(y).shape)
        return super().fit(X, seen, y_true=true, groups=key // 2 % 3, sample_weight=sample_weight)


@pytest.mark.filterwarnings("ignore::alignset.estimator.NoReviewWarning")
@parametrize_with_checks(
    [NoisyLabelClassifier(TREES, **SMALL), NoisyLabelClassifier(Standard(), **SMALL)]
)
def test_scikit_learn_accepts_the_classifier(estimator: Any, check: Any) -> None:
    check(estimator)


def unalarmed(test: Any) -> Any:
    """Ignore what a fit has to say of checks' odd tables."""
    for name in ("NoReview", "NoDisagreement", "UnobservedClass", "UnreviewedGroup", "UnseenCell",
                 "LabelSwitch", "FewReviewed", "SelectiveReview"):  # fmt: skip
        test = pytest.mark.filterwarnings(f"ignore::alignset.estimator.{name}Warning")(test)
    return test


@unalarmed
@parametrize_with_checks(
    [
        ReviewedClassifier(JOINT, **SMALL),
        ReviewedClassifier(JointAlignment(), **SMALL, ensemble=2, review_weights="cells"),
    ]
)
def test_scikit_learn_accepts_it_with_reviewed_rows_and_groups(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.long
@unalarmed
@parametrize_with_checks([ReviewedClassifier(FULL, **SMALL)])
def test_scikit_learn_accepts_every_candidate_at_once(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_reviewing_classifier_trains_the_default_method_on_three_groups() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    clf = ReviewedClassifier(**SMALL, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    assert isinstance(clf.method_, Blend)
    assert clf.groups_.tolist() == [0, 1, 2]
