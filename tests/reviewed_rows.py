"""Rows with wrong labels, part of them reviewed, and a small estimator to fit on them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alignset.estimator import NoisyLabelClassifier
from alignset.learners import Blend
from alignset.methods import JointAlignment

Array = NDArray[Any]

# two candidates, where what they are does not matter
FAST = Blend(strategies=("observed", "joint"), learners=("linear",), network=None, folds=2)


class Data(NamedTuple):
    """Rows with labels that are wrong where a feature is large, more often in group 1."""

    X: Array
    y: Array
    y_true: Array
    groups: Array
    truth: Array

    @property
    def fit_args(self) -> dict[str, Array]:
        return {"X": self.X, "y": self.y, "y_true": self.y_true, "groups": self.groups}


def make_data(n: int = 240, seed: int = 0, reviewed: float = 0.3) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    groups = (rng.random(n) < 0.3).astype(int)
    truth = (X[:, 0] + X[:, 1] > 0).astype(int)
    y = truth.copy()
    for group, rate in enumerate((0.2, 0.4)):
        rows = np.flatnonzero(groups == group)
        wrong = rows[np.argsort(-X[rows, 2] - X[rows, 1])[: round(rate * len(rows))]]
        y[wrong] = 1 - truth[wrong]
    looked = rng.random(n) < reviewed
    return Data(X, y, np.where(looked, truth, np.nan), groups, truth)


def small(**changes: Any) -> NoisyLabelClassifier:
    settings = {
        "method": JointAlignment(),
        "folds": None,
        "n_configs": 2,
        "max_epochs": 15,
        "hidden": 8,
        "random_state": 0,
        "n_jobs": 1,
    }
    return NoisyLabelClassifier(**{**settings, **changes})
