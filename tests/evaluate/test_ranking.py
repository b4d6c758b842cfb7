from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from alignset.evaluate import EmptyCellWarning, auroc


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
        (["a", None], [0.1, 0.2], "y_true has 1 missing entries"),
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
