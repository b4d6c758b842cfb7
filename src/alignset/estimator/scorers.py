"""Scorers for scikit-learn's searches that look at reviewed rows, not at noisy labels.

``GridSearchCV`` and ``cross_validate`` score on ``y``: with wrong labels they pick the model that
is best at being wrong. These scorers take ``y_true`` by metadata routing:

>>> import sklearn
>>> from sklearn.model_selection import cross_validate
>>> from alignset import NoisyLabelClassifier
>>> from alignset.estimator.scorers import reviewed_scorer
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(200, 2)); true = (X[:, 0] > 0).astype(float)
>>> y = np.where(rng.random(200) < 0.2, 1 - true, true).astype(int)
>>> y_true = np.where(rng.random(200) < 0.5, true, np.nan)
>>> with sklearn.config_context(enable_metadata_routing=True):
...     clf = NoisyLabelClassifier("both_linear", random_state=0).set_fit_request(y_true=True)
...     found = cross_validate(
...         clf, X, y, params={"y_true": y_true}, cv=2, scoring=reviewed_scorer("roc_auc")
...     )
>>> bool((found["test_score"] > 0.9).all())
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.utils.metadata_routing import MetadataRequest

from alignset.labels import encode_known


def _area(y: Any, p: Any, weight: Any) -> float:
    if p.shape[1] == 2:
        return float(roc_auc_score(y, p[:, 1], sample_weight=weight))
    labels = np.arange(p.shape[1])
    return float(roc_auc_score(y, p, multi_class="ovr", labels=labels, sample_weight=weight))


def _log_loss(y: Any, p: Any, weight: Any) -> float:
    return -float(log_loss(y, p, labels=np.arange(p.shape[1]), sample_weight=weight))


def _accuracy(y: Any, p: Any, weight: Any) -> float:
    return float(accuracy_score(y, p.argmax(1), sample_weight=weight))


def _likeliest(shares: Any, classes: Any) -> Any:
    """Return the likeliest class of each row (n,), None where nobody looked."""
    given = np.asarray(shares, dtype=np.float64)
    if given.shape[1] != len(classes):
        raise ValueError(
            f"y_true has {given.shape[1]} columns but the model knows {len(classes)} classes; pass "
            "one column of probabilities per class."
        )
    known = ~np.isnan(given).any(axis=1)
    found = np.full(len(given), None, dtype=object)
    found[known] = np.asarray(classes, dtype=object)[given[known].argmax(axis=1)]
    return found


METRICS: dict[str, Callable[..., float]] = {
    "neg_log_loss": _log_loss,
    "roc_auc": _area,
    "accuracy": _accuracy,
}
"""scikit-learn's names; larger is better."""


class ReviewedScorer:
    """A scorer that compares predictions with the true labels of the reviewed rows."""

    def __init__(self, metric: str) -> None:
        self.metric = metric

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any = None,  # noqa: ARG002 - observed labels, which scikit-learn passes
        *,
        y_true: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """Return the metric over the rows whose ``y_true`` is not missing; NaN if there is none."""
        if y_true is None:
            raise ValueError(
                "a reviewed scorer needs y_true; pass params={'y_true': ...} to cross_validate (or "
                "y_true= to GridSearchCV.fit) with "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        if np.ndim(y_true) == 2 and np.shape(y_true)[1] > 1:
            y_true = _likeliest(y_true, estimator.classes_)
        codes = encode_known(y_true, estimator.classes_, gaps=True)
        rows = np.flatnonzero(codes >= 0)
        if not len(rows) or (self.metric == "roc_auc" and len(np.unique(codes[rows])) < 2):
            return float("nan")
        X = X if hasattr(X, "shape") else np.asarray(X)
        picked = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
        said = np.asarray(estimator.predict_proba(picked))
        return METRICS[self.metric](codes[rows], said, weight)

    def get_metadata_routing(self) -> MetadataRequest:
        """Ask for ``y_true``; what scikit-learn calls to know it."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="y_true", alias=True)
        return request

    def __repr__(self) -> str:
        return f"reviewed_scorer({self.metric!r})"


def reviewed_scorer(metric: str = "neg_log_loss") -> ReviewedScorer:
    """Return a scorer over reviewed rows: "neg_log_loss" (the default), "roc_auc" or "accuracy".

    Examples
    --------
    >>> reviewed_scorer("roc_auc")
    reviewed_scorer('roc_auc')
    """
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}.")
    return ReviewedScorer(metric)
