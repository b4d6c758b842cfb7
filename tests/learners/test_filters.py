"""Threads of a fit and the filters of warnings, which all threads of a program share."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from reviewed_rows import make_data
from sklearn.ensemble import RandomForestClassifier

from alignset import NoisyLabelClassifier
from alignset.learners import Blend
from alignset.learners.foreign import _one_at_a_time, _turn

pytestmark = pytest.mark.filterwarnings("ignore::alignset.labels.FewReviewedWarning")


@pytest.mark.parametrize("estimator", [None, RandomForestClassifier(5)], ids=["ours", "forest"])
def test_a_fit_leaves_the_filters_of_warnings_alone(estimator: Any) -> None:
    data = make_data(200)
    blend = Blend(("observed", "reviewed", "both"), ("linear",), network=None)
    clf = NoisyLabelClassifier(blend, estimator=estimator)
    with warnings.catch_warnings():
        before, held = warnings.filters, list(warnings.filters)
        for seed in range(3):
            clf.set_params(random_state=seed, n_jobs=4).fit(**data.fit_args)
        assert warnings.filters is before
        assert warnings.filters == held


def test_a_model_that_spreads_its_own_work_waits_for_its_turn() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    assert _turn(RandomForestClassifier()) is _one_at_a_time
    assert _turn(lightgbm.LGBMClassifier()) is not _one_at_a_time
