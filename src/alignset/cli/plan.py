"""``alignset plan``: work out how many rows to review in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pandas as pd

from alignset.cli import review_options as ask
from alignset.cli.reading import (
    TableCommand,
    TableReading,
    grouping_options,
    reading_options,
    reading_words,
)
from alignset.cli.review_options import ASSURANCE, LEVEL
from alignset.evaluate.proportion import IntervalRule, wilson
from alignset.review.aim import Aim
from alignset.review.design import neyman, proportional
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
@ask.assurance_option
@ask.expected_option
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

    No file is written. The last line is the command that draws these rows.
    """
    aim, truth = ask.take_aim(options), options.pop("truth")
    label, named = options["label"], list(options["group"])
    options["group"] = reading.groups(named)
    expected, seed = options.pop("expected"), options.pop("random_state")
    assert aim is not None
    spent = {name: options.pop(name) for name in ("nonresponse", "cost")}
    Outlay((), (), **spent)  # refuses what cannot be, before any work is done
    # a first wave brings the columns of its sheet, whichever of them there are
    wanted = None if truth else list(dict.fromkeys([label, *named, *aim.columns]))
    roles: dict[str, Any] = {"label": label, "truth": truth, "groups": named}
    frame = reading.read(table, columns=wanted, quiet=as_json, **roles)
    rates = ask.parse_guess(guess, frame[label].drop_duplicates().tolist())
    how = {"truth": truth, "guess": rates, "expected": expected, "random_state": seed}
    made = _make(frame, aim, options, **how)
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
        n = options["budget"] or (outlay.total if spent["nonresponse"] else made.total)
        known = [] if truth is None else ["--truth", truth]
        words = ["--n", n, "--label", label, *_each("--group", named), *known]
        words += [*_shares(made, aim, options, guess), *reading_words(), "-o", "sheet.csv"]
        ask.say_next("sample", table, *words)


def _make(
    frame: pd.DataFrame, aim: Aim, options: dict[str, Any], *, expected: bool, **how: Any
) -> Plan | Forecast:
    """Plan by formula where there is one, and by simulated reviews otherwise."""
    if aim == Aim("wrong") and how["truth"] is None:
        options["assurance"] = None if expected else options["assurance"]
        return plan(frame, guess=how["guess"], **options)
    if options["budget"] is not None:
        raise click.UsageError("--budget is for the noise rate without --score and --truth.")
    asked = {name: options[name] for name in ("label", "group", "precision", "level", "assurance")}
    return forecast(frame, aim, **asked | ({"assurance": 0.5} if expected else {}), **how)


def _each(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _shares(
    made: Plan | Forecast, aim: Aim, options: dict[str, Any], guess: tuple[str, ...]
) -> list[str]:
    """Return the words that make `alignset sample` share rows out among cells as the plan does."""
    guessed = _each("--guess", guess)
    if isinstance(made, Forecast):
        return [*_as_aimed(aim), *guessed]
    if made.budget is None:
        return [*_as_needed(made, options["rule"]), *guessed]
    how = options["allocation"]
    words = ["--floor", str(options["floor"])]
    if how is not proportional:
        words += ["--allocation", how.__name__]
    return [*words, *guessed] if how is neyman else words


def _as_aimed(aim: Aim) -> list[str]:
    words = ["--measure", aim.measure]
    for name in ("score", "score_b", "threshold"):
        value = getattr(aim, name)
        words += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
    return words if aim.between is None else [*words, "--between", *map(str, aim.between)]


def _as_needed(made: Plan, rule: IntervalRule) -> list[str]:
    """Return the words that ask for what the plan asked for, except where it is the default."""
    words = ["--precision", str(made.precision)]
    if made.assurance is None:
        words.append("--expected")
    elif made.assurance != ASSURANCE:
        words += ["--assurance", str(made.assurance)]
    words += [] if made.level == LEVEL else ["--level", str(made.level)]
    return words if rule is wilson else [*words, "--interval", "exact"]


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
