"""Trees that read a table's own columns: model folders and ONNX."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model.blends import Sets
from model.test_blend_export import agrees
from model.test_blend_folder import change, put, refused, walk

from alignset import NoisyLabelClassifier, load_model
from alignset.estimator.as_model import as_model
from alignset.learners import Blend, Trees
from alignset.model import folder
from alignset.model.nodes import arrays_of_trees, trees_of_arrays
from alignset.rows.raw import RawColumns


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(60, 9, n), "site": rng.choice(list("abcdefgh"), n)})
    frame["lab"] = pd.Series(rng.lognormal(size=n)).mask(rng.random(n) < 0.2)
    frame["arm"] = pd.Series(rng.choice(["x", "y", "z"], n)).mask(rng.random(n) < 0.2)
    high = frame["site"].isin(list("aceg")).to_numpy() * 2.0 + (frame["age"] > 60).to_numpy()
    return frame, high + frame["lab"].isna().to_numpy() + 0.5 * rng.normal(size=n)


@cache
def fitted(classes=2, strategies=("observed", "surrogate")):
    frame, score = table()
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    true = np.where(np.arange(len(y)) % 3 == 0, y, np.nan)
    seen = np.where(np.random.default_rng(1).random(len(y)) < 0.2, (y + 1) % classes, y)
    blend = Blend(strategies, (Sets(level_rows=10),), network=None, folds=2)
    return NoisyLabelClassifier(blend, random_state=0, n_jobs=1).fit(frame, seen, y_true=true)


LATER = table(seed=5)[0].assign(site=lambda t: t["site"].mask(t.index < 5, "elsewhere"))


@pytest.mark.parametrize("classes", [2, 3])
def test_they_are_saved_to_the_last_bit_and_exported(tmp_path, classes):
    clf = fitted(classes)
    clf.save(tmp_path / "m")
    found = load_model(tmp_path / "m")
    np.testing.assert_array_equal(found.predict_proba(LATER), clf.predict_proba(LATER))
    assert found.manifest["schema"] == 6
    graph = agrees(found, tmp_path, LATER)
    modes = [m for node in graph.graph.node for a in node.attribute if a.name == "nodes_modes"
             for m in a.strings]  # fmt: skip
    assert b"BRANCH_EQ" in modes


def test_gaps_alone_are_exported_and_a_matrix_is_saved_as_ever(tmp_path):
    frame, score = table()
    y = (score > np.median(score)).astype(int)
    numbers = frame[["age", "lab"]]
    true = np.where(np.arange(len(y)) % 3 == 0, y, np.nan)
    blend = Blend(("observed",), ("trees",), network=None, folds=2)
    clf = NoisyLabelClassifier(blend, random_state=0).fit(numbers, y, y_true=true)
    agrees(as_model(clf), tmp_path, LATER[["age", "lab"]])
    clf = NoisyLabelClassifier(blend, random_state=0).fit(numbers[["age"]], y, y_true=true)
    clf.save(tmp_path / "plain")
    assert load_model(tmp_path / "plain").manifest["schema"] == 3


def test_a_split_that_sends_every_level_one_way_is_exported(tmp_path):
    clf = fitted(strategies=("observed",))  # cached, and for this test alone
    left = clf._model.models[0].left
    left[:3], left[3:6] = 0, 2**32 - 1
    agrees(as_model(clf), tmp_path, LATER)


@pytest.fixture
def place(tmp_path):
    fitted().save(tmp_path / "m")
    return tmp_path / "m"


SETS = "weights.safetensors holds a tree that splits by levels that do not exist"
COLUMNS = "manifest.json describes columns of trees that cannot be"


def by_levels(arrays):
    """Place of the first node that splits by levels."""
    return int(np.flatnonzero(arrays["0/is_categorical"])[0])


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda a: put("0/bitset_idx", len(a["0/levels"]), by_levels(a))(a), SETS),
        (lambda a: put("0/bitset_idx", 2**32 - 1, by_levels(a))(a), SETS),
        (lambda a: put("0/feature_idx", 2, by_levels(a))(a), SETS),
        (lambda a: put("0/feature_idx", 4, by_levels(a))(a), "reads beyond 4 features"),
        (put("0/is_categorical", 2, 0), "switches of a tree that are not 0 or 1"),
        (lambda a: a.update({"0/levels": a["0/levels"][:0]}), SETS),
        (lambda a: a.update({"0/levels": a["0/levels"][:, :4]}), "described model ('levels')"),
        (lambda a: a.pop("0/levels"), "described model ('levels')"),
        (lambda a: put("0/levels", ~a["0/levels"])(a), "the test vectors no longer give"),
    ],
)
def test_changed_arrays_with_new_hashes_are_refused(place, spoil, said):
    change(place, arrays=spoil)
    assert said in refused(place)


def of_first(**told):
    return lambda about: about["pieces"][0].update(told)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (of_first(categories=[[3, 99], [11, 15]]), "holds a column 99, expected a number up to 15"),
        (of_first(categories=[[5, 3], [11, 15]]), COLUMNS),
        (of_first(categories=[[3, 12], [11, 15]]), COLUMNS),
        (of_first(gaps=[[1, 15]]), COLUMNS),
        (of_first(gaps=[[3, 2]]), COLUMNS),
        (of_first(gaps=[[2, 2]]), COLUMNS),
        (of_first(gaps=[[1]]), "must list pairs of columns"),
        (of_first(categories="x"), "must list pairs of columns"),
        (of_first(categories=[[True, 3]]), "holds a column True"),
        (lambda about: about["pieces"][0].pop("gaps"), "unknown model (KeyError('gaps'))"),
        (lambda about: about["pieces"][0].pop("categories"), "does not match the described model"),
    ],
)
def test_changed_descriptions_with_new_hashes_are_refused(place, spoil, said):
    told = json.loads((place / "manifest.json").read_text())["network"]["pieces"][0]
    assert (told["inputs"], told["categories"], told["gaps"]) == (15, [[3, 11], [11, 15]], [[1, 2]])
    change(place, about=spoil)
    assert said in refused(place)


def test_whatever_the_arrays_hold_is_loaded_or_refused(place):
    rng, path = np.random.default_rng(0), place / folder.WEIGHTS
    content, known = path.read_bytes(), folder.load_arrays(path.read_bytes())
    names = [n for n in known if n.split("/")[1] in ("is_categorical", "bitset_idx", "feature_idx")]
    for _ in range(60):
        name = rng.choice(names)
        value = rng.choice([0, 1, 2, 3, 15, 100])
        path.write_bytes(content)
        change(place, arrays=put(name, value, rng.integers(len(known[name]))))
        try:
            load_model(place).predict_proba(LATER)
        except ValueError as error:
            assert str(error).startswith(str(place)), name  # noqa: PT017


def one():
    rng = np.random.default_rng(0)
    codes = rng.integers(5, size=1000)
    X = np.column_stack([np.eye(5)[codes], rng.normal(size=1000)])
    y = ((codes % 2) ^ (X[:, 5] > 0)).astype(int)
    few = Trees(rounds=3, leaves=6, columns=1.0).reading(RawColumns(((0, 5),)))
    return X, few.fit(X, y, np.ones(len(y)), 2, seed=0)


X, MODEL = one()


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_node_changed_is_safe_to_walk_or_refused(data):
    arrays = {name: values.copy() for name, values in arrays_of_trees(MODEL).items()}
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(["feature_idx", "is_categorical", "bitset_idx", "levels"]))
        at = data.draw(st.integers(0, arrays[name].size - 1))
        arrays[name].flat[at] = data.draw(st.integers(0, 2**32 - 1 if name == "levels" else 12))
    try:
        found = trees_of_arrays(arrays, 6, 2, 5, MODEL.raw)
    except ValueError as error:
        assert str(error).startswith("weights.safetensors holds")  # noqa: PT017
        return
    few, start, raw = found.raw.read(X[:4]), 0, np.full(4, found.base[0])
    for end in found.ends.reshape(-1):
        raw += [walk(found.nodes, start, row, end, found.left) for row in few]
        start = end
    odds = found.log_odds(X[:4])
    np.testing.assert_allclose(odds[:, 1] - odds[:, 0], raw, rtol=1e-9)
