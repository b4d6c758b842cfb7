import json
import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest

from alignset.estimator import NoisyLabelClassifier
from alignset.estimator.as_model import as_model
from alignset.fitting.fit import fit_table
from alignset.fitting.held_out import Settings
from alignset.methods import Standard
from alignset.methods.registry import METHODS
from alignset.model import export
from alignset.model.export import export_onnx, onnx_inputs
from alignset.stack import MLP
from alignset.tables.columns import choose_columns

QUICK = Settings(n_configs=1, max_epochs=2, hidden=4, n_jobs=1)


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(60, 9, n)})
    frame["lab"] = pd.Series(rng.lognormal(size=n)).mask(rng.random(n) < 0.2)
    frame["race"] = rng.choice(["a", "b", "c"], n)
    frame["answer"] = pd.Series(rng.choice(["yes", "no"], n)).mask(rng.random(n) < 0.2)
    frame["smoker"] = rng.random(n) < 0.5
    frame["visit"] = pd.Timestamp("2020-05-01") + pd.to_timedelta(rng.integers(0, 99, n), "D")
    frame["told"] = rng.choice([0, 1, 2], n)
    frame["reviewed"] = frame["told"].where(frame.index < 12).where(frame.index > 0, 1)
    return frame


@pytest.fixture(scope="module")
def model():
    frame = table()
    choice = choose_columns(frame, label="told", truth="reviewed")
    return fit_table(frame, choice, method="joint", settings=QUICK).model


def run(path, inputs):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["probability"], inputs)[0]


def test_onnxruntime_reads_the_table_and_agrees(model, tmp_path):
    path = tmp_path / "m.onnx"
    assert export_onnx(model, path) < 1e-5
    onnx.checker.check_model(onnx.load(path), full_check=True)
    frame = table(300, seed=1).astype({"smoker": object})
    frame.loc[::5, ["age", "smoker", "answer"]] = [None, None, None]
    frame.loc[::7, "race"] = "never seen"
    frame.loc[::3, "visit"] = pd.NaT
    inputs = onnx_inputs(model, frame)
    assert {name: v.dtype.kind for name, v in inputs.items()} == {
        "age": "f", "lab": "f", "smoker": "f", "visit": "f", "race": "O", "answer": "O",
    }  # fmt: skip
    np.testing.assert_allclose(run(path, inputs), model.predict_proba(frame), rtol=0, atol=1e-9)
    about = {p.key: p.value for p in onnx.load(path).metadata_props}
    assert json.loads(about["classes"]) == [0, 1, 2]
    assert about["method"] == "joint"
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_exported(tmp_path, name):
    rng = np.random.default_rng(0)
    X = rng.normal(3, 9, size=(60, 3))
    y = (X[:, 0] > 3).astype(int)
    truth = np.where(np.arange(60) < 30, np.where(np.arange(60) % 5 == 0, 1 - y, y), np.nan)
    clf = NoisyLabelClassifier(
        METHODS[name](), n_configs=1, max_epochs=1, hidden=4, random_state=0, n_jobs=1
    ).fit(X, y, y_true=truth)
    model = as_model(clf)
    export_onnx(model, tmp_path / "m.onnx")
    found = run(tmp_path / "m.onnx", onnx_inputs(model, X))
    np.testing.assert_allclose(found, clf.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["joint", "coteaching"])
def test_several_members_are_exported_as_one_model(tmp_path, name):
    rng = np.random.default_rng(0)
    X = rng.normal(3, 9, size=(80, 3))
    truth = (X[:, 0] > 3).astype(int)
    y = np.where(rng.random(80) < 0.2, 1 - truth, truth)
    clf = NoisyLabelClassifier(
        METHODS[name](), n_configs=3, folds=2, ensemble=2, max_epochs=8, hidden=4, random_state=0,
        n_jobs=1,
    ).fit(X, y, y_true=np.where(np.arange(80) < 40, truth, np.nan))  # fmt: skip
    model = as_model(clf)
    export_onnx(model, tmp_path / "m.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "m.onnx"), full_check=True)
    new = rng.normal(3, 9, size=(30, 3))
    found = run(tmp_path / "m.onnx", onnx_inputs(model, new))
    np.testing.assert_allclose(found, clf.predict_proba(new), rtol=0, atol=1e-9)
    about = {p.key: p.value for p in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert (about["method"], about["members"]) == (name, "4")


@pytest.mark.parametrize("backbone", [MLP(3, depth=1), MLP(3, depth=3, last_relu=False)])
def test_other_depths_are_exported(tmp_path, backbone):
    X = np.random.default_rng(0).normal(size=(60, 3))
    clf = NoisyLabelClassifier(
        Standard(), n_configs=1, max_epochs=1, backbone=backbone, random_state=0, n_jobs=1
    ).fit(X, X[:, 0] > 0)
    assert export_onnx(as_model(clf), tmp_path / "m.onnx") < 1e-9


def test_a_graph_that_answers_otherwise_is_not_written(model, tmp_path, monkeypatch):
    path = tmp_path / "m.onnx"
    original = export.add_probability

    def wrong(graph, predictor, x):
        return original(graph, predictor, graph.add("Relu", [x]))

    monkeypatch.setattr(export, "add_probability", wrong)
    with pytest.raises(ValueError, match="the probabilities from onnxruntime are off by"):
        export_onnx(model, path)
    assert not list(tmp_path.iterdir())


def test_files_that_cannot_be_written_are_refused(model, tmp_path, monkeypatch):
    path = tmp_path / "m.onnx"
    path.write_text("precious")
    for place, said in (
        (path, f"{path} exists; name another file, or pass --overwrite."),
        (tmp_path / "m.pb", "m.pb is not the name of an ONNX file; it must end in .onnx."),
        (tmp_path / "no" / "m.onnx", f"there is no folder {tmp_path / 'no'} to write m.onnx to."),
    ):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            export_onnx(model, place)
        assert str(caught.value) == said
    assert path.read_text() == "precious"
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ValueError, match="exporting a model needs onnx, which is not installed"):
        export_onnx(model, tmp_path / "n.onnx")
    monkeypatch.undo()
    export_onnx(model, path, overwrite=True)
    onnx.load(path)
