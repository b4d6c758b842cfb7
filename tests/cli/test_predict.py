import numpy as np
import pandas as pd
import pytest
from commands import run

from alignset.fitting.fit import fit_table
from alignset.fitting.held_out import Settings
from alignset.model.folder import save_model
from alignset.tables.columns import choose_columns
from alignset.tables.files import read_table


def table(n=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(60, 9, n), "race": rng.choice(["a", "b"], n)})
    frame["told"] = rng.choice(["no", "yes"], n)
    frame["reviewed"] = frame["told"].where(frame.index < 12).where(frame.index > 0, "yes")
    return frame


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    choice = choose_columns(table(), label="told", truth="reviewed")
    settings = Settings(n_configs=1, max_epochs=2, hidden=4, n_jobs=1)
    place = tmp_path_factory.mktemp("fitted") / "m"
    save_model(fit_table(table(), choice, method="joint", settings=settings).model, place)
    return place


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_predictions_are_written(model, tmp_path, capsys, suffix):
    table()[["told", "race", "age"]].to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / f"p.{suffix}"
    code, said, err = run(capsys, "predict", model, tmp_path / "new.csv", "-o", out)
    assert (code, err) == (0, "")
    assert said == f"60 rows: {out}\nnext: alignset monitor {model} {tmp_path / 'new.csv'}\n"
    columns = ["prediction", "p_no", "p_yes", "label_confidence"]
    assert read_table(out).columns.tolist() == columns
    code, _, err = run(capsys, "predict", model, tmp_path / "new.csv", "-o", out)
    assert (code, err) == (1, f"error: {out} exists; name another file, or pass --overwrite.\n")
    assert run(capsys, "predict", model, tmp_path / "new.csv", "-o", out, "--overwrite")[0] == 0


def test_what_cannot_be_predicted_is_refused(model, tmp_path, capsys):
    new, out = tmp_path / "new.csv", tmp_path / "p.csv"
    table().drop(columns="race").to_csv(new, index=False)
    code, _, err = run(capsys, "predict", model, new, "-o", out)
    assert (code, err) == (
        1, "error: the table has no column 'race'; it has age, told, reviewed.\n",
    )  # fmt: skip
    code, _, err = run(capsys, "predict", tmp_path, new, "-o", out)
    assert (code, err) == (
        1, f"error: {tmp_path} is not a model folder: it has no manifest.json.\n",
    )  # fmt: skip
    code, _, err = run(capsys, "predict", model, tmp_path / "no.csv", "-o", out)
    assert (code, err) == (1, f"error: there is no file {tmp_path / 'no.csv'}.\n")
    assert not out.exists()


def test_unknown_values_are_told(model, tmp_path, capsys):
    table().assign(race="x").to_csv(tmp_path / "new.csv", index=False)
    _, said, _ = run(capsys, "predict", model, tmp_path / "new.csv", "-o", tmp_path / "p.csv")
    assert said.startswith(
        "note: column 'race' holds 1 values that were rare or never seen in training, and count "
        "as other: 'x'.\n"
    )
