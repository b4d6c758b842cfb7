"""``alignset methods``: list the methods and what each assumes."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table as Grid

from alignset.methods.registry import METHODS, Description, describe

FILE_WIDTH = 160
"""Columns where no terminal says how many: one line a method."""


@click.command("methods")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def command(as_json: bool) -> None:
    """List the methods: paper, year, what they assume, whether they use reviewed rows and groups.

    "needs" reviewed rows: it cannot be trained without; "takes": it uses them where there are
    some. Clean labels is no method: it is standard on a fully reviewed problem.
    """
    found = [describe(name) for name in METHODS]
    if as_json:
        click.echo(json.dumps([asdict(about) for about in found], indent=2))
    else:
        _print(found)


def _print(found: list[Description]) -> None:
    grid = Grid("name", "paper", "year", "reviewed", "groups", "assumes", box=None, pad_edge=False)
    for about in found:
        grid.add_row(
            about.name, about.paper, str(about.year), about.alignment, about.groups, about.assumes
        )
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    console.print(grid)
