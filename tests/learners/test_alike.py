"""Tables in which many people look alike: they are many people all the same."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from alignset import NoisyLabelClassifier
from alignset.learners import Blend
from alignset.rows import Part
from alignset.rows.divide import distinct, spread

LINEAR = Blend(("observed", "reviewed", "both", "shrunk"), ("linear",), network=None)


def flags(n: int = 2000):
    rng = np.random.default_rng(0)
    X = (rng.random((n, 3)) < 0.5).astype(float)
    p = 1 / (1 + np.exp(-(2 * X[:, 0] + X[:, 1] - X[:, 2] - 1)))
    true = (rng.random(n) < p).astype(float)
    y = np.where((true == 1) & (rng.random(n) < 0.3), 0, true).astype(int)
    return X, y, np.where(rng.random(n) < 0.15, true, np.nan), p


def test_people_who_look_alike_are_not_taken_for_one():
    X, y, y_true, p = flags()
    apart = X + 1e-9 * np.random.default_rng(1).normal(size=X.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # there are hundreds of reviewed rows of either class
        found = [NoisyLabelClassifier(LINEAR, random_state=0).fit(Z, y, y_true=y_true)
                 for Z in (X, apart)]  # fmt: skip
    for clf, Z in zip(found, (X, apart), strict=True):
        assert abs(clf.predict_proba(Z)[:, 1] - p).mean() < 0.05
    alike, differ = (clf.candidates_[1] for clf in found)
    assert alike.auroc == pytest.approx(differ.auroc, abs=0.04)
    assert alike.high - alike.low == pytest.approx(differ.high - differ.low, rel=0.25)


def test_every_copy_comes_back_with_its_weight():
    X, y, y_true, _ = flags(300)
    rows = Part(X, y, np.where(np.isnan(y_true), -1, y_true).astype(int), 0 * y)
    merged = distinct(rows)
    assert len(merged) < 40
    again = spread(merged)
    assert len(again) == 300
    np.testing.assert_allclose(again.weight, 1.0)
    counted = [np.unique(part.y_true, return_counts=True)[1].tolist() for part in (rows, again)]
    assert counted[0] == counted[1]
