"""The plain models: what they are fitted to, and what they do without."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from alignset.engine import Trainer
from alignset.fitting.plain import PLAIN, plain_models
from alignset.learners import Linear, Trees
from alignset.rows import Part


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    true = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(np.int64)
    seen = np.where(rng.random(n) < 0.2, 1 - true, true)
    known = np.where(np.arange(n) < n // 3, true, -1)
    return Part(X, seen, known, np.zeros(n, np.int64))


def odds(part, *names, **options):
    models = plain_models(part, 2, 1, seed=0, **options)
    X = rows(50, seed=1).X
    return [models[name].log_odds(X) for name in names or models]


def test_there_are_six_and_their_names_can_be_asked_for():
    assert list(plain_models(rows(), 2, 1, seed=0)) == list(PLAIN) == [
        "observed_linear", "reviewed_linear", "both_linear",
        "observed_trees", "reviewed_trees", "both_trees",
    ]  # fmt: skip


def test_they_are_the_learners_themselves_fitted_to_the_labels():
    part, X = rows(), rows(50, seed=1).X
    weight, known = np.ones(len(part)), part.reviewed
    label = np.where(known, part.y_true, part.y_seen)
    for kind, learner in (("linear", Linear()), ("trees", Trees())):
        chosen = learner.settle(part.X, part.y_seen, weight, 2, seed=0)
        expected = [
            chosen.fit(part.X, part.y_seen, weight, 2, seed=0),
            learner.fit(part.X[known], part.y_true[known], weight[known], 2, seed=0),
            chosen.fit(part.X, label, weight, 2, seed=0),
        ]
        found = odds(part, *(f"{of}_{kind}" for of in ("observed", "reviewed", "both")))
        for model, said in zip(expected, found, strict=True):
            np.testing.assert_array_equal(model.log_odds(X), said)


def test_each_reads_its_own_labels_only():
    part = rows()
    unreviewed = np.where(part.reviewed, part.y_true, -1)
    flipped = replace(part, y_true=np.where(part.reviewed, 1 - unreviewed, -1))
    for name in ("observed_linear", "observed_trees"):
        np.testing.assert_array_equal(*(odds(each, name)[0] for each in (part, flipped)))
    other = replace(part, y_seen=1 - part.y_seen)
    for name in ("reviewed_linear", "reviewed_trees"):
        np.testing.assert_array_equal(*(odds(each, name)[0] for each in (part, other)))


def test_known_probabilities_weight_the_reviewed_rows():
    part = rows()
    chance = np.where(part.X[:, 1] > 0, 0.9, 0.1)
    designed = replace(part, probability=np.where(part.reviewed, chance, 1.0))
    same, changed = odds(part), odds(designed)
    for name, a, b in zip(PLAIN, same, changed, strict=True):
        assert np.array_equal(a, b) == (not name.startswith("reviewed")), name


def test_sparse_rows_get_linear_models_only():
    part = rows()
    sparse = replace(part, X=scipy.sparse.csr_matrix(part.X))
    told = []
    models = plain_models(sparse, 2, 1, seed=0, advance=told.append)
    assert list(models) == ["observed_linear", "reviewed_linear", "both_linear"]
    assert told == ["plain linear models"]
    for name, said in zip(models, odds(part, *models), strict=True):
        X = scipy.sparse.csr_matrix(rows(50, seed=1).X)
        np.testing.assert_allclose(models[name].log_odds(X), said, atol=1e-3)


def test_no_network_is_trained(monkeypatch):
    def refuse(*args, **options):
        pytest.fail("a plain model trained a network")

    monkeypatch.setattr(Trainer, "train", refuse)
    told = []
    assert len(plain_models(rows(), 2, 1, seed=0, advance=told.append)) == 6
    assert told == ["plain linear models", "plain trees"]


def test_one_reviewed_class_is_a_constant_answer():
    part = rows()
    one = replace(part, y_true=np.where(part.reviewed, 1, -1))
    for said in odds(one, "reviewed_linear", "reviewed_trees"):
        assert (said == said[0]).all()
        assert said[0, 1] > said[0, 0]
