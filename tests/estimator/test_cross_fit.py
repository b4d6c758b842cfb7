"""NoisyLabelClassifier with folds, ensembles and review weights; and what it warns of then."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reviewed_rows import Data, make_data, small
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from alignset.estimator import (
    LabelSwitchWarning,
    NoisyLabelClassifier,
    UnreviewedGroupWarning,
    UnseenCellWarning,
    learn,
)
from alignset.estimator.warn import warn_of_switches
from alignset.evaluate.switching import Switch
from alignset.labels import SelectiveReviewWarning
from alignset.methods import GLC, Alignment, JointAlignment, Standard
from alignset.rows import Part
from alignset.rows.divide import Division

pytestmark = pytest.mark.filterwarnings("ignore::alignset.labels.FewReviewedWarning")

Array = NDArray[Any]

BOTH: dict[str, Any] = {"folds": 3, "ensemble": 2, "n_configs": 3}


@pytest.fixture(scope="module")
def data() -> Data:
    return make_data()


@pytest.fixture(scope="module")
def fitted(data: Data) -> NoisyLabelClassifier:
    return small(**BOTH).fit(**data.fit_args)


@pytest.fixture(scope="module")
def prob(data: Data, fitted: NoisyLabelClassifier) -> Array:
    return fitted.predict_proba(data.X)


# ---- what is averaged


def test_predictions_are_means_over_folds_and_configs(
    data: Data, fitted: NoisyLabelClassifier, prob: Array
) -> None:
    (fits,), X = fitted._model.parts, fitted._scale(data.X)
    assert fitted._model.folds[0].tolist() == [0, 1, 2, 0, 1, 2]
    np.testing.assert_allclose(fits.probability(X).mean(0), prob, atol=1e-5)
    mean = fits.confidence(X, data.y).mean(0)
    np.testing.assert_allclose(fitted.label_confidence(data.X, data.y), mean, atol=1e-5)


def test_search_results_are_means_over_folds(fitted: NoisyLabelClassifier) -> None:
    found, (fits,) = fitted.search_results_, fitted._model.parts
    assert sorted(found["rank"]) == [1, 2, 3]
    assert (found["averaged"] == (found["rank"] <= 2)).all()
    best = int(np.argmin(found["rank"]))
    assert found["score"][best] == pytest.approx(float(fits.score[0, :3].mean()))
    assert found["epochs"].shape == (3, 2)
    assert fits.configs[:3] == [found["config"][best]] * 3
    config = found["config"][best]
    assert {name: getattr(fitted.method_, name) for name in config} == config


def test_every_reviewed_row_validates_once(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    problems: list[Any] = []
    original = learn.switches
    monkeypatch.setattr(learn, "switches", lambda p, *a: problems.extend(p) or original(p, *a))
    small(n_configs=1, max_epochs=2, folds=4).fit(**data.fit_args)
    n = int((~np.isnan(data.y_true)).sum())
    assert len(problems) == 4
    assert sum(len(p.validation) for p in problems) == n
    for p in problems:
        assert len(p.train) + len(p.validation) == len(data.y)
        assert p.train.reviewed.sum() == n - len(p.validation)


def test_noise_rates_are_counted_on_reviewed_rows_and_nothing_is_mixed_in() -> None:
    data = make_data(n=800, reviewed=0.3)
    clf = small(max_epochs=3).fit(**data.fit_args)
    looked = ~np.isnan(data.y_true)
    for g in (0, 1):
        here = looked & (data.groups == g)
        rate = (data.y[here] != data.y_true[here]).mean()
        assert clf.noise_rates_[g] == pytest.approx(rate, abs=1e-12)


def test_noise_rates_are_not_known_where_nobody_looked(data: Data) -> None:
    y_true = np.where(data.groups == 1, np.nan, data.y_true)
    with pytest.warns(UnreviewedGroupWarning):
        clf = small(max_epochs=2).fit(data.X, data.y, y_true=y_true, groups=data.groups)
    assert np.isnan(clf.noise_rates_[1])
    assert not np.isnan(clf.noise_rates_[0])


def test_an_ensemble_of_one_without_folds_is_the_plain_fit(data: Data) -> None:
    plain = small().fit(**data.fit_args).predict_proba(data.X)
    one = small(ensemble=1, folds=None).fit(**data.fit_args).predict_proba(data.X)
    assert np.array_equal(plain, one)


def test_folds_and_ensembles_predict_no_worse() -> None:
    data, new = make_data(n=1000, reviewed=0.1), make_data(n=1500, seed=1)
    settings = {"n_configs": 3, "max_epochs": 60, "hidden": 16}

    def score(**more: Any) -> float:
        clf = small(**settings, **more).fit(**data.fit_args)
        return float(roc_auc_score(new.truth, clf.predict_proba(new.X)[:, 1]))

    assert score(folds=3, ensemble=2) > score() - 0.01


def test_a_config_that_diverged_is_not_averaged(data: Data) -> None:
    space = {"lr": loguniform(1e30, 1e31)}
    clf = small(method=Standard(), space=space, n_configs=3, ensemble=3).fit(**data.fit_args)
    finite = np.isfinite(clf.search_results_["score"])
    assert (clf.search_results_["averaged"] <= finite).all()
    assert np.isfinite(clf.predict_proba(data.X)).all()


# ---- what does not change the fit


@pytest.mark.parametrize("weights", [None, "cells", "classifier"])
def test_order_copies_and_weights_do_not_change_the_fit(data: Data, weights: Any) -> None:
    count = np.random.default_rng(0).integers(0, 4, size=len(data.y))
    order = np.random.default_rng(1).permutation(int(count.sum()))
    copies = {n: np.repeat(v, count, axis=0)[order] for n, v in data.fit_args.items()}
    settings = {**BOTH, "max_epochs": 5, "review_weights": weights}
    weighted = small(**settings).fit(**data.fit_args, sample_weight=count)
    repeated = small(**settings).fit(**copies)
    assert np.array_equal(weighted.predict_proba(data.X), repeated.predict_proba(data.X))
    assert weighted.noise_rates_ == repeated.noise_rates_


def test_clones_pickles_and_jobs_agree(
    data: Data, fitted: NoisyLabelClassifier, prob: Array
) -> None:
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(data.X), prob)
    again = clone(fitted).set_params(n_jobs=2).fit(**data.fit_args)
    assert np.array_equal(again.predict_proba(data.X), prob)
    assert again.noise_rates_ == fitted.noise_rates_


# ---- small reviews


@pytest.mark.filterwarnings("ignore::alignset.estimator.UnseenCellWarning")
def test_fewer_reviewed_rows_than_folds_are_as_many_folds(data: Data) -> None:
    wrong = np.flatnonzero(data.y != data.truth)[:2]
    right = np.flatnonzero(data.y == data.truth)[:1]
    few = np.full(len(data.y), np.nan)
    for rows, n in ((np.r_[wrong, right], 3), (wrong[:1], 1)):
        few[rows] = data.truth[rows]
        clf = small(n_configs=1, max_epochs=3, folds=10).fit(data.X, data.y, y_true=few)
        assert len(clf._model) == n
        few[:] = np.nan


def test_a_fold_that_leaves_no_wrong_label_is_left_out(data: Data) -> None:
    keep = np.r_[np.flatnonzero(data.y == data.truth)[:12], np.flatnonzero(data.y != data.truth)[0]]
    y_true = np.full(len(data.y), np.nan)
    y_true[keep] = data.truth[keep]
    clf = small(method=Alignment(), n_configs=1, max_epochs=3, folds=4).fit(
        data.X, data.y, y_true=y_true
    )
    assert isinstance(clf.method_, Alignment)
    assert len(clf._model) == 3


def test_without_review_there_are_no_folds(data: Data) -> None:
    clf = small(method=Standard(), folds=5).fit(data.X, data.y)
    assert np.array_equal(
        clf.predict_proba(data.X),
        small(method=Standard()).fit(data.X, data.y).predict_proba(data.X),
    )


# ---- review weights


def biased(data: Data) -> tuple[Array, Array]:
    """Return a review that looked at group 1 and label 1 more often, and how often."""
    chance = np.where(data.groups == 1, 0.8, 0.3) * np.where(data.y == 1, 1.0, 0.4)
    looked = np.random.default_rng(3).random(len(data.y)) < chance
    return np.where(looked, data.truth, np.nan), chance


def seen_weights(monkeypatch: pytest.MonkeyPatch) -> list[Part]:
    parts: list[Part] = []

    set_aside = Division.set_aside

    def spy(self: Division, rows: Part, seed: int) -> Any:
        parts.append(rows)
        return set_aside(self, rows, seed)

    monkeypatch.setattr(Division, "set_aside", spy)
    return parts


@pytest.mark.parametrize("how", ["cells", "classifier", "known"])
def test_rare_reviewed_rows_count_more(
    monkeypatch: pytest.MonkeyPatch, data: Data, how: str
) -> None:
    y_true, chance = biased(data)
    parts = seen_weights(monkeypatch)
    known = {"review_probability": np.where(np.isnan(y_true), np.nan, chance)}
    settings = {} if how == "known" else {"review_weights": how}
    clf = small(n_configs=1, max_epochs=2, **settings)
    args = {**data.fit_args, "y_true": y_true, **(known if how == "known" else {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelSwitchWarning)
        clf.fit(**args)
    (rows,) = parts
    weight = rows.weight
    assert weight is not None
    np.testing.assert_allclose(weight[~rows.reviewed], 1.0)
    assert weight[rows.reviewed].mean() == pytest.approx(1.0)
    cell = 2 * rows.group + rows.y_seen
    means = [weight[rows.reviewed & (cell == c)].mean() for c in range(4)]
    assert np.argsort(means).tolist() == [3, 2, 1, 0] or means[0] > 1 > means[3]


def test_known_probabilities_are_permuted_merged_and_dropped_with_their_rows(data: Data) -> None:
    y_true, chance = biased(data)
    args = {**data.fit_args, "y_true": y_true, "review_probability": chance}
    clf = small(folds=2)
    expected = clf.fit(**args).predict_proba(data.X)
    order = np.random.default_rng(0).permutation(len(data.y))
    mixed = {name: v[order] for name, v in args.items()}
    assert np.array_equal(clf.fit(**mixed).predict_proba(data.X), expected)
    twice = {name: np.concatenate([v, v])[np.r_[order, order + 240]] for name, v in args.items()}
    double = clf.fit(**args, sample_weight=np.full(240, 2.0)).predict_proba(data.X)
    assert np.array_equal(clf.fit(**twice).predict_proba(data.X), double)
    more = {name: np.concatenate([v, v[:5]]) for name, v in args.items()}
    more["review_probability"][-5:] = 0.9
    weight = np.repeat([1.0, 0.0], [240, 5])
    assert np.array_equal(clf.fit(**more, sample_weight=weight).predict_proba(data.X), expected)
    equal = {**args, "review_probability": np.full(len(data.y), 0.2)}
    plain = {name: v for name, v in args.items() if name != "review_probability"}
    with pytest.warns(SelectiveReviewWarning):
        unweighted = clf.fit(**plain).predict_proba(data.X)
    np.testing.assert_allclose(clf.fit(**equal).predict_proba(data.X), unweighted, atol=1e-4)


def test_weights_put_a_biased_review_right() -> None:
    # only labels observed as 1 are wrong, and the review hardly looks at those
    rng = np.random.default_rng(0)
    n = 4000
    X, y_true = rng.normal(size=(n, 3)), rng.integers(2, size=n).astype(float)
    y = np.where((y_true == 0) & (rng.random(n) < 0.4), 1, y_true).astype(int)
    looked = rng.random(n) < np.where(y == 1, 0.05, 0.5)
    seen = np.where(looked, y_true, np.nan)
    settings = {"n_configs": 1, "max_epochs": 20, "folds": 2}
    with pytest.warns(SelectiveReviewWarning, match="Pass review_weights='cells'"):
        plain = small(method=Standard(), **settings).fit(X, y, y_true=seen)
    clf = small(method=Standard(), review_weights="cells", **settings)
    put_right = clf.fit(X, y, y_true=seen).noise_rates_["all"]
    rate, told = float((y != y_true).mean()), float((y != y_true)[looked].mean())
    assert abs(put_right - rate) < abs(told - rate) / 4
    assert plain.noise_rates_["all"] == put_right  # a rate is put right wherever it is seen
    assert put_right == pytest.approx(rate, abs=0.06)


# ---- what it warns of and refuses


def test_cells_nobody_reviewed_are_named(data: Data) -> None:
    groups = np.where(data.groups == 1, "west", "east")
    words = np.array(["no", "yes"])
    y_true = np.where((data.groups == 1) & (data.y == 1), np.nan, data.y_true)
    true = np.array([None if np.isnan(v) else words[int(v)] for v in y_true], dtype=object)
    args = {"X": data.X, "y": words[data.y], "y_true": true, "groups": groups}
    said = "no row of group 'west' observed as 'yes' was reviewed; the data cannot show"
    with pytest.warns(UnseenCellWarning, match=said) as record:
        small(review_weights="cells").fit(**args)
    assert [w.filename for w in record] == [__file__]
    with pytest.warns(UnseenCellWarning, match=said):
        small().fit(**args, review_probability=np.full(240, 0.3))
    with pytest.warns(UnseenCellWarning, match=said):
        small().fit(**args)


def test_a_group_nobody_reviewed_is_warned_of_once(data: Data) -> None:
    y_true = np.where(data.groups == 1, np.nan, data.y_true)
    with pytest.warns(UnreviewedGroupWarning) as record:
        small(review_weights="cells").fit(data.X, data.y, y_true=y_true, groups=data.groups)
    assert len(record) == 1


def switched() -> dict[str, Any]:
    """Labels that are nearly all wrong in the second group, of which little was reviewed."""
    rng = np.random.default_rng(0)
    n = 900
    groups = np.where(np.arange(n) < 600, "east", "west")
    X = np.column_stack([rng.normal(size=(n, 2)), groups == "west"])
    truth = (X[:, 0] > 0).astype(int)
    y = np.where((groups == "west") != (rng.random(n) < 0.1), 1 - truth, truth)
    y_true = np.where(rng.random(n) < 0.15, truth, np.nan)
    return {"X": X, "y": y, "y_true": y_true, "groups": groups}


@pytest.mark.parametrize("folds", [None, 3])
def test_a_group_whose_classes_changed_places_is_named(folds: int | None) -> None:
    args = switched()
    clf = small(method=Standard(), folds=folds, n_configs=1, max_epochs=60)
    said = r"in group 'west' the model predicts 1 where 0 is true, 0 where 1 is true .*try Joint"
    with pytest.warns(LabelSwitchWarning, match=said) as record:
        clf.fit(**args)
    assert len(record) == 1
    assert record[0].filename == __file__


def test_the_default_method_reads_the_switched_group_right() -> None:
    args = switched()
    clf = small(folds=3, n_configs=1, max_epochs=100, hidden=32).fit(**args)
    west = (args["groups"] == "west") & ~np.isnan(args["y_true"])
    assert (clf.predict(args["X"]) == args["y_true"])[west].mean() > 0.8


@pytest.mark.parametrize(
    ("method", "cure"),
    [(JointAlignment(), "raise `prior`, or compare with Standard()"), (GLC(), "or try Joint")],
)
def test_a_switch_comes_with_a_cure(method: Any, cure: str) -> None:
    found = Switch(group=0, order=(1, 0), gain=0.4, error=0.1, n_rows=20)
    with pytest.warns(LabelSwitchWarning) as record:
        warn_of_switches([found], method.if_switched, ["no", "yes"], ["f"])
    said = str(record[0].message)
    assert said.startswith(
        "in group 'f' the model predicts 'yes' where 'no' is true, 'no' where 'yes' is true (by "
        "0.40 in probability, standard error 0.10, on 20 reviewed rows held out of training). "
    )
    assert cure in said


@pytest.mark.parametrize("seed", range(5))
def test_an_ordinary_fit_says_nothing_of_switches(seed: int) -> None:
    data = make_data(n=400, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabelSwitchWarning)
        small(folds=2, max_epochs=60, random_state=seed).fit(**data.fit_args)


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({"folds": 1}, None, r"folds must be a whole number of at least 2, or None .*, got 1\."),
        ({"folds": 2.0}, None, r"folds must be a whole number of .*, got 2\.0\."),
        ({"folds": True}, None, "folds must be a whole number of .*, got True"),
        ({"ensemble": 0}, None, "ensemble must be a whole number from 1 to n_configs=2, .*, got 0"),
        ({"ensemble": 3}, None, "ensemble must be a whole number from 1 to n_configs=2, .*, got 3"),
        ({"ensemble": 1.5}, None, r"ensemble must be a whole number .*, got 1\.5"),
        ({"review_weights": "cell"}, None, "must be 'cells' or 'classifier' or None, got 'cell'"),
        ({"review_weights": "cells"}, np.full(240, 0.5), "'cells' estimates what .* pass only one"),
        ({}, np.full(239, 0.5), r"has shape \(239,\) but X has 240 rows"),
        ({}, np.zeros(240), "was reviewed but its selection probability is 0"),
        ({}, np.full(240, 1.5), r"was reviewed but its .* is 1\.5; for a reviewed row it must"),
        ({}, np.full(240, np.nan), "was reviewed but its selection probability is nan"),
    ],
)
def test_bad_settings_are_refused(
    data: Data, settings: dict[str, Any], given: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        small(**settings).fit(**data.fit_args, review_probability=given)


def test_members_of_one_fold_can_be_asked_alone(data: Data, fitted: NoisyLabelClassifier) -> None:
    ensemble, X = fitted._model, fitted._scale(data.X)
    folds = [ensemble.probability(X, fold) for fold in range(3)]
    np.testing.assert_allclose(np.mean(folds, axis=0), ensemble.probability(X), atol=1e-12)
    assert not np.allclose(folds[0], folds[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("alignset.engine.ensemble.BLOCK_ROWS", 7)
        blocks = ensemble.probability(X)
    np.testing.assert_allclose(blocks, ensemble.probability(X), atol=1e-12)
