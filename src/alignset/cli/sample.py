"""``alignset sample``: draw a review sheet with known selection probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pandas as pd

from alignset.cli import review_options as ask
from alignset.cli.reading import (
    TableCommand,
    TableReading,
    grouping_options,
    reading_options,
    tell,
)
from alignset.review.aim import Aim
from alignset.review.design import proportional
from alignset.review.label_studio import (
    LABEL_STUDIO_CONFIG,
    check_json_output,
    write_label_studio,
)
from alignset.review.plan import for_precision
from alignset.review.sample import sample
from alignset.review.sheet import (
    Sheet,
    check_reviewers,
    check_sheet_output,
    share_sheet,
    write_shared,
    write_sheet,
)
from alignset.review.sidecar import design_path
from alignset.review.verbatim import show_verbatim


@click.command("sample", cls=TableCommand)
@ask.table_argument
@click.option("--n", type=int, required=True, help="Rows to draw.")
@click.option("--label", metavar="COLUMN", help="Observed label: sets the strata and the choices.")
@ask.group_option
@click.option("--truth", metavar="COLUMN", help="True label; draw only rows without one.")
@ask.id_option
@ask.show_option
@click.option("--show-label", is_flag=True, help="Show the observed label to the reviewer.")
@ask.allocation_option
@click.option("--precision", type=float, help="Share rows out as `alignset plan` does for this "
              "half-width, instead of by --allocation.")  # fmt: skip
@ask.assurance_option
@ask.expected_option
@ask.level_option
@ask.interval_option
@ask.guess_option
@ask.measure_option(None)
@ask.score_option
@ask.score_b_option
@ask.threshold_option
@ask.between_option
@click.option("--floor", type=click.IntRange(max=10**9), default=1, show_default=True,
              help="Minimum rows from each cell.")  # fmt: skip
@ask.out_option("Sheet: .csv, .tsv or .xlsx.")
@click.option(
    "--reviewers",
    metavar="NAME,NAME,...",
    default="",
    help="One sheet for each of them: NAME becomes part of its file's name.",
)
@click.option("--twice", type=click.FloatRange(0, 1), default=0.0, metavar="SHARE",
              help="With --reviewers: share of rows that two of them review.")  # fmt: skip
@ask.label_studio_option
@ask.seed_option
@ask.overwrite_option
@grouping_options
@reading_options
def command(
    table: Path,
    guess: tuple[str, ...],
    out: Path,
    tasks: Path | None,
    overwrite: bool,
    reading: TableReading,
    reviewers: str,
    twice: float,
    **options: Any,
) -> None:
    """Draw N rows of TABLE for review, at random within each group x observed label.

    The sheet is shuffled. How its rows were drawn would tell reviewers the observed label, so it
    is in a file beside the sheet, NAME.design.json, which stays with you. Have the sheet filled in
    on a page of its own (`alignset review`) or as a spreadsheet: its column "reviewed" takes the
    true label or "cannot tell". Then add it to TABLE with `alignset join`.

    With --measure, rows are shared out so that the interval of that measure is shortest, in the
    group where it is longest: more rows where the true label is least certain, given the observed
    one and the score. That is learned from rows with a true label (--truth), if there are 20 or
    more, and otherwise follows from --guess. No row's probability is zero.
    """
    aim = ask.take_aim(options)
    _take_precision(options, aim)
    people = check_reviewers([name.strip() for name in reviewers.split(",") if name.strip()])
    if twice and not people:
        raise click.UsageError("--twice needs --reviewers.")
    if tasks is not None and people:
        raise click.UsageError("--label-studio shares tasks out itself; leave out --reviewers.")
    check_sheet_outputs(out, tasks, people, overwrite=overwrite)
    label, named = options["label"], options["group"]
    frame = reading.read(
        table, ids=[options["id"]], label=label, truth=options["truth"], groups=named
    )
    options["group"] = reading.groups(named)
    labels = frame[label].drop_duplicates().tolist() if label in frame else []
    _say_if_shown(label, options["show"])
    sheet = sample(frame, guess=ask.parse_guess(guess, labels), aim=aim, **options)
    sheet = as_shown(sheet, frame, reading.cells(table, options["show"]))
    if not people:
        write_outputs(sheet, out, tasks, overwrite=overwrite)
        return
    shared = share_sheet(sheet, people, twice=twice, random_state=options["random_state"])
    places = write_shared(sheet, shared, out, overwrite=overwrite)
    for name, place in places.items():
        click.echo(f"{place}: {len(shared[name])} rows for {name}")
    double = sum(map(len, shared.values())) - len(sheet)
    click.echo(f"{_about(sheet, out)}; {double} of {len(sheet)} rows are reviewed twice")
    ask.say_next("review", next(iter(places.values())))


def _say_if_shown(label: str | None, shown: Sequence[str]) -> None:
    """Say that a sheet is not blind, unless that was asked for by name."""
    if label in shown:
        tell()(
            f"reviewers see {label!r}, the observed label, and may follow it; leave out --show "
            f"{label} to have them decide for themselves."
        )


def _take_precision(options: dict[str, Any], aim: Aim | None) -> None:
    """Make an allocation of the options about a plan's precision."""
    planned = {name: options.pop(name) for name in ("precision", "level", "assurance", "rule")}
    expected = options.pop("expected")
    if planned["precision"] is None:
        return
    if aim is not None or options["allocation"] is not proportional:
        raise click.UsageError("--precision says how to share rows out; so does --allocation or "
                               "--measure: pass one of them.")  # fmt: skip
    planned |= {"assurance": None} if expected else {}
    options["allocation"] = for_precision(**planned)


def as_shown(sheet: Sheet, table: pd.DataFrame, cells: pd.DataFrame) -> Sheet:
    """Return a sheet with the cells that its reviewers see as the table's file has them."""
    return replace(sheet, rows=show_verbatim(sheet.rows, table, cells))


def check_sheet_outputs(
    out: Path, tasks: Path | None, reviewers: tuple[str, ...] = (), *, overwrite: bool
) -> None:
    """Refuse outputs that cannot be written or read back, before any work is done."""
    check_sheet_output(out, reviewers, overwrite=overwrite)
    if tasks is not None:
        check_json_output(tasks, overwrite=overwrite)


def _about(sheet: Sheet, out: Path) -> str:
    chance = sheet.rows["probability"]
    return (
        f"{design_path(out)}: how they were drawn, not for reviewers: wave "
        f"{sheet.rows['wave'].iloc[0]}, selection probabilities {chance.min():.3g} to "
        f"{chance.max():.3g}"
    )


def write_outputs(
    sheet: Sheet, out: Path, tasks: Path | None, *, overwrite: bool, echo: bool = True
) -> None:
    """Write a sheet, and Label Studio tasks if asked for, and report it if ``echo`` is set."""
    write_sheet(sheet, out, overwrite=overwrite)
    if tasks is not None:
        write_label_studio(sheet, tasks, overwrite=overwrite)
    if not echo:
        return
    click.echo(f"{out}: {len(sheet)} rows to review")
    click.echo(_about(sheet, out))
    if tasks is not None:
        click.echo(f"{tasks}: the same rows as Label Studio tasks; labelling interface:")
        click.echo(LABEL_STUDIO_CONFIG, nl=False)
    ask.say_next("review", out)
