"""``alignset methods``: list the methods and what each assumes."""

from __future__ import annotations

import click
import pandas as pd

from alignset.cli import review_options as ask
from alignset.methods.registry import METHODS, describe


@click.command("methods")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def command(as_json: bool) -> None:
    """List the methods: paper, year, assumptions, and use of reviewed rows and groups.

    A method that "needs" reviewed rows cannot be trained without them; one that "takes" them uses
    any there are. Clean labels is not a method: it is standard on a fully reviewed problem.
    """
    found = [describe(name) for name in METHODS]
    if as_json:
        ask.print_json(found)
    else:
        shown = pd.DataFrame(found).astype(str).rename(columns={"alignment": "reviewed"})
        columns = ("name", "paper", "year", "reviewed", "groups", "assumes")
        ask.print_grid(shown, dict(zip(columns, columns, strict=True)))
