"""NoisyLabelClassifier: what goes in, what changes nothing, what it warns of, what it shows."""

from __future__ import annotations

import pickle
import random
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
import torch
from numpy.typing import NDArray
from reviewed_rows import FAST, Data, make_data, small
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import alignset.methods
from alignset.estimator import (
    NoDisagreementWarning,
    NoisyLabelClassifier,
    NoReviewWarning,
    UnobservedClassWarning,
    UnreviewedGroupWarning,
)
from alignset.learners import Blend
from alignset.methods import Alignment, JointAlignment, Method, Standard
from alignset.stack import Module

Array = NDArray[Any]


def is_method(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Method) and value is not Method


@pytest.fixture(scope="module")
def data() -> Data:
    return make_data()


@pytest.fixture(scope="module")
def fitted(data: Data) -> NoisyLabelClassifier:
    return small().fit(**data.fit_args)


@pytest.fixture(scope="module")
def prob(data: Data, fitted: NoisyLabelClassifier) -> Array:
    return fitted.predict_proba(data.X)


# ---- what goes in


def as_objects(y_true: Array, names: dict[int, Any]) -> Array:
    return np.array([None if np.isnan(v) else names[int(v)] for v in y_true], dtype=object)


def masked(y_true: Array) -> Any:
    return np.ma.MaskedArray(np.nan_to_num(y_true, nan=7).astype(int), mask=np.isnan(y_true))


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.tolist(),
        lambda t: as_objects(t, {0: 0, 1: 1}),
        lambda t: as_objects(t, {0: 0, 1: 1}).tolist(),
        lambda t: pd.array(t, dtype="Int64"),
        lambda t: pd.Series(t),
        lambda t: pd.Series(pd.array(t, dtype="Int64"), index=np.arange(len(t))[::-1]),
        lambda t: pl.Series(as_objects(t, {0: 0, 1: 1}).tolist()),
        masked,
    ],
    ids=["list", "None", "None list", "pd.NA", "Series", "reversed index", "polars", "masked"],
)
def test_every_way_to_write_not_reviewed_is_the_same(data: Data, prob: Array, write: Any) -> None:
    clf = small().fit(data.X, data.y, y_true=write(data.y_true), groups=data.groups)
    assert np.array_equal(clf.predict_proba(data.X), prob)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ({0: "no", 1: "yes"}, str),
        ({0: "no", 1: "yes"}, object),
        ({0: False, 1: True}, bool),
        ({0: -1, 1: 1}, int),
        ({0: 0.0, 1: 1.0}, float),
    ],
)
def test_labels_may_be_strings_booleans_or_numbers(
    data: Data, prob: Array, names: dict[int, Any], kind: type
) -> None:
    y = np.array([names[v] for v in data.y], dtype=kind)
    clf = small().fit(data.X, y, y_true=as_objects(data.y_true, names), groups=data.groups)
    assert clf.classes_.tolist() == list(names.values())
    assert np.array_equal(clf.predict_proba(data.X), prob)
    assert set(clf.predict(data.X).tolist()) <= set(names.values())
    assert clf.label_confidence(data.X, y).shape == (len(y),)
    assert clf.label_confidence(data.X, y.tolist()).shape == (len(y),)


@pytest.mark.parametrize(
    "write",
    [
        lambda y: pd.Series(y, dtype="Int64"),
        lambda y: pd.Series(y == 1, dtype="boolean"),
        lambda y: pd.Series(np.where(y == 1, "yes", "no"), dtype="string"),
        lambda y: pd.Series(np.where(y == 1, "yes", "no"), dtype="category"),
        lambda y: pl.Series(y),
        lambda y: pl.Series(np.where(y == 1, "yes", "no")),
    ],
    ids=["Int64", "boolean", "string", "category", "polars", "polars strings"],
)
def test_observed_labels_may_come_in_any_column(data: Data, prob: Array, write: Any) -> None:
    y, y_true = write(data.y), write(data.truth)
    if isinstance(y_true, pd.Series):
        y_true = y_true.mask(np.isnan(data.y_true))
    else:
        looked = (~np.isnan(data.y_true)).tolist()
        y_true = pl.Series([v if k else None for v, k in zip(y_true, looked, strict=True)])
    clf = small().fit(data.X, y, y_true=y_true, groups=data.groups)
    assert np.array_equal(clf.predict_proba(data.X), prob)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_fit_as_arrays_do(data: Data, prob: Array, frame: Any) -> None:
    table = frame({f"x{j}": data.X[:, j] for j in range(data.X.shape[1])})
    group = frame({"group": data.groups})["group"]
    clf = small().fit(table, data.y, y_true=data.y_true, groups=group)
    assert np.array_equal(clf.predict_proba(table), prob)
    assert clf.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3", "x4"]


@pytest.mark.parametrize("write", ["csr_matrix", "csc_matrix", "csr_array", "csc_array"])
def test_sparse_rows_fit_as_dense_ones_do(data: Data, write: str) -> None:
    dense = np.where(np.abs(data.X) > 0.5, data.X, 0.0)
    sparse = getattr(scipy.sparse, write)(dense)
    clf = small(standardize=False)
    expected = clf.fit(**{**data.fit_args, "X": dense}).predict_proba(dense)
    clf.fit(**{**data.fit_args, "X": sparse})
    assert np.array_equal(clf.predict_proba(sparse), expected)
    assert np.array_equal(clf.predict_proba(dense), expected)


def test_a_sparse_matrix_with_repeated_entries_is_summed_and_left_alone(data: Data) -> None:
    half = scipy.sparse.csr_matrix(np.where(data.X > 0.5, data.X, 0.0)) / 2
    data_, columns = np.repeat(half.data, 2), np.repeat(half.indices, 2)
    repeated = scipy.sparse.csr_matrix((data_, columns, 2 * half.indptr), shape=half.shape)
    before = repeated.copy()
    got = small().fit(**{**data.fit_args, "X": repeated}).predict_proba(half * 2)
    expected = small().fit(**{**data.fit_args, "X": half * 2}).predict_proba(half * 2)
    assert np.array_equal(got, expected)
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(repeated, part), getattr(before, part))


def test_a_thousand_sparse_columns_train(data: Data) -> None:
    noise = scipy.sparse.random_array((len(data.y), 1000), density=0.01, rng=0)
    X = scipy.sparse.hstack([data.X, noise], format="csr")
    clf = small(max_epochs=30).fit(**{**data.fit_args, "X": X})
    assert roc_auc_score(data.truth, clf.predict_proba(X)[:, 1]) > 0.7


def test_inputs_are_left_as_they_were(data: Data) -> None:
    args = {**data.fit_args, "sample_weight": np.arange(len(data.y)) % 3}
    before = {name: value.copy() for name, value in args.items()}
    small().fit(**args)
    for name, value in args.items():
        np.testing.assert_array_equal(value, before[name])


def test_several_group_columns_mean_their_intersections(data: Data) -> None:
    sex = np.where(data.groups == 1, "f", "m")
    age = np.where(data.X[:, 4] > 0, "old", "young")
    clf = small().fit(data.X, data.y, y_true=data.y_true, groups=np.column_stack([sex, age]))
    assert clf.groups_.tolist() == ["f & old", "f & young", "m & old", "m & young"]
    assert list(clf.noise_rates_) == clf.groups_.tolist()
    assert all(0 <= rate <= 1 for rate in clf.noise_rates_.values())


def test_three_classes_and_three_groups_train() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    truth = X.argmax(1)
    y = np.where(rng.random(400) < 0.2, (truth + 1) % 3, truth)
    y_true = np.where(rng.random(400) < 0.4, truth, np.nan)
    clf = small(max_epochs=60).fit(X, y, y_true=y_true, groups=rng.integers(3, size=400))
    prob = clf.predict_proba(X)
    assert prob.shape == (400, 3)
    np.testing.assert_allclose(prob.sum(1), 1.0)
    assert (clf.predict(X) == truth).mean() > 0.8
    assert isinstance(clf.method_, JointAlignment)


# ---- scikit-learn's tools


def test_it_works_at_the_end_of_a_pipeline(data: Data) -> None:
    pipe = make_pipeline(StandardScaler(), small())
    name = "noisylabelclassifier"
    pipe.fit(data.X, data.y, **{f"{name}__y_true": data.y_true, f"{name}__groups": data.groups})
    assert isinstance(pipe[-1].method_, JointAlignment)
    assert pipe[-1].groups_.tolist() == [0, 1]
    assert pipe.predict(data.X).shape == data.y.shape


def test_grid_search_slices_the_reviewed_labels_without_routing(data: Data) -> None:
    search = GridSearchCV(small(), {"hidden": [4, 8]}, cv=2)
    search.fit(data.X, data.y, y_true=data.y_true)
    assert isinstance(search.best_estimator_.method_, JointAlignment)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_grid_search_routes_reviewed_labels_and_groups(data: Data) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        clf = small().set_fit_request(y_true=True, groups=True)
        search = GridSearchCV(clf, {"hidden": [4, 8]}, cv=2)
        search.fit(data.X, data.y, y_true=data.y_true, groups=data.groups)
        pipe = make_pipeline(StandardScaler(), clf).fit(**data.fit_args)
    for best in (search.best_estimator_, pipe[-1]):
        assert isinstance(best.method_, JointAlignment)
        assert best.groups_.tolist() == [0, 1]


def test_cross_val_predict_passes_the_reviewed_labels_on(data: Data) -> None:
    clf, params = small(max_epochs=40, n_configs=1), {"y_true": data.y_true}
    prob = cross_val_predict(clf, data.X, data.y, cv=2, method="predict_proba", params=params)
    assert roc_auc_score(data.truth, prob[:, 1]) > 0.7


def test_a_clone_fits_the_same(data: Data, fitted: NoisyLabelClassifier, prob: Array) -> None:
    copy = clone(fitted)
    assert not hasattr(copy, "classes_")
    assert np.array_equal(copy.fit(**data.fit_args).predict_proba(data.X), prob)


def test_pickling_keeps_every_prediction(
    data: Data, fitted: NoisyLabelClassifier, prob: Array
) -> None:
    copy = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(copy.predict_proba(data.X), prob)
    assert copy.noise_rates_ == fitted.noise_rates_


# ---- what does not change the fit


@pytest.mark.parametrize("n_jobs", [None, -1, 1, 3])
def test_refits_are_bit_equal_for_any_number_of_jobs(
    data: Data, monkeypatch: pytest.MonkeyPatch, n_jobs: int | None
) -> None:
    def fit(jobs: int | None) -> NoisyLabelClassifier:
        return small(n_configs=5, max_epochs=4, n_jobs=jobs).fit(**data.fit_args)

    monkeypatch.setattr("alignset.engine.trainer.CACHE_BYTES", 1)  # one stack per config
    once, again = fit(1), fit(n_jobs)
    assert np.array_equal(once.predict_proba(data.X), again.predict_proba(data.X))
    assert once.search_results_["score"].tolist() == again.search_results_["score"].tolist()


def test_another_seed_is_another_fit(data: Data, prob: Array) -> None:
    other = small(random_state=1).fit(**data.fit_args)
    assert not np.array_equal(other.predict_proba(data.X), prob)


@pytest.mark.filterwarnings("ignore::alignset.estimator.LabelSwitchWarning")
def test_random_states_of_every_kind_are_taken(data: Data) -> None:
    def fit(state: Any) -> Array:
        return (
            small(n_configs=1, max_epochs=2, random_state=state)
            .fit(**data.fit_args)
            .predict(data.X)
        )

    for make in (np.random.RandomState, np.random.default_rng, np.int64):
        assert np.array_equal(fit(make(3)), fit(make(3)))
    fit(None)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_does_not_matter(data: Data, prob: Array, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(data.y))
    clf = small().fit(**{name: value[order] for name, value in data.fit_args.items()})
    assert np.array_equal(clf.predict_proba(data.X), prob)


def test_data_given_twice_are_twice_as_many_people(data: Data) -> None:
    twice = small().fit(**{name: np.concatenate([v, v]) for name, v in data.fit_args.items()})
    weighted = small().fit(**data.fit_args, sample_weight=np.full(len(data.y), 2.0))
    assert np.array_equal(twice.predict_proba(data.X), weighted.predict_proba(data.X))


@pytest.mark.parametrize("method", [FAST, Alignment(), Standard()])
def test_a_row_of_weight_k_equals_k_copies(data: Data, method: Any) -> None:
    count = np.random.default_rng(0).integers(0, 4, size=len(data.y))
    copies = {name: np.repeat(value, count, axis=0) for name, value in data.fit_args.items()}
    weighted = small(method=method).fit(**data.fit_args, sample_weight=count)
    repeated = small(method=method).fit(**copies)
    assert np.array_equal(weighted.predict_proba(data.X), repeated.predict_proba(data.X))
    assert weighted.noise_rates_ == repeated.noise_rates_


def test_a_group_without_weight_is_a_group_that_is_not_there(data: Data, prob: Array) -> None:
    more = {name: np.concatenate([v, v[:9]]) for name, v in data.fit_args.items()}
    more["groups"][-9:] = 2
    weight = np.repeat([1.0, 0.0], [len(data.y), 9])
    clf = small().fit(**more, sample_weight=weight)
    assert clf.groups_.tolist() == [0, 1]
    assert np.array_equal(clf.predict_proba(data.X), prob)


def test_renaming_groups_renames_noise_rates_only(
    data: Data, fitted: NoisyLabelClassifier, prob: Array
) -> None:
    same_order = small().fit(**{**data.fit_args, "groups": np.array(["a", "b"])[data.groups]})
    assert np.array_equal(same_order.predict_proba(data.X), prob)
    assert list(same_order.noise_rates_.values()) == list(fitted.noise_rates_.values())
    swapped = small().fit(**{**data.fit_args, "groups": 1 - data.groups})
    np.testing.assert_allclose(swapped.predict_proba(data.X), prob, atol=1e-3)
    for group, rate in fitted.noise_rates_.items():
        assert swapped.noise_rates_[1 - group] == pytest.approx(rate, abs=1e-3)


def test_swapping_classes_swaps_the_columns() -> None:
    data = make_data(n=800)
    clf = small(max_epochs=100)
    prob = clf.fit(**data.fit_args).predict_proba(data.X)
    clf.fit(data.X, 1 - data.y, y_true=1 - data.y_true, groups=data.groups)
    other = clf.predict_proba(data.X)[:, ::-1]
    # the two start from different weights, so they agree as two seeds do
    assert (prob.argmax(1) == other.argmax(1)).mean() > 0.85


def test_no_global_generator_is_read_or_written(data: Data, prob: Array) -> None:
    def states() -> list[Any]:
        return [random.getstate(), repr(np.random.get_state()), torch.get_rng_state().tolist()]  # noqa: NPY002

    torch.rand(3)
    before = states()
    clf = small().fit(**data.fit_args)
    assert states() == before
    assert np.array_equal(clf.predict_proba(data.X), prob)


def test_a_constant_column_keeps_its_unit(data: Data) -> None:
    X = np.column_stack([data.X, np.full(len(data.y), 0.1)])
    clf = small().fit(**{**data.fit_args, "X": X})
    moved = X + np.array([0, 0, 0, 0, 0, 1e-3])
    np.testing.assert_allclose(clf.predict_proba(moved), clf.predict_proba(X), atol=0.01)


def test_no_training_data_stay_in_the_fitted_object() -> None:
    data = make_data(n=3000)
    X = np.column_stack([data.X, np.random.default_rng(0).normal(size=(3000, 45))])
    clf = small(n_configs=1, max_epochs=1).fit(**{**data.fit_args, "X": X})
    blob = pickle.dumps(clf)
    assert len(blob) < X.nbytes / 20
    for row in (X, X.astype(np.float32), clf._scale(X), clf._scale(X).astype(np.float32)):
        assert not any(row[i, :2].tobytes() in blob for i in range(0, 3000, 100))


# ---- what it warns of and refuses


def test_without_review_it_warns_once_and_fits_standard(data: Data) -> None:
    with pytest.warns(NoReviewWarning, match="JointAlignment cannot be trained") as record:
        clf = small().fit(data.X, data.y, groups=data.groups)
    assert len(record) == 1
    assert isinstance(clf.method_, Standard)
    standard = small(method=Standard()).fit(data.X, data.y, groups=data.groups)
    assert np.array_equal(clf.predict_proba(data.X), standard.predict_proba(data.X))


def test_an_all_missing_review_is_no_review(data: Data) -> None:
    with pytest.warns(NoReviewWarning):
        small(n_configs=1, max_epochs=1).fit(data.X, data.y, y_true=[None] * len(data.y))


def test_a_review_that_finds_no_error_falls_back_on_standard(data: Data) -> None:
    with pytest.warns(NoDisagreementWarning, match="every reviewed label was right") as record:
        clf = small(max_epochs=100).fit(data.X, data.truth, y_true=data.y_true)
    assert len(record) == 1
    assert isinstance(clf.method_, Standard)
    assert clf.label_confidence(data.X, data.truth).mean() > 0.8
    assert clf.noise_rates_["all"] < 0.1


def test_a_stand_in_searches_the_part_of_the_space_it_knows(data: Data) -> None:
    space = {"lr": loguniform(1e-3, 1e-2), "gamma": loguniform(0.1, 1.0)}
    with pytest.warns(NoReviewWarning):
        clf = small(space=space).fit(data.X, data.y)
    assert set(clf.search_results_["config"][1]) == {"lr"}


def test_a_group_nobody_reviewed_is_named(data: Data) -> None:
    groups = np.where(data.groups == 1, "west", "east")
    y_true = np.where(groups == "west", np.nan, data.y_true)
    with pytest.warns(UnreviewedGroupWarning, match="group 'west' has no reviewed row") as record:
        clf = small().fit(data.X, data.y, y_true=y_true, groups=groups)
    assert len(record) == 1
    assert np.isnan(clf.noise_rates_["west"])


def test_a_class_nobody_observed_is_named(data: Data) -> None:
    y_true = np.where(data.X[:, 3] > 1.0, 2, data.y_true)
    with pytest.warns(UnobservedClassWarning, match="class 2 occurs among the true") as record:
        clf = small().fit(data.X, data.y, y_true=y_true)
    assert len(record) == 1
    assert clf.classes_.tolist() == [0, 1, 2]


def test_every_warning_points_at_the_line_that_called_fit(data: Data) -> None:
    clf = small(n_configs=1)
    west = np.where(data.groups == 1, np.nan, data.y_true)
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        first = _line()
        clf.fit(data.X, data.y)
        clf.fit(data.X, data.truth, y_true=data.y_true)
        clf.fit(data.X, data.y, y_true=west, groups=data.groups)
        clf.fit(data.X, data.y, y_true=np.where(data.X[:, 3] > 1.0, 2, data.y_true))
    assert [w.category for w in record] == [
        NoReviewWarning,
        NoDisagreementWarning,
        UnreviewedGroupWarning,
        UnobservedClassWarning,
    ]
    assert [(w.filename, w.lineno - first) for w in record] == [(__file__, i) for i in (1, 2, 3, 4)]


def _line() -> int:
    return sys._getframe(1).f_lineno


def with_infinity(X: Array) -> Array:
    X = X.copy()
    X[3, 1] = np.inf
    return X


@pytest.mark.parametrize(
    ("settings", "change", "message"),
    [
        ({}, lambda d: {"X": with_infinity(d.X)}, "Input X contains infinity"),
        ({}, lambda d: {"y": d.y[1:]}, r"y has \d+ entries but X has \d+ rows"),
        ({}, lambda d: {"y": d.y + 0.5}, "Unknown label type"),
        ({}, lambda d: {"y": 0 * d.y, "y_true": None}, r"only one class, \[0\]"),
        ({}, lambda d: {"y_true": d.y_true[1:]}, "y_true has 239 entries but X has 240 rows"),
        ({}, lambda d: {"y_true": as_objects(d.y_true, {0: "a", 1: "b"})}, "y_true holds str"),
        ({}, lambda d: {"groups": d.groups[1:]}, "groups has 239 entries but X has 240 rows"),
        ({}, lambda d: {"groups": d.y_true}, "groups is missing in"),
        ({}, lambda d: {"sample_weight": np.ones(3)}, r"shape \(3,\) but X has 240 rows"),
        ({}, lambda d: {"sample_weight": d.X[:, 0]}, "sample_weight must be finite, not negative"),
        ({}, lambda d: {"sample_weight": 0 * d.y}, "not all zero, got values from 0.0 to 0.0"),
        (
            {"method": "alignement"},
            lambda d: {},
            "no method 'alignement'; did you mean 'alignment'",
        ),
        ({"method": Alignment}, lambda d: {}, r"the class Alignment; pass Alignment\(\)"),
        ({"n_configs": 0}, lambda d: {}, "n_configs must be a whole number of at least 1, got 0"),
        ({"max_epochs": 0}, lambda d: {}, "max_epochs must be a whole number of at least 1, got 0"),
        ({"patience": 0}, lambda d: {}, "patience must be a whole number of at least 1, got 0"),
        ({"hidden": 0}, lambda d: {}, "hidden >= 1"),
        ({"validation_share": 50}, lambda d: {}, r"must lie in \(0, 1\), got 50.0; write 0.5"),
        ({"space": {"gama": loguniform(1, 2)}}, lambda d: {}, "no stackable hyperparameter 'gama'"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(
    data: Data, settings: dict[str, Any], change: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        small(**settings).fit(**{**data.fit_args, **change(data)})


def test_label_confidence_refuses_labels_it_does_not_know(
    data: Data, fitted: NoisyLabelClassifier
) -> None:
    with pytest.raises(ValueError, match=r"y holds 2, which was never seen in fit; .* are 0, 1\."):
        fitted.label_confidence(data.X, data.y + 1)
    with pytest.raises(ValueError, match="y holds 'no', which was never seen in fit"):
        fitted.label_confidence(data.X, np.where(data.y == 1, "yes", "no"))
    with pytest.raises(ValueError, match="y has 3 entries but X has 240 rows"):
        fitted.label_confidence(data.X, data.y[:3])
    with pytest.raises(ValueError, match="has 2 features, but NoisyLabelClassifier is expecting 5"):
        fitted.label_confidence(data.X[:, :2], data.y)
    with pytest.raises(NotFittedError):
        small().label_confidence(data.X, data.y)


# ---- what it shows


@pytest.mark.parametrize("verbose", [False, True])
def test_only_verbose_prints(data: Data, capfd: Any, verbose: bool) -> None:
    small(verbose=verbose).fit(**data.fit_args)
    out, err = capfd.readouterr()
    assert out == ""
    assert ("training" in err) == verbose
    assert verbose or err == ""


def test_search_results_rank_every_config(fitted: NoisyLabelClassifier) -> None:
    results = fitted.search_results_
    assert results["config"][0] == JointAlignment().hyper_defaults()
    assert sorted(results["rank"]) == [1, 2]
    best = results["config"][int(np.argmin(results["rank"]))]
    assert results["score"][results["rank"] == 1] == results["score"].max()
    assert {name: getattr(fitted.method_, name) for name in best} == best
    assert results["epochs"].shape == (2, 2)


def test_it_finds_wrong_labels_and_learns_around_them() -> None:
    data, new = make_data(n=1500, reviewed=0.12), make_data(n=1500, seed=1)
    settings = {"n_configs": 3, "max_epochs": 80, "hidden": 32}
    clf = small(**settings).fit(**data.fit_args)
    standard = small(method=Standard(), **settings).fit(**data.fit_args)
    confidence = clf.label_confidence(data.X, data.y)
    assert roc_auc_score(data.y == data.truth, confidence) > 0.8
    assert clf.noise_rates_[0] == pytest.approx(0.2, abs=0.1)
    assert clf.noise_rates_[1] == pytest.approx(0.4, abs=0.1)
    ours = roc_auc_score(new.truth, clf.predict_proba(new.X)[:, 1])
    assert ours > roc_auc_score(new.truth, standard.predict_proba(new.X)[:, 1]) + 0.02


@pytest.mark.parametrize("method", [None, Standard()])
def test_with_every_row_reviewed_it_is_as_good_as_clean_labels(method: Any) -> None:
    data, new = make_data(n=600, reviewed=1.0), make_data(n=600, seed=1)
    settings = {"max_epochs": 100, "hidden": 16}
    clf = small(method=method, **settings).fit(**data.fit_args)
    clean = small(method=Standard(), **settings).fit(data.X, data.truth)
    score = roc_auc_score(new.truth, clf.predict_proba(new.X)[:, 1])
    assert score > roc_auc_score(new.truth, clean.predict_proba(new.X)[:, 1]) - 0.02


@pytest.mark.parametrize("seed", range(3))
def test_three_clear_clusters_are_told_apart(seed: int) -> None:
    # fails when configs are chosen by EO over thresholds, which near-constant predictions win
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=240)
    X = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5]])[truth] + rng.normal(scale=0.6, size=(240, 2))
    y = np.where(rng.random(240) < 0.1, (truth + 1) % 3, truth)
    y_true = np.where(rng.random(240) < 0.5, truth, np.nan)
    clf = small(n_configs=6, max_epochs=60, hidden=16, random_state=seed)
    clf.fit(X, y, y_true=y_true, groups=rng.integers(3, size=240))
    assert (clf.predict(X) == truth).mean() > 0.85


METHODS = [m for m in map(alignset.methods.__dict__.get, alignset.methods.__all__) if is_method(m)]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_fits_through_the_estimator(data: Data, method: type[Method]) -> None:
    clf = small(method=method(), max_epochs=4).fit(**data.fit_args)
    assert isinstance(clf.method_, method)
    prob, confidence = clf.predict_proba(data.X), clf.label_confidence(data.X, data.y)
    assert ((prob >= 0) & (prob <= 1)).all()
    assert ((confidence >= 0) & (confidence <= 1)).all()
    assert np.array_equal(clf.fit(**data.fit_args).predict_proba(data.X), prob)


def linear_net(n_inputs: int, n_outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_inputs, 6), nn.Tanh(), nn.Linear(6, n_outputs))


def test_any_module_can_be_the_backbone(data: Data) -> None:
    clf = small(backbone=Module(linear_net), max_epochs=40).fit(**data.fit_args)
    prob = clf.predict_proba(data.X)
    assert roc_auc_score(data.truth, prob[:, 1]) > 0.7
    assert np.array_equal(clone(clf).fit(**data.fit_args).predict_proba(data.X), prob)


@pytest.mark.filterwarnings("ignore:no row was reviewed")
@pytest.mark.parametrize("method", [FAST, "standard"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError("broken")])
def test_a_fit_that_is_stopped_changes_nothing(
    data: Data, monkeypatch: Any, method: Any, error: Any
) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise error

    frame = pd.DataFrame(data.X, columns=[f"f{j}" for j in range(data.X.shape[1])])
    clf = small(method=method)
    with monkeypatch.context() as patch:
        patch.setattr("alignset.estimator.classifier.noise_rates_of", stop)
        with pytest.raises(type(error) if isinstance(error, Exception) else error):
            clf.fit(frame, data.y, y_true=data.y_true)
        for answer in (clf.predict, clf.predict_proba, clf.save):
            with pytest.raises(NotFittedError):
                answer(frame)
        assert set(vars(clf)) == set(clf.get_params())
    clf.fit(frame, data.y, y_true=data.y_true)
    before, said = dict(vars(clf)), clf.predict_proba(frame)
    with monkeypatch.context() as patch:
        patch.setattr("alignset.estimator.classifier.noise_rates_of", stop)
        with pytest.raises(type(error) if isinstance(error, Exception) else error):
            clf.fit(data.X[:, :2], np.where(data.y == 1, "b", "a"))
    assert dict(vars(clf)) == before
    np.testing.assert_array_equal(clf.predict_proba(frame), said)


@pytest.mark.parametrize("wrong", ["labels", "text", "settings"])
def test_a_fit_that_is_refused_changes_nothing(data: Data, wrong: str) -> None:
    clf = small(method="standard").fit(data.X, data.y, y_true=data.y_true)
    before = dict(vars(clf))
    X = pd.DataFrame({"a": ["x", None] * (len(data.y) // 2)})
    given = (X, data.y) if wrong == "text" else (data.X[:, :1], np.zeros(len(data.y), int))
    with pytest.raises(ValueError, match=r"."):
        clf.set_params(hidden=0 if wrong == "settings" else 100).fit(
            *given, y_true=np.full(len(data.y), "unknown", dtype=object)
        )
    assert {k: v for k, v in vars(clf).items() if k != "hidden"} == {
        k: v for k, v in before.items() if k != "hidden"
    }


@pytest.mark.parametrize("factor", [1e300, 1e-300])
@pytest.mark.parametrize("method", [Blend(("observed",), network=None), "standard"])
def test_features_of_any_size_are_learned_from(data: Data, method: Any, factor: float) -> None:
    X = data.X * factor
    frame = pd.DataFrame(X, columns=list("abcde")).assign(text=["a", "b"] * (len(X) // 2))
    for given in (X, frame):
        clf = small(method=method).fit(given, data.y, y_true=data.y_true)
        assert clf.predict_proba(given)[:, 1].std() > 0.05
    with pytest.raises(ValueError, match="pass standardize=True"):
        small(method=method, standardize=False).fit(X, data.y, y_true=data.y_true)
