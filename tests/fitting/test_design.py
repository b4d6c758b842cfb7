"""The design of a review, from the table to the recommendation."""

import numpy as np
import pandas as pd
import pytest
from fitting.test_compare import compared
from fitting.test_fit import QUICK, chosen, fit, table

from alignset.estimator import NoisyLabelClassifier
from alignset.evaluate.noise_rate import noise_rates
from alignset.fitting.held_out import Settings
from alignset.review.waves import read_design
from alignset.tables.targets import read_targets


def designed(chance, frame=None):
    """A table whose reviewed rows say with what probability they were chosen."""
    frame = table() if frame is None else frame
    return frame.assign(p=np.where(frame["reviewed"].notna(), chance, np.nan))


def where(values, often, seldom):
    return np.where(values > 0, often, seldom)


def test_every_fit_is_told_the_probabilities(monkeypatch):
    told, original = [], NoisyLabelClassifier.fit_encoded

    def watched(self, X, *codes, review_probability=None, **options):
        told.append((len(X), review_probability))
        return original(self, X, *codes, review_probability=review_probability, **options)

    monkeypatch.setattr(NoisyLabelClassifier, "fit_encoded", watched)
    frame = designed(where(table()["z"], 0.8, 0.2))
    fit(frame, probability="p")
    assert len(told) == QUICK.folds + 1
    for n, chance in told:
        assert len(chance) == n
        assert set(chance[~np.isnan(chance)]) == {0.2, 0.8}
    np.testing.assert_array_equal(told[-1][1], frame["p"])
    told.clear()
    fit(table())
    assert all(chance is None for _, chance in told)


def test_other_weights_give_another_model_other_scores_and_other_rates():
    frame = table()
    one, other = (
        fit(designed(where(frame["z"], *chance), frame), probability="p", settings=QUICK)
        for chance in ((0.9, 0.1), (0.1, 0.9))
    )
    plain = fit(frame)
    for a, b in ((one, other), (one, plain), (other, plain)):
        assert not np.allclose(a.model.predict_proba(frame), b.model.predict_proba(frame))
        assert a.comparison.scores != b.comparison.scores
        assert a.comparison.differences != b.comparison.differences
        assert a.model.manifest["noise_rates"] != b.model.manifest["noise_rates"]
    said = "reviewed rows are weighted by the inverse of their probability of being reviewed, in "
    assert any(note.startswith(said) for note in one.notes)
    assert not any(note.startswith(said) for note in plain.notes)


@pytest.mark.parametrize(
    ("chance", "recommended"),
    [((0.02, 0.9), "blend"), ((0.9, 0.02), "both_linear")],
)
def test_the_recommendation_follows_the_weights(chance, recommended):
    """One model is good where z > 0, the other one elsewhere; the weights say which rows count."""
    frame = table(n=600, reviewed=300)
    good_here = frame["z"].to_numpy() > 0
    targets = read_targets(
        designed(where(frame["z"], *chance), frame),
        chosen(designed(0.5, frame), probability="p").columns,
    )
    rng = np.random.default_rng(7)  # with the seed of the table, the noise would be its x
    y, noise = targets.labels.y_true, rng.normal(size=600)

    def score(good):
        p = np.clip(0.5 + 0.4 * (y - 0.5) + np.where(good, 0.05, 0.5) * noise, 0, 1)
        return np.where(y[:, None] >= 0, np.stack([1 - p, p], axis=1), np.nan)

    scores = {"blend": score(good_here), "both_linear": score(~good_here)}
    found = compared(targets, scores, Settings(n_boot=200))
    assert found.recommended == recommended, found.sentence
    assert found.sentence.startswith("Keep Blend" if recommended == "blend" else "Use Linear on")
    difference = found.differences["both_linear"]
    assert (difference["log_loss"].high < 0) == (recommended == "blend")
    assert (difference["auroc"].low > 0) == (recommended == "blend")


def test_rates_are_those_of_the_whole_design_not_of_probabilities_alone():
    """Waves and strata count: the second sheet stands for what the first one left."""
    frame = table(n=400, reviewed=160)
    rng = np.random.default_rng(1)
    sheet = frame["reviewed"].notna().to_numpy()
    frame["wave"] = np.where(sheet, np.where(np.arange(400) < 60, 1.0, 2.0), np.nan)
    frame["stratum"] = pd.Series(rng.choice(["1", "2"], 400)).where(sheet)
    chance = np.where(frame["wave"] == 1, 0.15, where(frame["z"], 0.6, 0.2))
    frame["probability"] = np.where(sheet, chance, np.nan)
    fitted = fit(frame)
    targets = read_targets(frame, chosen(frame).columns)
    wrong = targets.labels.y_seen != targets.labels.y_true
    rows = targets.group, targets.group_names.tolist(), wrong, targets.reviewed
    told = fitted.model.manifest["noise_rates"]
    for rate in noise_rates(*rows, read_design(frame)):
        known = told[rate.group]
        assert (known["rate"], known["low"], known["high"]) == (rate.rate, rate.low, rate.high)
        assert known["weighted"]
        assert 0 <= known["modelled"] <= 1
    without = [rate.rate for rate in noise_rates(*rows)]
    assert without != [told[name]["rate"] for name in targets.group_names]
