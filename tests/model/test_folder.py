import json
import multiprocessing
import os
import pickle
import shutil
import signal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from torch import nn

import alignset
from alignset import NoisyLabelClassifier, load_model
from alignset.estimator.as_model import predictor_of
from alignset.methods import Alignment, JointAlignment, Standard
from alignset.methods.registry import METHODS
from alignset.model import folder
from alignset.model.fitted import Model
from alignset.model.folder import read_manifest, save_model
from alignset.model.network import Network
from alignset.stack.module import Module
from alignset.tables import atomic
from alignset.tables.columns import Columns
from alignset.tables.kinds import kind_of
from alignset.tables.preprocess import fit_preprocessing


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y_true = (X[:, 0] > 0).astype(int)
    y = np.where(rng.random(n) < 0.2, 1 - y_true, y_true)
    reviewed = np.where(np.arange(n) < 40, y_true, np.nan)
    return X, y, reviewed


def estimator(method=None, **options):
    method = method or JointAlignment()
    options = {
        "folds": None,
        "n_configs": 1,
        "max_epochs": 2,
        "hidden": 5,
        "random_state": 0,
        "n_jobs": 1,
    } | options
    return NoisyLabelClassifier(method, **options)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with a model that reads a table, never changed by a test."""
    X, y, reviewed = rows()
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(X[:, :2], columns=["age", "lab"])
    frame.loc[::7, "lab"] = np.nan
    frame["sex"] = rng.choice(["f", "m"], len(frame))
    frame["visit"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(range(len(frame)), "D")
    frame["smoker"] = rng.random(len(frame)) < 0.5
    prep = fit_preprocessing(frame, {c: kind_of(frame[c]) for c in frame})
    words = np.array(["no", "yes"])
    true = pd.Series(reviewed).map({0.0: "no", 1.0: "yes"})
    clf = estimator(standardize=False).fit(
        prep.transform(frame), words[y], y_true=true, groups=frame["sex"]
    )
    columns = Columns("told", tuple(frame), "reviewed", ("sex",))
    model = Model(predictor_of(clf), prep, clf.classes_, clf.groups_, columns, {"seed": 3})
    place = tmp_path_factory.mktemp("saved") / "model"
    save_model(model, place)
    return place, frame, words[y], clf


@pytest.fixture
def copy(saved, tmp_path):
    place = tmp_path / "model"
    shutil.copytree(saved[0], place)
    return place


def test_a_loaded_model_answers_as_the_fitted_one(saved):
    place, frame, y, clf = saved
    model = load_model(place)
    X = model.preprocessing.transform(frame)
    np.testing.assert_allclose(model.predict_proba(frame), clf.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(
        model.label_confidence(frame, y), clf.label_confidence(X, y), atol=1e-12
    )
    assert model.predict(frame).tolist() == clf.predict(X).tolist()
    assert model.classes.tolist() == ["no", "yes"]
    assert model.groups.tolist() == ["f", "m"]
    assert model.columns == Columns("told", tuple(frame), "reviewed", ("sex",))
    shuffled = frame.iloc[::-1, ::-1].assign(more=1)
    np.testing.assert_allclose(model.predict_proba(shuffled), model.predict_proba(frame)[::-1])


def test_blocks_of_rows_change_nothing_and_errors_name_the_row_of_the_table(saved, monkeypatch):
    place, frame, _, _ = saved
    model = load_model(place)
    whole = model.predict_proba(frame)
    monkeypatch.setattr("alignset.model.fitted.BLOCK_ROWS", 7)
    np.testing.assert_allclose(model.predict_proba(frame), whole, atol=1e-12)
    frame = frame.copy()
    frame.loc[60, "age"] = np.inf
    with pytest.raises(ValueError, match="holds inf in data row 61; it takes finite numbers"):
        model.predict_proba(frame)


def test_the_manifest_says_where_the_model_comes_from(saved):
    manifest = json.loads((saved[0] / "manifest.json").read_text())
    assert (manifest["format"], manifest["schema"], manifest["seed"]) == ("alignset model", 1, 3)
    assert set(manifest["files"]) == {"weights.safetensors", "preprocessing.json", "vectors.json"}
    assert manifest["versions"]["alignset"] == alignset.__version__
    assert manifest["network"]["method"]["name"] == "joint"
    assert manifest["network"]["members"] == 1
    assert manifest["thresholds"] is None
    assert sorted(p.name for p in saved[0].iterdir()) == sorted(
        [*manifest["files"], "manifest.json"]
    )


def test_no_training_row_is_in_the_folder(saved):
    place, frame, _, _ = saved
    text = (place / "vectors.json").read_text() + (place / "manifest.json").read_text()
    assert not [v for v in frame["age"].tolist() if repr(v) in text]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_saved_and_loaded(tmp_path, name):
    X, y, reviewed = rows()
    clf = estimator(METHODS[name](), max_epochs=1).fit(X, y, y_true=reviewed)
    clf.save(tmp_path / "m")
    model = load_model(tmp_path / "m")
    np.testing.assert_allclose(model.predict_proba(X), clf.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(model.label_confidence(X, y), clf.label_confidence(X, y), atol=1e-12)
    assert model.network.fits.method == clf.method_


@pytest.mark.parametrize("labels", [[0, 1], [False, True], [-1, 1], ["no", "yes"], [0, 1, 2]])
def test_an_estimator_is_saved_with_its_labels(tmp_path, labels):
    X, y, _ = rows()
    y = np.array(labels)[np.where(X[:, 2] > 1, len(labels) - 1, y)]
    clf = estimator(Standard()).fit(pd.DataFrame(X, columns=list("abc")), y)
    clf.save(tmp_path / "m")
    model = load_model(tmp_path / "m")
    assert model.classes.tolist() == labels
    frame = pd.DataFrame(X, columns=list("abc"))
    np.testing.assert_allclose(model.predict_proba(frame[list("cba")]), clf.predict_proba(frame))
    assert model.columns.features == ("a", "b", "c")
    with pytest.raises(ValueError, match="holds 'maybe' in data row 2, which is not a known label"):
        model.label_confidence(frame[:2], [labels[0], "maybe"])
    with pytest.raises(ValueError, match="is missing in 1 of 1 rows, first in data row 1"):
        model.label_confidence(frame[:1], [None])
    with pytest.raises(ValueError, match="y has 1 entries but the table has 120 rows"):
        model.label_confidence(frame, labels[:1])


def test_sparse_features_are_saved_too(tmp_path):
    X, y, reviewed = rows()
    X = scipy.sparse.csr_matrix(np.where(X > 0.5, X, 0))
    clf = estimator().fit(X, y, y_true=reviewed)
    clf.save(tmp_path / "m")
    np.testing.assert_allclose(
        load_model(tmp_path / "m").predict_proba(X), clf.predict_proba(X), atol=1e-12
    )


def test_a_loaded_model_can_be_saved_again(saved, tmp_path):
    model = load_model(saved[0])
    save_model(model, tmp_path / "again")
    np.testing.assert_array_equal(
        load_model(tmp_path / "again").predict_proba(saved[1]), model.predict_proba(saved[1])
    )


class Mine(Alignment):
    pass


def test_what_is_not_ours_is_not_saved(tmp_path):
    X, y, reviewed = rows()
    with pytest.raises(Exception, match="not fitted yet"):
        estimator().save(tmp_path / "m")
    own = estimator(backbone=Module(lambda d, k: nn.Linear(d, k))).fit(X, y, y_true=reviewed)
    with pytest.raises(ValueError, match="the backbone Module cannot be saved: its code is not"):
        own.save(tmp_path / "m")
    with pytest.raises(ValueError, match="a model of the method Mine cannot be saved"):
        estimator(Mine()).fit(X, y, y_true=reviewed).save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def refused(place):
    with pytest.raises((ValueError, OSError)) as caught:
        load_model(place)
    return str(caught.value)


def test_a_foreign_or_absent_folder_is_refused(tmp_path):
    place = tmp_path / "m"
    assert refused(place) == f"there is no folder {place}."
    place.mkdir()
    assert refused(place) == f"{place} is not a model folder: it has no manifest.json."
    (place / "manifest.json").write_text('{"format": "onnx"}')
    assert refused(place) == f"{place} is not a model folder: its manifest.json describes no model."
    (place / "manifest.json").write_text("[" * 100_000)
    assert refused(place).startswith(f"{place} cannot be loaded: manifest.json is not JSON (")
    (place / "manifest.json").write_bytes(pickle.dumps({}))
    assert refused(place).startswith(f"{place} cannot be loaded: manifest.json is not JSON (")


def test_a_truncated_changed_or_missing_file_is_refused(copy):
    for name in folder.FILES:
        path = copy / name
        content = path.read_bytes()
        path.write_bytes(content[:-1])
        assert refused(copy) == (
            f"{copy} cannot be loaded: {name} has {len(content) - 1} bytes, expected "
            f"{len(content)}; the folder was not copied whole."
        )
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        said = refused(copy)
        assert said.startswith(f"{copy} cannot be loaded: sha256 of {name} is ")
        assert said.endswith("; the file was changed after it was saved.")
        path.unlink()
        assert refused(copy) == f"{copy} cannot be loaded: {name} is missing."
        path.write_bytes(content)
    load_model(copy)


def change(place, **parts):
    """Change a manifest, or a file, as one would who knows how hashes are made."""
    path = place / "manifest.json"
    manifest = json.loads(path.read_text())
    for name, value in parts.items():
        if callable(value):
            value(manifest)
        else:
            manifest[name] = value
    for name, about in manifest.get("files", {}).items():
        content = (place / name).read_bytes()
        about.update(sha256=folder._hash(content), bytes=len(content))
    manifest.pop("sha256", None)
    manifest["sha256"] = folder._hash(folder._dump(manifest))
    path.write_bytes(folder._dump(manifest))


def test_a_changed_manifest_is_refused(copy):
    path = copy / "manifest.json"
    path.write_text(path.read_text().replace('"seed": 3', '"seed": 4'))
    assert refused(copy) == (
        f"{copy} cannot be loaded: manifest.json was changed after it was saved."
    )


def test_a_newer_folder_is_refused(copy):
    change(copy, schema=7, versions={"alignset": "9.0"})
    assert refused(copy) == (
        f"{copy} cannot be loaded: it has schema 7, written by alignset 9.0, and this alignset "
        f"({alignset.__version__}) reads up to 6; upgrade alignset."
    )


def test_a_folder_written_before_there_were_members_is_one_model(saved, copy):
    change(copy, spoil=lambda m: m["network"].pop("members"))
    model = load_model(copy)
    assert model.network.members == 1
    np.testing.assert_array_equal(
        model.predict_proba(saved[1]), load_model(saved[0]).predict_proba(saved[1])
    )


@pytest.mark.parametrize("name", ["joint", "coteaching", "csidn"])
def test_several_members_are_saved_as_one_model(tmp_path, name):
    X, y, reviewed = rows()
    clf = estimator(METHODS[name](), n_configs=3, folds=2, ensemble=2).fit(X, y, y_true=reviewed)
    clf.save(tmp_path / "m")
    model = load_model(tmp_path / "m")
    assert model.network.members == model.manifest["network"]["members"] == 4
    assert model.manifest["schema"] == 2
    np.testing.assert_allclose(model.predict_proba(X), clf.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(model.label_confidence(X, y), clf.label_confidence(X, y), atol=1e-12)
    alone = [Network(model.network.fits.members([0], [m]), model.network.scale) for m in range(4)]
    mean = np.mean([member.probability(X) for member in alone], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-12)
    save_model(model, tmp_path / "again")
    again = load_model(tmp_path / "again")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("members", [0, -1, 3, 10_001, 1 << 40, "2", None, 2.0, [2]])
def test_a_number_of_members_that_is_not_there_is_refused(tmp_path, members):
    X, y, reviewed = rows()
    estimator(folds=2).fit(X, y, y_true=reviewed).save(tmp_path / "m")
    change(tmp_path / "m", spoil=lambda m: m["network"].update(members=members))
    said = refused(tmp_path / "m")
    assert "names an unknown model (" in said or "does not match the described net" in said


def test_changed_weights_with_new_hashes_do_not_replay(copy):
    path = copy / "weights.safetensors"
    arrays = folder.load_arrays(path.read_bytes())
    arrays["theta/b0"] = arrays["theta/b0"] + np.float32(0.1)
    path.write_bytes(folder.save_arrays(arrays))
    change(copy)
    assert refused(copy).startswith(
        f"{copy} cannot be loaded: the test vectors no longer give the probability they gave when "
        "the model was saved (off by "
    )


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda a: a.pop("theta/b0"), "weights.safetensors does not match the described network"),
        (lambda a: a.update(x=np.zeros(1)), "weights.safetensors does not match the described"),
        (lambda a: a.update({"theta/b0": a["theta/b0"] * np.nan}), "must hold finite floats in"),
        (lambda a: a.update({"theta/b0": a["theta/b0"].astype(np.int64)}), "must hold finite"),
    ],
)
def test_weights_that_do_not_fit_are_refused(copy, spoil, said):
    path = copy / "weights.safetensors"
    arrays = folder.load_arrays(path.read_bytes())
    spoil(arrays)
    path.write_bytes(folder.save_arrays(arrays))
    change(copy)
    assert said in refused(copy)
    path.write_bytes(pickle.dumps(arrays))
    change(copy)
    assert "weights.safetensors is damaged (" in refused(copy)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda m: m["network"]["method"].update(name="os.system"),
        lambda m: m["network"]["method"].update(settings={"lr": ["x"]}),
        lambda m: m["network"]["method"].update(settings={"command": "rm"}),
        lambda m: m["network"]["backbone"].update(name="torch.load"),
        lambda m: m["network"]["backbone"].update(factory="eval"),
        lambda m: m["network"].pop("n_classes"),
    ],
)
def test_names_outside_the_registry_are_refused(copy, spoil):
    change(copy, spoil=spoil)
    assert refused(copy).startswith(
        f"{copy} cannot be loaded: manifest.json names an unknown model ("
    )


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda m: m.pop("columns"),
            "manifest.json is not what alignset writes (KeyError('columns')).",
        ),
        (lambda m: m["classes"].update(values=["a", "b", "c"]), "do not match its network."),
        (
            lambda m: m["classes"].update(kind="exec"),
            "manifest.json is not what alignset writes (KeyError('exec')).",
        ),
    ],
)
def test_a_manifest_that_lacks_something_is_refused(copy, spoil, said):
    change(copy, spoil=spoil)
    assert refused(copy).endswith(said)


def leaves(data, path=()):
    """Every place in a JSON document, inner ones included."""
    inside = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in inside:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from leaves(value[:2] if isinstance(value, list) else value, (*path, key))


@pytest.mark.parametrize("name", ["manifest.json", "preprocessing.json", "vectors.json"])
def test_whatever_is_written_into_a_folder_is_loaded_or_refused(copy, name):
    original = json.loads((copy / name).read_text())
    whole = (copy / "manifest.json").read_bytes()
    for path in leaves(original):
        if path[0] == "sha256":
            continue
        for value in (None, "x", -1, [], {}, 1e300, True):
            data = json.loads(json.dumps(original))
            place = data
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            (copy / name).write_bytes(json.dumps(data).encode())
            spoilt = json.loads(whole) if name != "manifest.json" else data
            if name != "manifest.json":
                content = (copy / name).read_bytes()
                spoilt["files"][name] = {"sha256": folder._hash(content), "bytes": len(content)}
            spoilt.pop("sha256", None)
            spoilt["sha256"] = folder._hash(folder._dump(spoilt))
            (copy / "manifest.json").write_bytes(folder._dump(spoilt))
            try:
                load_model(copy)
            except ValueError as error:
                assert str(error).startswith(str(copy)), path  # noqa: PT017


def test_loading_unpickles_and_evaluates_nothing(saved, monkeypatch):
    def never(*args, **options):
        raise AssertionError("executed")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, never)
    monkeypatch.setattr("torch.load", never)
    monkeypatch.setattr("numpy.load", never)
    monkeypatch.setattr("builtins.eval", never)
    load_model(saved[0])


def test_an_existing_folder_is_not_written_over(saved, copy, tmp_path):
    model = load_model(saved[0])
    with pytest.raises(ValueError, match="exists; name another folder, or pass --overwrite"):
        save_model(model, copy)
    save_model(model, copy, overwrite=True)
    load_model(copy)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="exists and is not a model folder, so it is not overwr"):
        save_model(model, mine, overwrite=True)
    assert (mine / "thesis.txt").read_text() == "precious"
    with pytest.raises(ValueError, match=f"there is no folder {tmp_path / 'no'} to write"):
        save_model(model, tmp_path / "no" / "m")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "model"]


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt(), OSError(13, "no")]
)
@pytest.mark.parametrize("at", ["write", "rename"])
def test_a_save_that_fails_leaves_the_old_folder_and_nothing_else(
    saved, copy, monkeypatch, error, at
):
    model, before = load_model(saved[0]), read_manifest(copy)
    done = []

    def fail(*args):
        done.append(args)
        if at == "write" or len(done) == 2:  # the second rename puts the new folder in place
            raise error
        return original(*args)

    if at == "write":
        monkeypatch.setattr(folder.Path, "write_bytes", fail)
    else:
        original = atomic.os.rename
        monkeypatch.setattr(atomic, "exchange", lambda one, other: False)  # as on NFS
        monkeypatch.setattr(atomic.os, "rename", fail)
    with pytest.raises((OSError, KeyboardInterrupt)) as caught:
        save_model(model, copy, overwrite=True)
    monkeypatch.undo()
    assert read_manifest(copy) == before
    load_model(copy)
    assert [p.name for p in copy.parent.iterdir()] == ["model"]
    if error.args[:1] == (28,):
        assert str(caught.value) == (
            f"the disk is full: {copy} was not written, and nothing was changed; free some space."
        )


def test_overwriting_deletes_only_what_alignset_wrote(saved, copy):
    model = load_model(saved[0])
    (copy / "notes.txt").write_text("precious")
    with pytest.raises(ValueError, match=r"files that alignset did not write \(notes.txt\), so it"):
        save_model(model, copy, overwrite=True)
    assert (copy / "notes.txt").read_text() == "precious"


def overwrite_until(model, path, step, how):
    """Save a model over another, and be killed before one of the calls that change the disk."""
    torch.set_num_threads(1)  # a fork has none of the threads that torch would wait for
    left = iter(range(step, -1, -1))

    def counted(call):
        def killed(*args, **options):
            if next(left) == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **options)

        return killed

    atomic.exchange = counted(atomic.exchange) if how == "exchange" else lambda one, other: False
    atomic.os.rename = counted(os.rename)
    atomic.shutil.rmtree = counted(shutil.rmtree)
    atomic._to_disk = counted(atomic._to_disk)
    save_model(model, path, overwrite=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("how", ["exchange", "no exchange"])
def test_a_kill_at_any_moment_of_overwriting_leaves_a_whole_model(saved, copy, how):
    """Between the two renames there was no model at its path, and nothing put it back."""
    fork, model = multiprocessing.get_context("fork"), load_model(saved[0])
    for step in range(30):
        writer = fork.Process(target=overwrite_until, args=(model, copy, step, how))
        writer.start()
        writer.join()
        assert writer.exitcode in (0, -signal.SIGKILL)
        assert copy.exists() or how == "no exchange"
        load_model(copy)
        assert [p.name for p in copy.parent.iterdir()] == ["model"], "nothing is left over"
        if writer.exitcode == 0:
            break
    assert 5 < step < 29
