"""``alignset methods``: list the methods and what each assumes."""

from __future__ import annotations

import click
import pandas as pd

from alignset.cli import review_options as ask
from alignset.methods.registry import METHODS, describe


@click.command("methods")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def command(as_json: bool) -> None:
    """List the methods: paper, year, what they assume, whether they use reviewed rows and groups.

    "needs" reviewed rows: it cannot be trained without; "takes": it uses them where there are
    some. Clean labels is no method: it is standard on a fully reviewed problem.
    """
    found = [describe(name) for name in METHODS]
    if as_json:
        ask.print_json(found)
    else:
        shown = pd.DataFrame(found).astype(str).rename(columns={"alignment": "reviewed"})
        columns = ("name", "paper", "year", "reviewed", "groups", "assumes")
        ask.print_grid(shown, dict(zip(columns, columns, strict=True)))
