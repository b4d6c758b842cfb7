from __future__ import annotations

import by_hand_metrics as by_hand
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hmean
from sklearn.metrics import roc_auc_score

from alignset.evaluate import (
    EmptyCellWarning,
    aueoc,
    aueoc_over_fpr,
    aueoc_released,
    auroc,
    brier,
    calibration_error,
    equalized_odds,
    group_curves,
    harmonic_mean,
    summarize,
)

AREAS = [aueoc, aueoc_over_fpr, aueoc_released]


def test_it_is_sklearns_for_any_labels(draw):
    rows = draw(0, levels=20)
    expected = roc_auc_score(rows.y, rows.score)
    names = np.array(["no", "yes"])[rows.y]
    for y in (
        rows.y,
        rows.y.astype(bool),
        2 * rows.y - 1,
        names,
        names.astype(object),
        list(names),
    ):
        assert auroc(y, rows.score) == pytest.approx(expected)
    assert auroc(rows.y, np.stack([1 - rows.score, rows.score], 1)) == pytest.approx(expected)
    weight = np.random.default_rng(0).random(len(rows.y))
    assert auroc(rows.y, rows.score, sample_weight=weight) == pytest.approx(
        roc_auc_score(rows.y, rows.score, sample_weight=weight)
    )


def test_multiclass_is_sklearns_one_against_the_rest(draw):
    rows = draw(0, n_classes=3)
    expected = roc_auc_score(rows.y, rows.prob, multi_class="ovr")
    assert auroc(np.array(["a", "b", "c"])[rows.y], rows.prob) == pytest.approx(expected)


def test_infinite_scores_are_ranked_at_the_ends():
    y, score = [0, 1, 0, 1, 1], [-np.inf, np.inf, 0.0, 1.0, -2.0]
    assert auroc(y, score) == pytest.approx(roc_auc_score(y, [-9, 9, 0, 1, -2]))


def test_one_class_alone_is_nan_with_a_warning():
    with pytest.warns(EmptyCellWarning, match="no row has class 1; the metric is NaN"):
        assert np.isnan(auroc([0, 0, 0], [0.1, 0.2, 0.3]))
    with pytest.warns(EmptyCellWarning, match="no row has class 2"):
        assert np.isnan(auroc([0, 1, 0], np.full((3, 3), 1 / 3)))


@pytest.mark.parametrize(
    ("y", "score", "message"),
    [
        ([0, 1], [0.1, 0.2, 0.3], "y_score has 3 entries but y_true has 2"),
        ([0, 1], [0.1, np.nan], "y_score is NaN in 1 rows"),
        ([0, 1, 2], [0.1, 0.2, 0.3], r"for 2 classes but y_true has 3 \(0, 1, 2\)"),
        (["a", "a"], [0.1, 0.2], "y_true has 1"),
        (["a", None], [0.1, 0.2], "y_true is missing in 1 of 2 rows, first in row 1; drop"),
        ([0, "a"], [0.1, 0.2], "y_score is for|mixes"),
        ([], [], "y_true is empty"),
        ([[0], [1]], [0.1, 0.2], r"y_true has shape \(2, 1\)"),
        ([0, 1], [[0.1], [0.2]], r"y_score has shape \(2, 1\)"),
    ],
)
def test_wrong_inputs_are_named(y, score, message):
    if message == "y_score is for|mixes":
        y = np.array(y, dtype=object)
    with pytest.raises(ValueError, match=message):
        auroc(y, score)


@pytest.mark.parametrize("weight", [[1, -1], [1, np.nan], [1, np.inf]])
def test_weights_must_be_finite_and_not_negative(weight):
    with pytest.raises(ValueError, match="sample_weight must be finite and not negative, got"):
        auroc([0, 1], [0.1, 0.2], sample_weight=weight)


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
    with pytest.raises(ValueError, match="groups is missing in 1 of"):
        area([0, 1], [0.1, 0.2], ["a", None])
    with pytest.raises(ValueError, match="groups mixes values of type int and str"):
        area([0, 1], [0.1, 0.2], np.array([1, "a"], dtype=object))


def test_it_gathers_the_metrics_and_the_worst_group(draw):
    rows = draw(0, n_groups=3)
    names = np.array(["a", "b", "c"])[rows.group]
    summary = summarize(rows.y, rows.score, names)
    assert summary.auroc == auroc(rows.y, rows.score)
    assert summary.aueoc == aueoc(rows.y, rows.score, names)
    assert summary.hm == pytest.approx(hmean([summary.auroc, summary.aueoc]))
    assert summary.n == len(rows.y)
    for name, value in summary.auroc_by_group.items():
        inside = names == name
        assert value == pytest.approx(roc_auc_score(rows.y[inside], rows.score[inside]))
    assert summary.worst_group_auroc == min(summary.auroc_by_group.values())


def test_a_group_without_a_class_is_nan_and_leaves_the_worst_of_the_others():
    with pytest.warns(EmptyCellWarning, match="no row of group 'B' has class 1"):
        summary = summarize([0, 1, 0, 0], [0.1, 0.9, 0.2, 0.4], ["A", "A", "B", "B"])
    assert np.isnan(summary.aueoc)
    assert np.isnan(summary.hm)
    assert np.isnan(summary.auroc_by_group["B"])
    assert summary.worst_group_auroc == summary.auroc_by_group["A"] == 1


def test_the_harmonic_mean_is_scipys_and_defined_at_zero():
    assert harmonic_mean(0.6, 0.9) == pytest.approx(hmean([0.6, 0.9]))
    assert harmonic_mean(0, 0) == 0
    assert np.isnan(harmonic_mean(float("nan"), 1))


def everything(y, prob, group, weight=None):
    """Every metric there is, as one flat array."""
    rows = y, prob[:, 1], group
    options = {"sample_weight": weight}
    summary = summarize(*rows, **options)
    curves, odds = group_curves(*rows, **options), equalized_odds(*rows, **options)
    return np.concatenate([
        [auroc(*rows[:2], **options), brier(y, prob, **options)],
        [calibration_error(y, prob, **options)],
        [area(*rows, **options) for area in AREAS],
        [summary.auroc, summary.aueoc, summary.hm, *summary.auroc_by_group.values()],
        odds.at(np.linspace(0, 1, 41)), curves.tpr.ravel(), curves.fpr.ravel(), curves.thresholds,
    ])  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([None, 10, 3]))
def test_a_weight_of_three_is_three_copies_in_any_order(seed, levels):
    from evaluate.conftest import draw_rows

    rows, rng = draw_rows(seed, n=30, levels=levels), np.random.default_rng(seed)
    prob = np.stack([1 - rows.score, rows.score], axis=1)
    times = rng.integers(0, 4, 30)
    times[:4] = 3  # every cell filled
    again = rng.permutation(np.repeat(np.arange(30), times))
    found = everything(rows.y, prob, rows.group, times.astype(float))
    expected = everything(rows.y[again], prob[again], rows.group[again])
    np.testing.assert_allclose(found, expected, atol=1e-12)
