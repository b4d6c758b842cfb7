"""Small blends for tests of the model folder and of ONNX: fitted, or put together by hand."""

from functools import cache

import numpy as np

from alignset import NoisyLabelClassifier
from alignset.learners import Blend, Linear, Trees
from alignset.learners.base import beside, constant
from alignset.learners.blended import Blended
from alignset.learners.stacking import BlendWeights
from alignset.learners.standing import CandidateScore
from alignset.learners.strategies.base import Chained
from alignset.model.blend import BlendModel
from alignset.model.fitted import Model
from alignset.rows.features import learn_scale
from alignset.tables.columns import Columns
from alignset.tables.preprocess import Matrix

D = 3


class Sets(Trees):
    """Trees that split every category into sets, whatever held-out rows say of it."""

    def settle(self, *given, **options):
        return self


def rows(classes=2, n=150, seed=0):
    """Features, observed labels, and true labels of the first 60 rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(3, 2, size=(n, D))
    edges = np.quantile(X[:, 0], np.arange(1, classes) / classes)
    true = np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), edges)
    y = np.where(rng.random(n) < 0.2, rng.integers(0, classes, n), true)
    return X, y, np.where(np.arange(n) < 60, true, np.nan)


def fitted(blend, **options):
    """An estimator fitted to two classes."""
    X, y, reviewed = rows()
    options = {"folds": blend.folds, "random_state": 0, "n_jobs": 1} | options
    return NoisyLabelClassifier(blend, **options).fit(X, y, y_true=reviewed)


def with_network():
    """An estimator that blends a linear model and a network."""
    blend = Blend(strategies=("observed",), learners=("linear",), folds=3)
    return fitted(blend, n_configs=2, hidden=8, max_epochs=5)


@cache
def candidates(classes):
    """Name -> a fitted model of every kind that reads ``D`` features."""
    X, y, _ = rows(classes)
    X, w = (X - 3) / 2, np.ones(len(y))
    learners = {"linear": Linear(C=1.0), "trees": Trees(rounds=4, leaves=5)}

    def fit(name, X, y):
        return learners[name].fit(X, y, w[: len(y)], classes, seed=0)

    linear, trees = fit("linear", X, y), fit("trees", X, y)
    seen = X[y < classes - 1], y[y < classes - 1]  # the last class never occurs
    scores = linear.log_odds(X)[:, 1:]
    return {
        "linear": linear,
        "trees": trees,
        "linear missing": fit("linear", *seen),
        "trees missing": fit("trees", *seen),
        "constant": constant(y, w, classes),
        "recalibrated": Chained(trees, fit("linear", trees.log_odds(X)[:, 1:], y), False),
        "surrogate": Chained(linear, fit("trees", beside(X, scores), y)),
        "of a constant": Chained(constant(y, w, classes), fit("linear", beside(X, scores), y)),
    }


def blended(models, classes, weights=None):
    """Blend models with given weights."""
    X = rows(classes)[0]
    v = np.linspace(0.4, 0.9, len(models)) if weights is None else np.array(weights)
    head = Linear(C=1.0).fit(
        np.random.default_rng(1).normal(size=(40, 1 + 2 * classes)),
        np.arange(40) % 2, np.ones(40), 2, seed=0,
    )  # fmt: skip
    table = [CandidateScore("observed", "linear", float(each), 0.4, 0.8, 0.7, 0.9) for each in v]
    table.append(CandidateScore("blend", "all", 1.0, 0.3, np.nan, np.nan, np.nan))
    intercept = np.linspace(-0.1, 0.1, classes)
    weights = BlendWeights(v, intercept, 10.0)
    scale = learn_scale(X, np.arange(len(X)), np.ones(len(X)))
    return BlendModel(Blended(tuple(models), weights, head, tuple(table)), scale)


def as_matrix_model(blend):
    """A model that reads a matrix."""
    labels, matrix = np.arange(blend.n_classes), Matrix(D, None)
    return Model(blend, matrix, labels, np.array(["all"]), Columns("y", matrix.columns), {})


def made(classes=2, *names):
    """A model of the named candidates, all of them by default, the first one of weight zero."""
    known = candidates(classes)
    chosen = [known[name] for name in names or known]
    v = np.linspace(0.0 if len(chosen) > 1 else 0.7, 0.9, len(chosen))
    return as_matrix_model(blended(chosen, classes, v))
