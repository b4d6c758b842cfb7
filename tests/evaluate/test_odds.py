from __future__ import annotations

import by_hand_metrics as by_hand
import numpy as np
import pytest
from fairlearn.metrics import equalized_odds_difference

from alignset.evaluate import (
    EmptyCellWarning,
    aueoc,
    aueoc_over_fpr,
    aueoc_released,
    equalized_odds,
    group_curves,
)

AREAS = [aueoc, aueoc_over_fpr, aueoc_released]


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


def test_the_areas_are_the_slow_loops(draw):
    rows = draw(0, levels=50)
    args = rows.y, rows.score, rows.group
    assert aueoc(*args) == pytest.approx(by_hand.aueoc_tau(*args))
    assert aueoc_over_fpr(*args) == pytest.approx(by_hand.aueoc_fpr(*args))
    assert aueoc_released(*args) == pytest.approx(by_hand.aueoc_released(*args))


@pytest.mark.parametrize("area", AREAS)
def test_group_labels_may_be_of_any_type(draw, area):
    rows = draw(0)
    expected = area(rows.y, rows.score, rows.group)
    for names in (["f", "m"], [True, False], [1.5, -2.0], np.array(["b", "a"], dtype=object)):
        assert area(rows.y, rows.score, np.array(names)[rows.group]) == pytest.approx(expected)


@pytest.mark.parametrize("area", AREAS)
def test_multiclass_is_the_mean_of_each_class_against_the_rest(draw, area):
    rows = draw(0, n_classes=3)
    each = [area(rows.y == k, rows.prob[:, k], rows.group) for k in range(3)]
    assert area(rows.y, rows.prob, rows.group) == pytest.approx(np.mean(each))


@pytest.mark.parametrize("area", [aueoc, aueoc_over_fpr])
def test_one_group_is_even_with_itself(draw, area):
    rows = draw(0)
    assert area(rows.y, rows.score, np.zeros_like(rows.group)) == pytest.approx(1)


@pytest.mark.parametrize("area", AREAS)
def test_an_empty_cell_is_nan_and_named(area):
    y, score, groups = [0, 1, 0, 0], [0.1, 0.9, 0.2, 0.4], ["A", "A", "B", "B"]
    with pytest.warns(EmptyCellWarning, match="no row of group 'B' has class 1; the metric is NaN"):
        assert np.isnan(area(y, score, groups))


def test_curves_of_an_empty_cell_are_nan_and_the_others_are_not():
    with pytest.warns(EmptyCellWarning, match="no row of group 'B' has class 1"):
        curves = group_curves([0, 1, 0, 0], [0.1, 0.9, 0.2, 0.4], ["A", "A", "B", "B"])
    assert np.isnan(curves.tpr[1]).all()
    assert np.isfinite(curves.tpr[0]).all()
    assert np.isfinite(curves.fpr).all()
    with pytest.warns(EmptyCellWarning):
        curve = equalized_odds([0, 1, 0, 0], [0.1, 0.9, 0.2, 0.4], ["A", "A", "B", "B"])
    assert np.isnan(curve.eo).all()


def test_the_warning_points_at_the_caller():
    with pytest.warns(EmptyCellWarning) as caught:
        aueoc([0, 1, 0, 0], [0.1, 0.9, 0.2, 0.4], ["A", "A", "B", "B"])
    assert caught[0].filename == __file__


def test_scores_outside_the_unit_interval_are_refused_by_the_integral_over_tau(draw):
    rows = draw(0)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\].*got -3.0; .*aueoc_over_fpr"):
        aueoc(rows.y, np.where(rows.score == rows.score[0], -3.0, rows.score), rows.group)
    assert 0 < aueoc_over_fpr(rows.y, 5 * rows.score - 2, rows.group) < 1


@pytest.mark.parametrize("area", AREAS)
def test_wrong_groups_are_named(area):
    with pytest.raises(ValueError, match="groups has 1 entries but y_true has 2"):
        area([0, 1], [0.1, 0.2], ["a"])
    with pytest.raises(ValueError, match="groups has 1 missing entries"):
        area([0, 1], [0.1, 0.2], ["a", None])
    with pytest.raises(ValueError, match="groups mixes int and str"):
        area([0, 1], [0.1, 0.2], np.array([1, "a"], dtype=object))


def test_curves_refuse_more_than_two_classes(draw):
    rows = draw(0, n_classes=3)
    with pytest.raises(ValueError, match="one class against the rest, got 3 classes"):
        group_curves(rows.y, rows.prob, rows.group)
