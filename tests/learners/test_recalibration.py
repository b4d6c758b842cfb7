"""Groups whose probabilities are off are recalibrated, and no others are touched."""

import json

import numpy as np
import pandas as pd
import pytest

from alignset import NoisyLabelClassifier, load_model
from alignset.evaluate import calibration_error
from alignset.fitting.fit import fit_table
from alignset.fitting.held_out import Settings
from alignset.learners.recalibration import GroupCalibration, fit_group_calibration
from alignset.model.export import export_onnx, onnx_inputs
from alignset.model.folder import save_model
from alignset.model.predict import predict_table
from alignset.model.recalibration import calibration_from_data
from alignset.tables.columns import choose_columns


def scores(seed, n, off, slope=1.0, n_groups=3):
    """Probabilities that are right in all groups but the last, which is ``off`` in log-odds."""
    rng = np.random.default_rng(seed)
    group, z = rng.integers(0, n_groups, n), 1.4 * rng.normal(size=n) - 0.5
    last = group == n_groups - 1
    truth = 1 / (1 + np.exp(-np.where(last, slope * z + off, z)))
    y = (rng.random(n) < truth).astype(np.int64)
    p = 1 / (1 + np.exp(-z))
    seen = np.where(rng.random(n) < 0.1, 1 - y, y)
    return np.stack([1 - p, p], axis=1), seen, y, group


def fitted(seed, n=600, off=0.0, slope=1.0):
    p, seen, y, group = scores(seed, n, off, slope)
    return fit_group_calibration(p, seen, y, group, np.ones(n), 3, seed=0)


@pytest.mark.parametrize(("off", "slope"), [(-1.5, 1.0), (1.2, 1.0), (0.0, 0.3)])
def test_what_is_off_is_found_and_gets_better(off, slope):
    better = []
    for seed in range(8):
        found = fitted(seed, n=900, off=off, slope=slope)
        assert 2 in found.changed
        p, _, y, group = scores(1000 + seed, 20_000, off, slope)
        own = group == 2
        before, after = (calibration_error(y[own], q[own]) for q in (p, found.apply(p, group)))
        better.append(after / before)
        assert after < before
    assert np.mean(better) < 0.5


def test_what_is_right_is_hardly_ever_touched():
    touched = [bool(fitted(seed).changed) for seed in range(100)]
    assert np.mean(touched) <= 0.05 + 3 * (0.05 * 0.95 / 100) ** 0.5


def test_rows_of_other_groups_keep_every_bit():
    p, _, _, group = scores(0, 500, 0.0)
    found = GroupCalibration(np.array([1.0, 1.0, 0.5]), np.array([[0.0, 0.0]] * 2 + [[-1.0, 1.0]]))
    out = found.apply(p, np.where(np.arange(500) < 50, -1, group))
    touched = (group == 2) & (np.arange(500) >= 50)
    np.testing.assert_array_equal(out[~touched], p[~touched])
    assert (out[touched] != p[touched]).all()
    assert out.sum(1) == pytest.approx(1)
    np.testing.assert_array_equal(GroupCalibration.none(3, 2).apply(p, group), p)


def test_it_is_drawn_towards_nothing():
    few, many = (
        np.mean([abs(np.diff(fitted(seed, n=n, off=-2.0).offset[2])[0]) for seed in range(6)])
        for n in (240, 6000)
    )
    assert few < many
    assert many == pytest.approx(2.0, abs=0.25)


def test_groups_with_few_rows_of_a_class_are_left_alone():
    p, seen, y, group = scores(0, 600, -3.0)
    rare = np.where(group == 2, 0, y)
    rare[np.flatnonzero(group == 2)[:9]] = 1
    found = fit_group_calibration(p, seen, rare, group, np.ones(600), 3, seed=0)
    assert 2 not in found.changed


def test_three_classes_are_recalibrated_too():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3000, 3))
    group = rng.integers(0, 2, 3000)
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    true = np.exp(z + np.where(group[:, None] == 1, [0.0, -1.5, 1.0], 0.0))
    true /= true.sum(1, keepdims=True)
    y = (rng.random(3000)[:, None] > true.cumsum(1)).sum(1)
    half = np.arange(3000) < 1500
    found = fit_group_calibration(p[half], y[half], y[half], group[half], np.ones(1500), 2, seed=0)
    assert found.changed == [1]
    rest = ~half & (group == 1)
    after = found.apply(p, group)
    assert calibration_error(y[rest], after[rest]) < 0.5 * calibration_error(y[rest], p[rest])


def people(n, off, seed=0, reviewed=400):
    """A table in which group b has another base rate that no feature shows."""
    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(n, 3)), rng.choice(["a", "b"], n, p=[0.6, 0.4])
    truth = 1 / (1 + np.exp(-(1.3 * X[:, 0] - 0.3 + off * (group == "b"))))
    true = (rng.random(n) < truth).astype(int)
    y = np.where(rng.random(n) < 0.08, 1 - true, true)
    return X, y, true, group, np.where(np.arange(n) < reviewed, true, np.nan)


def fit(off, seed=0, method="both_linear", **options):
    X, y, _, group, known = people(1500, off, seed)
    clf = NoisyLabelClassifier(method, random_state=0, n_jobs=1, **options)
    return clf.fit(X, y, y_true=known, groups=group)


@pytest.mark.parametrize("method", ["both_linear", "standard_plus"])
def test_a_model_recalibrates_the_group_it_cannot_see(method, tmp_path):
    options = {} if method == "both_linear" else {"n_configs": 1, "max_epochs": 40}
    clf = fit(-2.0, method=method, **options)
    assert clf.recalibration_ is not None
    X, _, true, group, _ = people(6000, -2.0, seed=7)
    plain, own = clf.predict_proba(X), clf.predict_proba(X, groups=group)
    for g in np.flatnonzero(np.isin(clf.groups_, ["a", "b"])):
        rows = group == clf.groups_[g]
        if g in clf.recalibration_.changed:
            assert calibration_error(true[rows], own[rows]) < 0.7 * calibration_error(
                true[rows], plain[rows]
            )
        else:
            np.testing.assert_array_equal(own[rows], plain[rows])
    assert clf.groups_.tolist().index("b") in clf.recalibration_.changed
    clf.save(tmp_path / "m")
    model = load_model(tmp_path / "m")
    np.testing.assert_allclose(model.predict_proba(X, groups=group), own, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), plain, atol=1e-9)
    assert model.manifest["schema"] == 4


def test_where_no_group_is_off_nothing_happens_to_a_bit():
    clf = fit(0.0, seed=3)
    assert clf.recalibration_ is None
    X, _, _, group, _ = people(500, 0.0, seed=8)
    np.testing.assert_array_equal(clf.predict_proba(X, groups=group), clf.predict_proba(X))


@pytest.fixture(scope="module")
def made():
    """A table whose features leave the site out, and a model of it."""
    X, y, _, group, known = people(1500, -2.0)
    frame = pd.DataFrame(X, columns=["u", "v", "w"]).assign(site=group, told=y, reviewed=known)
    columns = {"label": "told", "truth": "reviewed", "groups": ["site"], "ignore": ["site"]}
    settings = Settings(n_configs=1, n_jobs=1)
    choice = choose_columns(frame, **columns)
    return frame, fit_table(frame, choice, method="both_linear", settings=settings)


def test_fit_says_so_and_predictions_follow(made, tmp_path):
    frame, fitted = made
    (note,) = [note for note in fitted.notes if "are recalibrated" in note and "'b'" in note]
    assert "they were off by more than chance" in note
    save_model(fitted.model, tmp_path / "m")
    model = load_model(tmp_path / "m")
    own = model.predict_proba(frame, model.groups_of(frame))
    told = predict_table(model, frame)
    np.testing.assert_allclose(told.table["p_1"], own[:, 1])
    assert (own != model.predict_proba(frame)).any()
    without = predict_table(model, frame.drop(columns="site"))
    assert any("lacks 'site', so probabilities are not recalibrated" in n for n in without.notes)
    # what is kept for the page was recalibrated without the row itself
    kept = model.evaluation
    b = kept.group == kept.groups.index("b")
    gap = (kept.scores["both_linear"][b, 1] - kept.true[b]).mean()
    other = (kept.scores["observed_linear"][b, 1] - kept.true[b]).mean()
    assert abs(gap) < 0.6 * abs(other)


def test_onnx_says_how_to_go_on(made, tmp_path):
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    frame, fitted = made
    export_onnx(fitted.model, tmp_path / "m.onnx")
    props = {p.key: p.value for p in onnx.load(tmp_path / "m.onnx").metadata_props}
    how = json.loads(props["recalibration"])
    assert "b" in how
    session = runtime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    (p,) = session.run(["probability"], onnx_inputs(fitted.model, frame))
    rows = (frame["site"] == "b").to_numpy()
    logs = np.log(p[rows])
    z = how["b"]["slope"] * (logs - logs.mean(1, keepdims=True)) + how["b"]["offset"]
    by_hand = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    own = fitted.model.predict_proba(frame, fitted.model.groups_of(frame))
    np.testing.assert_allclose(by_hand, own[rows], atol=1e-6)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"slope": [1.0]}, "not what alignset writes"),
        ({"slope": [1.0], "offset": [[0.0, 0.0]] * 2}, "does not match its groups"),
        ({"slope": [1.0, -1.0], "offset": [[0.0, 0.0]] * 2}, "out of range"),
        ({"slope": [1.0, np.nan], "offset": [[0.0, 0.0]] * 2}, "out of range"),
    ],
)
def test_what_is_no_recalibration_is_refused(data, said):
    with pytest.raises(ValueError, match=said):
        calibration_from_data(data, (2, 2))
