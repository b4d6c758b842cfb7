"""Runs that are killed, interrupted, diverge and go on."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from study.grids import RULES, SPEC, load_grid, results, write_grid

from alignset.stack import kernels
from alignset.study import Local, Store
from alignset.study.run import run

LONG = SPEC.replace("seeds    = 2", "seeds = 20")
"""Enough cohorts that a run can be killed in the middle."""


def start(path, store, *options, jobs=1, **how):
    code = "from alignset.cli import program; program()"
    command = [sys.executable, "-c", code, "run", str(path), "--store", str(store)]
    command += ["--replicas", "4", "--jobs", str(jobs), *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes, **how)


def workers_of(process):
    """The processes that train for one: its children, without joblib's tracker of files."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parent = re.search(r"PPid:\s+(\d+)", status.read_text())
            command = (status.parent / "cmdline").read_text()
        except OSError:
            continue
        if int(parent[1]) == process.pid and "popen_loky" in command:
            found.append(int(status.parent.name))
    return found


def alive(pid):
    """Whether a process runs: a zombie does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


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


def wait_for_workers(running, n):
    last = time.monotonic() + LAST_LIMIT
    while len(workers_of(running)) < n and time.monotonic() < last:
        time.sleep(0.02)
    return workers_of(running)


linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")


@linux
def test_a_worker_that_is_killed_costs_its_cohort_and_nothing_else(tmp_path, whole):
    path, store = write_grid(tmp_path, LONG), Store(tmp_path / "s.sqlite")
    running = start(path, store.path, jobs=2)
    os.kill(wait_for_workers(running, 2)[0], signal.SIGKILL)
    wait_for_rows(store, 2, running)
    os.kill(wait_for_workers(running, 1)[0], signal.SIGKILL)
    _, said = running.communicate(timeout=LAST_LIMIT)
    assert (running.returncode, "Traceback" in said) == (0, False), said
    pd.testing.assert_frame_equal(results(store), whole)


@linux
def test_workers_that_keep_being_killed_end_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("alignset.study.engines._train_for", die)
    monkeypatch.setattr("alignset.study.engines.DEATHS", 1)
    with pytest.raises(OSError, match=r"killed 2 times in a row, with \d+ of \d+ cohorts left"):
        run(load_grid(tmp_path), Store(tmp_path / "s.sqlite"), engine=Local(2), replicas=2)


def die(*cohort):
    os.kill(os.getpid(), signal.SIGKILL)


@linux
def test_workers_do_not_outlive_a_main_process_that_is_killed(tmp_path):
    long = LONG.replace("configs  = 2", "configs = 400")  # a cohort takes a minute
    running = start(write_grid(tmp_path, long), tmp_path / "s.sqlite", jobs=2)
    workers = wait_for_workers(running, 2)
    time.sleep(5)  # they are at work
    running.kill()
    running.communicate()
    last = time.monotonic() + 5
    while any(map(alive, workers)) and time.monotonic() < last:
        time.sleep(0.05)
    assert not any(map(alive, workers))


@linux
def test_ctrl_c_ends_all_processes_in_one_line(tmp_path):
    long = LONG.replace("configs  = 2", "configs = 400")
    path = write_grid(tmp_path, long)
    running = start(path, tmp_path / "s.sqlite", jobs=2, start_new_session=True)
    workers = wait_for_workers(running, 2)
    time.sleep(3)
    begun = time.monotonic()
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    _, said = running.communicate(timeout=LAST_LIMIT)
    assert time.monotonic() - begun < 5
    assert (running.returncode, "Traceback" in said) == (130, False), said
    assert not any(map(alive, workers))


def test_a_store_that_cannot_be_written_to_is_told_before_anything_is_trained(tmp_path):
    found, told = load_grid(tmp_path), []
    with pytest.raises(ValueError, match="is not a file, so no results can be kept"):
        run(found, Store("/dev/null"), engine=Local(1), progress=lambda *t: told.append(t[1]))
    assert set(told) <= {0}


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


def test_a_grid_that_does_not_fit_into_memory_is_told(tmp_path):

    grid = load_grid(tmp_path)

    with pytest.raises(OSError, match=r"there is not enough memory .*; what was trained is kept"):
        run(grid, Store(tmp_path / "s.sqlite"), engine=Short())


class Short(Local):
    """An engine whose memory is too small for every cohort."""

    def train(self, cohorts, *, device, counter):
        yield []
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 12")


COLD = """
import sys
sys.path.insert(0, "tests")
from pathlib import Path
from study.grids import load_grid
from alignset.stack import kernels
from alignset.study import Local, Store
from alignset.study.run import run
place = Path(sys.argv[1])
run(load_grid(place), Store(place / "s.sqlite"), engine=Local(1))
print(kernels.which())
"""


@pytest.mark.skipif(kernels.which() != "c", reason="needs the kernels in C")
def test_the_first_run_on_a_machine_rounds_as_those_that_resume_it(tmp_path):
    """It used torch until C was compiled, and whoever resumed it, or its workers, used C."""
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cold")}
    env.pop("ALIGNSET_NATIVE", None)
    command = [sys.executable, "-c", COLD, str(tmp_path)]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert ended.stdout == "c\n", ended.stderr
