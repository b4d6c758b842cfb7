"""``alignset plan``: work out how many rows to review in each cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from alignset.cli import review_options as ask
from alignset.cli.reading import TableCommand, TableReading, grouping_options, reading_options
from alignset.review.aim import Aim
from alignset.review.forecast import Forecast, forecast
from alignset.review.outlay import Outlay
from alignset.review.plan import Plan, plan
from alignset.rows.percent import percent


@click.command("plan", cls=TableCommand)
@ask.table_argument
@click.option("--label", required=True, metavar="COLUMN", help="Observed label.")
@ask.group_option
@ask.measure_option("wrong")
@ask.score_option
@ask.score_b_option
@ask.threshold_option
@ask.between_option
@click.option("--truth", metavar="COLUMN", help="True label of rows reviewed so far.")
@click.option("--precision", type=float, default=0.05, show_default=True, help="Half-width wanted.")
@click.option(
    "--assurance", type=float, default=0.9, show_default=True,
    help="Share of reviews that keep the half-width.",
)  # fmt: skip
@click.option("--expected", is_flag=True, help="Plan the expected half-width: half keep it.")
@click.option(
    "--nonresponse", type=float, default=0.0, metavar="SHARE",
    help="Share of rows expected to come back without an answer; more are sent out.",
)  # fmt: skip
@click.option("--cost", type=float, metavar="PER_REVIEW", help="Price of reviewing one row.")
@ask.level_option
@ask.guess_option
@ask.interval_option
@click.option("--budget", type=int, help="Rows you can review; shows what they buy.")
@ask.allocation_option
@click.option("--floor", default=10, show_default=True, help="Minimum rows from each cell.")
@ask.seed_option
@ask.json_option
@grouping_options
@reading_options
def command(
    table: Path, guess: tuple[str, ...], as_json: bool, reading: TableReading, **options: Any
) -> None:
    """Work out how many rows of TABLE to review to know a measure well enough.

    By default the noise rate of each group, the share of observed labels that are wrong: "needed"
    is enough, in 9 of 10 reviews, if the guess is right, "at worst" whatever is found.

    With another --measure, a --score or rows reviewed so far (--truth), reviews are simulated and
    estimated as `alignset audit` does, using the observed labels of rows that are not reviewed: how
    much these tell is learned from the rows reviewed so far, if there are 20 or more, and otherwise
    follows from --guess. --budget, --allocation, --floor and --interval then do not apply.

    No file is written. Draw the rows with `alignset sample --measure` and the same options.
    """
    aim, truth = ask.take_aim(options), options.pop("truth")
    label, named = options["label"], list(options["group"])
    group = options["group"] = reading.groups(named)
    expected, seed = options.pop("expected"), options.pop("random_state")
    assert aim is not None
    spent = {name: options.pop(name) for name in ("nonresponse", "cost")}
    Outlay((), (), **spent)  # refuses what cannot be, before any work is done
    # a first wave brings the columns of its sheet, whichever of them there are
    wanted = None if truth else list(dict.fromkeys([label, *named, *aim.columns]))
    frame = reading.read(
        table, label=label, truth=truth, groups=named, columns=wanted, quiet=as_json
    )
    rates = ask.parse_guess(guess, frame[label].drop_duplicates().tolist())
    if aim == Aim("wrong") and truth is None:
        options["assurance"] = None if expected else options["assurance"]
        made: Plan | Forecast = plan(frame, guess=rates, **options)
    else:
        if options["budget"] is not None:
            raise click.UsageError("--budget is for the noise rate without --score and --truth.")
        asked = {name: options[name] for name in ("precision", "level", "assurance")}
        asked |= {"assurance": 0.5} if expected else {}
        made = forecast(
            frame, aim, label=label, group=group, truth=truth, guess=rates, random_state=seed,
            **asked,
        )  # fmt: skip
    cells = made.frame() if isinstance(made, Plan) else made.cells
    outlay = Outlay(cells["needed"].tolist(), cells["rows"].tolist(), **spent)
    if as_json:
        ask.print_json({**_as_json(made), "to_send": outlay.total, "cost": outlay.price})
        return
    if isinstance(made, Plan):
        _print(made)
    else:
        _print_forecast(made)
    _print_outlay(outlay)
    if made.total:
        ask.say_next(*_next(made, aim, table, label, group, truth))


def _next(
    made: Plan | Forecast, aim: Aim, table: Path, label: str, group: list[str], truth: str | None
) -> list[str]:
    """Return the words of the command that draws the rows."""
    n = made.budget if isinstance(made, Plan) and made.budget else made.total
    words = ["sample", str(table), "--n", str(n), "--label", label]
    words += [word for name in group for word in ("--group", name)]
    words += [] if truth is None else ["--truth", truth]
    if isinstance(made, Forecast):
        words += ["--measure", aim.measure]
        cut = None if aim.threshold is None else f"{aim.threshold:g}"
        for name, value in (("score", aim.score), ("score-b", aim.score_b), ("threshold", cut)):
            words += [] if value is None else [f"--{name}", str(value)]
        words += [] if aim.between is None else ["--between", *map(str, aim.between)]
    return [*words, "-o", "sheet.csv"]


def _as_json(made: Plan | Forecast) -> dict[str, Any]:
    if isinstance(made, Plan):
        more = ("total", "total_at_worst", "warnings", "findings")
        return {**vars(made), **{name: getattr(made, name) for name in more}}
    return {**vars(made), "aim": vars(made.aim), "notes": made.notes}


def _print_outlay(outlay: Outlay) -> None:
    """Say how many rows to send out, and what that costs, if either was asked for."""
    if outlay.nonresponse:
        ask.say(
            f"Send out {outlay.total} rows: {percent(outlay.nonresponse)} are expected to come "
            "back without an answer. If blanks are not like the others, no number makes up for "
            "it; `alignset audit` says what they may do."
        )
    if outlay.short:
        ask.say(
            f"warning: some groups have too few rows to make up for blanks; {outlay.short} answers "
            "will be missing."
        )
    if outlay.price is not None:
        ask.say(
            f"Cost: {outlay.total} reviews at {outlay.cost:g} each, {outlay.price:,.2f} in all."
        )


def _print_forecast(made: Forecast) -> None:
    widths = {
        "group": "group",
        "expected_half_width": "+- expected",
        "assured_half_width": f"+- in {made.assurance:.0%}",
        "reviewed_alone_half_width": "+- without observed labels",
    }
    ask.print_grid(made.groups, widths)
    ask.say("")
    cells = {"group": "group", "label": "observed", "rows": "rows", "needed": "needed"}
    ask.print_grid(made.cells, cells)
    ask.say("")
    more = f"{made.total} more rows" if made.reviewed else f"{made.total} rows"
    if made.reached:
        whose = " of each group" if len(made.groups) > 1 else ""
        ask.say(
            f"Review {more} to know {made.aim.title}{whose} within {made.precision:g} either way "
            f"({made.level:.0%} intervals) in {made.assurance:.0%} of reviews."
        )
    for text in made.notes:
        ask.say(f"note: {text}")


def _print(made: Plan) -> None:
    budget = {"within_budget": "budget"} if made.budget else {}
    width = {"budget_half_width": "+- expected"} if made.budget else {}
    needed = {"rows": "rows", "needed": "needed", "needed_at_worst": "at worst"}
    ask.print_grid(made.group_frame(), {"group": "group", **needed, **budget, **width})
    ask.say("")
    ask.print_grid(made.frame(), {"group": "group", "label": "observed", **needed, **budget})
    ask.say("")
    sure = (
        "expected: about half of all reviews keep it"
        if made.assurance is None
        else f"in {made.assurance:.0%} of reviews"
    )
    ask.say(
        f"Review {made.total} rows to know each group's noise rate within {made.precision:g} "
        f"either way ({percent(made.level)} intervals, {sure}) if the guess is right, "
        f"{made.total_at_worst} whatever is found."
    )
    for text in made.warnings:
        ask.say(f"warning: {text}")
    for text in made.findings:
        ask.say(f"note: {text}")
