"""``alignset predict``: what a model says of a table's rows."""

from __future__ import annotations

from pathlib import Path

import click

from alignset.cli import review_options as ask
from alignset.model.folder import load_model
from alignset.model.predict import predict_table
from alignset.tables.files import check_output, read_table, write_table


@click.command("predict")
@click.argument("model", type=ask.PATH)
@ask.table_argument
@ask.out_option("Table to write: .csv, .tsv, .parquet or .feather.")
@ask.overwrite_option
def command(model: Path, table: Path, out: Path, overwrite: bool) -> None:
    """Predict the true label of every row of TABLE with the model folder MODEL.

    TABLE has the model's columns, in any order; others are ignored. Where it has the observed
    label too, every row gets the confidence that it is right.
    """
    check_output(out, overwrite=overwrite)
    loaded = load_model(model)
    predictions = predict_table(loaded, read_table(table))
    write_table(predictions.table, out, overwrite=overwrite)
    for note in predictions.notes:
        click.echo(f"note: {note}")
    click.echo(f"{len(predictions.table)} rows: {out}")
