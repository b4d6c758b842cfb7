import json

import numpy as np
import pandas as pd
import pytest
from commands import run

from alignset import load_model
from alignset.fitting.fit import fit_table
from alignset.fitting.held_out import Settings
from alignset.model.export import export_onnx
from alignset.model.folder import save_model
from alignset.tables.columns import choose_columns
from alignset.tables.files import hash_file, read_table


def table(n=600, reviewed=200, seed=0):
    rng = np.random.default_rng(seed)
    x, sex = rng.normal(size=n), rng.choice(["f", "m"], n)
    true = rng.random(n) < 1 / (1 + np.exp(1 - 1.5 * x))
    told = np.where(rng.random(n) < 0.1, ~true, true)
    frame = pd.DataFrame({"x": x, "sex": sex})
    names = np.array(["no", "yes"])
    frame["told"] = names[told.astype(int)]
    frame["reviewed"] = pd.Series(names[true.astype(int)]).where(np.arange(n) < reviewed)
    return frame


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    table().to_csv(place / "t.csv", index=False)
    frame = read_table(place / "t.csv")
    choice = choose_columns(frame, label="told", truth="reviewed", groups=["sex"])
    about = {"data": {"sha256": hash_file(place / "t.csv")}}
    settings = Settings(n_configs=1, n_jobs=1)
    fitted = fit_table(frame, choice, method="both_linear", settings=settings, about=about)
    save_model(fitted.model, place / "m")
    return place


@pytest.fixture
def folder(made, tmp_path):
    save_model(load_model(made / "m"), tmp_path / "m")
    return tmp_path / "m"


def test_a_threshold_is_chosen_written_and_used(folder, made, tmp_path, capsys):
    before = load_model(folder)
    assert before.thresholds is None
    code, out, err = run(capsys, "threshold", folder, "--target", "tpr=0.9")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "sensitivity (TPR)" in lines[0]
    assert "alerts per 100" in lines[0]
    assert [line.split()[0] for line in lines[1:4]] == ["all", "f", "m"]
    assert lines[4].startswith("reviewed 200, worth ")
    assert "'yes' is predicted from the threshold" in out
    assert lines[-2:] == [
        f"{folder}: threshold written", f"next: alignset report {folder} -o report.html"
    ]  # fmt: skip
    model = load_model(folder)
    assert model.manifest["schema"] == 4
    assert model.manifest["created"] == before.manifest["created"]
    assert model.thresholds.rates["tpr"].worth > 200
    cut = model.thresholds.threshold
    new = table(seed=3)
    p = model.predict_proba(new)[:, 1]
    np.testing.assert_array_equal(model.predict(new) == "yes", p >= cut)

    new.to_csv(tmp_path / "new.csv", index=False)
    predict = "predict", folder, tmp_path / "new.csv", "-o", tmp_path / "p.csv", "--overwrite"
    code, out, _ = run(capsys, *predict)
    assert (code, f"'yes' is predicted from a probability of {cut:.4g}." in out) == (0, True)
    told = read_table(tmp_path / "p.csv")
    np.testing.assert_array_equal(told["prediction"] == "yes", told["p_yes"] >= cut)
    code, out, _ = run(capsys, *predict, "--threshold", "0.8")
    told = read_table(tmp_path / "p.csv")
    np.testing.assert_array_equal(told["prediction"] == "yes", told["p_yes"] >= 0.8)

    code, out, _ = run(capsys, "threshold", folder, "--clear")
    assert (code, out) == (0, f"{folder}: predicts the more probable class\n")
    assert load_model(folder).thresholds is None
    assert load_model(folder).manifest["schema"] == 3


def test_groups_have_thresholds_of_their_own(folder, tmp_path, capsys):
    code, out, _ = run(
        capsys, "threshold", folder, "--target", "flagged=0.25", "--per-group", "--json"
    )
    assert code == 0
    told = json.loads(out)
    assert set(told["by_group"]) == {"f", "m"}
    model = load_model(folder)
    assert model.thresholds.by_group == told["by_group"]
    new = table(n=4000, seed=4)
    said = model.predict(new) == "yes"
    for g in ("f", "m"):
        assert said[new["sex"] == g].mean() == pytest.approx(0.25, abs=0.06)
    new.loc[0, "sex"] = "x"
    new.to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = run(capsys, "predict", folder, tmp_path / "new.csv", "-o", tmp_path / "p.csv")
    assert code == 0
    assert "groups without a threshold get" in out
    assert "'x'" in out
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    export_onnx(model, tmp_path / "m.onnx")
    props = {p.key: p.value for p in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert json.loads(props["thresholds"])["by_group"] == told["by_group"]


def test_the_class_to_find_is_the_rarest_or_the_one_asked_for(folder, tmp_path, capsys):
    code, out, _ = run(capsys, "threshold", folder, "--target", "tpr=0.9", "--positive", "no")
    assert (code, "'no' is predicted from the threshold" in out) == (0, True)
    model = load_model(folder)
    assert model.thresholds.of_class == 0
    new = table(seed=3)
    p = model.predict_proba(new)
    np.testing.assert_array_equal(model.predict(new) == "no", p[:, 0] >= model.thresholds.threshold)
    new.to_csv(tmp_path / "new.csv", index=False)
    predict = "predict", folder, tmp_path / "new.csv", "-o", tmp_path / "p.csv", "--overwrite"
    for words, column in (((), "p_no"), (("--positive", "yes"), "p_yes")):
        assert run(capsys, *predict, "--threshold", "0.7", *words)[0] == 0
        told = read_table(tmp_path / "p.csv")
        said = column.removeprefix("p_")
        np.testing.assert_array_equal(told["prediction"] == said, told[column] >= 0.7)
    code, _, err = run(capsys, *predict, "--positive", "yes")
    assert (code, "--positive needs --threshold" in err) == (2, True)
    code, _, err = run(capsys, "threshold", folder, "--target", "tpr=0.9", "--positive", "maybe")
    assert (code, "there is no class 'maybe'; the model knows 'no', 'yes'" in err) == (1, True)
    other = table(seed=9)
    swap = {"yes": "no", "no": "yes"}
    other["reviewed"] = other["reviewed"].map(swap)
    other.to_csv(tmp_path / "other.csv", index=False)
    words = "threshold", folder, tmp_path / "other.csv", "--target", "flagged=0.2", "--dry-run"
    code, out, _ = run(capsys, *words)
    assert (code, "'no' is predicted from the threshold" in out) == (0, True)


def test_rows_of_another_table_can_choose(folder, made, tmp_path, capsys):
    table(seed=9).to_csv(tmp_path / "other.csv", index=False)
    code, out, err = run(
        capsys, "threshold", folder, tmp_path / "other.csv", "--target", "fpr=0.2", "--dry-run"
    )
    assert (code, err) == (0, "")
    *_, written, line = out.splitlines()
    assert written == f"{folder}: nothing was written"
    assert line.startswith(
        f"next: alignset threshold {folder} {tmp_path / 'other.csv'} --target fp"
    )
    assert load_model(folder).thresholds is None
    code, _, err = run(capsys, "threshold", folder, made / "t.csv", "--target", "fpr=0.2")
    assert (code, "t.csv is the table that the model was trained on" in err) == (1, True)
    table(reviewed=0).to_csv(tmp_path / "none.csv", index=False)
    code, _, err = run(capsys, "threshold", folder, tmp_path / "none.csv", "--target", "fpr=0.2")
    assert (code, "no row of none.csv is reviewed" in err) == (1, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "pass one of --target and --clear"),
        (("--target", "tpr"), "write --target NAME=NUMBER"),
        (("--target", "recall=0.9"), "there is no target 'recall'"),
        (("--target", "tpr=90"), "tpr must lie in (0, 1), got 90"),
        (("--target", "tpr=0.9", "--clear"), "pass one of --target and --clear"),
    ],
)
def test_what_cannot_be_chosen_is_said(folder, capsys, words, said):
    code, _, err = run(capsys, "threshold", folder, *words)
    assert code in (1, 2)
    assert said in err
    assert load_model(folder).thresholds is None


def test_a_spoilt_threshold_is_refused(folder, capsys):
    assert run(capsys, "threshold", folder, "--target", "tpr=0.9")[0] == 0
    path = folder / "manifest.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"target": "tpr"', '"target": "fpr"'), encoding="utf-8")
    with pytest.raises(ValueError, match="was changed after it was saved"):
        load_model(folder)


def test_labels_of_a_table_are_those_the_model_knows(folder, tmp_path, capsys):
    other = table(seed=5).replace({"no": "b", "yes": "a"})  # read alone, they would change places
    other.to_csv(tmp_path / "other.csv", index=False)
    code, _, err = run(capsys, "threshold", folder, tmp_path / "other.csv", "--target", "tpr=0.9")
    assert code == 1
    assert "column 'told'" in err
    assert "'no', 'yes'" in err
    assert load_model(folder).thresholds is None
