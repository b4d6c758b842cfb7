"""Run experiments: train what the store does not have yet, and keep every cohort's records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from alignset.progress import Counter, Progress
from alignset.stack.kernels import wait_for_c
from alignset.study.cells import REPLICAS, expand, group_cells
from alignset.study.engines import Engine, Local
from alignset.study.records import Cell
from alignset.study.spec import Experiment
from alignset.study.store import Store

Say = Callable[[str], object]
"""Called with one line for the reader."""


@dataclass(frozen=True)
class Outcome:
    """What a run did: cells trained now, already there, failed in total, and data sets skipped.

    Examples
    --------
    >>> Outcome(trained=10, had=5, failed=1, skipped={}).good
    False
    """

    trained: int
    had: int
    failed: int
    skipped: dict[str, str]

    @property
    def good(self) -> bool:
        """Whether no cell failed."""
        return self.failed == 0


def run(
    experiments: Experiment | Sequence[Experiment],
    store: Store,
    *,
    device: str = "cpu",
    engine: Engine | None = None,
    progress: Progress | None = None,
    say: Say = lambda _: None,
    quick: bool = False,
    replicas: int | None = None,
    retry: bool = False,
    replace: bool = False,
) -> Outcome:
    """Train every cell that the store does not have.

    Parameters
    ----------
    experiments : Experiment or sequence of Experiment
    store : Store
        Each cohort is written to it in one transaction, so that a run can be killed at any
        moment and started again.
    device : {"cpu", "cuda"}, default="cpu"
    engine : Engine, optional
        ``Local(jobs)``, the default, or ``Dask(address)``.
    progress : Progress, optional
        Called with ("training", replicas trained, replicas to train).
    say : callable, optional
        Called with a line about each data set that is skipped and each cell that fails.
    quick : bool, default=False
        2 seeds, 4 configs, at most 3 settings of each experiment.
    replicas : int, optional
        Replicas to train and save together; by default 200 on a CPU and 2 000 on a GPU.
    retry : bool, default=False
        Train failed cells again; otherwise a failure is a result.
    replace : bool, default=False
        Drop rows of the same name that were made with different settings, instead of refusing.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run([], Store(folder + "/results.sqlite"))
    Outcome(trained=0, had=0, failed=0, skipped={})
    """
    chosen = [experiments] if isinstance(experiments, Experiment) else list(experiments)
    grids, skipped = _expand_all([e.quick() for e in chosen] if quick else chosen, say)
    cells = [cell for grid in grids for cell in grid]
    _refuse_strangers(store, cells, replace)
    limit = replicas or REPLICAS[device]
    cohorts = [cohort for grid in grids for cohort in group_cells(grid, limit=limit)]
    known = {k for k, status in store.statuses().items() if not (retry and status == "failed")}
    missing = [[cell for cell in cohort if cell.key not in known] for cohort in cohorts]
    missing = [cohort for cohort in missing if cohort]
    total = sum(cell.replicas for cohort in missing for cell in cohort)
    counter = Counter(progress, "training", total)
    trained = 0
    if missing:
        store.check_writable()
        wait_for_c()
    results = (engine or Local()).train(missing, device=device, counter=counter)
    with closing(results), _memory_told():  # type: ignore[type-var]
        for records in results:
            store.add(records, replace=replace)
            trained += len(records)
            for record in records:
                if record.status == "failed":
                    say(f"failed: {record.cell}: {record.reason}")
    statuses = store.statuses()
    failed = sum(statuses.get(cell.key) == "failed" for cell in cells)
    return Outcome(trained, len(cells) - trained, failed, skipped)


@contextmanager
def _memory_told() -> Iterator[None]:
    """Say what to do when a cohort does not fit into memory."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        told = str(error).partition("\n")[0][:200]
        if not isinstance(error, MemoryError) and not _NO_MEMORY.search(told):
            raise
        raise OSError(
            f"there is not enough memory ({told}); what was trained is kept: use fewer --replicas "
            "or --jobs, or fewer rows and a smaller hidden in the spec."
        ) from None


_NO_MEMORY = re.compile("allocate memory|out of memory|overflow|too large|Storage size", re.I)
"""How torch says that a tensor cannot be made."""


def _expand_all(
    experiments: Sequence[Experiment], say: Say
) -> tuple[list[list[Cell]], dict[str, str]]:
    grids, skipped = [], {}
    for experiment in experiments:
        cells, absent = expand(experiment)
        grids.append(cells)
        for dataset, reason in absent.items():
            if dataset not in skipped:
                say(f"skipped data set {dataset}: {reason}.")
        skipped.update(absent)
    return grids, skipped


def _refuse_strangers(store: Store, cells: Sequence[Cell], replace: bool) -> None:
    found = 0 if replace else store.strangers(cells)
    if found:
        raise ValueError(
            f"{store.path} has {found} of these {len(cells)} cells, made with other settings "
            "(another number of configs, other ranges, another version of alignset); use another "
            "store, or replace them (--replace)."
        )
