"""Text in a DataFrame: the estimator reads it as the command line does."""

import numpy as np
import pandas as pd
import pytest

from alignset import NoisyLabelClassifier, load_model
from alignset.labels import UnreadCellsWarning
from alignset.model.export import export_onnx, onnx_inputs

N = 120


def people(seed=0):
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D")
    return pd.DataFrame(
        {
            "visit": days.strftime("%d.%m.%Y"),
            "sat": [f"{v:.1f} %" for v in rng.normal(95, 2, N)],
            "icd": [f"{'EIJ'[i % 3]}{i % 40 + 10}.{i % 9}" for i in range(N)],
        }
    )


def fitted(X):
    sat = X["sat"].str.removesuffix(" %").astype(float).to_numpy()
    y = np.where(sat > 95, "well", "ill")
    y_true = pd.Series(y, dtype=object).where(np.arange(N) < 60)
    clf = NoisyLabelClassifier("observed_linear", random_state=0)
    return clf.fit(X, y, y_true=y_true)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_dates_units_and_codes_in_a_frame_are_read_saved_and_applied(tmp_path):
    X, new = people(), people(seed=1)
    clf = fitted(X)
    sat = new["sat"].str.removesuffix(" %").astype(float)
    assert ((clf.predict(new) == "well") == (sat > 95)).mean() > 0.9  # the number was learned
    clf.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(new), clf.predict_proba(new))
    typed = new.assign(visit=pd.to_datetime(new["visit"], dayfirst=True), sat=sat)
    np.testing.assert_allclose(loaded.predict_proba(typed), clf.predict_proba(new))
    with pytest.raises(ValueError, match="column 'icd' is read as codes or words, which ONNX"):
        export_onnx(loaded, tmp_path / "m.onnx")
    plain = fitted(X.drop(columns="icd"))
    plain.save(tmp_path / "p")
    assert export_onnx(load_model(tmp_path / "p"), tmp_path / "p.onnx") < 1e-5
    given = onnx_inputs(load_model(tmp_path / "p"), new)
    assert given["sat"][:, 0].tolist() == sat.tolist()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_cells_that_cannot_be_read_are_warned_of():
    X = people()
    X.loc[3, "sat"] = "n.d."
    with pytest.warns(UnreadCellsWarning, match=r"'sat' has 1 cells .* such as 'n\.d\.'"):
        NoisyLabelClassifier("observed_linear", random_state=0).fit(X, np.arange(N) % 2)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_text_of_many_values_is_refused_unless_it_is_a_categorical():
    X = people().assign(name=[f"person {i}" for i in range(N)])
    y = np.arange(N) % 2
    with pytest.raises(ValueError, match=r"drop it with X\.drop\(columns='name'\)"):
        NoisyLabelClassifier("observed_linear").fit(X, y)
    clf = NoisyLabelClassifier("observed_linear", random_state=0)
    assert clf.fit(X.astype({"name": "category"}), y).predict_proba(X).shape == (N, 2)
