import json
import pickle
import sys

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
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
    with pytest.warns(UserWarning, match="group 2"):
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


# what was changed is refused


def refused(place, **options):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        load_model(place, **options)
    said = str(caught.value)
    assert said.startswith(f"{place} cannot be loaded: ")
    return said.removeprefix(f"{place} cannot be loaded: ")


def change(place, about=None, arrays=None):
    """Change a folder as one would who knows how hashes are made."""
    manifest = json.loads((place / "manifest.json").read_text())
    if about is not None:
        about(manifest["network"])
    if arrays is not None:
        known = folder.load_arrays((place / folder.WEIGHTS).read_bytes())
        arrays(known)
        known = {name: np.ascontiguousarray(values) for name, values in known.items()}
        (place / folder.WEIGHTS).write_bytes(folder.save_arrays(known))
    for name, told in manifest["files"].items():
        content = (place / name).read_bytes()
        told.update(sha256=folder._hash(content), bytes=len(content))
    manifest.pop("sha256")
    manifest["sha256"] = folder._hash(folder._dump(manifest))
    (place / "manifest.json").write_bytes(folder._dump(manifest))


NAMES = ("constant", "trees", "linear", "surrogate")
"""Pieces 0 trees, 1 linear, 2 trees with scores, 3 their chain, 4 the model of confidence."""


@pytest.fixture
def place(tmp_path):
    save_model(made(3, *NAMES), tmp_path / "m")
    return tmp_path / "m"


def put(name, value, at=...):
    """Change an array, or one value of it."""

    def spoil(arrays):
        values = arrays[name].copy()
        values[at] = value
        arrays[name] = values

    return spoil


UNKNOWN = "weights.safetensors does not match the described model"
NOWHERE = "weights.safetensors holds a tree with a branch that leads nowhere"
ENDS = "weights.safetensors holds trees that do not end where they should"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (put("0/left", 10_000, 0), NOWHERE),
        (put("0/right", -1, 0), NOWHERE),
        (put("0/left", 0, 0), NOWHERE),
        (put("2/right", 2**31 - 1, 0), NOWHERE),
        (lambda a: put("0/left", a["0/right"][0], 0)(a), "holds a tree with a node without one"),
        (put("0/feature_idx", 3, 0), "holds a tree that reads beyond 3 features"),
        (put("0/feature_idx", -1, 0), "holds a tree that reads beyond 3 features"),
        (put("2/feature_idx", 5, 0), "holds a tree that reads beyond 5 features"),
        (put("0/is_leaf", 1, 0), "holds a tree with a node without one parent"),
        (put("0/is_leaf", 0), NOWHERE),
        (put("0/is_leaf", 2), "switches of a tree that are not 0 or 1"),
        (put("0/num_threshold", np.nan, 0), "must hold finite numbers in 'num_threshold'"),
        (put("0/value", np.inf, 0), "must hold finite numbers in 'value'"),
        (put("0/ends", 0), ENDS),
        (put("0/ends", -1, 0), ENDS),
        (put("0/ends", 2**40, -1), ENDS),
        (lambda a: a.update({"0/ends": a["0/ends"][:-1]}), ENDS),
        (lambda a: a.update({"0/ends": a["0/ends"].reshape(-1, 1)}), f"{UNKNOWN} ('ends')"),
        (lambda a: a.update({"0/left": a["0/left"][:-1]}), f"{UNKNOWN} ('left')"),
        (lambda a: a.update({"0/left": a["0/left"].astype(np.float64)}), f"{UNKNOWN} ('left')"),
        (lambda a: a.pop("0/left"), f"{UNKNOWN} ('left')"),
        (put("0/present", [0, 1, 3]), "holds classes that are not there"),
        (put("0/present", [1, 0, 2]), "holds classes that are not there"),
        (lambda a: a.update({"0/present": np.arange(1)}), "holds classes that are not there"),
        (put("1/coef", np.nan, 0), "must hold finite numbers in 'coef'"),
        (lambda a: a.update({"1/coef": a["1/coef"].T}), None),
        (lambda a: a.update({"1/coef": a["1/coef"][:, :2]}), f"{UNKNOWN} ('coef')"),
        (lambda a: a.update({"1/more": np.zeros(1)}), f"{UNKNOWN} ('more')"),
        (lambda a: a.update({"9/coef": np.zeros(1)}), f"{UNKNOWN} ('9/coef')"),
        (lambda a: a.update({"more": np.zeros(1)}), f"{UNKNOWN} ('more')"),
        (lambda a: a.update({"scale/more": np.zeros(1)}), f"{UNKNOWN} ('scale/more')"),
        (put("scale/spread", 0.0, 0), f"{UNKNOWN} ('scale')"),
        (put("blend/weights", -1.0, 0), f"{UNKNOWN} ('blend/weights')"),
        (lambda a: a.update({"blend/weights": np.ones(2)}), f"{UNKNOWN} ('blend/weights')"),
        (lambda a: a.update({"blend/intercept": np.ones(2)}), f"{UNKNOWN} ('scale')"),
        (put("blend/weights", 0.2, 0), "the test vectors no longer give the probability they"),
    ],
)
def test_changed_arrays_with_new_hashes_are_refused(place, spoil, said):
    change(place, arrays=spoil)
    assert (said or "the test vectors no longer give") in refused(place)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda m: m["pieces"][0].update(kind="os.system"), "unknown model ('os.system')"),
        (lambda m: m["pieces"][0].update(kind="linear"), UNKNOWN),
        (lambda m: m["pieces"][0].update(kind=["linear"]), "unknown model (TypeError"),
        (lambda m: m["pieces"][0].update(inputs=1 << 40), "holds inputs 1099511627776, expected"),
        (lambda m: m["pieces"][0].update(inputs=True), "holds inputs True, expected a number"),
        (lambda m: m["pieces"][0].update(n_rows=-1), "holds n_rows -1, expected a number up to"),
        (lambda m: m["pieces"][3].update(base=3), "holds base 3, expected a number up to 2"),
        (lambda m: m["pieces"][3].update(base=-1), "holds base -1, expected a number up to 2"),
        (lambda m: m["pieces"][3].update(head=1), "chains models that do not fit (head of a"),
        (lambda m: m["pieces"][3].update(with_features=1), "must be true or false, got 1"),
        (lambda m: m["models"].append(0), UNKNOWN),
        (lambda m: m["models"].__setitem__(0, 4), "lists a model that does not fit its blend"),
        (lambda m: m.update(right=0), "lists a model that does not fit its blend"),
        (lambda m: m.update(kind="network"), "manifest.json describes no blend"),
        (lambda m: m.pop("pieces"), "manifest.json names an unknown model (KeyError('pieces'))"),
        (lambda m: m.update(pieces={}), "manifest.json must list the models of a blend"),
        (lambda m: m.update(shrinkage="x"), "holds shrinkage 'x', expected a number"),
        (lambda m: m["candidates"][0].update(weight="x"), "holds weight 'x', expected a number"),
        (lambda m: m["candidates"][0].update(more=1), "holds a candidate that is none"),
        (lambda m: m["candidates"][0].update(labels=3), "holds a candidate that is none"),
    ],
)
def test_changed_descriptions_with_new_hashes_are_refused(place, spoil, said):
    change(place, about=spoil)
    assert said in refused(place)


def test_chains_inside_chains_are_bounded(tmp_path):
    model = candidates(2)["linear"]
    for _ in range(5):
        model = Chained(model, candidates(2)["linear missing"], False)
    with pytest.raises(ValueError, match="chains more than 4 models"):
        save_and_load(model, tmp_path)


def save_and_load(model, tmp_path):
    save_model(as_matrix_model(blended([model], 2)), tmp_path / "m")
    return load_model(tmp_path / "m")


def leaves(data, path=()):
    """Every place in a JSON document, inner ones included."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))


def test_whatever_a_description_says_is_loaded_or_refused(place):
    whole = (place / "manifest.json").read_bytes()
    for path in leaves(json.loads(whole)["network"]):
        for value in (None, "x", -1, [], 1e300):

            def spoil(about, path=path, value=value):
                for key in path[:-1]:
                    about = about[key]
                about[path[-1]] = value

            (place / "manifest.json").write_bytes(whole)
            change(place, about=spoil)
            try:
                load_model(place)
            except ValueError as error:
                assert str(error).startswith(str(place)), path  # noqa: PT017


def test_whatever_the_arrays_hold_is_loaded_or_refused(place):
    rng = np.random.default_rng(0)
    path = place / folder.WEIGHTS
    content, known = path.read_bytes(), folder.load_arrays(path.read_bytes())
    kept = 0
    for _ in range(200):
        name = rng.choice(sorted(known))
        kind = known[name].dtype
        odd = [0, 1, 2, 5, 100] if kind == np.uint8 else [-1, 0, 1, 7, 2**31 - 1]
        more = [np.nan, np.inf, -np.inf, 1e300, 1e-300] if kind.kind == "f" else []
        path.write_bytes(content)
        change(place, arrays=put(name, rng.choice([*odd, *more]), rng.integers(len(known[name]))))
        try:
            load_model(place)
            kept += 1
        except ValueError as error:
            assert str(error).startswith(str(place)), name  # noqa: PT017
    assert 0 < kept < 150


def walk(nodes, start, row, end, sets=None):
    """Follow a row through one tree as scikit-learn's C code does, never leaving the tree."""
    at, steps = 0, 0
    while not nodes["is_leaf"][start + at]:
        node = nodes[start + at]
        value = row[node["feature_idx"]]
        left = node["missing_go_to_left"] if np.isnan(value) else value <= node["num_threshold"]
        if node["is_categorical"]:
            words = sets[node["bitset_idx"]]
            left = (int(words[int(value) // 32]) >> (int(value) % 32)) & 1
        at, steps = int(node["left"] if left else node["right"]), steps + 1
        assert 0 < at < end - start
        assert steps < end - start
    return nodes["value"][start + at]


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_trees_with_any_node_changed_are_safe_to_walk_or_refused(data):
    model = candidates(2)["trees"]
    arrays = {name: values.copy() for name, values in arrays_of_trees(model).items()}
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(["left", "right", "feature_idx", "is_leaf", "ends"]))
        at = data.draw(st.integers(0, arrays[name].size - 1))
        most = 2 if name == "is_leaf" else 3 if name == "feature_idx" else len(model.nodes) + 1
        arrays[name].flat[at] = data.draw(st.integers(0 if name == "is_leaf" else -1, most))
    try:
        found = trees_of_arrays(arrays, 3, 2, 5)
    except ValueError as error:
        assert str(error).startswith("weights.safetensors holds")  # noqa: PT017
        return
    few, start, raw = X[:3], 0, np.full(3, found.base[0])
    for end in found.ends.reshape(-1):
        raw += [walk(found.nodes, start, row, end) for row in few]
        start = end
    odds = found.log_odds(few)
    np.testing.assert_allclose(odds[:, 1] - odds[:, 0], raw, rtol=1e-9)


def test_loading_a_blend_unpickles_nothing(place, monkeypatch):
    def never(*args, **options):
        raise AssertionError("executed")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, never)
    monkeypatch.setattr("torch.load", never)
    monkeypatch.setattr("numpy.load", never)
    monkeypatch.setattr("builtins.eval", never)
    load_model(place)


# classifiers of the user's own


def own(estimator, strategies=("observed",)):
    few, y, reviewed = rows()
    clf = NoisyLabelClassifier(
        Blend(strategies, network=None, folds=2), estimator=estimator, folds=2, random_state=0,
        n_jobs=1,
    )  # fmt: skip
    return clf.fit(few, y, y_true=reviewed)


class Doubtful(LogisticRegression):
    """A class that skops does not know."""


def test_an_own_classifier_is_saved_with_skops(tmp_path):
    pytest.importorskip("skops", reason="skops, an optional dependency, is not installed")
    clf = own(make_pipeline(StandardScaler(), LogisticRegression()), ("observed", "recalibrated"))
    clf.save(tmp_path / "m")
    model = load_model(tmp_path / "m")
    np.testing.assert_array_equal(model.predict_proba(X), clf.predict_proba(X))
    assert set(model.manifest["files"]) == {*folder.FILES, folder.ESTIMATORS}
    assert model.manifest["network"]["pieces"][0]["type"] == "sklearn.pipeline.Pipeline"
    save_model(model, tmp_path / "again")
    same(load_model(tmp_path / "again"), model)


def test_types_that_skops_does_not_know_must_be_named(tmp_path):
    pytest.importorskip("skops", reason="skops, an optional dependency, is not installed")
    clf, name = own(Doubtful()), f"{__name__}.Doubtful"
    clf.save(tmp_path / "m")
    said = refused(tmp_path / "m")
    assert said == (
        f"estimators.skops holds objects of types that are not trusted: {name}; if you trust "
        f"whoever wrote the folder, pass trusted=['{name}'] to load_model."
    )
    assert refused(tmp_path / "m", trusted=["another.Type"]) == said
    with pytest.raises(ValueError, match=r"trusted must be a list of types, got 'a.B'; pass \['a"):
        load_model(tmp_path / "m", trusted="a.B")
    model = load_model(tmp_path / "m", trusted=[name])
    np.testing.assert_array_equal(model.predict_proba(X), clf.predict_proba(X))


def test_lightgbm_is_saved_with_skops(tmp_path):
    pytest.importorskip("skops", reason="skops, an optional dependency, is not installed")
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    clf = own(lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1))
    clf.save(tmp_path / "m")
    assert "lightgbm.basic.Booster, lightgbm.sklearn.LGBMClassifier; if" in refused(tmp_path / "m")
    names = ["collections.OrderedDict", "lightgbm.basic.Booster", "lightgbm.sklearn.LGBMClassifier"]
    model = load_model(tmp_path / "m", trusted=names)
    np.testing.assert_array_equal(model.predict_proba(X), clf.predict_proba(X))


def test_a_forest_is_saved_and_a_changed_file_refused(tmp_path):
    pytest.importorskip("skops", reason="skops, an optional dependency, is not installed")
    clf = own(RandomForestClassifier(3, max_depth=3))
    place = tmp_path / "m"
    clf.save(place)
    assert "not trusted: sklearn.tree._tree.Tree; if" in refused(place)  # C code walks it, too
    model = load_model(place, trusted=["sklearn.tree._tree.Tree"])
    np.testing.assert_array_equal(model.predict_proba(X), clf.predict_proba(X))
    path = place / folder.ESTIMATORS
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"x")
    assert refused(place).startswith("sha256 of estimators.skops is ")
    for wrong, said in (
        (b"no zip", "estimators.skops is damaged (File is not a zip file)."),
        (skops_of(3), "estimators.skops must hold a list of classifiers."),
        (skops_of([]), "manifest.json holds place 0, expected a number up to -1."),
        (skops_of([*[LogisticRegression()]]), "its LogisticRegression cannot predict ("),
        (skops_of([three_classes()]), "its LogisticRegression answers in the shape (1, 3), exp"),
        (skops_of([two_classes()] * 2), "estimators.skops does not hold the classifiers that"),
        (skops_of([two_classes()]), "the test vectors no longer give the probability they"),
        (compressed(content), "estimators.skops is compressed, which alignset never writes."),
    ):
        path.write_bytes(wrong)
        change(place)
        assert refused(place).startswith(said)
    path.unlink()
    assert refused(place) == "estimators.skops is missing."


def skops_of(thing):
    import skops.io

    return skops.io.dumps(thing)


def compressed(content):
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", 8) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return out.getvalue()


def two_classes():
    return LogisticRegression().fit(rows()[0], rows()[1])


def three_classes():
    return LogisticRegression().fit(rows(3)[0], rows(3)[1])


def test_without_skops_an_own_classifier_is_neither_saved_nor_loaded(tmp_path, monkeypatch):
    clf = own(LogisticRegression())
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        clf.save(tmp_path / "m")
    assert str(caught.value) == (
        "saving a blend with LogisticRegression needs skops, which is not installed; run "
        '`pip install "alignset[skops]"`.'
    )
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    pytest.importorskip("skops", reason="skops, an optional dependency, is not installed")
    clf.save(tmp_path / "m")
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    assert "that is not part of alignset needs skops, which is not installed; run" in refused(
        tmp_path / "m"
    )
