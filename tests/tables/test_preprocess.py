import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from alignset.tables.kinds import as_levels, as_numbers, kind_of
from alignset.tables.preprocess import MAX_LEVELS, MIN_COUNT, Matrix, fit_preprocessing, from_data


def mixed(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, n),
            "lab": np.where(rng.random(n) < 0.2, np.nan, rng.lognormal(size=n)),
            "smoker": rng.random(n) < 0.3,
            "told": pd.Series(rng.choice([True, False], n), dtype=object).mask(rng.random(n) < 0.1),
            "race": np.where(np.arange(n) == 7, "rare 1", rng.choice(["a", "b", "c"], n)),
            "answer": pd.Series(rng.choice(["yes", "no"], n)).mask(rng.random(n) < 0.2),
            "visit": pd.Timestamp("2019-03-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )  # fmt: skip
    frame["when"] = frame["visit"].dt.strftime("%Y-%m-%d").mask(rng.random(n) < 0.1)
    frame["race"] = frame["race"].astype("category")
    return frame


def kinds(frame):
    return {str(name): kind_of(frame[name]) for name in frame.columns}


def test_the_kind_of_every_column_is_told():
    assert kinds(mixed()) == {
        "age": "number",
        "lab": "number",
        "smoker": "boolean",
        "told": "boolean",
        "race": "category",
        "answer": "category",
        "visit": "date",
        "when": "date",
    }
    assert kind_of(pd.Series(["1", "2", "unknown"] * 30)) == "category"
    assert kind_of(pd.Series([None, None], dtype=object)) == "category"


def canonical(frame, of, origins):
    """What scikit-learn is given: floats with NaN, and text with None."""
    read = {
        name: as_levels(frame[name]) if kind == "category"
        else as_numbers(frame[name], kind, origins.get(name))
        for name, kind in of.items()
    }  # fmt: skip
    return pd.DataFrame(read).astype({n: object for n, k in of.items() if k == "category"})


def column_transformer(of, n_rows):
    """What a user of scikit-learn would write."""
    impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    encode = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=int(np.clip(n_rows // 200, MIN_COUNT, 20)),
        max_categories=MAX_LEVELS,
        sparse_output=False,
    )
    numbers = [n for n, k in of.items() if k != "category"]
    categories = [n for n, k in of.items() if k == "category"]
    return make_column_transformer(
        (make_pipeline(impute, StandardScaler()), numbers), (encode, categories)
    )


@pytest.mark.parametrize("seed", range(3))
def test_plain_data_does_what_scikit_learn_does(seed):
    train, new = mixed(seed=seed), mixed(150, seed=seed + 100)
    new = new.astype({"smoker": object, "age": float, "race": "str"})
    new.loc[3, ["age", "lab", "smoker", "when"]] = [np.nan, np.nan, None, None]
    new.loc[4, "race"] = "never seen"
    new.loc[5, "answer"] = "never seen"
    of = kinds(train)
    made = fit_preprocessing(train, of)
    origins = dict.fromkeys(("visit", "when"), "1970-01-01")
    fitted = column_transformer(of, len(train)).fit(canonical(train, of, origins))
    for frame in (train, new, new.iloc[::-1, ::-1]):
        expected = fitted.transform(canonical(frame, of, origins))
        np.testing.assert_allclose(made.transform(frame), expected, rtol=0, atol=1e-12)
    assert made.transform(train).shape[1] == len(made.feature_names)
    again = from_data(json.loads(json.dumps(made.to_data())))
    assert again == made
    np.testing.assert_array_equal(again.transform(new), made.transform(new))


def test_rare_and_unknown_levels_share_a_column_and_missing_has_its_own():
    made = fit_preprocessing(mixed(), kinds(mixed()))
    race, answer = made.categories
    assert (race.levels, race.other) == (("a", "b", "c"), True)
    assert (answer.levels, answer.other) == (("no", "yes", None), False)
    names = list(made.feature_names)
    frame = mixed(3)
    frame["race"] = ["rare 1", "never seen", "a"]
    frame["answer"] = ["never seen", None, "no"]
    x = made.transform(frame)
    assert x[:, names.index("race=(other)")].tolist() == [1, 1, 0]
    assert x[:, [names.index(f"answer={v}") for v in ("no", "yes", "(missing)")]].tolist() == [
        [0, 0, 0],
        [0, 0, 1],
        [1, 0, 0],
    ]
    assert made.unknown_levels(frame) == {
        "race": ["never seen", "rare 1"],
        "answer": ["never seen"],
    }


def test_dates_count_days_whatever_their_form_and_the_earliest_is_not_kept():
    dates = ["2020-01-31T12:00:00", "2020-01-01", "2020-01-11"]
    made = fit_preprocessing(pd.DataFrame({"d": dates}), {"d": "date"})
    (column,) = made.numbers
    assert column.origin == "1970-01-01"
    assert "2020-01-01" not in json.dumps(made.to_data())
    back = made.transform(pd.DataFrame({"d": dates})) * column.scale + column.mean
    assert back[:, 0] == pytest.approx([18292.5, 18262, 18272])
    forms = pd.DataFrame({"d": pd.to_datetime(dates, format="ISO8601")})
    np.testing.assert_allclose(made.transform(forms), made.transform(pd.DataFrame({"d": dates})))


def refused(made, frame):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        made.transform(frame)
    return str(caught.value)


def test_values_of_another_kind_are_refused_with_their_row():
    made = fit_preprocessing(mixed(), kinds(mixed()))
    frame = mixed(3)
    assert refused(made, frame.assign(age=["61", "old", None])) == (
        "column 'age' holds 'old' in data row 2; it takes finite numbers, or nothing if the "
        "value is missing."
    )
    assert refused(made, frame.assign(lab=[1.0, 2.0, np.inf])) == (
        "column 'lab' holds inf in data row 3; it takes finite numbers, or nothing if the "
        "value is missing."
    )
    assert refused(made, frame.assign(smoker=[True, "often", False])) == (
        "column 'smoker' holds 'often' in data row 2; it takes true or false, or nothing if "
        "the value is missing."
    )
    assert refused(made, frame.assign(visit=["2020-01-01", "soon", None])) == (
        "column 'visit' holds 'soon' in data row 2; it takes dates such as 2020-01-31, or nothing "
        "if the date is missing."
    )
    assert refused(made, frame.drop(columns="lab")) == (
        "the table has no column 'lab'; it has age, smoker, told, race, answer, visit, when."
    )
    assert refused(made, frame.to_numpy()) == (
        "this model needs a DataFrame with named columns, got ndarray."
    )


def test_a_number_column_with_text_in_it_is_refused_and_codes_are_not():
    values = pd.Series([*map(str, range(30)), "n/k"], name="age")
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        kind_of(values)
    assert str(caught.value) == (
        "column 'age' holds numbers in 30 of 31 rows but text in the others, first 'n/k' in data "
        "row 31; correct it, leave unknown values empty, or pass --ignore age."
    )
    with pytest.raises(ValueError, match="holds values of type list, such as "):
        kind_of(pd.Series([[1], [2]], name="x"))


def test_a_matrix_is_checked_and_passed_on():
    named = Matrix(2, ("a", "b"))
    frame = pd.DataFrame({"b": [2.0], "a": [1.0], "more": [3.0]})
    assert named.transform(frame).tolist() == [[1.0, 2.0]]
    assert from_data(json.loads(json.dumps(named.to_data()))) == named
    assert refused(named, np.zeros((2, 3))) == (
        "this model needs a matrix with 2 columns, got shape (2, 3)."
    )
    assert refused(named, [[1, np.nan]]) == (
        "the matrix has NaN or infinite values; this model accepts neither."
    )


@pytest.mark.parametrize(
    "change",
    [
        {"reads": "pickle"},
        {"numbers": [{"name": "age"}]},
        {"numbers": None},
        {"categories": [{"name": "race", "levels": [1], "other": True}]},
    ],
)
def test_foreign_data_is_refused(change):
    data = fit_preprocessing(mixed(), kinds(mixed())).to_data()
    with pytest.raises(ValueError, match=r"preprocessing.json is not what alignset writes"):
        from_data({**data, **change})
    data["numbers"][0]["scale"] = float("nan")
    with pytest.raises(ValueError, match="column 'age'"):
        from_data(data)


@pytest.mark.parametrize("n", [10, 100, 399, 2000])
def test_a_level_in_fewer_than_five_rows_is_never_stored(n):
    names = [*(f"Jane Doe {i}" for i in range(n - 9)), *["four"] * 4, *["five"] * 5]
    frame = pd.DataFrame({"name": names, "x": range(n)})
    made = fit_preprocessing(frame, {"name": "category", "x": "number"})
    assert "Doe" not in json.dumps(made.to_data())
    kept = ("five",) if n < 2000 else ()
    assert (made.categories[0].levels, made.categories[0].other) == (kept, True)
    all_of_them = fit_preprocessing(frame[:20], {"name": "category"}, min_count=1)
    assert "Jane Doe 0" in all_of_them.categories[0].levels
    x = made.transform(frame)
    assert x.shape == (n, 2 + len(kept))
    assert x[0, -1] == 1


@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_numbers_of_any_size_are_scaled_alike(factor):
    frame = pd.DataFrame({"x": [1.0, 2.0, None, 5.0], "y": [1.0, 2.0, 3.0, 4.0]})
    expected = fit_preprocessing(frame, kinds(frame)).transform(frame)
    far = frame.assign(x=frame["x"] * factor)
    np.testing.assert_allclose(fit_preprocessing(far, kinds(far)).transform(far), expected)


def test_numbers_beyond_that_are_refused_by_name():
    frame = pd.DataFrame({"x": [1.0, 2.0, 1e307]})
    with pytest.raises(
        ValueError, match=r"column 'x' holds values up to 1e\+307; the largest must"
    ):
        fit_preprocessing(frame, {"x": "number"})
    made = fit_preprocessing(pd.DataFrame({"x": [1.0, 2.0]}), {"x": "number"})
    with pytest.raises(ValueError, match=r"column 'x' holds 1e\+40 in data row 2, more than"):
        made.transform(pd.DataFrame({"x": [1.0, 1e40]}))


@pytest.mark.parametrize("scaled", [True, False])
def test_the_order_of_the_rows_changes_no_bit(scaled):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.lognormal(size=500), "b": rng.normal(1e6, 1, 500)})
    frame["a"] = frame["a"].mask(rng.random(500) < 0.2)
    frame["c"] = rng.choice(list("abcdef"), 500)
    kinds = {"a": "number", "b": "number", "c": "category"}
    found = [
        fit_preprocessing(frame.iloc[rng.permutation(500)], kinds, scaled=scaled) for _ in range(4)
    ]
    assert all(each == found[0] for each in found)


def test_numbers_that_the_caller_scales_are_divided_by_powers_of_two():
    frame = pd.DataFrame({"a": [1e8, 3e8, np.nan, 5e8], "b": [0.1, 0.2, 0.3, 0.4]})
    made = fit_preprocessing(frame, {"a": "number", "b": "number"}, scaled=False)
    assert [(c.mean, np.frexp(c.scale)[0], c.missing) for c in made.numbers] == [
        (0.0, 0.5, (0.0, 1.0)), (0.0, 0.5, None)
    ]  # fmt: skip
    assert made.transform(frame)[:, 2].tolist() == [0, 0, 1, 0]
