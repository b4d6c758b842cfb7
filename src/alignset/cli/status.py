"""``alignset status``: show what a store has, and what it still lacks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click
import pandas as pd
from rich.console import Console
from rich.table import Table as Grid

from alignset.cli.run import STORE
from alignset.study.cells import expand
from alignset.study.spec import load_experiments
from alignset.study.store import Store


@click.command("status")
@click.argument("path", metavar="STORE|SPEC", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    default=STORE,
    show_default=True,
    help="Store to search for the cells of SPEC.",
)
@click.option("--protocol", help="Overrides the one in SPEC.")
@click.option("--check", is_flag=True, help="Verify every row of STORE; list what is damaged.")
@click.option(
    "--rescue", type=click.Path(path_type=Path), help="Copy the intact rows of STORE to this file."
)
def command(
    path: Path, store: Path, protocol: str | None, check: bool, rescue: Path | None
) -> int | None:
    """Show what a STORE has, or which cells of a SPEC it has and lacks; list failures.

    With --check, exit code 1 means that a row is not as it was written.
    """
    if check or rescue is not None:
        if path.suffix == ".toml":
            raise click.UsageError("--check and --rescue take a STORE, not a SPEC.")
        return _check(Store(path), rescue)
    if path.suffix == ".toml":
        _show_spec(path, Store(store), protocol)
        return None
    _show_store(Store(path).frame())
    return None


def _check(store: Store, rescue: Path | None) -> int:
    found = store.damage()
    for line in found:
        click.echo(line)
    if rescue is not None:
        kept, lost = store.rescue(rescue)
        more = f", {lost} or more were damaged" if lost else ""
        click.echo(f"{rescue}: {kept} intact rows of {store.path}{more}")
    elif not found:
        click.echo(f"{store.path}: every row is as it was written")
    return int(bool(found))


def _show_store(frame: pd.DataFrame) -> None:
    grid = Grid("experiment", "protocol", "data set", "done", "failed", "hours", box=None)
    for (experiment, rules, dataset), rows in frame.groupby(["experiment", "protocol", "dataset"]):
        counts = rows["status"].value_counts()
        grid.add_row(
            *(str(experiment), str(rules), str(dataset)),
            *(str(counts.get("done", 0)), str(counts.get("failed", 0))),
            f"{rows['seconds'].sum() / 3600:.2f}",
        )
    Console(soft_wrap=True, markup=False, emoji=False).print(grid)
    _list_failures(frame)


def _show_spec(path: Path, store: Store, protocol: str | None) -> None:
    grid = Grid("experiment", "protocol", "cells", "done", "failed", "missing", box=None)
    statuses, wanted = store.statuses(), set()
    skipped: dict[str, str] = {}
    for experiment in load_experiments(path, protocol=protocol):
        cells, absent = expand(experiment)
        skipped |= absent
        wanted |= {cell.key for cell in cells}
        counts = Counter(statuses.get(cell.key, "missing") for cell in cells)
        numbers = (len(cells), counts["done"], counts["failed"], counts["missing"])
        grid.add_row(experiment.name, experiment.protocol.name, *map(str, numbers))
    Console(soft_wrap=True, markup=False, emoji=False).print(grid)
    for dataset, reason in sorted(skipped.items()):
        click.echo(f"not counted: data set {dataset}: {reason}.")
    if wanted & set(statuses):
        frame = store.frame()
        _list_failures(frame[frame["key"].isin(wanted)])


def _list_failures(frame: pd.DataFrame) -> None:
    for row in frame[frame["status"] == "failed"].itertuples():
        click.echo(
            f"failed: {row.experiment} {row.protocol} {row.dataset} {row.method} "
            f"{row.x_name}={row.x:g} seed {row.seed}: {row.reason}"
        )
