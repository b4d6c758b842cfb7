from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import hmean
from sklearn.metrics import roc_auc_score

from alignset.evaluate import EmptyCellWarning, aueoc, auroc, harmonic_mean, summarize


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
