"""Displays of a fitted classifier: their numbers, their axes, and what they refuse."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from alignset import NoisyLabelClassifier
from alignset.learners import Blend
from alignset.report import CalibrationByGroupDisplay, CandidateDisplay, NoiseRateDisplay


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    true = (X[:, 0] > 0).astype(float)
    sex = np.where(rng.random(400) < 0.5, "f", "m")
    missed = rng.random(400) < np.where(sex == "f", 0.4, 0.1)
    y = np.where((true == 1) & missed, 0, true).astype(int)
    return X, y, np.where(rng.random(400) < 0.4, true, np.nan), sex


@pytest.fixture(scope="module")
def clf(rows):
    X, y, y_true, sex = rows
    few = Blend(strategies=("observed", "both"), learners=("linear",), network=None)
    return NoisyLabelClassifier(few, random_state=0).fit(X, y, y_true=y_true, groups=sex)


@pytest.fixture
def ax():
    return Figure().add_subplot()


def test_noise_rates_are_those_of_the_estimator_with_or_without_labels(clf, rows, ax):
    _, y, y_true, sex = rows
    bare = NoiseRateDisplay.from_estimator(clf)
    full = NoiseRateDisplay.from_estimator(clf, y, y_true, groups=sex).plot(ax)
    assert dict(zip(bare.frame["group"], bare.frame["rate"], strict=True)) == clf.noise_rates_
    assert np.allclose(full.frame["rate"], bare.frame["rate"])
    assert (full.frame["low"] < full.frame["rate"]).all()
    assert bare.frame["low"].isna().all()
    looked = ~np.isnan(y_true)
    wrong = [(y[looked & (sex == g)] != y_true[looked & (sex == g)]).sum() for g in ("f", "m")]
    assert full.frame["wrong"].tolist() == wrong
    assert [label.get_text() for label in ax.get_yticklabels()] == ["f", "m"]


def test_selection_probabilities_weigh_the_rates():
    y, y_true = [0, 0, 0, 0] * 10, [1, 0, None, None] * 10
    chance = [0.1, 0.9, 0.5, 0.5] * 10
    found = NoiseRateDisplay.from_labels(y, y_true, review_probability=chance)
    assert found.frame["rate"][0] == pytest.approx(10 / (10 + 1 / 0.9), abs=1e-9)


def test_axes_that_are_given_are_drawn_on(clf, rows, ax):
    shown = CandidateDisplay.from_estimator(clf).plot(ax)
    assert shown.ax_ is ax
    assert shown.figure_ is ax.figure
    assert repr(shown) == "CandidateDisplay of 3 rows; see .frame"
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["observed linear", "both linear", "blend all"]
    pd.testing.assert_frame_equal(shown.frame, clf.candidates_.frame)
    weights = [text.get_text() for text in ax.texts]
    assert weights == [f"{weight:.2f}" for weight in shown.frame["weight"]]


def test_without_axes_a_figure_is_made_and_the_style_stays(clf):
    before = dict(mpl.rcParams)
    with mpl.rc_context({"backend": "agg"}):
        import matplotlib.pyplot as plt

        shown = CandidateDisplay.from_estimator(clf).plot(measure="log_loss")
        assert shown.figure_.number in plt.get_fignums()
        plt.close(shown.figure_)
    changed = {key for key in before if before[key] != mpl.rcParams[key]}
    assert changed <= {"backend"}


def test_calibration_by_hand(ax):
    p = np.array([0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.8, 0.8, 0.5])
    y_true = [0, 0, 0, 1, 1, 1, 1, 0, None]
    frame = CalibrationByGroupDisplay.from_predictions(y_true, p, n_bins=2).plot(ax).frame
    assert frame["predicted"].tolist() == pytest.approx([0.1, 0.8])
    assert frame["true"].tolist() == pytest.approx([0.25, 0.75])
    assert frame["rows"].tolist() == pytest.approx([4, 4])
    assert (frame["low"] < frame["true"]).all()
    assert (frame["true"] < frame["high"]).all()


def test_calibration_by_group_finds_the_group_that_is_off(ax):
    rng = np.random.default_rng(0)
    p, sex = rng.random(4000), np.array(["f", "m"] * 2000)
    true = rng.random(4000) < np.where(sex == "f", p / 2, p)
    shown = CalibrationByGroupDisplay.from_predictions(true, p, groups=sex).plot(ax)
    gap = (
        shown.frame.assign(gap=lambda f: f["predicted"] - f["true"]).groupby("group")["gap"].mean()
    )
    assert gap["f"] == pytest.approx(0.25, abs=0.03)
    assert gap["m"] == pytest.approx(0, abs=0.03)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["as promised", "f", "m"]


def test_calibration_from_an_estimator_predicts_the_class_asked_for(clf, rows):
    X, _, y_true, sex = rows
    found = CalibrationByGroupDisplay.from_estimator(clf, X, y_true, groups=sex)
    score = clf.predict_proba(X, sex)[:, 1]
    again = CalibrationByGroupDisplay.from_predictions(y_true, score, groups=sex)
    pd.testing.assert_frame_equal(found.frame, again.frame)
    other = CalibrationByGroupDisplay.from_estimator(clf, X, y_true, groups=sex, pos_label=0)
    # the other class, cut at the same rows in reverse
    mirror = 1 - other.frame.groupby("group")["true"].mean()
    assert mirror.to_numpy() == pytest.approx(
        found.frame.groupby("group")["true"].mean().to_numpy()
    )


def test_what_cannot_be_shown_is_said(clf, rows):
    X, y, y_true, sex = rows
    with pytest.raises(ValueError, match="needed together"):
        NoiseRateDisplay.from_estimator(clf, y)
    with pytest.raises(ValueError, match="fitted to 2 groups"):
        NoiseRateDisplay.from_estimator(clf, y, y_true)
    with pytest.raises(ValueError, match="auroc or log_loss, got 'area'"):
        CandidateDisplay.from_estimator(clf).plot(measure="area")
    with pytest.raises(ValueError, match="one of 0, 1, got 'ill'"):
        CalibrationByGroupDisplay.from_estimator(clf, X, y_true, groups=sex, pos_label="ill")
    with pytest.raises(ValueError, match=r"got shape \(400, 2\)"):
        CalibrationByGroupDisplay.from_predictions(y_true, clf.predict_proba(X))
    alone = NoisyLabelClassifier("standard", n_configs=1, max_epochs=1, hidden=4, random_state=0)
    alone.fit(X, y, y_true=y_true)
    with pytest.raises(ValueError, match="Standard is one model"):
        CandidateDisplay.from_estimator(alone)


def test_names_are_drawn_as_they_are(ax):
    y, y_true = [0, 1] * 20, [0, 1] * 20
    shown = NoiseRateDisplay.from_labels(y, y_true, groups=["a$b$"] * 40).plot(ax)
    ax.figure.canvas.draw()  # maths in the name would be an error here
    assert ax.get_yticklabels()[0].get_text() == "a$b$"
    CalibrationByGroupDisplay.from_predictions(y_true, [0.2, 0.8] * 20, groups=["$x_"] * 40).plot(
        ax
    )
    ax.figure.canvas.draw()
    assert shown.ax_ is ax
