"""``alignset run``: train the cells of experiments in TOML files that a store still lacks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from alignset.extras import torch
from alignset.progress import Progress, progress_bar
from alignset.study.engines import Dask, Engine, Local
from alignset.study.run import Outcome, run
from alignset.study.spec import Experiment, load_experiments
from alignset.study.store import Store

_PEM = click.Path(exists=True, dir_okay=False)
STORE, QUICK_STORE = Path("results/alignset.sqlite"), Path("results/quick.sqlite")


def _say(text: str) -> None:
    """Write a line to standard error, above any progress bar."""
    sys.stderr.write(f"{text}\n")


class _Lines:
    """Reports progress with a line now and then, where no bar can be shown."""

    def __init__(self, every: float = 30.0) -> None:
        self.every = every
        self.begun = self.said = time.monotonic()

    def __call__(self, what: str, done: float, total: float) -> None:
        del what
        now = time.monotonic()
        if done and now - self.said >= self.every:
            self.said, spent = now, now - self.begun
            left = spent * (total - done) / done
            _say(f"{done} of {total} trainings in {_clock(spent)}, about {_clock(left)} left")


@contextmanager
def _screen() -> Iterator[Progress]:
    """Show progress on standard error: a bar on a terminal, else a line now and then."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    with progress_bar() as show:
        yield lambda what, done, total: show(f"{what} {done} of {total}", done, total)


def _clock(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {whole % 60:02} s"


@click.command("run")
@click.argument(
    "specs",
    nargs=-1,
    required=True,
    metavar="SPEC...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option("--quick", is_flag=True, help="2 seeds, 4 configs, at most 3 settings.")
@click.option("--protocol", help="Overrides the one in SPEC: as-written or as-released.")
@click.option("--only", metavar="NAMES", help="Data sets to run, with commas: mimic_arf,adult.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--jobs", type=click.IntRange(1), help="Processes to use; by default one per core.")
@click.option("--engine", type=click.Choice(["local", "dask"]), default="local", show_default=True)
@click.option("--address", help="Dask scheduler: tls://HOST:PORT, or tcp:// (unprotected).")
@click.option("--tls-ca", type=_PEM, help="For tls://: the authority that signed all certificates.")
@click.option("--tls-cert", type=_PEM, help="For tls://: this machine's certificate.")
@click.option("--tls-key", type=_PEM, help="For tls://: its key.")
@click.option(
    "--store",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"File for the results.  [default: {STORE}; {QUICK_STORE} with --quick]",
)
@click.option(
    "--replicas", type=click.IntRange(1), help="Trainings to run and save together; 200 on a CPU."
)
@click.option("--retry-failed", is_flag=True, help="Train failed cells again.")
@click.option("--replace", is_flag=True, help="Replace results made with other settings.")
def command(
    specs: tuple[Path, ...],
    quick: bool,
    protocol: str | None,
    only: str | None,
    device: str,
    jobs: int | None,
    engine: str,
    address: str | None,
    store: Path | None,
    replicas: int | None,
    retry_failed: bool,
    replace: bool,
    **tls: str | None,
) -> int:
    """Train the cells of the experiments in SPEC files that the store does not have yet.

    You can stop or kill a run at any time: the same command resumes it. Exit code 1 means that a
    cell failed; the results of the others are kept.
    """
    chosen = _engine(engine, address, jobs, tls)
    _check_device(device, chosen)
    kept = Store(store or (QUICK_STORE if quick else STORE))
    experiments = [e for path in specs for e in load_experiments(path, protocol=protocol)]
    experiments = _keep(experiments, only)
    with _screen() as progress:
        try:
            outcome = run(
                experiments,
                kept,
                device=device,
                engine=chosen,
                progress=progress,
                say=_say,
                quick=quick,
                replicas=replicas,
                retry=retry_failed,
                replace=replace,
            )
        except KeyboardInterrupt:
            n = len(kept.statuses())
            _say(f"stopped; {kept.path} has {n} cells; run the same command to resume.")
            raise
    click.echo(_summary(outcome, kept, quick))
    return int(not outcome.good)


def _engine(name: str, address: str | None, jobs: int | None, tls: dict[str, str | None]) -> Engine:
    if name == "local":
        if address is not None or any(tls.values()):
            raise click.UsageError("--address and --tls-... need --engine dask.")
        return Local(jobs)
    if address is None:
        raise click.UsageError("--engine dask needs --address tls://HOST:PORT or tcp://HOST:PORT.")
    if address.startswith("tls://") and not all(tls.values()):
        raise click.UsageError(f"{address} needs --tls-ca, --tls-cert and --tls-key.")
    chosen = Dask(address, tls["tls_ca"], tls["tls_cert"], tls["tls_key"])
    if chosen.exposed:
        _say(
            f"note: {address} is neither encrypted nor authenticated: whoever can reach it can run "
            "code as the user of its workers; docs/cluster.md shows how to use tls://."
        )
    return chosen


def _keep(experiments: list[Experiment], only: str | None) -> list[Experiment]:
    """Keep the data sets that are named; refuse a name that no experiment has."""
    if only is None:
        return experiments
    names = only.split(",")
    known = list(dict.fromkeys(name for e in experiments for name in e.datasets))
    for name in names:
        if name not in known:
            raise ValueError(f"--only has {name!r}; the specs have {', '.join(known)}.")
    return [kept for e in experiments if (kept := e.only(names)).datasets]


def _check_device(device: str, engine: Engine) -> None:
    """Refuse a GPU that this machine does not have, unless others do the work."""
    if device == "cuda" and isinstance(engine, Local) and not torch.cuda.is_available():
        raise ValueError("this machine has no CUDA device that torch can use; leave out --device.")


def _summary(outcome: Outcome, store: Store, quick: bool) -> str:
    parts = [f"{outcome.trained} cells trained", f"{outcome.had} already there"]
    if outcome.failed:
        parts.append(f"{outcome.failed} failed (`alignset status {store.path}` says why)")
    if outcome.skipped:
        parts.append(f"data sets skipped: {', '.join(sorted(outcome.skipped))}")
    note = " (quick: 2 seeds, 4 configs, at most 3 settings)" if quick else ""
    return f"{store.path}{note}: {', '.join(parts)}"
