"""``alignset methods``: list the methods and what each assumes."""

from __future__ import annotations

import click
import pandas as pd

from alignset.cli import review_options as ask
from alignset.estimator.names import listed
from alignset.extras import how_to_add, installed
from alignset.methods.registry import METHODS, describe


@click.command("methods")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def command(as_json: bool) -> None:
    """List what can be asked for: the blend and its parts, and the methods that train networks.

    A blend is fitted to labels of several kinds by several learners and weighted by reviewed rows;
    a label strategy or a learner stands for its candidates alone, and both together, such as
    observed_linear, for one of them. A method has a paper, a year and assumptions.

    `alignset fit` takes "auto", too, its default: the blend, unless a plain model beats it.

    One that "needs" reviewed rows cannot be trained without them; one that "takes" them uses
    any there are. Clean labels is not a method: it is standard on a fully reviewed problem.
    """
    blends, found = listed(), [describe(name) for name in METHODS]
    if as_json:
        ask.print_json([*blends, *found])
        return
    parts = pd.DataFrame(blends).astype({"year": "Int64"}).astype(str).replace("<NA>", "")
    shown = pd.DataFrame(found).astype(str)
    for frame, last in ((parts, "fits"), (shown, "assumes")):
        columns = ("name", "paper", "year", "reviewed", *(["groups"] * (last == "assumes")), last)
        titled = frame.rename(columns={"alignment": "reviewed"})
        ask.print_grid(titled, dict(zip(columns, columns, strict=True)))
        if frame is parts:
            click.echo()
    if not installed("torch"):
        how = how_to_add("torch")
        click.echo(f"note: the second list trains networks, which need torch; run {how} to add it.")
