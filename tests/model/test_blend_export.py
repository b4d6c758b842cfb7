import json

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from model.blends import as_matrix_model, blended, candidates, fitted, made, rows, with_network
from sklearn.linear_model import LogisticRegression

from alignset import NoisyLabelClassifier, load_model
from alignset.estimator.as_model import as_model, predictor_of
from alignset.learners import Blend
from alignset.learners.base import CERTAIN, Constant, log_odds
from alignset.learners.linear import LinearPredictor
from alignset.learners.strategies.base import Chained
from alignset.learners.trees import Trees, TreesPredictor
from alignset.model.export import export_onnx, onnx_inputs
from alignset.model.fitted import Model
from alignset.model.onnx_graph import Graph
from alignset.model.onnx_trees import add_trees
from alignset.tables.columns import Columns
from alignset.tables.kinds import kind_of
from alignset.tables.preprocess import fit_preprocessing

X = rows(n=3000, seed=9)[0]


def run(content, inputs):
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(["probability"], inputs)[0]


def agrees(model, tmp_path, table=X):
    path = tmp_path / "m.onnx"
    assert export_onnx(model, path) < 1e-9
    onnx.checker.check_model(onnx.load(path), full_check=True)
    found = run(path.read_bytes(), onnx_inputs(model, table))
    np.testing.assert_allclose(found, model.predict_proba(table), rtol=0, atol=1e-9)
    return onnx.load(path)


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_a_blend_of_every_kind_of_model_is_exported(tmp_path, classes):
    graph = agrees(made(classes), tmp_path)
    about = {p.key: p.value for p in graph.metadata_props}
    assert (about["method"], about["members"]) == ("blend", "7")
    assert json.loads(about["classes"]) == list(range(classes))


@pytest.mark.parametrize("name", candidates(3))
def test_a_single_candidate_is_exported(tmp_path, name):
    agrees(made(3, name), tmp_path)


def test_a_fitted_estimator_is_exported_and_its_shared_models_once(tmp_path):
    clf = fitted(Blend(("observed", "recalibrated"), ("trees",), network=None, folds=2))
    graph = agrees(as_model(clf), tmp_path)
    assert [node.op_type for node in graph.graph.node].count("TreeEnsembleRegressor") == 1


def test_a_network_among_the_candidates_is_exported(tmp_path):
    agrees(as_matrix_model(blended(with_network()._model.models, 2)), tmp_path)


def test_a_loaded_blend_is_exported(tmp_path):
    clf = fitted(Blend(("observed",), ("trees",), network=None, folds=2))
    clf.save(tmp_path / "m")
    graph = agrees(load_model(tmp_path / "m"), tmp_path)
    about = {p.key: p.value for p in graph.metadata_props}
    assert about["model_sha256"] == load_model(tmp_path / "m").manifest["sha256"]


def test_a_table_is_read_by_a_blend(tmp_path):
    rng, n = np.random.default_rng(0), 150
    frame = pd.DataFrame({"age": rng.normal(60, 9, n), "sex": rng.choice(["f", "m"], n)})
    frame["lab"] = pd.Series(rng.lognormal(size=n)).mask(rng.random(n) < 0.2)
    prep = fit_preprocessing(frame, {c: kind_of(frame[c]) for c in frame})
    y = (frame["age"] > 60).to_numpy().astype(int)
    clf = NoisyLabelClassifier(
        Blend(("observed",), network=None, folds=2), folds=2, standardize=False, random_state=0,
        n_jobs=1,
    ).fit(prep.transform(frame), y, y_true=np.where(np.arange(n) < 60, y, np.nan))  # fmt: skip
    columns = Columns("told", tuple(frame))
    model = Model(predictor_of(clf), prep, clf.classes_, clf.groups_, columns, {})
    frame.loc[::5, ["age", "sex"]] = [None, None]
    frame.loc[::7, "sex"] = "never seen"
    agrees(model, tmp_path, frame)


def test_a_model_that_is_certain_is_cut_off_as_python_does(tmp_path):
    steep = LinearPredictor(np.array([[-40.0, 0, 0], [40.0, 0, 0]]), np.zeros(2))
    sure = TreesPredictor(**{**vars(candidates(2)["trees"]), "base": np.array([30.0])})
    np.testing.assert_allclose(sure.log_odds(X)[0], log_odds(np.array([CERTAIN / 9, 1.0])))
    agrees(as_matrix_model(blended([steep, sure], 2, [0.01, 1.0])), tmp_path)


@pytest.mark.parametrize("kept", [[], [0.0]])
def test_a_blend_in_which_nothing_counts_is_its_intercept(tmp_path, kept):
    model = as_matrix_model(blended([Constant(np.zeros(2))] * len(kept), 2, kept))
    agrees(model, tmp_path)
    assert len(np.unique(model.predict_proba(X))) == 2


def sums(model, rows):
    graph = Graph()
    x = graph._input("features", graph.double, rows.shape[1])
    content = graph.serialized(add_trees(graph, model, x), len(model.base), {})
    return run(content, {"features": rows})


def test_thresholds_are_double_missing_values_go_their_way_and_sums_are_exact():
    x = np.repeat([1.0, 1.0 + 1e-12, np.nan, 3.0], 30)[:, None]
    y = np.concatenate([np.repeat([0, 1], 30), np.arange(30) % 3 > 0, np.repeat([0], 30)])
    model = Trees(rounds=60, leaves=4, columns=1.0).fit(x, y.astype(int), np.ones(120), 2, seed=0)
    odds = model.log_odds(x)
    assert len(np.unique(odds[:, 1])) >= 3
    found = sums(model, x)[:, 0]
    # single precision would be off by about 1e-7
    np.testing.assert_allclose(found, odds[:, 1] - odds[:, 0], rtol=0, atol=1e-11)
    assert len(np.unique(found.round(9))) == len(np.unique(odds[:, 1].round(9)))


def test_trees_that_read_scores_of_trees_are_exported(tmp_path):
    few, y, _ = rows(3, n=600)
    few = (few - 3) / 2
    base = Trees(rounds=30).fit(few, y, np.ones(600), 3, seed=0)
    # scores of a model that saw half of the rows: no threshold is exactly a score of the base
    half = Trees(rounds=30).fit(few[::2], y[::2], np.ones(300), 3, seed=0)
    scores = np.hstack([few, half.log_odds(few)[:, 1:]])
    head = Trees(rounds=30).fit(scores, y, np.ones(600), 3, seed=1)
    agrees(as_matrix_model(blended([Chained(base, head)], 3)), tmp_path)


def test_a_classifier_of_the_users_own_is_refused(tmp_path):
    few, y, reviewed = rows()
    clf = NoisyLabelClassifier(
        "observed", estimator=LogisticRegression(), folds=2, random_state=0, n_jobs=1
    ).fit(few, y, y_true=reviewed)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        export_onnx(as_model(clf), tmp_path / "m.onnx")
    assert str(caught.value) == (
        "a blend with LogisticRegression cannot be exported: alignset only knows how to write its "
        "own models as ONNX; fit without estimator=."
    )
    assert not list(tmp_path.iterdir())
