"""A real Dask cluster: a scheduler and two workers, one of which is killed."""

import re
import shutil
import subprocess
import sys
from collections import Counter

import pandas as pd
import pytest
from study.grids import load_grid, results
from study.test_run import LAST_LIMIT, LONG

from alignset.study import Dask, Local, Store
from alignset.study.run import run

pytest.importorskip("distributed")


def launch(*arguments):
    command = [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def cluster(tmp_path):
    """Start a scheduler and two workers; yield the address and the workers."""
    processes = [launch("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")]
    try:
        for line in processes[0].stderr:
            found = re.search(r"Scheduler at:\s+(tcp://\S+)", line)
            if found:
                break
        options = (
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--death-timeout",
            str(LAST_LIMIT),
        )
        for i in range(2):
            place = ("--local-directory", str(tmp_path / f"worker-{i}"))
            processes.append(launch("dask_worker", found[1], *options, *place))
        yield found[1], processes[1:]
    finally:
        for process in reversed(processes):
            process.kill()
        for process in processes:
            process.communicate()


class KillAfter:
    """Kills a worker when so many cohorts have come back."""

    def __init__(self, worker, cohorts):
        self.worker, self.cohorts, self.reports = worker, cohorts, []

    def __call__(self, what, done, total):
        self.reports.append((done, total))
        if len(self.reports) == self.cohorts + 1:  # the first one says that nothing is done yet
            self.worker.kill()


class Counting(Store):
    """A store that counts how often each cell is delivered."""

    def __init__(self, path):
        super().__init__(path)
        self.delivered = Counter()

    def add(self, records, *, replace=False):
        self.delivered.update(record.cell.key for record in records)
        super().add(records, replace=replace)


def test_a_worker_that_dies_loses_nothing_and_every_cell_comes_once(cluster, tmp_path):
    address, workers = cluster
    found = load_grid(tmp_path, LONG)
    from distributed import Client

    with Client(address, timeout=LAST_LIMIT) as client:
        client.wait_for_workers(2, timeout=LAST_LIMIT)
    store, teller = Counting(tmp_path / "dask.sqlite"), KillAfter(workers[0], cohorts=3)
    said = []
    outcome = run(found, store, engine=Dask(address), replicas=4, progress=teller, say=said.append)
    assert said == []
    assert workers[0].wait(timeout=LAST_LIMIT) != 0
    assert workers[1].poll() is None
    assert outcome.trained == 80
    assert teller.reports[0] == (0, 160)
    assert teller.reports[-1] == (160, 160)
    assert set(store.delivered.values()) == {1}
    assert len(store.delivered) == 80

    local = Store(tmp_path / "local.sqlite")
    run(found, local, engine=Local(1), replicas=4)
    pd.testing.assert_frame_equal(results(store), results(local))


def test_a_cluster_that_is_not_there_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("alignset.study.engines.TIMEOUT", 1)
    said = r"no Dask scheduler answers at tcp://127.0.0.1:9 \(.* after 1 s"
    with pytest.raises(ValueError, match=said):
        run(load_grid(tmp_path), Store(tmp_path / "s.sqlite"), engine=Dask("tcp://127.0.0.1:9"))


def test_without_dask_the_engine_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r'pip install "alignset\[dask\]"'):
        run(load_grid(tmp_path), Store(tmp_path / "s.sqlite"), engine=Dask("tcp://127.0.0.1:9"))


def certificates(folder):
    """Make an authority and a certificate that it signed."""
    new = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem"
    ask = "req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout host.key -out host.csr"
    sign = "x509 -req -in host.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out host.pem"
    for command in (new, ask, sign):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    return [str(folder / name) for name in ("ca.pem", "host.pem", "host.key")]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_over_tls_only_who_has_a_certificate_is_served(tmp_path, monkeypatch):
    ca, cert, key = certificates(tmp_path)
    files = ("--tls-ca-file", ca, "--tls-cert", cert, "--tls-key", key)
    place = ("--host", "tls://127.0.0.1", "--port", "0", "--no-dashboard")
    processes = [launch("dask_scheduler", "--protocol", "tls", *place, *files)]
    try:
        found = next(
            re.search(r"Scheduler at:\s+(tls://\S+)", line)
            for line in processes[0].stderr
            if "Scheduler at:" in line
        )
        worker = ("--nthreads", "1", "--no-nanny", "--no-dashboard", *files)
        processes.append(launch("dask_worker", found[1], *worker))
        grid = load_grid(tmp_path)
        store = Store(tmp_path / "s.sqlite")
        outcome = run(grid, store, engine=Dask(found[1], ca, cert, key), replicas=4)
        assert (outcome.trained, outcome.good) == (8, True)
        monkeypatch.setattr("alignset.study.engines.TIMEOUT", 3)
        stranger = Dask(found[1].replace("tls://", "tcp://"))
        with pytest.raises(ValueError, match="no Dask scheduler answers at tcp://"):
            run(grid, Store(tmp_path / "t.sqlite"), engine=stranger)
    finally:
        for process in reversed(processes):
            process.kill()
        for process in processes:
            process.communicate()


def test_certificates_go_with_tls_only(tmp_path):
    with pytest.raises(ValueError, match="tls://h:1 needs ca_file, cert_file and key_file"):
        Dask("tls://h:1", "ca.pem")
    with pytest.raises(ValueError, match="certificates need an address tls://HOST:PORT, got tcp"):
        Dask("tcp://h:1", "ca.pem", "cert.pem", "key.pem")
    with pytest.raises(ValueError, match="there is no file"):
        Dask("tls://h:1", *[str(tmp_path / "gone")] * 3)
    assert Dask("tcp://host:1").exposed
    assert not Dask("tcp://127.0.0.1:1").exposed
