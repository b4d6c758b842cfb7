import json
import pickle
import sys

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model.blends import as_matrix_model, blended, candidates, fitted, made, rows, with_network
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alignset import NoisyLabelClassifier, load_model
from alignset.estimator.as_model import as_model
from alignset.learners import Blend
from alignset.learners.base import Constant
from alignset.learners.strategies.base import Chained
from alignset.model import folder
from alignset.model.folder import save_model
from alignset.model.nodes import arrays_of_trees, trees_of_arrays

X = rows(n=400, seed=9)[0]


def same(model, other, X=X):
    """Both answer with the same bits."""
    codes = np.arange(X.shape[0]) % len(model.classes)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(
        model.label_confidence(X, model.classes[codes]),
        other.label_confidence(X, model.classes[codes]),
    )


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_a_blend_of_every_kind_of_model_is_saved_to_the_last_bit(tmp_path, classes):
    model = made(classes)
    save_model(model, tmp_path / "m")
    found = load_model(tmp_path / "m")
    same(found, model)
    assert (found.predictor.members, len(found.candidates)) == (7, 9)
    assert found.candidates[0].weight == 0
    np.testing.assert_equal([vars(each) for each in found.candidates], [
        vars(each) for each in model.candidates
    ])  # fmt: skip
    save_model(found, tmp_path / "again")
    same(load_model(tmp_path / "again"), model)
    for name in folder.FILES:
        assert (tmp_path / "m" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize("name", candidates(3))
def test_a_single_candidate_is_a_blend_too(tmp_path, name):
    model = made(3, name)
    save_model(model, tmp_path / "m")
    same(load_model(tmp_path / "m"), model)


def test_an_estimator_says_after_loading_what_it_said_before(tmp_path):
    clf = fitted(Blend(("observed", "recalibrated"), network=None, folds=2))
    clf.save(tmp_path / "m")
    with pytest.raises(ValueError, match="exists; name another folder"):
        clf.save(tmp_path / "m")
    clf.save(tmp_path / "m", overwrite=True)
    model = load_model(tmp_path / "m")
    _, y, _ = rows(n=400, seed=9)
    np.testing.assert_array_equal(model.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(model.label_confidence(X, y), clf.label_confidence(X, y))
    assert repr(model.candidates) == repr(clf.candidates_)
    assert model.candidates.explain() == clf.explain()
    assert model.noise_rates == clf.noise_rates_
    assert model.classes.tolist() == clf.classes_.tolist()
    assert model.score(X, y) == clf.score(X, y)
    weight = np.arange(400) % 3
    assert model.score(X, y, weight) == clf.score(X, y, weight)
    manifest = model.manifest
    assert (manifest["schema"], manifest["network"]["method"]["name"]) == (3, "blend")
    # the model of observed labels, which candidates share, is kept once
    assert [p["kind"] for p in manifest["network"]["pieces"]].count("trees") == 1


def test_a_network_among_the_candidates_is_saved(tmp_path):
    clf = with_network()
    model = as_matrix_model(blended(clf._model.models, 2))
    save_model(model, tmp_path / "m")
    found = load_model(tmp_path / "m")
    same(found, model)
    assert found.manifest["network"]["pieces"][1]["network"]["method"]["name"] == "joint"
    alone = as_matrix_model(blended(clf._model.models, 2, [0.5, 0.0]))
    assert [piece["kind"] for piece in alone.predictor.to_data()[0]["pieces"]] == ["linear"] * 2
    clf.save(tmp_path / "clf")
    np.testing.assert_array_equal(load_model(tmp_path / "clf").predict_proba(X),
                                  clf.predict_proba(X))  # fmt: skip


def test_sparse_rows_groups_without_a_rate_and_words_as_labels(tmp_path):
    few, y, reviewed = rows()
    sparse = scipy.sparse.csr_matrix(np.where(few > 3, few, 0))
    groups = np.where(np.arange(len(y)) < 100, 1, 2)
    reviewed = np.where(groups == 1, reviewed, np.nan)
    clf = NoisyLabelClassifier("observed", folds=2, random_state=0, n_jobs=1)
    with pytest.warns(UserWarning):
        clf.fit(sparse, y > 0, y_true=np.where(np.isnan(reviewed), None, reviewed > 0),
                groups=groups)  # fmt: skip
    clf.save(tmp_path / "m")
    model = load_model(tmp_path / "m")
    same(model, as_model(clf), sparse)
    assert list(model.noise_rates) == [1, 2]
    np.testing.assert_equal(model.noise_rates, clf.noise_rates_)


def test_a_method_has_no_candidates():
    few, y, _ = rows()
    clf = NoisyLabelClassifier("standard", n_configs=1, max_epochs=1, hidden=4, random_state=0)
    assert as_model(clf.fit(few, y)).candidates is None


class Mine(Constant):
    pass


def test_a_model_of_another_class_is_not_saved(tmp_path):
    model = as_matrix_model(blended([Mine(np.zeros(2))], 2))
    with pytest.raises(ValueError, match="a blend with a Mine cannot be saved: its code is not"):
        save_model(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())
