"""Where cohorts are trained: in this process, in several on this machine, or on a Dask cluster."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]

from alignset.progress import Counter
from alignset.study.cells import Cohort
from alignset.study.records import Record
from alignset.study.training import train_cohort

Results = Iterator[list[Record]]

TIMEOUT = 20
"""Seconds to wait for a Dask scheduler to answer."""


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
        with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1):
            yield from _through_joblib(cohorts, device, counter)


@dataclass(frozen=True)
class Dask(Engine):
    """Train on a Dask cluster; workers get recipes and make or load the data themselves.

    Parameters
    ----------
    address : str
        Address of the scheduler: ``tcp://host:8786``.

    Examples
    --------
    >>> Dask("tcp://127.0.0.1:8786").address
    'tcp://127.0.0.1:8786'
    """

    address: str

    def train(self, cohorts: Sequence[Cohort], *, device: str, counter: Counter) -> Results:
        """Send every cohort to the cluster; if its worker dies, it is sent to another."""
        with closing(_connect(self.address)), parallel_config(backend="dask", n_jobs=-1):
            yield from _through_joblib(cohorts, device, counter)


def _connect(address: str) -> Any:
    try:
        client = import_module("distributed").Client
    except ImportError:
        raise ValueError(
            "the Dask engine needs the package distributed; install alignset[dask]."
        ) from None
    try:
        return client(address, timeout=TIMEOUT)
    except OSError as error:
        raise ValueError(
            f"no Dask scheduler answers at {address} ({error}); start one with "
            "`dask scheduler` and pass the address it prints."
        ) from None


def _through_joblib(cohorts: Sequence[Cohort], device: str, counter: Counter) -> Results:
    jobs = (delayed(train_cohort)(cells, device=device, n_jobs=1) for cells in cohorts)
    parallel = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="all")
    with closing(parallel(jobs)) as results:
        for records in results:
            counter.add(sum(record.cell.replicas for record in records))
            yield records
