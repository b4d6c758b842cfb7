"""``alignset sample``: draw a review sheet with known selection probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from alignset.cli import review_options as ask
from alignset.cli.reading import TableCommand, TableReading, grouping_options, reading_options
from alignset.review.sample import sample
from alignset.review.sheet import (
    LABEL_STUDIO_CONFIG,
    Sheet,
    check_json_output,
    write_label_studio,
    write_sheet,
)
from alignset.tables.files import check_output


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
@ask.guess_option
@ask.measure_option(None)
@ask.score_option
@ask.score_b_option
@ask.threshold_option
@ask.between_option
@click.option("--floor", type=click.IntRange(max=10**9), default=1, show_default=True,
              help="Minimum rows from each cell.")  # fmt: skip
@ask.out_option("Sheet: .csv, .tsv or .xlsx.")
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
    **options: Any,
) -> None:
    """Draw N rows of TABLE for review, at random within each group x observed label.

    The sheet is shuffled and gives each row's selection probability. Fill in its empty column
    "reviewed" with the true label or "cannot tell", then add it to TABLE with `alignset join`.

    With --measure, rows are shared out so that the interval of that measure is shortest, in the
    group where it is longest: more rows where the true label is least certain, given the observed
    one and the score. That is learned from rows with a true label (--truth), if there are 20 or
    more, and otherwise follows from --guess. No row's probability is zero.
    """
    aim = ask.take_aim(options)
    check_sheet_outputs(out, tasks, overwrite=overwrite)
    label, named = options["label"], options["group"]
    frame = reading.read(
        table, ids=[options["id"]], label=label, truth=options["truth"], groups=named
    )
    options["group"] = reading.groups(named)
    labels = frame[label].drop_duplicates().tolist() if label in frame else []
    sheet = sample(frame, guess=ask.parse_guess(guess, labels), aim=aim, **options)
    write_outputs(sheet, out, tasks, overwrite=overwrite)


def check_sheet_outputs(out: Path, tasks: Path | None, *, overwrite: bool) -> None:
    """Refuse outputs that cannot be written or read back, before any work is done."""
    if out.suffix.lower() not in (".csv", ".tsv", ".xlsx"):
        raise ValueError(
            f"{out.name} must end in .csv, .tsv or .xlsx, which reviewers can fill in."
        )
    check_output(out, overwrite=overwrite)
    if tasks is not None:
        check_json_output(tasks, overwrite=overwrite)


def write_outputs(
    sheet: Sheet, out: Path, tasks: Path | None, *, overwrite: bool, echo: bool = True
) -> None:
    """Write a sheet, and Label Studio tasks if asked for, and report it if ``echo`` is set."""
    write_sheet(sheet, out, overwrite=overwrite)
    if tasks is not None:
        write_label_studio(sheet, tasks, overwrite=overwrite)
    if not echo:
        return
    chance = sheet.rows["probability"]
    click.echo(
        f"{out}: {len(sheet)} rows to review, wave {sheet.rows['wave'].iloc[0]}, selection "
        f"probabilities {chance.min():.3g} to {chance.max():.3g}"
    )
    if tasks is not None:
        click.echo(f"{tasks}: the same rows as Label Studio tasks; labelling interface:")
        click.echo(LABEL_STUDIO_CONFIG, nl=False)
