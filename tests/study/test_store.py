import multiprocessing
import os
import sqlite3
import subprocess
import sys

import pytest
from study.grids import plain_recipe

from alignset.study.database import FORMAT, StoreError
from alignset.study.records import METRICS, Cell, Record
from alignset.study.store import Store


def cell(seed=0, **parts):
    names = ("noise_rate", "as-written", "toy", "standard", "rate")
    return Cell(*names, 0.3, seed, plain_recipe(**parts))


def done(value=0.5, seed=0, **parts):
    return Record(cell(seed, **parts), "done", metrics=dict.fromkeys(METRICS, value), score=0.9)


def as_of_format_1(connection):
    """Make a store what it was before rows had checksums."""
    connection.execute("ALTER TABLE cells DROP COLUMN checksum")
    connection.execute("PRAGMA user_version = 1")


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
    with pytest.raises(StoreError, match="same name, made with other settings; use another"):
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
        as_of_format_1(connection)
    connection.close()
    assert store.frame().loc[0, ["hm", "setting"]].tolist() == [0.75, old[0]]
    assert store.strangers([cell()]) == 1
    with pytest.raises(StoreError, match="made with other settings"):
        store.add([done()])
    store.add([done(0.5)], replace=True)
    assert store.frame()["hm"].tolist() == [0.5]


def test_reading_a_store_needs_no_torch():
    code = "import sys; from alignset.study import Store; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# damage


def flip(path, bit):
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def test_no_flipped_bit_changes_a_number_silently(store):
    """Of 300 single bits, spread over the file; 69 of 200 changed a number before."""
    store.add([done(0.1 + seed / 7, seed) for seed in range(12)])
    whole, before = store.path.read_bytes(), store.frame()
    silent = []
    for bit in range(5, len(whole) * 8, len(whole) * 8 // 300):
        store.path.write_bytes(whole)
        flip(store.path, bit)
        try:
            if not store.frame().equals(before):
                silent.append(bit)
        except StoreError:
            continue
    assert silent == []


def test_a_damaged_row_is_named_and_the_others_are_rescued(store, tmp_path):
    store.add([done(0.25, seed) for seed in range(9)])
    content = store.path.read_bytes()
    at = content.index(b"0.25")
    store.path.write_bytes(content[:at] + b"0.75" + content[at + 4 :])
    said = "1 of 9 rows do not match their checksum; .*--check` lists .* --rescue NEW` copies"
    for read in (store.frame, store.statuses):
        with pytest.raises(StoreError, match=said):
            read()
    (line,) = store.damage()
    assert line.startswith("damaged row: experiment=noise_rate protocol=as-written dataset=toy")
    assert store.rescue(tmp_path / "new.sqlite") == (8, 1)
    rescued = Store(tmp_path / "new.sqlite")
    assert rescued.frame()["hm"].tolist() == [0.25] * 8
    assert rescued.damage() == []
    with pytest.raises(ValueError, match="exists; name a file that does not"):
        store.rescue(tmp_path / "new.sqlite")


def test_a_row_that_vanishes_is_noticed(store):
    store.add([done(seed=seed) for seed in range(9)])
    content = bytearray(store.path.read_bytes())
    # the number of cells of the table's first leaf page, one too few
    leaf = next(p for p in range(4096, len(content), 4096) if content[p] == 0x0D and content[p + 4])
    content[leaf + 4] -= 1
    store.path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"):
        store.frame()


def test_a_store_without_checksums_is_read_and_gets_them_when_written_to(store):
    store.add([done(0.75, seed=1)])
    with sqlite3.connect(store.path) as connection:
        as_of_format_1(connection)
    connection.close()
    before = store.path.read_bytes()
    assert store.frame()["hm"].tolist() == [0.75]
    assert store.damage() == []
    assert store.path.read_bytes() == before, "reading changes nothing"
    store.add([done(0.5)])
    assert store.frame()["hm"].tolist() == [0.5, 0.75]
    with sqlite3.connect(store.path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT,)
        connection.execute("UPDATE cells SET seconds = 99 WHERE seed = 1")
    connection.close()
    with pytest.raises(StoreError, match="1 of 2 rows"):
        store.frame()


# faults


def write_all(folder, seed, together):
    """Add a row to each of 40 stores, each at the same moment as the other writers."""
    for i in range(40):
        together.wait(timeout=60)
        Store(folder / f"{i}.sqlite").add([done(seed=seed)])


def test_many_writers_may_create_one_store(tmp_path):
    """25 of 900 starts failed: the format was read in two steps, while others made the file."""
    fork, n_writers = multiprocessing.get_context("fork"), 6
    together = fork.Barrier(n_writers)
    writers = [
        fork.Process(target=write_all, args=(tmp_path, seed, together)) for seed in range(n_writers)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * n_writers
    for i in range(40):
        assert len(Store(tmp_path / f"{i}.sqlite").frame()) == n_writers


def test_what_is_not_a_file_is_refused(tmp_path):
    for path in (Store("/dev/null"), Store(tmp_path)):
        for attempt in (path.check_writable, path.statuses, lambda path=path: path.add([done()])):
            with pytest.raises(StoreError, match="is not a file, so no results can be kept in it"):
                attempt()


def test_a_foreign_database_of_our_format_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "other") as connection:
        connection.execute("CREATE TABLE cells (x)")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.close()
    for attempt in (Store(tmp_path / "other").frame, Store(tmp_path / "other").check_writable):
        with pytest.raises(StoreError, match="is not a store of results"):
            attempt()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.9])
def test_a_truncated_store_is_refused_and_not_written_to(store, share):
    store.add([done(seed=seed) for seed in range(40)])
    content = store.path.read_bytes()
    store.path.write_bytes(content[: int(len(content) * share)])
    cut = store.path.read_bytes()
    for attempt in (store.frame, store.statuses):
        with pytest.raises(StoreError, match="is damaged"):
            attempt()
    assert store.path.read_bytes() == cut


def test_a_locked_store_says_so(store, monkeypatch):
    monkeypatch.setattr("alignset.study.database.PATIENCE", 0.1)
    store.add([done()])
    with sqlite3.connect(store.path) as other:
        other.execute("BEGIN IMMEDIATE")
        assert len(store.frame()) == 1, "reading goes on"
        with pytest.raises(StoreError, match="is locked by another program"):
            store.check_writable()
    other.close()


FULL = (
    "import resource, signal, sys; sys.path.insert(0, 'tests')\n"
    "from study.test_store import done\n"
    "from alignset.study.store import Store\n"
    "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, 80_000))\n"
    "store = Store(sys.argv[1])\n"
    "try:\n"
    "    for seed in range(500):\n"
    "        store.add([done(seed=seed)])\n"
    "except ValueError as error:\n"
    "    print(seed, error)\n"
)


def test_a_full_disk_is_one_line_and_loses_nothing(store):
    command = [sys.executable, "-c", FULL, str(store.path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    written, said = ended.stdout.split(" ", 1)
    assert "is full" in said, ended.stderr
    assert said.count("\n") == 1
    assert store.frame()["seed"].tolist() == list(range(int(written)))


def test_a_store_that_nobody_may_write_to_can_be_read(store):
    store.add([done(0.75)])
    store.path.chmod(0o444)
    store.path.parent.chmod(0o555)
    if os.geteuid():
        assert store.frame()["hm"].tolist() == [0.75]
        with pytest.raises(StoreError, match=r"read-only|cannot be opened"):
            store.check_writable()
    store.path.parent.chmod(0o755)
