from __future__ import annotations

import by_hand_metrics as by_hand
import numpy as np
import pytest
from fairlearn.metrics import equalized_odds_difference

from alignset.evaluate import EmptyCellWarning, equalized_odds, group_curves


@pytest.mark.parametrize("levels", [None, 10])
def test_one_minus_eo_is_fairlearns_difference_at_every_threshold(draw, levels):
    rows = draw(0, levels=levels)
    curve = equalized_odds(rows.y, rows.score, rows.group)
    assert curve.thresholds[0] == np.inf
    for tau, eo in zip(curve.thresholds[1:], curve.eo[1:], strict=True):
        difference = equalized_odds_difference(
            rows.y, rows.score >= tau, sensitive_features=rows.group, agg="mean"
        )
        assert 1 - eo == pytest.approx(difference, abs=1e-12)


def test_the_curve_can_be_read_between_thresholds(draw):
    rows = draw(0, levels=10)
    curve = equalized_odds(rows.y, rows.score, rows.group)
    tau = np.linspace(0, 1, 77)
    expected = [by_hand.eo(rows.y, rows.score, rows.group, t) for t in tau]
    np.testing.assert_allclose(curve.at(tau), expected)


def test_group_curves_are_the_rates_of_each_group(draw):
    rows = draw(0, n_groups=3, levels=10)
    names = np.array(["x", "a", "m"])
    curves = group_curves(rows.y, rows.score, names[rows.group])
    assert curves.groups == ("a", "m", "x")
    assert curves.tpr.shape == curves.fpr.shape == (3, len(curves.thresholds))
    for g, name in enumerate(curves.groups):
        inside = names[rows.group] == name
        for t, tau in enumerate(curves.thresholds):
            for rate, label in ((curves.tpr, 1), (curves.fpr, 0)):
                cell = rows.score[inside & (rows.y == label)]
                assert rate[g, t] == pytest.approx(np.mean(cell >= tau))


def test_curves_of_an_empty_cell_are_nan_and_the_others_are_not():
    with pytest.warns(EmptyCellWarning, match="no row of group 'B' has class 1"):
        curves = group_curves([0, 1, 0, 0], [0.1, 0.9, 0.2, 0.4], ["A", "A", "B", "B"])
    assert np.isnan(curves.tpr[1]).all()
    assert np.isfinite(curves.tpr[0]).all()
    assert np.isfinite(curves.fpr).all()
    with pytest.warns(EmptyCellWarning):
        curve = equalized_odds([0, 1, 0, 0], [0.1, 0.9, 0.2, 0.4], ["A", "A", "B", "B"])
    assert np.isnan(curve.eo).all()


def test_curves_refuse_more_than_two_classes(draw):
    rows = draw(0, n_classes=3)
    with pytest.raises(ValueError, match="one class against the rest, got 3 classes"):
        group_curves(rows.y, rows.prob, rows.group)


def test_rows_of_no_weight_draw_no_threshold(draw):
    rows = draw(0)
    weight = (np.arange(60) < 40).astype(float)
    some = group_curves(rows.y, rows.score, rows.group, sample_weight=weight)
    kept = group_curves(rows.y[:40], rows.score[:40], rows.group[:40])
    np.testing.assert_array_equal(some.thresholds, kept.thresholds)
    np.testing.assert_allclose(some.tpr, kept.tpr)
