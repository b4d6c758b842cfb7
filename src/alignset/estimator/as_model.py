"""A fitted estimator as a model that can be written to a folder."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from alignset.learners import Blend
from alignset.model.blend import BlendModel
from alignset.model.fitted import Model
from alignset.model.network import Network
from alignset.tables.columns import Columns
from alignset.tables.preprocess import Matrix

if TYPE_CHECKING:
    from alignset.estimator.classifier import NoisyLabelClassifier


def as_model(clf: NoisyLabelClassifier) -> Model:
    """Return a fitted estimator as a model that reads the same matrix or table."""
    names = getattr(clf, "feature_names_in_", None)
    matrix = clf._encoder
    if matrix is None:
        matrix = Matrix(int(clf.n_features_in_), None if names is None else tuple(map(str, names)))
    known = {
        "seed": clf.random_state if isinstance(clf.random_state, int) else None,
        "noise_rates": {
            str(group): {"rate": None if math.isnan(rate) else rate}
            for group, rate in clf.noise_rates_.items()
        },
    }
    found = predictor_of(clf)
    return Model(
        found, matrix, clf.classes_, clf.groups_, Columns("y", matrix.columns), known,
        thresholds=clf.thresholds_, recalibration=clf.recalibration_,
    )  # fmt: skip


def predictor_of(clf: NoisyLabelClassifier) -> Network | BlendModel:
    """Return what a fitted estimator learned: a blend, or a method's networks."""
    if isinstance(clf.method_, Blend):
        return BlendModel(clf._model, clf._scale)
    return Network.of(clf._model, clf._scale, clf.method_)
