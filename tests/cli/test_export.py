import numpy as np
import pytest
from commands import run

from alignset.estimator import NoisyLabelClassifier


@pytest.fixture
def model(tmp_path):
    clf = NoisyLabelClassifier("standard", n_configs=1, max_epochs=2, random_state=0, n_jobs=1)
    y = np.arange(40) % 2
    clf.fit(np.eye(40), y, y_true=[1, *y[1:30], *[None] * 10]).save(tmp_path / "m")
    return tmp_path / "m"


def test_a_model_is_exported_once(model, tmp_path, capsys):
    path = tmp_path / "m.onnx"
    code, out, err = run(capsys, "export", model, "--onnx", path)
    assert (code, err) == (0, "")
    assert out.startswith(f"{path}: onnxruntime's probabilities differ by at most ")
    code, _, err = run(capsys, "export", model, "--onnx", path)
    assert (code, err) == (1, f"error: {path} exists; name another file, or pass --overwrite.\n")
    assert run(capsys, "export", model, "--onnx", path, "--overwrite")[0] == 0


def test_a_damaged_model_is_not_exported(model, tmp_path, capsys):
    (model / "vectors.json").unlink()
    code, _, err = run(capsys, "export", model, "--onnx", tmp_path / "m.onnx")
    assert (code, err) == (1, f"error: {model} cannot be loaded: vectors.json is missing.\n")
    assert not (tmp_path / "m.onnx").exists()
