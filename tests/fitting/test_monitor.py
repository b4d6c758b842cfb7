import json

import numpy as np
import pandas as pd
import pytest

from alignset.cli import main
from alignset.fitting.fit import fit_table
from alignset.fitting.held_out import Settings
from alignset.fitting.monitor import monitor
from alignset.model.folder import load_model, save_model
from alignset.model.predict import predict_table
from alignset.tables.columns import choose_columns

QUICK = Settings(folds=2, n_boot=50, n_jobs=1)


def table(n=900, reviewed=300, seed=0, signal=1.0, classes=("no", "yes")):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    true = np.array(classes)[(signal * 2 * x + rng.normal(size=n) > 0).astype(int)]
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=n)})
    frame["sex"], frame["site"] = rng.choice(["f", "m"], n), rng.choice(["a", "b", "c"], n)
    other = np.where(true == classes[0], classes[1], classes[0])
    frame["told"] = np.where(rng.random(n) < 0.15, other, true)
    frame["reviewed"] = pd.Series(true).where(np.arange(n) < reviewed)
    return frame


@pytest.fixture(scope="module")
def model():
    frame = table()
    choice = choose_columns(frame, label="told", truth="reviewed", groups=["sex"], ignore=["site"])
    return fit_table(frame, choice, method="observed_linear", settings=QUICK).model


def test_the_same_population_is_green_or_at_worst_one_measure_off(model):
    found = monitor(model, table(seed=1), by=["site"])
    assert found.changed == ()
    assert found.far == ()
    assert found.worse == ()
    assert {one.measure for one in found.changes} == {
        "flagged", "wrong", "log_loss", "auroc", "tpr", "fpr", "ppv"
    }  # fmt: skip
    assert {one.group for one in found.changes} == {"all", "f", "m"}
    assert {one.group for one in found.places["site"]} == {"a", "b", "c"}


def test_a_model_that_works_is_hardly_ever_called_worse(model):
    found = [monitor(model, table(seed=seed)) for seed in range(2, 12)]
    assert sum(each.colour == "red" for each in found) <= 1
    assert sum(len(each.worse) for each in found) <= 0.05 * 21 * len(found)


def test_a_model_that_no_longer_works_is_red(model):
    found = monitor(model, table(seed=1, signal=-1.0))
    assert found.colour == "red"
    assert {one.measure for one in found.worse} >= {"auroc", "log_loss", "tpr"}


def test_the_training_table_is_not_taken_for_a_later_one(model):
    found = monitor(model, table().sample(frac=1, random_state=0))
    assert found.colour == "amber"
    assert any("training table" in note for note in found.notes)
    later = monitor(model, table(seed=1))  # of the same size
    assert not later.same
    assert not any("training table" in note for note in later.notes)


def test_changed_columns_are_amber_without_any_review(model):
    later = table(seed=1, reviewed=0)
    later["x"] += 1
    found = monitor(model, later)
    assert found.colour == "amber"
    assert [column.name for column in found.changed] == ["x"]
    assert [one.measure for one in found.changes if one.group == "all"] == ["flagged"]
    assert found.changes[0].clear
    assert "0 rows are reviewed, too few" in found.notes[-1]


def test_rows_of_one_class_and_without_groups_can_be_monitored(model):
    later = table(seed=1, reviewed=0).drop(columns=["sex"]).assign(told="yes", sex="f")
    assert monitor(model, later).rows == 900
    assert "only columns" in monitor(model, later.drop(columns="told")).notes[-1]


def test_a_later_table_without_a_feature_is_refused(model):
    with pytest.raises(ValueError, match="the table has no column 'x'"):
        monitor(model, table(seed=1).drop(columns="x"))


def test_predict_reports_a_value_from_another_unit(model):
    later = table(seed=1)
    later.loc[4, "x"] = 1e6
    notes = predict_table(model, later).notes
    assert any("'x' holds 1 value far outside" in note and "data row 5" in note for note in notes)
    assert predict_table(model, table(seed=1)).notes == ()
    later["z"] -= 2
    assert any("'z'" in n and "alignset monitor" in n for n in predict_table(model, later).notes)


def test_the_command_prints_a_verdict_and_writes_every_measure(model, tmp_path, capsys):
    save_model(model, tmp_path / "m")
    assert load_model(tmp_path / "m").profile == model.profile
    table(seed=1).to_csv(tmp_path / "later.csv", index=False)
    words = ["monitor", tmp_path / "m", tmp_path / "later.csv"]
    assert main([*map(str, words), "--by", "site", "-o", str(tmp_path / "out.csv")]) == 0
    out = capsys.readouterr().out
    assert "by site:" in out
    assert "verdict: " in out
    frame = pd.read_csv(tmp_path / "out.csv")
    assert len(frame) == 7 * (1 + 2 + 3)
    assert main([*map(str, words), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reviewed"] == 300
    assert main([*map(str, words), "--by", "ward"]) == 1
    assert "ward" in capsys.readouterr().err
