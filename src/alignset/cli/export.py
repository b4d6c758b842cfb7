"""``alignset export``: write a model in a format that other runtimes read."""

from __future__ import annotations

from pathlib import Path

import click

from alignset.model.export import check_onnx, export_onnx
from alignset.model.folder import load_model


@click.command("export")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--onnx", required=True, type=click.Path(path_type=Path), metavar="FILE",
              help="ONNX file to write.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
def command(model: Path, onnx: Path, overwrite: bool) -> None:
    """Export the model folder MODEL to ONNX, if onnxruntime gives the same answers as alignset.

    The graph reads the table's columns: numbers as double (NaN where missing, dates as days since
    1970-01-01), text as string ("" where missing).
    """
    check_onnx(onnx, overwrite=overwrite)
    loaded = load_model(model)
    off = export_onnx(loaded, onnx, overwrite=overwrite)
    if loaded.recalibration is not None:
        click.echo(
            "note: the graph knows no groups, so its probabilities are not recalibrated; its "
            "metadata say how to do that ('recalibration')."
        )
    click.echo(f"{onnx}: onnxruntime's probabilities differ by at most {off:.1g}")
