from copy import copy

import numpy as np
import pandas as pd
import pytest

from alignset import NoisyLabelClassifier, load_model
from alignset.evaluate import ThresholdChoice


def data(n=700, reviewed=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    true = (rng.random(n) < 1 / (1 + np.exp(1.2 - 1.5 * X[:, 0]))).astype(int)
    y = np.where(rng.random(n) < 0.1, 1 - true, true)
    return X, y, np.where(np.arange(n) < reviewed, true, np.nan), rng.choice(["f", "m"], n), true


@pytest.fixture(scope="module")
def once():
    X, y, known, groups, _ = data()
    clf = NoisyLabelClassifier("both_linear", random_state=0, n_jobs=1)
    return clf.fit(X, y, y_true=known, groups=groups)


@pytest.fixture
def fitted(once):
    return copy(once)


def test_without_a_threshold_the_more_probable_class_is_predicted(fitted):
    X = data()[0]
    assert fitted.thresholds_ is None
    np.testing.assert_array_equal(fitted.predict(X), fitted.predict_proba(X).argmax(1))


def test_a_threshold_is_chosen_by_cross_fitting_and_used(fitted, tmp_path):
    X, y, known, groups, true = data()
    one = fitted.choose_threshold("tpr", 0.9, X, y, y_true=known)
    assert one is fitted
    chosen = fitted.thresholds_
    assert isinstance(chosen, ThresholdChoice)
    said = fitted.predict(X)
    np.testing.assert_array_equal(said, (fitted.predict_proba(X)[:, 1] >= chosen.threshold) * 1)
    assert said[true == 1].mean() == pytest.approx(0.9, abs=0.07)
    fitted.choose_threshold("flagged", 0.3, X, y, y_true=known, groups=groups, per_group=True)
    with pytest.raises(ValueError, match="the group of each row must be known; pass groups="):
        fitted.predict(X)
    said = fitted.predict(X, groups=groups)
    for g in ("f", "m"):
        assert said[groups == g].mean() == pytest.approx(0.3, abs=0.06)
    fitted.save(tmp_path / "m")
    model = load_model(tmp_path / "m")
    assert model.thresholds.by_group == fitted.thresholds_.by_group
    np.testing.assert_array_equal(model.predict(X, groups=groups), said)
    assert model.manifest["schema"] == 4
    rate = model.thresholds.rates["tpr"].by_group["f"]
    assert rate.estimate == fitted.thresholds_.rates["tpr"].by_group["f"].estimate


def test_other_rows_are_scored_as_they_are(fitted):
    X, y, known, _, true = data(n=3000, reviewed=400, seed=5)
    fitted.choose_threshold("fpr", 0.1, X, y, y_true=known, cv=None)
    score = fitted.predict_proba(X)[:, 1]
    flagged = score >= fitted.thresholds_.threshold
    assert flagged[true == 0].mean() == pytest.approx(0.1, abs=0.04)
    frame = pd.DataFrame(X)
    units = np.arange(3000) // 2
    small = frame.iloc[:600], y[:600].tolist()
    fitted.choose_threshold(
        "fpr", 0.1, *small, y_true=known[:600].tolist(), units=units[:600], cv=2
    )
    assert 0 < fitted.thresholds_.threshold < 1


def test_the_first_class_can_be_the_one_to_find(fitted):
    X, y, known, _, _ = data()
    fitted.choose_threshold("flagged", 0.3, X, y, y_true=known, pos_label=0)
    assert fitted.thresholds_.of_class == 0
    assert (fitted.predict(X) == 0).mean() == pytest.approx(0.3, abs=0.06)
    with pytest.raises(ValueError, match="there is no class 7; the model knows 0, 1"):
        fitted.choose_threshold("flagged", 0.3, X, y, y_true=known, pos_label=7)


def test_a_new_fit_forgets_the_threshold():
    X, y, known, _, _ = data(n=200, reviewed=80)
    clf = NoisyLabelClassifier("both_linear", random_state=0, n_jobs=1).fit(X, y, y_true=known)
    clf.choose_threshold("tpr", 0.8, X, y, y_true=known, cv=2)
    assert clf.fit(X, y, y_true=known).thresholds_ is None


def test_three_classes_have_no_threshold():
    X, y, known, _, _ = data()
    y, known = y + (X[:, 1] > 1), known + (X[:, 1] > 1)
    clf = NoisyLabelClassifier("both_linear", random_state=0, n_jobs=1).fit(X, y, y_true=known)
    with pytest.raises(ValueError, match="decides between two classes, and the model has 3"):
        clf.choose_threshold("tpr", 0.8, X, y, y_true=known)
