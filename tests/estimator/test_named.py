"""A classifier of the user's that asks for columns of the table by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from alignset import NoisyLabelClassifier, load_model
from alignset.learners import Blend
from alignset.learners.as_table import AsTable, asks_for_names

pytestmark = pytest.mark.filterwarnings("ignore::alignset.labels.FewReviewedWarning")

FEW = Blend(strategies=("observed", "both", "surrogate"), network=None, folds=3)
N = 240
SEEN: list[pd.DataFrame] = []


class Look(TransformerMixin, BaseEstimator):
    """Notes every table that passes."""

    def fit(self, X: Any, y: Any = None) -> Look:
        SEEN.append(X)
        return self

    def transform(self, X: Any) -> Any:
        SEEN.append(X)
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return True


def make_table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    site = np.where(np.arange(N) < 2, "rare", rng.choice(["a", "b", "c"], N))
    return pd.DataFrame(
        {
            "site": pd.Series(site, dtype="category"),
            "age": rng.integers(18, 100, N),
            "sex": rng.choice(["f", "m"], N),
            "pressure": np.where(rng.random(N) < 0.1, np.nan, rng.normal(120, 15, N).round(1)),
            "smokes": rng.random(N) < 0.3,
            "first": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D"),
            "code": rng.choice([100_001, 100_002, 250_000], N),
        }
    )


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return make_table()


@pytest.fixture(scope="module")
def labels(table) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    true = (table["age"] + 20 * (table["sex"] == "f") > 65).to_numpy().astype(float)
    y = np.where(rng.random(N) < 0.2, 1 - true, true).astype(int)
    return {"y": y, "y_true": np.where(rng.random(N) < 0.4, true, np.nan)}


def by_name(*before: Any) -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    chosen = [
        ("numbers", numbers, ["age", "pressure"]),
        ("levels", OneHotEncoder(handle_unknown="ignore"), make_column_selector("sex|site")),
    ]
    return make_pipeline(*before, ColumnTransformer(chosen), LogisticRegression())


def fit(model: Any, table: pd.DataFrame, labels: Any, blend: Blend = FEW) -> NoisyLabelClassifier:
    return NoisyLabelClassifier(blend, estimator=model, random_state=0).fit(table, **labels)


def test_it_sees_the_table_as_it_was_given(table, labels):
    SEEN.clear()
    clf = fit(by_name(Look()), table, labels)
    clf.predict_proba(table.iloc[:30])
    given = table.assign(
        site=table["site"].astype(object).where(table["site"] != "rare", "(other)")
    )
    given = set(given.drop(columns="pressure").astype(str).itertuples(index=False, name=None))
    assert len(SEEN) > 10
    for seen in SEEN:
        assert list(seen)[: table.shape[1]] == list(table)
        own = seen[list(table)].drop(columns="pressure").astype(str)
        assert set(own.itertuples(index=False, name=None)) <= given
        kinds = [seen[name].dtype.kind for name in ("age", "pressure", "smokes", "first", "code")]
        assert kinds == ["i", "f", "b", "M", "i"]
        assert str(seen["site"].dtype) == "category"
        assert str(seen["sex"].dtype) == str(table["sex"].dtype)
    # the candidate that reads what others said has it beside the table
    assert any("said_0" in seen for seen in SEEN)
    whole = max((seen for seen in SEEN if "said_0" not in seen), key=len)
    assert np.allclose(np.nanmean(whole["pressure"]), np.nanmean(table["pressure"]), atol=0.2)
    assert whole["pressure"].isna().sum() == table["pressure"].isna().sum()
    assert set(whole["pressure"].dropna()) == set(table["pressure"].dropna())


def test_the_order_of_rows_changes_no_bit(table, labels):
    said = fit(by_name(), table, labels).predict_proba(table)
    back = np.arange(N)[::-1]
    turned = table.iloc[back].reset_index(drop=True)
    clf = fit(by_name(), turned, {k: v[back] for k, v in labels.items()})
    assert np.array_equal(clf.predict_proba(turned)[back], said)


def test_a_level_that_was_never_seen_is_left_to_the_pipeline(table, labels):
    clf = fit(by_name(), table, labels)
    strange = table.iloc[:3].assign(sex="x")
    assert np.isfinite(clf.predict_proba(strange)).all()


def test_a_table_of_numbers_keeps_its_names(table, labels):
    numbers = table[["age", "code"]]
    model = make_pipeline(
        ColumnTransformer([("codes", OneHotEncoder(), ["code"]), ("age", "passthrough", ["age"])]),
        StandardScaler(with_mean=False),
        LogisticRegression(),
    )
    clf = fit(model, numbers, labels)
    fitted = next(m.model for m in clf._model.models if hasattr(m, "model"))
    codes = fitted.named_steps["columntransformer"].named_transformers_["codes"]
    assert codes.categories_[0].tolist() == [100_001, 100_002, 250_000]


def test_it_is_saved_and_answers_the_same(table, labels, tmp_path):
    clf = fit(by_name(), table, labels)
    clf.save(tmp_path / "model")
    kinds = ["numpy.dtype", "sklearn.compose._column_transformer.make_column_selector"]
    with pytest.raises(ValueError, match=f"types that are not trusted: {', '.join(kinds)};"):
        load_model(tmp_path / "model")
    again = load_model(tmp_path / "model", trusted=kinds)
    assert np.array_equal(again.predict_proba(table), clf.predict_proba(table))


def test_it_may_be_inside_another_classifier(table, labels):
    clf = fit(CalibratedClassifierCV(by_name(), cv=2), table, labels)
    assert np.isfinite(clf.predict_proba(table)).all()


def test_codes_that_were_taken_apart_cannot_be_given_back(table, labels):
    codes = [f"E{10 + i % 60}.{i % 9} I10" for i in range(N)]
    with pytest.raises(ValueError, match=r"'icd' holds codes, several in a cell; drop it"):
        fit(by_name(), table.assign(icd=codes), labels)


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        (["age"], True), ("age", True), (make_column_selector(), True), (slice("a", "b"), True),
        ([0, 1], False), (0, False), (slice(0, 2), False), (np.array([True, False]), False),
    ],
)  # fmt: skip
def test_who_asks_for_names(columns, named):
    assert asks_for_names(ColumnTransformer([("all", "passthrough", columns)])) is named


def test_pipelines_that_ask_for_no_names_still_get_numbers(table, labels):
    clf = fit(make_pipeline(StandardScaler(), LogisticRegression()), table, labels)
    steps = [type(step) for m in clf._model.models if hasattr(m, "model") for step in m.model]
    assert AsTable not in steps
