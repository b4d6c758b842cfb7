"""``alignset join``: add what reviewers found to the table."""

from __future__ import annotations

from pathlib import Path

import click

from alignset.cli import review_options as ask
from alignset.cli.reading import TableCommand, TableReading, reading_options
from alignset.review.join import join
from alignset.review.sheet import REVIEWED, read_reviews
from alignset.tables.files import check_output, write_table


@click.command("join", cls=TableCommand)
@click.argument("sheet", type=ask.PATH)
@ask.table_argument
@click.option("--label", required=True, metavar="COLUMN", help="Observed label.")
@click.option("--truth", default=REVIEWED, show_default=True, metavar="COLUMN",
              help="Column for the true labels.")  # fmt: skip
@ask.out_option("Table with reviews.")
@ask.overwrite_option
@reading_options
def command(
    sheet: Path,
    table: Path,
    label: str,
    truth: str,
    out: Path,
    overwrite: bool,
    reading: TableReading,
) -> None:
    """Add the answers in SHEET to the TABLE it was drawn from.

    SHEET is the filled-in CSV or TSV, or a JSON or JSON-MIN export from Label Studio. The result
    has the columns "reviewed" (the true label, empty where unknown), "stratum", "wave" and
    "probability", which `alignset fit` and `alignset audit` use. If TABLE has them from earlier
    sheets, the new answers are added.
    """
    check_output(out, overwrite=overwrite)
    reviews = read_reviews(sheet)
    frame = reading.read(table, ids=[reviews.id_column], label=label, truth=truth)
    joined = join(frame, reviews, label=label, truth=truth)
    write_table(joined.table, out, overwrite=overwrite)
    click.echo(
        f"{out}: {joined.n_reviewed} rows reviewed, {joined.n_cannot_tell} where the reviewer "
        f"could not tell, {joined.n_open} without an answer"
    )
