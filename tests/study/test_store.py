import sqlite3
import subprocess
import sys

import pytest
from study.grids import plain_recipe

from alignset.study.records import METRICS, Cell, Record
from alignset.study.store import Store


def cell(seed=0, **parts):
    names = ("noise_rate", "as-written", "toy", "standard", "rate")
    return Cell(*names, 0.3, seed, plain_recipe(**parts))


def done(value=0.5, seed=0, **parts):
    return Record(cell(seed, **parts), "done", metrics=dict.fromkeys(METRICS, value), score=0.9)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "deep" / "results.sqlite")


def test_a_row_has_the_metrics_as_columns(store):
    store.add([done(0.75)])
    frame = store.frame()
    assert set(METRICS) <= set(frame.columns)
    assert frame.loc[0, "hm"] == 0.75
    assert frame.loc[0, ["status", "experiment", "seed"]].tolist() == ["done", "noise_rate", 0]


def test_a_failed_row_has_a_reason_and_no_numbers(store):
    store.add([Record(cell(), "failed", "diverged")])
    frame = store.frame()
    assert frame.loc[0, ["status", "reason"]].tolist() == ["failed", "diverged"]
    assert frame["auroc"].isna().all()


def test_done_stays_and_failed_is_overwritten(store):
    store.add([Record(cell(), "failed", "diverged")])
    store.add([done(0.6)])
    store.add([done(0.7)])
    assert store.frame()["hm"].tolist() == [0.6]


def test_a_cohort_is_written_whole_or_not_at_all(store):
    store.add([done(seed=0)])
    clash = done(seed=0, redraw=False)  # the same name, made otherwise
    with pytest.raises(sqlite3.IntegrityError):
        store.add([done(seed=1), clash])
    assert store.frame()["seed"].tolist() == [0]
    assert store.strangers([clash.cell, cell(1)]) == 1
    store.add([done(seed=1), clash], replace=True)
    assert set(store.statuses()) == {clash.cell.key, cell(1).key}


def test_wal_mode_is_on(store):
    store.add([done()])
    with sqlite3.connect(store.path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_the_summary_is_mean_population_sd_and_number(store, tmp_path):
    store.add([done(0.4, seed=0), done(0.6, seed=1), Record(cell(2), "failed", "diverged")])
    row = store.summary().query("metric == 'hm'").iloc[0]
    assert (row["mean"], row["sd"], row["n"]) == pytest.approx((0.5, 0.1, 2))
    store.export(tmp_path / "summary.csv")
    head, first = (tmp_path / "summary.csv").read_text().splitlines()[:2]
    assert head == "experiment,protocol,dataset,method,x_name,x,metric,mean,sd,n"
    assert first == "noise_rate,as-written,toy,standard,rate,0.3,aueoc,0.5,0.1,2"


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("not a database, but long enough to look at" * 100)
    with pytest.raises(ValueError, match="is not a store of results"):
        Store(tmp_path / "text").frame()
    with sqlite3.connect(tmp_path / "other") as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(ValueError, match="has format 0 but this version"):
        Store(tmp_path / "other").frame()
    with pytest.raises(FileNotFoundError, match="`alignset run` creates it"):
        Store(tmp_path / "gone").frame()


def test_a_file_that_was_only_just_made_has_no_rows(store):
    store.path.parent.mkdir(parents=True)
    sqlite3.connect(store.path).close()
    store.path.touch()
    assert store.statuses() == {}
    assert store.strangers([cell()]) == 0
    store.add([done()])
    assert list(store.statuses().values()) == ["done"]


def test_rows_of_an_earlier_version_are_read_and_not_taken_for_ours(store):
    store.add([done(0.75)])
    with sqlite3.connect(store.path) as connection:
        old = ('{"config":{},"noise":{"rate":[0.2,0.4]},"review":{"share":0.1}}', "a" * 64)
        connection.execute("UPDATE cells SET setting = ?, key = ?", old)
    connection.close()
    assert store.frame().loc[0, ["hm", "setting"]].tolist() == [0.75, old[0]]
    assert store.strangers([cell()]) == 1
    with pytest.raises(sqlite3.IntegrityError):
        store.add([done()])
    store.add([done(0.5)], replace=True)
    assert store.frame()["hm"].tolist() == [0.5]


def test_reading_a_store_needs_no_torch():
    code = "import sys; from alignset.study import Store; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
