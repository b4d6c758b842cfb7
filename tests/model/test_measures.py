from dataclasses import replace

import numpy as np
import pytest
from fitting.kept import kept
from sklearn.metrics import roc_auc_score

from alignset.evaluate import aueoc, equalized_odds
from alignset.model.measures import (
    MAX_POINTS,
    calibration_curves,
    measure,
    odds_curves,
    roc_curves,
)


def value(frame, measured, metric, group=""):
    here = (frame["measured"] == measured) & (frame["metric"] == metric)
    return frame[here & (frame["group"] == group)].iloc[0]


def test_the_three_ways_are_what_they_say():
    found = kept()
    frame = measure(found, n_boot=50, random_state=0)
    score = found.scores["alignment"][:, 1]
    expected = {
        "observed": roc_auc_score(found.observed, score),
        "reviewed": roc_auc_score(found.true, score),
        "corrected": roc_auc_score(found.true, score, sample_weight=found.weight),
    }
    for way, auroc in expected.items():
        row = value(frame, way, "AUROC")
        assert row["estimate"] == pytest.approx(auroc)
        assert row["low"] <= auroc <= row["high"]
    reviewed = aueoc(found.true, score, found.group)
    assert value(frame, "reviewed", "AUEOC")["estimate"] == pytest.approx(reviewed)
    f = found.group == 0
    within = roc_auc_score(found.true[f], score[f])
    assert value(frame, "reviewed", "AUROC", "f")["estimate"] == pytest.approx(within)
    gap = np.average(score - found.true, weights=found.weight)
    assert value(frame, "corrected", "calibration")["estimate"] == pytest.approx(gap)


def test_a_group_without_a_class_is_not_a_number_and_draws_no_curve():
    found = kept()
    one_class = replace(found, true=np.where(found.group == 1, 0, found.true))
    frame = measure(one_class, n_boot=20, random_state=0)
    assert np.isnan(value(frame, "reviewed", "AUEOC")["estimate"])
    assert np.isnan(value(frame, "reviewed", "AUROC", "m")["estimate"])
    assert np.isfinite(value(frame, "reviewed", "AUROC")["estimate"])
    roc = roc_curves(one_class)
    assert set(roc[roc["measured"] == "reviewed"]["group"]) == {"f"}
    assert set(odds_curves(one_class)["measured"]) == {"observed"}


def test_one_group_has_nothing_to_be_even_with():
    found = kept(groups=("all",), noise=(0.2,))
    frame = measure(found, n_boot=20, random_state=0)
    for way in ("observed", "reviewed", "corrected"):
        for metric in ("AUEOC", "HM"):
            row = value(frame, way, metric)
            assert np.isnan(row[["estimate", "low", "high", "worth"]].astype(float)).all()
        assert np.isfinite(value(frame, way, "AUROC")["estimate"])
    assert odds_curves(found).empty


def test_curves_are_those_of_the_metrics():
    found = kept()
    roc = roc_curves(found)
    f = roc[(roc["measured"] == "reviewed") & (roc["group"] == "f")]
    area = np.trapezoid(f["tpr"], f["fpr"])
    frame = measure(found, n_boot=20, random_state=0)
    assert area == pytest.approx(value(frame, "reviewed", "AUROC", "f")["estimate"])
    odds = odds_curves(found)
    odds = odds[odds["measured"] == "reviewed"]
    curve = equalized_odds(found.true, found.scores["alignment"][:, 1], found.group)
    assert odds["eo"].to_numpy() == pytest.approx(curve.at(odds["threshold"].to_numpy()))


def test_long_curves_are_thinned_and_keep_their_ends():
    roc = roc_curves(kept(n=1200))
    for _, part in roc.groupby(["measured", "group"]):
        assert len(part) <= MAX_POINTS
        assert part[["fpr", "tpr"]].iloc[[0, -1]].to_numpy().tolist() == [[0, 0], [1, 1]]


def test_calibration_is_of_five_parts_with_as_many_rows():
    frame = calibration_curves(kept())
    assert len(frame) == 3 * 2 * 5
    assert set(frame["rows"]) == {24}
    assert ((frame["low"] <= frame["found"]) & (frame["found"] <= frame["high"])).all()
