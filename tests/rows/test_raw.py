import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alignset.rows.features import learn_scale
from alignset.rows.raw import AS_THEY_ARE, RawColumns
from alignset.tables.preprocess import fit_preprocessing

KINDS = {"age": "number", "site": "category", "lab": "number", "arm": "category"}


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(60, 9, n), "site": rng.choice(["a", "b", "c"], n)})
    frame["lab"] = pd.Series(rng.lognormal(size=n)).mask(rng.random(n) < 0.3)
    frame["arm"] = pd.Series(rng.choice(["x", "y"], n)).mask(rng.random(n) < 0.3)
    return frame


def expected(frame, prep):
    """Levels as numbers, in the order that they have in the matrix, and gaps as they were."""
    levels = [
        [c.levels.index(v) if v in c.levels else len(c.levels) for v in frame[c.name]]
        for c in prep.categories
    ]
    lab = (frame["lab"] - prep.numbers[1].mean) / prep.numbers[1].scale
    age = (frame["age"] - prep.numbers[0].mean) / prep.numbers[0].scale
    return np.column_stack([*levels, age, lab])


def test_a_table_is_read_back_from_its_matrix():
    frame = table()
    prep = fit_preprocessing(frame, KINDS)
    assert prep.feature_names[2:] == (
        "lab missing", "site=a", "site=b", "site=c", "arm=x", "arm=y", "arm=(missing)"
    )  # fmt: skip
    assert prep.raw == RawColumns(categories=((3, 6), (6, 9)), gaps=((1, 2),))
    frame = frame.astype(object).where(frame.notna(), None)
    np.testing.assert_allclose(
        prep.raw.read(prep.transform(frame)), expected(frame, prep).astype(float), rtol=1e-12
    )


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_scaled_matrix_is_read_as_the_same_levels_and_gaps(kind):
    frame = table(seed=1)
    prep = fit_preprocessing(frame, KINDS)
    X = prep.transform(frame)
    scale = learn_scale(X, np.arange(len(X)), np.ones(len(X)))
    plain, scaled = prep.raw.read(X), prep.raw.read(scale(X).astype(kind))
    np.testing.assert_array_equal(plain[:, :2], scaled[:, :2])
    np.testing.assert_array_equal(np.isnan(plain), np.isnan(scaled))


def test_an_unknown_level_comes_after_the_last():
    frame = table()
    prep = fit_preprocessing(frame, KINDS)
    later = frame.head(2).assign(site=["a", "elsewhere"])
    assert prep.raw.read(prep.transform(later))[:, 0].tolist() == [0, 3]


def test_columns_to_the_right_of_the_table_are_kept():
    raw = RawColumns(categories=((0, 2),))
    assert raw.read([[0, 1, 7, 8]]).tolist() == [[1, 7, 8]]
    assert raw.read([[0, 1]]).tolist() == [[1]]


def test_a_matrix_is_read_as_it_is():
    X = np.arange(6.0).reshape(2, 3)
    assert AS_THEY_ARE.read(X) is X


@given(st.lists(st.integers(1, 5), max_size=4), st.integers(0, 3), st.integers(0, 9))
def test_every_level_of_any_layout_is_found(widths, numbers, seed):
    rng, n = np.random.default_rng(seed), 20
    ends = numbers + np.cumsum([0, *widths])
    raw = RawColumns(tuple(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)))
    levels = [rng.integers(0, width + 1, n) for width in widths]
    blocks = [np.eye(w + 1, w)[own] for w, own in zip(widths, levels, strict=True)]
    values = rng.normal(size=(n, numbers))
    found = raw.read(np.hstack([values, *blocks]))
    np.testing.assert_array_equal(found, np.column_stack([*levels, values]))
