"""Scorers that look at reviewed rows, in scikit-learn's own searches."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from reviewed_rows import make_data
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate

from alignset import NoisyLabelClassifier
from alignset.estimator.scorers import reviewed_scorer


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_grid_search_picks_by_reviewed_rows_what_noisy_labels_would_not() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    truth = (X[:, 0] > 0).astype(int)
    y = np.where(X[:, 1] > 0.3, (X[:, 1] > 0.9).astype(int), truth)  # wrong in a learnable way
    y_true = np.where(rng.random(900) < 0.3, truth, np.nan)
    clf = NoisyLabelClassifier(random_state=0, n_jobs=1).set_fit_request(y_true=True)
    grid = {"method": ["observed_trees", "reviewed_linear"]}
    search = GridSearchCV(clf, grid, cv=3, scoring=reviewed_scorer("neg_log_loss"))
    search.fit(X, y, y_true=y_true)
    assert search.best_params_ == {"method": "reviewed_linear"}
    noisy = GridSearchCV(clf, grid, cv=3, scoring="neg_log_loss").fit(X, y, y_true=y_true)
    assert noisy.best_params_ == {"method": "observed_trees"}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_score_is_the_metric_over_reviewed_rows() -> None:
    data = make_data(300)
    clf = NoisyLabelClassifier("both_linear", random_state=0).fit(
        data.X, data.y, y_true=data.y_true
    )
    looked = ~np.isnan(data.y_true)
    expected = roc_auc_score(data.y_true[looked], clf.predict_proba(data.X[looked])[:, 1])
    found = reviewed_scorer("roc_auc")(clf, data.X, data.y, y_true=data.y_true)
    assert found == pytest.approx(expected)


def test_y_true_must_reach_the_scorer() -> None:
    data = make_data(100)
    clf = NoisyLabelClassifier("observed_linear", random_state=0)
    with pytest.warns(UserWarning, match="no row was reviewed"):
        clf.fit(data.X, data.y)
    with pytest.raises(ValueError, match="a reviewed scorer needs y_true; pass params="):
        reviewed_scorer()(clf, data.X, data.y)
    with pytest.raises(ValueError, match="metric must be one of neg_log_loss, roc_auc, accuracy"):
        reviewed_scorer("f1")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_cross_validate_takes_groups_of_its_own_beside_it() -> None:
    data = make_data(240)
    clf = NoisyLabelClassifier("both_linear", random_state=0)
    clf.set_fit_request(y_true=True, groups=True)
    found = cross_validate(
        clf, data.X, data.y, params={"y_true": data.y_true, "groups": data.groups}, cv=3,
        scoring={"area": reviewed_scorer("roc_auc"), "loss": reviewed_scorer()},
    )  # fmt: skip
    assert np.isfinite(found["test_area"]).all()
    assert (found["test_loss"] < 0).all()
