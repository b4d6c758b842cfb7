"""Where cohorts are trained: in this process, in several on this machine, or on a Dask cluster."""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]

from alignset.extras import need
from alignset.progress import Counter
from alignset.study.cells import Cohort
from alignset.study.records import Record
from alignset.study.training import train_cohort

Results = Iterator[list[Record]]

TIMEOUT = 20
"""Seconds to wait for a Dask scheduler to answer."""

DEATHS = 3
"""Times in a row that workers may be killed, with no cohort finished in between."""

WATCH_SECONDS = 0.5
"""Seconds between a worker's looks at whether the main process is still there."""


class LostWorkers(OSError):
    """Workers are killed again and again; what they trained before is kept."""


class Engine(ABC):
    """Trains cohorts and yields their records as they finish, each cohort once."""

    @abstractmethod
    def train(self, cohorts: Sequence[Cohort], *, device: str, counter: Counter) -> Results:
        """Yield the records of every cohort, in any order, and count the replicas trained."""


@dataclass(frozen=True)
class Local(Engine):
    """Train on one machine: one job in the calling process, several in a process each.

    Parameters
    ----------
    jobs : int, optional
        Cohorts to train at the same time; by default one per core, or one on a GPU.

    Examples
    --------
    >>> Local(jobs=2).count("cpu"), Local().count("cuda")
    (2, 1)
    """

    jobs: int | None = None

    def count(self, device: str) -> int:
        """Return how many cohorts are trained at the same time."""
        if self.jobs is not None:
            return self.jobs
        return 1 if device != "cpu" else len(os.sched_getaffinity(0))

    def train(self, cohorts: Sequence[Cohort], *, device: str, counter: Counter) -> Results:
        """Train cohorts one after another, or in joblib's processes."""
        jobs = min(self.count(device), max(1, len(cohorts)))
        if jobs == 1:
            threads = 1 if device == "cpu" else None  # with a GPU the cores are free
            for cohort in cohorts:
                yield train_cohort(cohort, device=device, n_jobs=threads, counter=counter)
            return
        how: dict[str, Any] = {"inner_max_num_threads": 1, "initializer": _end_with}
        own = parallel_config("loky", n_jobs=jobs, initargs=(os.getpid(),), **how)
        with _quietly_interrupted(), own:
            yield from _through_joblib(cohorts, device, counter)


@contextmanager
def _quietly_interrupted() -> Iterator[None]:
    """Keep a thread of joblib from telling that it lost its work, as it may when Ctrl-C ends it."""
    tell = threading.excepthook

    def unless_lost(failed: Any) -> None:
        lost = "ExecutorManager" in type(failed.thread).__name__
        if not (lost and issubclass(failed.exc_type, KeyError)):
            tell(failed)

    threading.excepthook = unless_lost
    yield
    threading.excepthook = tell  # not after an interrupt: such a thread ends later than we do


@dataclass(frozen=True)
class Dask(Engine):
    """Train on a Dask cluster; workers get recipes and make or load the data themselves.

    Over ``tcp://`` nobody is asked who they are: whoever can reach the scheduler's port can run
    code as the user of its workers. Over ``tls://`` both sides show a certificate.

    Parameters
    ----------
    address : str
        Address of the scheduler: ``tls://host:8786``, or ``tcp://`` in a network of your own.
    ca_file, cert_file, key_file : str, optional
        For ``tls://``: the authority that signed all certificates, and this machine's own.

    Examples
    --------
    >>> Dask("tcp://127.0.0.1:8786").address
    'tcp://127.0.0.1:8786'
    >>> Dask("tls://host:8786")
    Traceback (most recent call last):
        ...
    ValueError: tls://host:8786 needs ca_file, cert_file and key_file.
    """

    address: str
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None

    def __post_init__(self) -> None:
        files = (self.ca_file, self.cert_file, self.key_file)
        secured = self.address.startswith("tls://")
        if secured and None in files:
            raise ValueError(f"{self.address} needs ca_file, cert_file and key_file.")
        if not secured and files != (None, None, None):
            raise ValueError(f"certificates need an address tls://HOST:PORT, got {self.address}.")
        for file in files:
            if file is not None and not os.path.isfile(file):
                raise ValueError(f"there is no file {file}; name the certificate or key.")

    @property
    def exposed(self) -> bool:
        """Whether the connection leaves this machine without encryption and authentication."""
        host = self.address.removeprefix("tcp://").rpartition(":")[0]
        return not self.address.startswith("tls://") and host not in ("127.0.0.1", "localhost")

    def train(self, cohorts: Sequence[Cohort], *, device: str, counter: Counter) -> Results:
        """Send every cohort to the cluster; if its worker dies, it is sent to another."""
        with closing(self._connect()), parallel_config(backend="dask", n_jobs=-1):
            yield from _through_joblib(cohorts, device, counter)

    def _connect(self) -> Any:
        need("the Dask engine", "distributed")
        dask = import_module("distributed")
        how = {}
        if self.ca_file is not None:
            how["security"] = dask.Security(
                tls_ca_file=self.ca_file, tls_client_cert=self.cert_file,
                tls_client_key=self.key_file, require_encryption=True,
            )  # fmt: skip
        try:
            return dask.Client(self.address, timeout=TIMEOUT, **how)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"no Dask scheduler answers at {self.address} ({error}); start one with "
                "`dask scheduler` and pass the address it prints."
            ) from None


def _through_joblib(cohorts: Sequence[Cohort], device: str, counter: Counter) -> Results:
    """Yield records as they come; cohorts of processes that were killed are trained again."""
    left, deaths = dict(enumerate(cohorts)), 0
    while left:
        jobs = (delayed(_train_for)(os.getpid(), i, left[i], device) for i in list(left))
        parallel = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="all")
        try:
            with closing(parallel(jobs)) as results:
                for i, records in results:
                    counter.add(sum(record.cell.replicas for record in records))
                    del left[i]
                    deaths = 0
                    yield records
        except Exception as error:
            if not _is_loss(error):
                raise
            deaths += 1
            if deaths > DEATHS:
                raise LostWorkers(
                    f"worker processes were killed {deaths} times in a row, with "
                    f"{len(left)} of {len(cohorts)} cohorts left ({type(error).__name__}), perhaps "
                    "for lack of memory; what was trained is kept: run the same command with "
                    "fewer --jobs or --replicas."
                ) from None


def _is_loss(error: Exception) -> bool:
    """Tell whether an error says that a worker is gone, rather than that its work failed."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"BrokenExecutor", "BrokenProcessPool", "KilledWorker"})


def _train_for(main: int, i: int, cells: Cohort, device: str) -> tuple[int, list[Record]]:
    """Train a cohort in a worker process; return its number with its records."""
    if os.getppid() == main:  # not a worker of a cluster
        _end_with(main)  # joblib before 1.5 has no initializer
    return i, train_cohort(cells, device=device, n_jobs=1)


@cache
def _end_with(main: int) -> None:
    """End this process when the one that started it is gone: nobody would take its results."""

    def watch() -> None:
        while os.getppid() == main:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
