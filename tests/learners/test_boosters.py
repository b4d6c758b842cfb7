"""Boosters that people have: LightGBM and XGBoost as the learner of a blend."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reviewed_rows import Data, make_data
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alignset import NoisyLabelClassifier, load_model
from alignset.learners import Blend

pytestmark = pytest.mark.filterwarnings("ignore::alignset.labels.FewReviewedWarning")

STRATEGIES = Blend(strategies=("observed", "both", "joint"), network=None, folds=3)


def booster(name: str) -> Any:
    if name == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        return lightgbm.LGBMClassifier(n_estimators=20, num_leaves=7, n_jobs=1, verbose=-1)
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1)


@pytest.fixture(scope="module")
def data() -> Data:
    return make_data(400)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_a_booster_is_a_learner(name: str, data: Data) -> None:
    def fit() -> NoisyLabelClassifier:
        clf = NoisyLabelClassifier(STRATEGIES, estimator=booster(name), random_state=0, n_jobs=1)
        return clf.fit(**data.fit_args)

    clf = fit()
    learners = {row.learner for row in clf.candidates_[:-1]}
    assert learners == {type(booster(name)).__name__}
    X, y = data.fit_args["X"], data.fit_args["y"]
    said = clf.predict_proba(X)
    assert roc_auc_score(y, said[:, 1]) > 0.7
    assert np.array_equal(fit().predict_proba(X), said)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_a_booster_in_a_pipeline(name: str, data: Data) -> None:
    model = make_pipeline(StandardScaler(), booster(name))
    clf = NoisyLabelClassifier(STRATEGIES, estimator=model, random_state=0, n_jobs=1)
    clf.fit(**data.fit_args)
    assert np.isfinite(clf.predict_proba(data.fit_args["X"])).all()


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_a_booster_is_kept_only_if_it_is_trusted(name: str, data: Data, tmp_path: Path) -> None:
    clf = NoisyLabelClassifier(STRATEGIES, estimator=booster(name), random_state=0, n_jobs=1)
    clf.fit(**data.fit_args)
    clf.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"not trusted: .*; if you trust") as refused:
        load_model(tmp_path / "model")
    named = re.search(r"pass trusted=(\[.*\]) to load_model", str(refused.value))
    assert named is not None
    model = load_model(tmp_path / "model", trusted=ast.literal_eval(named[1]))
    X = data.fit_args["X"]
    said = model.predict_proba(pd.DataFrame(X, columns=model.columns.features))
    assert np.allclose(said, clf.predict_proba(X))
