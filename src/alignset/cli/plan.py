"""``alignset plan``: how many rows to review, in which cells."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from alignset.cli.review_options import (
    ALLOCATIONS,
    INTERVALS,
    group_option,
    guess_option,
    interval_option,
    json_option,
    level_option,
    parse_guess,
    plain,
    print_grid,
    say,
    table_argument,
)
from alignset.review.plan import Plan, plan
from alignset.tables.files import read_table


@click.command("plan")
@table_argument
@click.option("--label", required=True, metavar="COLUMN", help="Observed label.")
@group_option
@click.option("--precision", type=float, default=0.05, show_default=True, help="Half-width.")
@level_option
@guess_option
@interval_option
@click.option("--budget", type=int, help="Rows that can be reviewed: what do they buy?")
@click.option(
    "--allocation",
    type=click.Choice(list(ALLOCATIONS)),
    default="proportional",
    show_default=True,
    help="How the budget is shared out over cells.",
)
@click.option(
    "--floor", type=int, default=10, show_default=True, help="Rows of each cell at least."
)
@json_option
def command(
    table: Path,
    label: str,
    group: tuple[str, ...],
    precision: float,
    level: float,
    guess: tuple[str, ...],
    interval: str,
    budget: int | None,
    allocation: str,
    floor: int,
    as_json: bool,
) -> None:
    """Say how many rows of TABLE to review so that each group's noise rate is known.

    The noise rate is the share of observed labels that are wrong. "needed" holds if the guess is
    right, "at worst" whatever is found. Nothing is written.
    """
    frame = read_table(table, columns=list(dict.fromkeys([label, *group])))
    made = plan(
        frame,
        label=label,
        group=group,
        precision=precision,
        level=level,
        guess=parse_guess(guess, frame[label].drop_duplicates().tolist()),
        budget=budget,
        allocation=ALLOCATIONS[allocation],
        floor=floor,
        rule=INTERVALS[interval],
    )
    if as_json:
        more = {
            "total": made.total,
            "total_at_worst": made.total_at_worst,
            "warnings": made.warnings,
            "findings": made.findings,
        }
        click.echo(json.dumps(plain({**asdict(made), **more}), indent=2))
    else:
        _print(made)


def _print(made: Plan) -> None:
    budget = {"within_budget": "budget"} if made.budget else {}
    width = {"budget_half_width": "+- with it"} if made.budget else {}
    needed = {"rows": "rows", "needed": "needed", "needed_at_worst": "at worst"}
    print_grid(made.group_frame(), {"group": "group", **needed, **budget, **width})
    say("")
    print_grid(made.frame(), {"group": "group", "label": "observed", **needed, **budget})
    say("")
    say(
        f"Review {made.total} rows to know each group's noise rate within {made.precision:g} "
        f"either way ({made.level:.0%} intervals) if the guess is right, {made.total_at_worst} "
        "whatever is found."
    )
    for text in made.warnings:
        say(f"warning: {text}")
    for text in made.findings:
        say(f"note: {text}")
