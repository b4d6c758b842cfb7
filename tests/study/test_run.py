"""Runs that are killed, interrupted, diverge and go on."""

import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from study.grids import RULES, SPEC, load_grid, results, write_grid

from alignset.study import Local, Store
from alignset.study.run import run

LONG = SPEC.replace("seeds    = 2", "seeds = 20")
"""Enough cohorts that a run can be killed in the middle."""


def start(path, store, *options):
    code = "from alignset.cli import program; program()"
    command = [sys.executable, "-c", code, "run", str(path), "--store", str(store)]
    command += ["--replicas", "4", "--jobs", "1", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


LAST_LIMIT = 300
"""Seconds after which a machine is not slow but stuck."""


def wait_for_rows(store, n, running):
    """Wait until the store has ``n`` rows."""
    deadline = time.monotonic() + LAST_LIMIT
    while len(store.statuses()) < n:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline, f"nothing was written within {LAST_LIMIT} s"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The results of an uninterrupted run of the long grid."""
    folder = tmp_path_factory.mktemp("whole")
    store = Store(folder / "whole.sqlite")
    run(load_grid(folder, LONG), store, engine=Local(1), replicas=4)
    return results(store)


def test_killed_and_started_again_it_computes_what_is_missing_and_ends_the_same(tmp_path, whole):
    path, store = write_grid(tmp_path, LONG), Store(tmp_path / "killed.sqlite")
    running = start(path, store.path)
    wait_for_rows(store, 4, running)
    running.kill()
    running.communicate()
    had = len(store.statuses())
    assert 0 < had < len(whole), "it was killed in the middle"

    outcome = run(load_grid(tmp_path, LONG), store, engine=Local(1), replicas=4)
    assert (outcome.had, outcome.trained) == (had, len(whole) - had)
    pd.testing.assert_frame_equal(results(store), whole)
    again = run(load_grid(tmp_path, LONG), store, engine=Local(1), replicas=4)
    assert (again.had, again.trained, again.good) == (len(whole), 0, True)


def test_ctrl_c_gives_up_the_running_cohort_and_says_how_to_go_on(tmp_path, whole):
    path, store = write_grid(tmp_path, LONG), Store(tmp_path / "stopped.sqlite")
    running = start(path, store.path)
    wait_for_rows(store, 4, running)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=LAST_LIMIT)
    assert running.returncode == 130, said
    assert "run the same command to resume" in said
    assert "Traceback" not in said
    run(load_grid(tmp_path, LONG), store, engine=Local(1), replicas=4)
    pd.testing.assert_frame_equal(results(store), whole)


def test_processes_give_the_same_table_as_one(tmp_path, whole):
    store = Store(tmp_path / "two.sqlite")
    run(load_grid(tmp_path, LONG), store, engine=Local(2), replicas=4)
    pd.testing.assert_frame_equal(results(store), whole)


def test_a_cell_that_diverges_is_recorded_and_the_rest_goes_on(tmp_path):
    text = SPEC.split("[vary]")[0] + (
        '[noise]\nrate = [0.2, 0.4]\n[vary]\n"config.lr" = [0.01, 1e30]\n'
    )
    store, said = Store(tmp_path / "s.sqlite"), []
    found = load_grid(tmp_path, text.replace(', "proposed"', ""))
    outcome = run(found, store, engine=Local(1), say=said.append)
    frame = store.frame()
    assert frame.groupby("x")["status"].unique().map(list).tolist() == [["done"], ["failed"]]
    assert frame.loc[frame["status"] == "failed", "reason"].str.startswith("diverged").all()
    assert (outcome.failed, outcome.good) == (2, False)
    assert [line.startswith("failed: tiny tiny toy standard") for line in said] == [True, True]
    again = run(found, store, engine=Local(1))
    assert (again.trained, again.failed) == (0, 2), "a failure is a result"
    assert run(found, store, engine=Local(1), retry=True).trained == 2


def test_results_made_with_other_settings_are_not_mixed(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    spec = SPEC.replace(', "proposed"', "")
    run(load_grid(tmp_path, spec), store, engine=Local(1))
    other = load_grid(tmp_path, spec.replace("configs  = 2", "configs = 1"))
    with pytest.raises(ValueError, match=r"has 4 of these 4 cells, made with other settings"):
        run(other, store, engine=Local(1))
    assert run(other, store, engine=Local(1), replace=True).trained == 4
    assert len(store.frame()) == 4


def test_a_data_set_that_is_not_here_is_skipped_and_told(tmp_path, monkeypatch):
    monkeypatch.setenv("ALIGNSET_MIMIC", str(tmp_path / "nowhere"))
    rules = RULES.replace('"synthetic", rows = 400', '"mimic_shock"')
    outcome = run(load_grid(tmp_path, rules=rules), Store(tmp_path / "s.sqlite"))
    assert list(outcome.skipped) == ["toy"]
    assert (outcome.trained, outcome.good) == (0, True)


def test_a_transaction_that_is_killed_leaves_nothing(tmp_path):
    """The last row of a cohort is written, the process dies before the commit."""
    code = (
        "import os, sys, signal\n"
        "sys.path.insert(0, 'tests')\n"
        "from study.test_store import done\n"
        "from alignset.study.database import writing\n"
        "from alignset.study.store import Store\n"
        "store = Store(sys.argv[1])\n"
        "store.add([done(seed=0)])\n"
        "with writing(store.path) as c:\n"
        '    c.execute("DELETE FROM cells")\n'
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "s.sqlite"
    ended = subprocess.run([sys.executable, "-c", code, str(path)], check=False, cwd=os.getcwd())
    assert ended.returncode == -signal.SIGKILL
    assert Store(path).frame()["seed"].tolist() == [0]
