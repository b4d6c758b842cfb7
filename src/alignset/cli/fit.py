"""``alignset fit``: from a table to a model folder."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pandas as pd

from alignset.cli.reading import (
    GIVEN,
    TableCommand,
    TableReading,
    grouping_options,
    reading_options,
)
from alignset.cli.review_options import answers_option, print_grid, read_answers_file, say_next
from alignset.cli.visible import visible
from alignset.estimator.names import needs_unreviewed
from alignset.fitting.compare import AUTO, Comparison
from alignset.fitting.fit import Fitted, fit_name, fit_table
from alignset.fitting.held_out import Settings
from alignset.fitting.holdout import Judging
from alignset.fitting.judge import BLEND, ONE_GROUP
from alignset.model.fitted import Model
from alignset.model.folder import EVALUATION, check_folder, save_model
from alignset.progress import progress_bar
from alignset.tables.bins import binned
from alignset.tables.columns import TEXT_CHOICES, choose_columns
from alignset.tables.columns import Choice as TableChoice
from alignset.tables.fates import Fate, column_fates, summary
from alignset.tables.files import hash_file, in_thousands
from alignset.tables.preprocess import fit_preprocessing
from alignset.tables.targets import check_review, read_targets

SETTINGS = ("n_configs", "ensemble", "folds", "seed", "device", "n_jobs", "threshold")
"""Options for training; the others name columns."""
JUDGING = ("holdout_by", "holdout_after", "judge_by")
"""Options that say which rows models are judged on, and by which groups."""

MOST_TOLD = 10
"""Columns of which a fit says what they lose; a dry run lists all."""


@click.command("fit", cls=TableCommand)
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--label", required=True, metavar="COLUMN", help="Observed label.")
@click.option(
    "--truth", required=True, metavar="COLUMN", help="True label; empty in rows not reviewed."
)
@click.option(
    "groups", "--group", multiple=True, metavar="COLUMN", help="Group; repeat to intersect groups."
)
@click.option("--out", type=click.Path(path_type=Path), help="Model folder.  [required without "
              "--dry-run]")  # fmt: skip
@click.option("--method", default=AUTO, show_default=True,
              help="The recommended one, or one of `alignset methods`.")  # fmt: skip
@click.option("n_configs", "--configs", type=click.IntRange(1), default=20, show_default=True,
              help="Random configs to try for each network.")  # fmt: skip
@click.option("--ensemble", type=click.IntRange(1), default=1, show_default=True,
              help="Best configs to average; more give better calibration.")  # fmt: skip
@click.option("--folds", type=click.IntRange(2), default=3, show_default=True,
              help="Parts held out in turn to judge a method other than the blend, which has its "
              "own 5 folds, or for --holdout-by.")  # fmt: skip
@click.option("--threshold", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.5,
              show_default=True, help="Probability from which a row of the rarest class counts as "
              "found, in the comparison.")  # fmt: skip
@click.option("--holdout-by", metavar="COLUMN",
              help="Judge models on whole values of it, such as sites, that they were not trained "
              "on.")  # fmt: skip
@click.option("--holdout-after", metavar="[COLUMN=]DAY",
              help="Judge models on rows after this day, trained on the others.")  # fmt: skip
@click.option("--judge-by", multiple=True, metavar="COLUMN",
              help="Groups to judge models by, if other than --group.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("n_jobs", "--jobs", type=click.IntRange(1), help="CPU cores to use; by default all.")
@click.option("--id", metavar="COLUMN",
              help="Identifies a row, or, without --person, whom it belongs to.")  # fmt: skip
@click.option("--person", metavar="COLUMN",
              help="Whom a row belongs to: a person's rows are held out together.")  # fmt: skip
@answers_option
@click.option("--probability", metavar="COLUMN", help="Probability of selection for review.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="Column not to use.")
@click.option("--categorical", multiple=True, metavar="COLUMN", help="Column of numeric codes.")
@click.option("codes", "--code", multiple=True, metavar="COLUMN",
              help="Column of codes such as ICD-10, if that is not found out.")  # fmt: skip
@click.option("--text", type=click.Choice(TEXT_CHOICES), default="refuse", show_default=True,
              help="What to do with text of too many values: leave it out, hash its words, or keep "
              "the most frequent values.")  # fmt: skip
@click.option("--allow-leak", multiple=True, metavar="COLUMN",
              help="Keep a column that looks like the label or an identifier.")  # fmt: skip
@click.option("--evaluation/--no-evaluation", default=True, show_default=True,
              help="Keep the labels and held-out predictions of reviewed rows in the folder, for "
              "`alignset report`.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only say what becomes of every column.")
@click.option("--overwrite", is_flag=True, help="Replace a model folder.")
@grouping_options
@reading_options
def command(
    table: Path,
    out: Path | None,
    method: str,
    answers: Path | None,
    evaluation: bool,
    dry_run: bool,
    overwrite: bool,
    reading: TableReading,
    **options: Any,
) -> None:
    """Train a model on TABLE and write it to a folder.

    Compares the blend, or the method asked for, with plain models, linear and trees on observed,
    reviewed and both labels, on reviewed rows that none of them was trained on. By default the
    recommended one is then fitted to all rows. Says whether to use it, and for what. The folder is
    written only once everything has succeeded.
    """
    method = fit_name(method)
    if out is not None:
        check_folder(out, overwrite=overwrite)
    elif not dry_run:
        raise click.UsageError("Missing option '--out'.")
    settings = Settings(**{name: options.pop(name) for name in SETTINGS})
    judging = Judging(*(options.pop(name) for name in JUDGING))
    judging = replace(judging, missing_group=reading.missing_group)
    frame, choice = _read(table, reading, options)
    fates = column_fates(frame, choice.kinds, fit_preprocessing(frame, choice.kinds))
    targets = read_targets(frame, choice.columns)
    first = BLEND if method == AUTO else method
    check_review(targets, options["truth"], needs_unreviewed=needs_unreviewed(first))
    if dry_run:
        _print_fates(fates, choice)
        return
    _say_fates(fates, choice)
    about = {"command": _command_line(), "data": _data(table, frame), **reading.to_data()}
    about |= {"texts": texts} if (texts := _texts(options)) else {}
    with progress_bar() as advance:
        fitted = fit_table(
            frame, choice, method=method, settings=settings, about=about, advance=advance,
            answers=read_answers_file(answers), judging=judging,
        )  # fmt: skip
    model = fitted.model if evaluation else replace(fitted.model, evaluation=None)
    assert out is not None
    save_model(model, out, overwrite=overwrite)
    _report(replace(fitted, model=model), out)


def _read(
    table: Path, reading: TableReading, options: dict[str, Any]
) -> tuple[pd.DataFrame, TableChoice]:
    """Read the table, and choose its columns; ranges are groups, and no features."""
    named = options["groups"]
    frame = reading.read(
        table,
        ids=[options["id"], options["person"]],
        texts=_texts(options),
        label=options["label"],
        truth=options["truth"],
        groups=named,
    )
    groups = reading.groups(named)
    ranges = [binned(name) for name, edges in reading.bins.items() if edges]
    asked = {**options, "groups": groups, "ignore": [*options["ignore"], *ranges]}
    return frame, choose_columns(frame, **asked)


def _texts(options: dict[str, Any]) -> list[str]:
    """Return the columns whose cells are names, however much they look like numbers."""
    roles = {options[name] for name in ("label", "truth", "id", "person", "probability")}
    named = (*options["categorical"], *options["codes"])
    return [name for name in dict.fromkeys(named) if name not in roles]


def _print_fates(fates: Sequence[Fate], choice: TableChoice) -> None:
    """Print what becomes of every column."""
    shown = pd.DataFrame([vars(fate) for fate in fates])
    titles = {"name": "column", "holds": "holds", "becomes": "becomes", "lost": "lost"}
    print_grid(shown, titles)
    for note in choice.notes:
        click.echo(visible(f"note: {note}"))
    click.echo("nothing was trained; leave out --dry-run, and name a folder with --out, to fit.")


def _say_fates(fates: Sequence[Fate], choice: TableChoice) -> None:
    """Say in a few lines what becomes of the columns, in full for those that lose something."""
    gone = f"; {len(choice.notes)} left out" if choice.notes else ""
    click.echo(f"columns: {summary(fates)}{gone}; `--dry-run` lists them")
    told = [fate for fate in fates if fate.lost or fate.note]
    for fate in told[:MOST_TOLD]:
        said = "; ".join(part for part in (fate.note, fate.lost) if part)
        click.echo(visible(f"note: column {fate.name!r}: {said}."))
    if len(told) > MOST_TOLD:
        click.echo(f"note: {len(told) - MOST_TOLD} more columns lose something; see --dry-run.")


def _command_line() -> str:
    """Return a command line that repeats this run in the table's folder, defaults included."""
    context = click.get_current_context()
    words, given = ["alignset", "fit"], {**context.params, **context.meta[GIVEN]}
    for param in context.command.params:
        value = given.get(param.name or "")
        if isinstance(param, click.Argument):
            words.append(_shown(value))
        elif isinstance(value, bool):
            words += (param.opts if value else param.secondary_opts)[-1:]
        elif value is not None:
            for each in value if isinstance(value, tuple) else (value,):
                words += [param.opts[-1], _shown(each)]
    return shlex.join(words)


def _shown(value: Any) -> str:
    """Write an option; of a path only the last name, because folders name people and projects."""
    return value.name if isinstance(value, Path) else str(value)


def _data(table: Path, frame: Any) -> dict[str, Any]:
    return {
        "file": table.name,
        "sha256": hash_file(table),
        "rows": len(frame),
        "columns": [str(name) for name in frame.columns],
    }


def _row_level(model: Model) -> str:
    """Say what the folder holds about single rows."""
    if model.evaluation is None:
        return "the folder holds nothing about single rows."
    return (
        f"the folder holds, in {EVALUATION}, the group, both labels and held-out predictions of "
        f"{len(model.evaluation)} reviewed rows, without ids or features; --no-evaluation leaves "
        "them out."
    )


def _report(fitted: Fitted, out: Path) -> None:
    manifest, columns = fitted.model.manifest, fitted.model.columns
    click.echo(
        f"{manifest['rows']['all']} rows, {manifest['rows']['reviewed']} reviewed; "
        f"{len(columns.features)} features, {len(fitted.model.classes)} classes, "
        f"{len(fitted.model.groups)} groups"
    )
    for note in (*fitted.notes, _row_level(fitted.model)):
        click.echo(visible(f"note: {note}"))
    rates = pd.DataFrame([{"group": g, **rate} for g, rate in manifest["noise_rates"].items()])
    rates["counted"] = [
        None if pd.isna(rate) else f"{rate:.3f} ({low:.3f} to {high:.3f})"
        for rate, low, high in zip(rates["rate"], rates["low"], rates["high"], strict=True)
    ]
    titles = {name: name for name in ("group", "reviewed", "wrong")}
    print_grid(rates, {**titles, "counted": "noise rate (95 %)", "modelled": "modelled"})
    if "candidates" in manifest:
        _report_candidates(manifest)
    if fitted.comparison is not None:
        _report_comparison(fitted.comparison)
    for part in ("conclusion", "evidence", "caveat"):
        click.echo(visible(f"{part}: {getattr(fitted.advice, part)}"))
    click.echo(f"model: {out}")
    say_next("report", out, "-o", "report.html")


def _report_candidates(manifest: dict[str, Any]) -> None:
    """Say what a blend is made of; the blend itself is the last row."""
    shown = pd.DataFrame(manifest["candidates"])
    # two decimals say enough about a weight
    shown["weight"] = [f"{weight:.2f}" for weight in shown["weight"]]
    names = {"labels": "labels", "learner": "learner", "weight": "weight"}
    print_grid(shown, {**names, "log_loss": "log loss", "auroc": "AUROC"})
    click.echo(visible(manifest["explained"]))


def _report_comparison(found: Comparison) -> None:
    scores = pd.DataFrame(found.scores).T.map(str).reset_index(names="method")
    sought = f"{found.sought!r} found at {found.threshold:g}"
    of = {"log_loss": "log loss", "auroc": "AUROC", "aueoc": "AUEOC", "found": sought}
    headed = {name: f"{title} (95 %)" for name, title in of.items()}
    print_grid(scores, {"method": "held out", **headed})
    if math.isnan(found.scores[found.asked]["aueoc"].estimate):
        click.echo(f"note: {ONE_GROUP}")
    if found.n_others:
        worth = ", ".join(
            f"{in_thousands(score.worth)} for {of[name]}"
            for name, score in found.scores[found.asked].items()
            if math.isfinite(score.worth)
        )
        click.echo(
            f"reviewed {in_thousands(found.n_rows)}, worth {worth}: the observed labels of "
            f"{in_thousands(found.n_others)} other rows count too"
        )
    click.echo(visible(found.sentence))
