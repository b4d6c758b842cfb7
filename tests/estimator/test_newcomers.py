"""What people do who are new to it: every case once ended in silence, or in a strange message."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from alignset import JointAlignment, NoisyLabelClassifier, load_model
from alignset.estimator.scorers import reviewed_scorer
from alignset.labels import (
    FewReviewedWarning,
    NoGroupsWarning,
    NoReviewWarning,
    SelectiveReviewWarning,
    UnreviewedGroupWarning,
)
from alignset.learners import Blend

pytestmark = pytest.mark.filterwarnings("ignore::alignset.labels.FewReviewedWarning")

LINEAR = Blend(("observed", "reviewed", "both"), ("linear",), network=None)
N = 400


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    true = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(float)
    sex = np.where(rng.random(N) < 0.5, "f", "m")
    missed = (true == 1) & (rng.random(N) < np.where(sex == "f", 0.35, 0.15))
    y = np.where(missed, 0, true).astype(int)
    return {"X": X, "y": y, "y_true": np.where(rng.random(N) < 0.25, true, np.nan), "groups": sex}


def fit(method: Any = "both_linear", settings: Any = None, **given: Any) -> NoisyLabelClassifier:
    return NoisyLabelClassifier(method, random_state=0, **settings or {}).fit(**given)


def test_a_table_of_polars_is_read_as_one_of_pandas(rows):
    polars = pytest.importorskip("polars")
    columns = {"a": rows["X"][:, 0], "ward": np.where(rows["X"][:, 1] > 0, "A", "B")}
    columns["day"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(N) % 50, "D")
    pandas, other = pd.DataFrame(columns), polars.DataFrame(columns)
    labels = {name: rows[name] for name in ("y", "y_true")}
    clf = fit(X=other, **labels)
    expected = fit(X=pandas, **labels).predict_proba(pandas)
    np.testing.assert_array_equal(clf.predict_proba(other), expected)
    np.testing.assert_array_equal(clf.predict_proba(pandas), expected)


def test_a_gap_that_the_fit_never_saw_is_explained(rows):
    clf, X = fit(**rows), rows["X"].copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="had no gaps, so that it does not know what one means"):
        clf.predict_proba(X)


@pytest.mark.parametrize("name", ["sample_weight", "review_probability", "y_true", "units"])
def test_rows_in_another_order_are_refused_wherever_they_are(rows, name):
    values = pd.Series(np.arange(N) % 3 / 4 + 0.5)
    given = {**rows, "X": pd.DataFrame(rows["X"]), name: values.iloc[::-1]}
    with pytest.raises(ValueError, match=f"{name} and X are pandas .* row 0 is 0 in X and 399"):
        fit(**given)
    # two columns may disagree, too, if X is an array
    given = {**rows, "y": pd.Series(rows["y"]), name: values.iloc[::-1]}
    with pytest.raises(ValueError, match=f"{name} and y are pandas objects"):
        fit(**given)


@pytest.mark.parametrize("sign", ["nan", "NA", "-1", " ", 9, 999])
def test_signs_for_not_reviewed_are_refused(rows, sign):
    text = isinstance(sign, str)
    names = np.array(["no", "yes"] if text else [0, 1], dtype=object)
    known = ~np.isnan(rows["y_true"])
    y_true = np.full(N, sign, dtype=object)
    y_true[known] = names[rows["y_true"][known].astype(int)]
    given = {**rows, "y": names[rows["y"]], "y_true": y_true}
    if not text:
        given |= {"y": rows["y"], "y_true": y_true.astype(int)}
    with pytest.raises(ValueError, match="mark rows that were not reviewed with NaN or None"):
        fit(**given)


def test_the_text_nan_is_no_observed_label(rows):
    y = np.where(np.arange(N) == 5, "nan", np.where(rows["y"], "yes", "no"))
    with pytest.raises(ValueError, match="y holds the text 'nan'"):
        fit(X=rows["X"], y=y)


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ([f"{v:.3f}" for v in np.linspace(0, 1, N)], "is different in every row"),
        ([f"{v / 7:.3f}" for v in np.arange(N) % 200], r"use X\['own'\] = pandas.to_numeric"),
        ([f"p{i}" for i in range(N)], "is different in every row, like an identifier; drop it"),
    ],
)
def test_text_that_is_none_gets_advice_that_helps(rows, column, told):
    X = pd.DataFrame(rows["X"], columns=list("abcd")).assign(own=column)
    with pytest.raises(ValueError, match=told):
        fit(X=X, y=rows["y"], y_true=rows["y_true"])


def test_two_columns_of_one_name_are_refused(rows):
    X = pd.DataFrame(rows["X"], columns=list("abca"))
    X.iloc[0, 0] = np.nan
    with pytest.raises(ValueError, match="X has several columns called 'a'"):
        fit(X=X, y=rows["y"], y_true=rows["y_true"])


def test_groups_that_are_intervals_can_be_saved(rows, tmp_path):
    groups = pd.qcut(rows["X"][:, 0], 3)
    clf = fit(**{**rows, "groups": groups})
    clf.save(tmp_path / "m")
    model = load_model(tmp_path / "m")
    assert model.groups.tolist() == [str(name) for name in clf.groups_.tolist()]
    assert list(model.noise_rates) == model.groups.tolist()
    assert len(repr(model)) < 400
    with pytest.raises(ValueError, match="name another folder, or pass overwrite=True"):
        clf.save(tmp_path / "m")
    with pytest.raises(ValueError, match="trusted must be a list of names of types, got True"):
        load_model(tmp_path / "m", trusted=True)


def test_a_threshold_that_was_chosen_with_groups_asks_for_them():
    rng = np.random.default_rng(1)
    X, sex = rng.normal(size=(900, 3)), np.where(rng.random(900) < 0.5, "f", "m")
    true = (X[:, 0] + 0.3 * rng.normal(size=900) > 0).astype(float)
    y = np.where((true == 1) & (sex == "f") & (rng.random(900) < 0.6), 0, true).astype(int)
    known = np.where(rng.random(900) < 0.4, true, np.nan)
    given = {"y_true": known, "groups": sex}
    clf = fit("observed_linear", X=X, y=y, **given)
    assert clf.recalibration_ is not None
    weight = np.where(true == 1, 2.0, 1.0)
    clf.choose_threshold("flagged", 0.3, X, y, **given, sample_weight=weight, cv=2)
    with pytest.warns(NoGroupsWarning, match="pass groups= to get the rates that were chosen"):
        clf.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.predict(X, groups=sex)
        clf.choose_threshold("flagged", 0.3, X, y, y_true=known, cv=2).predict(X)
    with pytest.raises(ValueError, match="there is no target 'sensitivity'"):
        clf.choose_threshold("sensitivity", 0.9, X, y, y_true=known)


@pytest.mark.parametrize("method", [LINEAR, "standard"])
def test_a_selective_review_does_not_lower_noise_rates(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    true = (X[:, 0] > 0).astype(float)
    y = np.where((true == 1) & (rng.random(1500) < 0.3), 0, true).astype(int)
    known = np.where(rng.random(1500) < np.where(y == 1, 0.5, 0.06), true, np.nan)
    looked = ~np.isnan(known)
    settings = {"n_configs": 1, "max_epochs": 2, "hidden": 4}
    with pytest.warns(SelectiveReviewWarning, match="depends on its observed label, or on how"):
        clf = fit(method, settings, X=X, y=y, y_true=known)
    rate, told = (y != true).mean(), (y != true)[looked].mean()
    assert abs(clf.noise_rates_["all"] - rate) < abs(told - rate) / 3


def test_people_with_many_rows_are_drawn_once():
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(100), 30)
    X = rng.normal(size=(100, 3))[person] + 0.1 * rng.normal(size=(3000, 3))
    true = (X[:, 0] > 0).astype(float)
    y = np.where(rng.random(3000) < 0.1, 1 - true, true).astype(int)
    drawn = rng.permutation(100)[:14]
    known = np.where(np.isin(person, drawn), true, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SelectiveReviewWarning)
        fit(LINEAR, X=X, y=y, y_true=known, units=person)


def test_messages_about_units_speak_of_units(rows):
    units = np.where(np.arange(N) == 3, None, np.arange(N).astype(object))
    with pytest.raises(ValueError, match=r"units is missing in 1 of 400 .* a unit of its own"):
        fit(**rows, units=units)
    with pytest.raises(ValueError, match="units has 399 entries"):
        fit(**rows, units=np.arange(N - 1))


def test_many_groups_that_nobody_reviewed_are_told_at_once(rows):
    groups = (np.arange(N) % 15).astype(str)
    y_true = np.where(groups < "11", rows["y_true"], np.nan)
    with pytest.warns(UnreviewedGroupWarning) as told:
        fit(**{**rows, "groups": groups, "y_true": y_true})
    texts = [str(one.message) for one in told if one.category is UnreviewedGroupWarning]
    assert len(texts) == 1
    assert "have no reviewed row" in texts[0]
    assert "more have" in texts[0]


def test_what_cannot_read_sparse_rows_is_named(rows):
    sparse = scipy.sparse.csr_matrix(rows["X"])
    clf = fit(Blend(("observed", "both"), network=None), **{**rows, "X": sparse})
    assert "X is sparse, which trees cannot read" in clf.candidates_.left_out
    with pytest.raises(ValueError, match=r"X is sparse, which trees cannot read; pass X\.toarray"):
        fit("trees", **{**rows, "X": sparse})


def test_a_classifier_of_ones_own_is_one_more_learner_of_a_blend_that_names_some(rows):
    forest = {"estimator": RandomForestClassifier(3)}
    both = fit(Blend(("both",), ("linear",), None), forest, **rows).candidates_[:-1]
    assert [row.learner for row in both] == ["linear", "RandomForestClassifier"]
    only = fit("both", forest, **rows).candidates_[:-1]
    assert [row.learner for row in only] == ["RandomForestClassifier"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"space": [1]}, "space must map hyperparameters to distributions"),
        ({"n_configs": 1.5}, "n_configs must be a whole number of at least 1, got 1.5"),
        ({"max_epochs": None}, "max_epochs must be a whole number"),
        ({"backbone": RandomForestClassifier()}, "backbone must be a network"),
        ({"device": "cuda"}, "torch finds no GPU here; use device='cpu'"),
        ({"method": JointAlignment}, r"got the class JointAlignment; pass JointAlignment\(\)"),
        ({"method": "joint", "space": {"learning_rate": [1e-3]}}, "learning_rate"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_at_once(rows, settings, told, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=told):
        fit(settings.pop("method", LINEAR), settings, **rows)


def test_probabilities_as_truth_can_be_scored_and_given_a_threshold(rows):
    known = ~np.isnan(rows["y_true"])
    soft = np.full((N, 2), np.nan)
    soft[known] = np.where(rows["y_true"][known, None] == [0, 1], 0.95, 0.05)
    given = {**rows, "y_true": soft}
    clf = fit(**given)
    hard = reviewed_scorer()(clf, rows["X"], y_true=rows["y_true"])
    assert reviewed_scorer()(clf, rows["X"].tolist(), y_true=soft) == hard
    clf.choose_threshold("tpr", 0.8, rows["X"], rows["y"], y_true=soft, cv=2)
    assert clf.thresholds_ is not None


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("method", [LINEAR, "standard"])
def test_a_review_of_positives_alone_recalibrates_nothing(method):
    rng = np.random.default_rng(5)
    X, sex = rng.normal(size=(900, 3)), np.where(rng.random(900) < 0.5, "f", "m")
    true = (X[:, 0] + 0.5 * rng.normal(size=900) > 0).astype(float)
    y = np.where((sex == "f") & (rng.random(900) < 0.4), 1, true).astype(int)
    known = np.where((y == 1) & (rng.random(900) < 0.6), true, np.nan)
    settings = {"n_configs": 1, "max_epochs": 20, "hidden": 8}
    clf = fit(method, settings, X=X, y=y, y_true=known, groups=sex)
    assert clf.recalibration_ is None


def test_classes_with_few_reviewed_rows_are_told_at_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = rng.integers(0, 4, 300)
    known = np.where(np.arange(300) < 12, y, np.nan)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fit(LINEAR, X=X, y=y, y_true=known)
    texts = [str(one.message) for one in told]
    assert sum("turned out to be" in text for text in texts) == 1
    assert not any("group 'all'" in text for text in texts)


@pytest.mark.filterwarnings("ignore::alignset.labels.UnseenCellWarning")
def test_a_review_of_wrong_labels_alone_corrects_labels_and_judges_nothing(rows, tmp_path):
    true = np.where(rows["X"][:, 0] + 0.5 * rows["X"][:, 1] > 0, 1, 0)
    wrong = rows["y"] != true
    y_true = np.where(wrong & (np.arange(N) < 300), true.astype(float), np.nan)
    blend = Blend(("observed", "reviewed", "both", "recalibrated", "rates"), ("linear",), None)
    with pytest.warns(SelectiveReviewWarning, match="were wrong: rows seem to have been reviewed"):
        clf = fit(blend, X=rows["X"], y=rows["y"], y_true=y_true, groups=rows["groups"])
    plain = LogisticRegression().fit(rows["X"], rows["y"])
    other = np.random.default_rng(9).normal(size=(2000, 4))
    truth = other[:, 0] + 0.5 * other[:, 1] > 0
    ranked = roc_auc_score(truth, clf.predict_proba(other)[:, 1])
    assert ranked > roc_auc_score(truth, plain.predict_proba(other)[:, 1]) - 0.02
    assert [row.labels for row in clf.candidates_[:-1] if row.weight > 0] == ["both"]
    for few in (("reviewed", "joint"), ("both",)):
        without = Blend(few, ("linear",), None)
        with pytest.warns(SelectiveReviewWarning, match="not weighted by what they say of them"):
            found = fit(without, X=rows["X"], y=rows["y"], y_true=y_true, groups=rows["groups"])
        assert found.explain().startswith("Hardly any reviewed label was right")
    assert np.isnan(list(clf.noise_rates_.values())).all()
    assert roc_auc_score(~wrong, clf.label_confidence(rows["X"], rows["y"])) > 0.7
    clf.save(tmp_path / "model")
    assert load_model(tmp_path / "model").candidates.explain() == clf.explain()
    assert clf.explain().startswith("Hardly any reviewed label was right")


def test_persons_are_counted_where_few_are_of_a_class():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(100), 6)
    ill = np.isin(person, [0, 1, 20, 40])  # two of them are reviewed, in twelve rows
    X = rng.normal(size=(600, 3)) + ill[:, None]
    y_true = np.where(person < 20, ill.astype(float), np.nan)
    with pytest.warns(FewReviewedWarning, match="only 2 reviewed rows turned out to be 1"):
        fit(LINEAR, X=X, y=ill.astype(int), y_true=y_true, units=person)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("y", [1] * (N - 1), f"y has {N - 1} entries but X has {N} rows"),
        ("y", [None] + ["a", "b"] * (N // 2 - 1) + ["a"], f"y is missing in 1 of {N} rows"),
        ("X", pd.DataFrame(index=range(N)), "X has no columns"),
        ("units", np.zeros(N), "reviewed rows belong to 1 individual"),
        ("sample_weight", "a", "sample_weight must hold one number per row, got 'a'"),
        ("review_probability", np.ones(3), r"review_probability has shape \(3,\) but X has"),
    ],
)
def test_what_a_fit_cannot_use_is_named(rows, name, value, message):
    with pytest.raises(ValueError, match=message):
        fit(**{**rows, name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("random_state", -1, "random_state must be a whole number of 0 or more, .* got -1"),
        ("random_state", "a", "random_state must be a whole number of 0 or more, .* got 'a'"),
        ("n_jobs", "2", "n_jobs must be a whole number of cores, .* got '2'"),
        ("n_jobs", 0, "n_jobs must be a whole number of cores, .* got 0"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_named(rows, name, value, message):
    with pytest.raises(ValueError, match=message):
        NoisyLabelClassifier(LINEAR, **{name: value}).fit(**rows)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x", "lr must be a number, and be 0 or more, got 'x'"),
        ([0.1, 0.2], r"lr must be a number, and be 0 or more, got \[0.1, 0.2\]"),
        (np.inf, "lr must be finite, and be 0 or more, got inf"),
    ],
)
def test_a_learning_rate_is_a_number(value, message):
    with pytest.raises(ValueError, match=message):
        JointAlignment(lr=value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"strategies": ("both", "both")}, "strategies holds 'both' twice"),
        ({"strategies": ()}, "strategies must hold at least one of observed, "),
        ({"learners": [RandomForestClassifier()]}, "a classifier of your own is passed as estim"),
        ({"learners": []}, "learners must hold at least one of linear, trees, got"),
    ],
)
def test_a_blend_says_what_it_is_made_of(given, message):
    with pytest.raises(ValueError, match=message):
        Blend(**given)


def test_a_backbone_must_give_as_many_outputs_as_it_is_asked_for(rows):
    nn = pytest.importorskip("torch").nn
    settings = {"backbone": lambda d, k: nn.Linear(d, k + 1), "n_configs": 1}
    with pytest.raises(ValueError, match=r"into one of shape \(2, 2\), got shape \(2, 3\)"):
        fit("alignment", settings, **rows)


def test_a_backbone_that_cannot_read_its_rows_or_gives_no_tensor_is_named(rows):
    nn = pytest.importorskip("torch").nn
    apart = {"backbone": lambda d, k: nn.Linear(d + 1, k), "n_configs": 1}
    with pytest.raises(ValueError, match="got the error 'mat1 and mat2 shapes cannot be"):
        fit("alignment", apart, **rows)

    class Pair(nn.Linear):
        def forward(self, x):
            return super().forward(x), None

    with pytest.raises(ValueError, match="got tuple; use both"):
        fit("alignment", {"backbone": Pair, "n_configs": 1}, **rows)


def test_a_classifier_without_weights_goes_without_what_needs_them(rows):
    few, own = Blend(("both", "shrunk", "irbl", "joint")), {"estimator": KNeighborsClassifier()}
    clf = fit(few, own, **rows)
    assert [row.labels for row in clf.candidates_[:-1]] == ["both", "shrunk"]
    assert clf.candidates_.left_out.endswith("so its candidates irbl, joint were left out.")
    with pytest.raises(ValueError, match="does not take sample_weight"):
        fit(few, own, **rows, sample_weight=np.linspace(0.5, 1.5, N))
    with pytest.raises(ValueError, match="KNeighborsClassifier does not take sample_weight, which"):
        fit(Blend(("irbl", "joint")), own, **rows)
    with pytest.warns(NoReviewWarning):
        unreviewed = NoisyLabelClassifier(few, **own).fit(rows["X"], rows["y"])
    assert "sample_weight" not in unreviewed.candidates_.left_out


def test_sparse_rows_are_learned_by_a_network_too(rows):
    X = scipy.sparse.csr_matrix(np.where(abs(rows["X"]) > 0.5, rows["X"], 0))
    clf = fit(Blend(("both",), ("linear",)), {"n_configs": 1, "max_epochs": 2}, **{**rows, "X": X})
    assert [row.learner for row in clf.candidates_] == ["linear", "network", "all"]
    clf = fit(Blend(("both",)), {"n_configs": 1, "max_epochs": 2}, **{**rows, "X": X})
    assert [row.learner for row in clf.candidates_] == ["linear", "network", "all"]
    assert (
        clf.candidates_.left_out
        == "X is sparse, which trees cannot read, and so they were left out."
    )
