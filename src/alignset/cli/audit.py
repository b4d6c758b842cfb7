"""``alignset audit``: doubtful labels, noise rates, and whether enough rows are reviewed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click
import pandas as pd

from alignset.cli import review_options as ask
from alignset.cli.reading import TableCommand, TableReading, reading_options, tell
from alignset.cli.sample import as_shown, check_sheet_outputs, write_outputs
from alignset.model.folder import load_model
from alignset.model.reading import read_for_model
from alignset.review.audit import Audit, audit
from alignset.rows.percent import percent
from alignset.tables.files import check_output, write_table

ASKED = (
    "label", "truth", "id", "score", "score_b", "threshold", "new_rows", "next_rows", "floor",
    "show", "level", "rule", "random_state",
)  # fmt: skip
"""Options passed on to the audit unchanged."""


@click.command("audit", cls=TableCommand)
@click.argument("model", type=ask.PATH)
@ask.table_argument
@click.option("--label", metavar="COLUMN", help="Observed label.  [default: the model's]")
@click.option("--truth", metavar="COLUMN", help="True label.  [default: the model's]")
@ask.group_option
@ask.id_option
@ask.answers_option
@ask.score_option
@ask.score_b_option
@ask.threshold_option
@click.option(
    "--new-rows", is_flag=True, help="MODEL was fitted to none of these rows: judge it, too."
)
@click.option("-o", "--out", type=ask.PATH, help="File for all rows, ranked.")
@click.option("--next", "next_rows", type=int, default=0, help="Number of rows to review next.")
@click.option("--sheet", type=ask.PATH, help="Review sheet for the proposed rows.")
@ask.label_studio_option
@ask.show_option
@click.option(
    "--floor", type=float, default=0.25, show_default=True, help="Share of --next drawn randomly."
)
@click.option("--top", type=int, default=10, show_default=True, help="Doubtful rows to print.")
@ask.level_option
@click.option(
    "--interval", "rule", type=click.Choice(list(ask.INTERVALS)),
    callback=lambda _context, _option, name: ask.INTERVALS.get(name),
    help="Noise rates from reviewed rows alone, with this interval.",
)  # fmt: skip
@ask.json_option
@ask.seed_option
@ask.overwrite_option
@reading_options
def command(model: Path, table: Path, as_json: bool, reading: TableReading, **options: Any) -> None:
    """Check the labels in TABLE with the MODEL folder.

    Ranks every row by the confidence that its observed label is right, estimates the noise rate of
    each group from the reviewed rows (weighted, if their selection probabilities are known), says
    whether the reviewed rows are like the others, and proposes what to review next.

    Estimates use the observed labels of the other rows, which make them more precise and cannot
    bias them: "worth" is how many rows, reviewed the same way, would be as precise by themselves.
    With --score or --new-rows, AUROC and, with --threshold, TPR, FPR, PPV and NPV are told, too,
    and how groups differ.
    """
    _check_outputs(options)
    asked = {name: options[name] for name in ASKED}
    loaded = load_model(model)
    named = {name: options[name] for name in ("id", "label", "truth")}
    frame = read_for_model(loaded, table, dialect=reading.dialect, tell=tell(as_json), **named)
    log = ask.read_answers_file(options["answers"])
    found = audit(loaded, frame, group=options["group"] or None, answers=log, **asked)
    if options["out"] is not None:
        write_table(found.frame(), options["out"], overwrite=options["overwrite"])
    if as_json:
        ask.print_json(_as_json(found, options["top"]))
    else:
        _print(found, options["top"])
        if options["out"] is not None:
            click.echo(f"{options['out']}: {len(found.ranked)} rows, the most doubtful first")
    if found.next is not None and options["sheet"] is not None:
        sheet = as_shown(found.next, frame, reading.cells(table, options["show"]))
        places = options["sheet"], options["tasks"]
        write_outputs(sheet, *places, overwrite=options["overwrite"], echo=not as_json)
    elif found.next is not None and not as_json:
        ask.say(f"proposed for review: {len(found.next)} rows; write them with --sheet next.csv")
    if not as_json and options["sheet"] is None:  # a sheet that was written says what is next
        ask.say_next("audit", model, table, "--next", "50", "--sheet", "next.csv")


def _check_outputs(options: dict[str, Any]) -> None:
    """Refuse options that do not fit together before any work is done."""
    if options["next_rows"] < 0:
        raise click.UsageError("--next must not be negative.")
    if options["sheet"] is not None and not options["next_rows"]:
        raise click.UsageError("--sheet needs --next N.")
    if options["tasks"] is not None and options["sheet"] is None:
        raise click.UsageError("--label-studio needs --sheet.")
    if options["out"] is not None:
        check_output(options["out"], overwrite=options["overwrite"])
    if options["sheet"] is not None:
        check_sheet_outputs(options["sheet"], options["tasks"], overwrite=options["overwrite"])


def _as_json(found: Audit, top: int) -> dict[str, Any]:
    rates = [{**vars(rate), "model_rate": found.model_rates[rate.group]} for rate in found.rates]
    return {
        "verdict": found.verdict.colour,
        "action": found.verdict.action,
        "notes": found.notes,
        "reasons": found.verdict.reasons,
        "level": found.level,
        "noise_rates": rates,
        "measures": found.measured.frame(),
        "two_sample_tests": found.tests,
        "empty_cells": found.empty,
        "nonresponse": found.nonresponse,
        "reviewers": None if found.reviewers is None else found.reviewers.frame(),
        "most_doubtful": found.ranked.head(top),
        "next": None if found.next is None else found.next.frame(),
    }


TITLES = {
    "group": "group", "rows": "rows", "reviewed": "reviewed", "wrong": "wrong",
    "rate": "noise rate", "low": "from", "high": "to", "worth": "worth",
    "model_rate": "model says", "told_apart_auroc": "told apart",
}  # fmt: skip
"""Column of an audit's rates -> its heading."""

MEASURED = {
    "measure": "measure", "group": "group", "estimate": "estimate", "low": "from", "high": "to",
    "reviewed": "reviewed", "worth": "worth",
}  # fmt: skip
"""Column of an audit's measures -> its heading."""


def _print_measures(found: Audit) -> None:
    """Print everything but the noise rates of groups, which stand above."""
    frame = found.measured.frame()
    frame = frame[(frame["measure"] != "wrong") & (frame["reviewed"] > 0)]
    if not len(frame):
        return
    known = frame[frame["note"] == ""]
    sizes = [f"{worth:.0f}" for worth in known["worth"]]
    ask.say("")
    ask.print_grid(known.assign(group=known["group"].astype(str), worth=sizes), MEASURED)
    whole = [one for one in found.measured.estimates if one.metric != "wrong" and not one.note]
    if whole:
        worth = ", ".join(f"{one.worth:.0f} for {one.metric}" for one in whole)
        ask.say(f"reviewed {whole[0].reviewed}, worth {worth}")
    for row in frame[frame["note"] != ""].to_dict("records"):
        ask.say(f"note: {row['measure']} of {row['group']} is not known: {row['note']}")
    if found.measured.differences:
        clear = "; ".join(one.metric for one in found.measured.clear)
        said = f"beyond chance: {clear}" if clear else "no difference is beyond chance"
        ask.say(f"{said} (each at {found.level:.0%}, not corrected for their number)")


UNANSWERED = {
    "group": "group", "drawn": "drawn", "answered": "answered", "rate": "if like the others",
    "low": "from", "high": "to", "worst_low": "at worst from", "worst_high": "at worst to",
}  # fmt: skip
"""Column of what unanswered rows may do -> its heading."""


def _print_review(found: Audit) -> None:
    """Print how often reviewers err, and what rows without an answer may do to noise rates."""
    if found.reviewers is not None and found.reviewers.identified:
        ask.say("")
        ask.print_grid(found.reviewers.frame(), ask.REVIEWERS)
    if found.nonresponse:
        ask.say("")
        ask.print_grid(pd.DataFrame([vars(one) for one in found.nonresponse]), UNANSWERED)
        ask.say(
            "at worst: every label without an answer is right, or every one is wrong, with "
            "sampling error"
        )


def _print(found: Audit, top: int) -> None:
    frame = found.rate_frame()
    sizes = [
        "all" if math.isinf(size) else "" if math.isnan(worth) else f"{worth:.0f}"
        for size, worth in zip(frame["effective_size"], frame["worth"], strict=True)
    ]
    ask.print_grid(frame.assign(worth=sizes), TITLES)
    weighted = any(rate.weighted for rate in found.rates)
    how = "weighted by selection probability" if weighted else "as if reviewed rows were random"
    ask.say(
        f"noise rate: share of observed labels that are wrong, {how}, {percent(found.level)} "
        "intervals; worth: how many reviewed rows would be as precise without the observed "
        "labels of the "
        "others; told apart: AUROC of telling reviewed rows from the others, 0.5 if alike"
    )
    _print_measures(found)
    _print_review(found)
    for text in found.notes:
        ask.say(f"note: {text}")
    ask.say(f"\nverdict: {found.verdict.colour}")
    for reason in found.verdict.reasons:
        ask.say(f"- {reason.colour}: {reason.text}")
    ask.say(f"what helps most: {found.verdict.action}")
    if top > 0:
        ask.say("\nmost doubtful labels:")
        shown = found.ranked.head(top)
        ask.print_grid(shown, {str(name): str(name) for name in shown.columns})
