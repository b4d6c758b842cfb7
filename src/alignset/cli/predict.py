"""``alignset predict``: predict the true label of each row of a table."""

from __future__ import annotations

from pathlib import Path

import click

from alignset.cli import review_options as ask
from alignset.cli.reading import TableCommand, TableReading, reading_options, tell
from alignset.cli.visible import visible
from alignset.model.folder import load_model
from alignset.model.predict import predict_table
from alignset.model.reading import read_for_model
from alignset.tables.files import check_output, write_table


@click.command("predict", cls=TableCommand)
@click.argument("model", type=ask.PATH)
@ask.table_argument
@ask.out_option("Table to write: .csv, .tsv, .xlsx, .parquet or .feather.")
@click.option(
    "--threshold", type=click.FloatRange(0, 1),
    help="Probability from which --positive is predicted.  [default: the model's, see `alignset "
    "threshold`; without one, the more probable class]",
)  # fmt: skip
@click.option(
    "--positive", metavar="CLASS",
    help="With --threshold: the class that is predicted from it.  [default: that of the model's "
    "threshold, else the second]",
)  # fmt: skip
@ask.overwrite_option
@reading_options
def command(
    model: Path,
    table: Path,
    out: Path,
    threshold: float | None,
    positive: str | None,
    overwrite: bool,
    reading: TableReading,
) -> None:
    """Predict the true label of every row of TABLE with the model folder MODEL.

    TABLE must have the model's columns, in any order; others are ignored. If it also has the
    observed label, every row gets the confidence that this label is right.
    """
    if positive is not None and threshold is None:
        raise click.UsageError("--positive needs --threshold.")
    check_output(out, overwrite=overwrite)
    loaded = load_model(model)
    frame = read_for_model(loaded, table, dialect=reading.dialect, tell=tell())
    predictions = predict_table(loaded, frame, threshold=threshold, positive=positive)
    write_table(predictions.table, out, overwrite=overwrite)
    for note in predictions.notes:
        click.echo(visible(f"note: {note}"))
    click.echo(f"{len(predictions.table)} rows: {out}")
    ask.say_next("monitor", model, table)
