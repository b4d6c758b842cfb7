"""The blend as an estimator: what it promises about bits, rows, weights, and odd reviews."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from reviewed_rows import Data, make_data
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alignset import NoisyLabelClassifier
from alignset.estimator import classifier
from alignset.labels import (
    FewReviewedWarning,
    NoReviewWarning,
    SelectiveReviewWarning,
    UnseenCellWarning,
)
from alignset.learners import Blend, stacking
from alignset.progress import Progress

pytestmark = pytest.mark.filterwarnings("ignore::alignset.labels.FewReviewedWarning")

FAST = Blend(strategies=("both", "shrunk", "joint"), network=None, folds=3)


def blend(method: Any = FAST, **changes: Any) -> NoisyLabelClassifier:
    return NoisyLabelClassifier(method, **{"random_state": 0, "n_jobs": 1, "folds": 3, **changes})


@pytest.fixture(scope="module")
def data() -> Data:
    return make_data(300)


@pytest.fixture(scope="module")
def fitted(data: Data) -> NoisyLabelClassifier:
    return blend().fit(**data.fit_args)


def test_the_default_is_the_blend(data: Data) -> None:
    clf = NoisyLabelClassifier(random_state=0, n_configs=2, max_epochs=3, hidden=4)
    clf.fit(**data.fit_args)
    assert isinstance(clf.method_, Blend)
    names = {(row.labels, row.learner) for row in clf.candidates_}
    assert {("observed", "linear"), ("joint", "trees"), ("joint", "network")} <= names
    frame = clf.candidates_.frame
    assert list(frame)[:3] == ["labels", "learner", "weight"]
    assert (frame["weight"] >= 0).all()
    assert "<table>" in clf.candidates_._repr_html_()
    assert clf.explain().count(". ") == 1


def test_refits_are_equal_to_the_bit_whatever_the_cores(
    data: Data, fitted: NoisyLabelClassifier
) -> None:
    again = blend(n_jobs=2).fit(**data.fit_args)
    assert np.array_equal(fitted.predict_proba(data.X), again.predict_proba(data.X))
    assert np.array_equal(
        fitted.label_confidence(data.X, data.y), again.label_confidence(data.X, data.y)
    )


def test_the_order_of_rows_does_not_matter(data: Data, fitted: NoisyLabelClassifier) -> None:
    order = np.random.default_rng(1).permutation(len(data.y))
    other = blend().fit(**{name: values[order] for name, values in data.fit_args.items()})
    assert np.array_equal(fitted.predict_proba(data.X), other.predict_proba(data.X))


def test_a_weight_of_three_is_three_copies(data: Data) -> None:
    copies = np.where(np.arange(300) % 4 == 0, 3, 1)
    each = np.repeat(np.arange(300), copies)
    weighted = blend().fit(**data.fit_args, sample_weight=copies)
    copied = blend().fit(**{name: values[each] for name, values in data.fit_args.items()})
    assert np.array_equal(weighted.predict_proba(data.X), copied.predict_proba(data.X))


def test_sparse_rows_are_learned_without_trees(data: Data) -> None:
    X = scipy.sparse.csr_matrix(np.where(abs(data.X) > 0.5, data.X, 0))
    clf = blend().fit(X, data.y, y_true=data.y_true, groups=data.groups)
    assert {row.learner for row in clf.candidates_[:-1]} == {"linear"}
    assert roc_auc_score(data.truth, clf.predict_proba(X)[:, 1]) > 0.8


def test_four_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    truth = (X[:, 0] > 0) * 2 + (X[:, 1] > 0)
    y = np.where(rng.random(800) < 0.25, (truth + 1) % 4, truth)
    y_true = np.where(rng.random(800) < 0.25, truth, np.nan)
    clf = blend().fit(X, y, y_true=y_true)
    p = clf.predict_proba(X)
    assert p.shape == (800, 4)
    assert p.sum(axis=1) == pytest.approx(np.ones(800))
    assert (clf.predict(X) == truth).mean() > 0.9
    wrong = y != truth
    confidence = clf.label_confidence(X, y)
    assert roc_auc_score(~wrong, confidence) > 0.9


def test_without_a_review_observed_labels_are_learned_and_it_is_said(data: Data) -> None:
    with pytest.warns(NoReviewWarning, match="only observed labels were learned"):
        clf = blend(None).fit(data.X, data.y)
    assert {row.labels for row in clf.candidates_[:-1]} == {"observed"}
    with pytest.warns(NoReviewWarning, match="only observed labels were learned"):
        clf = blend("both_linear").fit(data.X, data.y)
    assert [(row.labels, row.learner) for row in clf.candidates_[:-1]] == [("observed", "linear")]


@pytest.mark.filterwarnings("ignore::alignset.labels.UnseenCellWarning")
@pytest.mark.filterwarnings("ignore::alignset.labels.SelectiveReviewWarning")
def test_a_review_of_positives_only_is_said_and_survived() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    truth = (X[:, 0] + 0.5 * rng.normal(size=2000) > 0).astype(int)
    y = np.where((truth == 0) & (rng.random(2000) < 0.15), 1, truth)
    y_true = np.where((y == 1) & (rng.random(2000) < 0.1), truth, np.nan)
    with pytest.warns(SelectiveReviewWarning, match="No row observed as 0 was reviewed"):
        clf = blend().fit(X, y, y_true=y_true)
    plain = blend("observed_linear").fit(X, y, y_true=y_true)
    area = [roc_auc_score(truth, model.predict_proba(X)[:, 1]) for model in (clf, plain)]
    assert area[0] > area[1] - 0.02


@pytest.mark.filterwarnings("default::alignset.labels.FewReviewedWarning")
@pytest.mark.filterwarnings("ignore::alignset.labels.UnseenCellWarning")
@pytest.mark.filterwarnings("ignore::alignset.labels.SelectiveReviewWarning")
def test_one_reviewed_class_does_not_decide_for_everybody() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    truth = (X[:, 0] > 1.5).astype(int)
    y = np.where(rng.random(1500) < 0.05, 1 - truth, truth)
    looked = np.isin(np.arange(1500), np.flatnonzero(truth == 0)[:47])
    with pytest.warns(FewReviewedWarning, match="no reviewed row turned out to be 1"):
        clf = blend().fit(X, y, y_true=np.where(looked, truth, np.nan))
    assert roc_auc_score(truth, clf.predict_proba(X)[:, 1]) > 0.95
    assert 0 < clf.predict(X).mean() < 0.3


def test_with_few_reviewed_rows_a_blend_leans_on_models_of_both_labels(
    data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = np.array(data.fit_args["y_true"], dtype=float)  # a copy: the data are shared
    truth[np.flatnonzero(~np.isnan(truth))[20:]] = np.nan
    weights = {}
    for rows in (0.0, stacking.LEAN):
        monkeypatch.setattr(stacking, "LEAN", rows)
        clf = blend(Blend(strategies=("both", "reviewed"), network=None))
        clf.fit(**{**data.fit_args, "y_true": truth})
        for each in clf.candidates_[:-1]:
            place = each.labels, rows > 0
            weights[place] = weights.get(place, 0.0) + each.weight
    part = stacking.LEAN / (stacking.LEAN + 20)
    assert weights["both", True] == pytest.approx((1 - part) * weights["both", False] + part)
    assert weights["reviewed", True] == pytest.approx((1 - part) * weights["reviewed", False])
    assert weights["reviewed", True] > 0


def test_a_single_candidate_answers_for_itself(data: Data) -> None:
    clf = blend("both_linear").fit(**data.fit_args)
    assert clf._model.weights.v.tolist() == [1.0]
    assert clf._model.weights.intercept.tolist() == [0.0, 0.0]


def test_any_classifier_is_a_learner(data: Data) -> None:
    own = make_pipeline(StandardScaler(), RandomForestClassifier(20))
    clf = blend(FAST, estimator=own).fit(**data.fit_args)
    assert {row.learner for row in clf.candidates_[:-1]} == {"Pipeline"}
    assert roc_auc_score(data.truth, clf.predict_proba(data.X)[:, 1]) > 0.85
    again = blend(FAST, estimator=own).fit(**data.fit_args)
    assert np.array_equal(clf.predict_proba(data.X), again.predict_proba(data.X))


def test_a_classifier_without_weights_works_where_none_are_needed(data: Data) -> None:
    near = KNeighborsClassifier(5)
    blend("both", estimator=near).fit(**data.fit_args)
    with pytest.raises(ValueError, match="KNeighborsClassifier does not take sample_weight"):
        blend(Blend(strategies=("joint",)), estimator=near).fit(**data.fit_args)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (RandomForestClassifier, "got the class RandomForestClassifier; pass RandomForestCl"),
        (StandardScaler(), "must have fit and predict_proba"),
    ],
)
def test_what_is_no_classifier_is_refused(data: Data, estimator: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        blend(estimator=estimator).fit(**data.fit_args)


def test_text_gaps_and_dates_are_encoded(data: Data) -> None:
    frame = pd.DataFrame(data.X, columns=list("abcde"))
    frame["a"] = frame["a"].where(np.arange(300) % 9 > 0)
    frame["sex"] = np.where(data.groups == 1, "f", "m")
    clf = blend().fit(frame, data.y, y_true=data.y_true)
    assert clf.feature_names_in_.tolist() == [*"abcde", "sex"]
    assert roc_auc_score(data.truth, clf.predict_proba(frame)[:, 1]) > 0.8
    whole = clf.predict_proba(frame.dropna())
    assert np.array_equal(whole, clf.predict_proba(frame)[frame.notna().all(axis=1)])


def test_units_stay_on_one_side(data: Data) -> None:
    twice = {name: np.concatenate([values, values]) for name, values in data.fit_args.items()}
    twice["X"] = twice["X"] + np.r_[np.zeros((300, 5)), np.full((300, 5), 1e-3)]
    person = np.tile(np.arange(300), 2)
    apart = blend("reviewed_trees").fit(**twice).candidates_[0].auroc
    whole = blend("reviewed_trees").fit(**twice, units=person).candidates_[0].auroc
    assert whole < apart


def test_misuse_is_told_kindly(data: Data) -> None:
    X, y, y_true = data.X, data.y, data.y_true
    frame, shuffled = pd.DataFrame(X), pd.Series(y_true).sample(frac=1, random_state=0)
    cases = [
        (lambda: blend().fit(frame, y, y_true=shuffled), "rows have different names"),
        (
            lambda: blend().fit(X, y, y_true=np.nan_to_num(y_true, nan=-1)),
            "mark rows that were not",
        ),
        (lambda: blend().fit(X, y, y_true=y_true, groups=X[:, 0]), "pandas.qcut"),
        (lambda: blend(device="gpu").fit(X, y), "an NVIDIA GPU is 'cuda'"),
        (lambda: blend(hidden=(100, 50)).fit(X, y), "hidden must be a whole number"),
        (lambda: blend(RandomForestClassifier()).fit(X, y), "pass it as estimator="),
        (lambda: Blend(strategies=("obsreved",)), "strategies must be among observed"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.filterwarnings("ignore::alignset.labels.SelectiveReviewWarning")
def test_cells_nobody_reviewed_are_named_by_default(data: Data) -> None:
    y_true = np.where((data.groups == 1) & (data.y == 1), np.nan, data.y_true)
    with pytest.warns(UnseenCellWarning, match="no row of group 1 observed as 1"):
        blend().fit(data.X, data.y, y_true=y_true, groups=data.groups)


def test_a_network_needs_ten_reviewed_rows_per_fold(data: Data) -> None:
    at = np.flatnonzero(~np.isnan(data.y_true))
    wrong = data.y_true[at] != data.y[at]
    least = np.r_[at[wrong][:8], at[~wrong]]  # 2 per fold are wrong, as before

    def has_network(reviewed: int) -> bool:
        y_true = np.full(len(data.y), np.nan)
        y_true[least[:reviewed]] = data.y_true[least[:reviewed]]
        only = Blend(strategies=("observed",), learners=("linear",), folds=3)
        clf = blend(only, n_configs=1, max_epochs=2, hidden=4)
        clf.fit(data.X, data.y, y_true=y_true, groups=data.groups)
        return any(row.learner == "network" for row in clf.candidates_)

    assert (has_network(29), has_network(30)) == (False, True)


def test_a_network_is_left_out_where_all_that_was_reviewed_is_of_two_people() -> None:
    data = make_data(300)
    y_true, units = np.full(300, np.nan), np.arange(300)
    y_true[:120], units[:120] = data.truth[:120], np.arange(120) % 2
    only = Blend(strategies=("observed", "reviewed"), learners=("linear",))
    clf = NoisyLabelClassifier(only, max_epochs=2, hidden=4, random_state=0)
    clf.fit(data.X, data.y, y_true=y_true, groups=data.groups, units=units)
    assert {row.learner for row in clf.candidates_} == {"linear", "all"}


def test_an_ordinary_fit_warns_of_nothing() -> None:
    data = make_data(400, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        blend().fit(**data.fit_args)


def test_the_bar_never_goes_back(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[float] = []

    @contextmanager
    def bar(*, show: bool | None = None) -> Iterator[Progress]:
        yield lambda what, done, total: places.append(done / total)

    monkeypatch.setattr(classifier, "progress_bar", bar)
    clf = NoisyLabelClassifier(random_state=0, n_configs=2, max_epochs=3, hidden=4, n_jobs=1)
    clf.fit(**data.fit_args)
    assert ("joint", "network") in {(row.labels, row.learner) for row in clf.candidates_}
    assert len(places) > 10
    assert (np.diff(places) >= -1e-9).all()
    assert 0.9 < places[-1] <= 1 + 1e-9
