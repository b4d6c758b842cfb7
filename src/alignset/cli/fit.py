"""``alignset fit``: from a table to a model folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
import pandas as pd

from alignset.cli.review_options import print_grid
from alignset.fitting.fit import Fitted, fit_table
from alignset.fitting.held_out import Settings
from alignset.methods.registry import describe
from alignset.model.folder import check_folder, save_model
from alignset.progress import progress_bar
from alignset.tables.columns import choose_columns
from alignset.tables.files import hash_file, read_table

SETTINGS = ("n_configs", "ensemble", "folds", "seed", "device", "n_jobs")
"""Options that say how to train; the others name columns."""


@click.command("fit")
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--label", required=True, metavar="COLUMN", help="Observed label.")
@click.option(
    "--truth", required=True, metavar="COLUMN", help="True label, empty where not reviewed."
)
@click.option(
    "groups", "--group", multiple=True, metavar="COLUMN", help="Several mean their intersections."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Model folder.")
@click.option("--method", default="joint", show_default=True, help="See `alignset methods`.")
@click.option("n_configs", "--configs", type=click.IntRange(1), default=20, show_default=True,
              help="Size of the random search of every model.")  # fmt: skip
@click.option("--ensemble", type=click.IntRange(1), default=1, show_default=True,
              help="Average so many of the best configs: better calibrated.")  # fmt: skip
@click.option("--folds", type=click.IntRange(2), default=3, show_default=True,
              help="Parts of the reviewed rows; models score what they did not see.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("n_jobs", "--jobs", type=click.IntRange(1), help="Cores; all if left out.")
@click.option("--id", metavar="COLUMN", help="Who a row belongs to; never a feature.")
@click.option("--probability", metavar="COLUMN", help="Of having been chosen for review.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave a column alone.")
@click.option("--categorical", multiple=True, metavar="COLUMN", help="Numbers that are codes.")
@click.option("--allow-leak", multiple=True, metavar="COLUMN",
              help="Keep a column that looks like the label or an identifier.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace a model folder.")
def command(table: Path, out: Path, method: str, overwrite: bool, **options: Any) -> None:
    """Train a model on TABLE and write it to a folder.

    Compares the method with simpler ones on reviewed rows none of them was trained on, and says
    which to use. The folder appears when all is done, or not at all.
    """
    method = describe(method).name
    check_folder(out, overwrite=overwrite)
    settings = Settings(**{name: options.pop(name) for name in SETTINGS})
    frame = read_table(table)
    choice = choose_columns(frame, **options)
    about = {"command": _command_line(), "data": _data(table, frame)}
    with progress_bar() as advance:
        fitted = fit_table(
            frame, choice, method=method, settings=settings, about=about, advance=advance
        )
    save_model(fitted.model, out, overwrite=overwrite)
    _report(fitted, out)


def _command_line() -> str:
    """Write the command as it could be given again, defaults included."""
    context = click.get_current_context()
    words = ["alignset", "fit"]
    for param in context.command.params:
        value = context.params.get(param.name or "")
        if isinstance(param, click.Argument):
            words.append(str(value))
        elif isinstance(value, bool):
            words += [param.opts[-1]] if value else []
        elif value is not None:
            for each in value if isinstance(value, tuple) else (value,):
                words += [param.opts[-1], str(each)]
    return shlex.join(words)


def _data(table: Path, frame: Any) -> dict[str, Any]:
    return {
        "file": table.name,
        "sha256": hash_file(table),
        "rows": len(frame),
        "columns": [str(name) for name in frame.columns],
    }


def _report(fitted: Fitted, out: Path) -> None:
    manifest, columns = fitted.model.manifest, fitted.model.columns
    click.echo(
        f"{manifest['rows']['all']} rows, {manifest['rows']['reviewed']} reviewed; "
        f"{len(columns.features)} features, {len(fitted.model.classes)} classes, "
        f"{len(fitted.model.groups)} groups"
    )
    for note in fitted.notes:
        click.echo(f"note: {note}")
    rates = pd.DataFrame([{"group": g, **rate} for g, rate in manifest["noise_rates"].items()])
    rates["counted"] = [
        None if pd.isna(rate) else f"{rate:.3f} ({low:.3f} to {high:.3f})"
        for rate, low, high in zip(rates["rate"], rates["low"], rates["high"], strict=True)
    ]
    titles = {name: name for name in ("group", "reviewed", "wrong")}
    print_grid(rates, {**titles, "counted": "noise rate (95 %)", "modelled": "modelled"})
    if fitted.comparison is not None:
        scores = pd.DataFrame(fitted.comparison.scores).T.map(str).reset_index(names="method")
        of = {"auroc": "AUROC", "aueoc": "AUEOC", "hm": "harmonic mean"}
        headed = {name: f"{title} (95 %)" for name, title in of.items()}
        print_grid(scores, {"method": "held out", **headed})
        click.echo(fitted.comparison.sentence)
    click.echo(f"model: {out}")
