"""``alignset plan``: work out how many rows to review in each cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from alignset.cli import review_options as ask
from alignset.review.plan import Plan, plan
from alignset.rows.percent import percent
from alignset.tables.files import read_table


@click.command("plan")
@ask.table_argument
@click.option("--label", required=True, metavar="COLUMN", help="Observed label.")
@ask.group_option
@click.option("--precision", type=float, default=0.05, show_default=True, help="Half-width wanted.")
@ask.level_option
@ask.guess_option
@ask.interval_option
@click.option("--budget", type=int, help="Rows you can review; shows what they buy.")
@ask.allocation_option
@click.option("--floor", default=10, show_default=True, help="Minimum rows from each cell.")
@ask.json_option
def command(table: Path, guess: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Work out how many rows of TABLE to review to know each group's noise rate.

    The noise rate is the share of observed labels that are wrong. "needed" is enough if the guess
    is right, "at worst" whatever is found. No file is written.
    """
    label = options["label"]
    frame = read_table(table, columns=list(dict.fromkeys([label, *options["group"]])))
    rates = ask.parse_guess(guess, frame[label].drop_duplicates().tolist())
    made = plan(frame, guess=rates, **options)
    if as_json:
        more = ("total", "total_at_worst", "warnings", "findings")
        told = {**vars(made), **{name: getattr(made, name) for name in more}}
        ask.print_json(told)
    else:
        _print(made)


def _print(made: Plan) -> None:
    budget = {"within_budget": "budget"} if made.budget else {}
    width = {"budget_half_width": "+- with it"} if made.budget else {}
    needed = {"rows": "rows", "needed": "needed", "needed_at_worst": "at worst"}
    ask.print_grid(made.group_frame(), {"group": "group", **needed, **budget, **width})
    ask.say("")
    ask.print_grid(made.frame(), {"group": "group", "label": "observed", **needed, **budget})
    ask.say("")
    ask.say(
        f"Review {made.total} rows to know each group's noise rate within {made.precision:g} "
        f"either way ({percent(made.level)} intervals) if the guess is right, "
        f"{made.total_at_worst} whatever is found."
    )
    for text in made.warnings:
        ask.say(f"warning: {text}")
    for text in made.findings:
        ask.say(f"note: {text}")
