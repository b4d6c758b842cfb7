from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from alignset.estimator import NoisyLabelClassifier
from alignset.estimator.as_model import as_model
from alignset.fitting.fit import fit_table
from alignset.fitting.held_out import Settings
from alignset.model.predict import predict_table
from alignset.tables.columns import choose_columns

QUICK = Settings(n_configs=1, max_epochs=2, hidden=4, n_jobs=1)


def table(n=80, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(60, 9, n), "race": rng.choice(["a", "b"], n)})
    frame["person"] = [f"p{i}" for i in range(n)]
    frame["told"] = rng.choice([0, 1], n)
    frame["reviewed"] = frame["told"].where(frame.index < 12).where(frame.index > 0, 1)
    return frame


@pytest.fixture(scope="module")
def model():
    frame = table()
    choice = choose_columns(frame, label="told", truth="reviewed", id="person")
    return fit_table(frame, choice, method="joint", settings=QUICK).model


def test_every_row_gets_a_prediction_and_a_confidence(model):
    frame = table(30, seed=1)
    out = predict_table(model, frame[["told", "race", "person", "age"]])
    assert out.notes == ()
    assert out.table.columns.tolist() == ["person", "prediction", "p_0", "p_1", "label_confidence"]
    assert out.table["person"].tolist() == frame["person"].tolist()
    p = out.table[["p_0", "p_1"]].to_numpy()
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert out.table["prediction"].tolist() == p.argmax(axis=1).tolist()
    np.testing.assert_allclose(
        out.table["label_confidence"], model.label_confidence(frame, frame["told"])
    )


def test_labels_and_ids_are_not_needed(model):
    out = predict_table(model, table(5)[["age", "race"]]).table
    assert out.columns.tolist() == ["prediction", "p_0", "p_1"]
    partly = table(5).astype({"told": float})
    partly.loc[0, "told"] = np.nan
    assert "label_confidence" not in predict_table(model, partly).table


def test_unknown_levels_are_told_and_a_missing_column_is_refused(model):
    frame = table(6)
    frame["race"] = ["a", "b", "c", "d", "e", "f"]
    assert predict_table(replace(model, profile=None), frame).notes == (
        "column 'race' holds 4 values that were rare or never seen in training, and count as "
        "other: 'c', 'd', 'e' and 1 more.",
    )
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        predict_table(model, frame.drop(columns="age"))
    assert str(caught.value) == (
        "the table has no column 'age'; it has race, person, told, reviewed."
    )
    with pytest.raises(
        ValueError, match=r"column 'told' holds 2 in data row 1, .* labels are 0, 1"
    ):
        predict_table(model, frame.assign(told=2))


@pytest.mark.filterwarnings("ignore::alignset.labels.FewReviewedWarning")
def test_a_model_of_a_matrix_predicts_too():
    frame = pd.DataFrame(np.eye(4), columns=list("abcd"))
    clf = NoisyLabelClassifier("standard", n_configs=1, max_epochs=2, random_state=0, n_jobs=1)
    model = as_model(clf.fit(frame, [0, 1, 0, 1], y_true=[0, 1, 1, None]))
    out = predict_table(model, frame[list("dcba")])
    np.testing.assert_allclose(out.table[["p_0", "p_1"]], clf.predict_proba(frame))
    assert out.notes == ()


@pytest.mark.parametrize("name", ["prediction", "p_no", "label_confidence"])
def test_an_id_that_has_the_name_of_a_prediction_is_refused(name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": ["no", "yes"] * 30})
    clf = NoisyLabelClassifier("observed_linear", random_state=0)
    fitted = as_model(clf.fit(frame[["x"]], frame["y"], y_true=frame["y"].where(frame.index < 30)))
    model = replace(fitted, columns=replace(fitted.columns, id=name))
    with pytest.raises(ValueError, match=f"the id column '{name}' has the name of a column that"):
        predict_table(model, frame.assign(**{name: range(60)}))
