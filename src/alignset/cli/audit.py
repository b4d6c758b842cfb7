"""``alignset audit``: doubtful labels, noise rates, and whether the reviewed rows will do."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from alignset.cli.review_options import (
    INTERVALS,
    group_option,
    id_option,
    interval_option,
    json_option,
    label_studio_option,
    level_option,
    overwrite_option,
    plain,
    print_grid,
    say,
    seed_option,
    show_option,
    table_argument,
)
from alignset.cli.sample import check_sheet_outputs, write_outputs
from alignset.model.folder import load_model
from alignset.review.audit import Audit, audit
from alignset.tables.files import check_output, read_table, write_table

ASKED = ("label", "truth", "next_rows", "floor", "show", "level")
"""Options that an audit takes as they are."""


@click.command("audit")
@click.argument("model", type=click.Path(path_type=Path))
@table_argument
@click.option("--label", metavar="COLUMN", help="Observed label; the model's if left out.")
@click.option("--truth", metavar="COLUMN", help="True label; the model's if left out.")
@group_option
@id_option
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write every row, ranked.")
@click.option("--next", "next_rows", type=int, default=0, help="Propose N rows to review next.")
@click.option("--sheet", type=click.Path(path_type=Path), help="Where the proposed rows go.")
@label_studio_option
@show_option
@click.option(
    "--floor", type=float, default=0.25, show_default=True, help="Share proposed at random."
)
@click.option("--top", type=int, default=10, show_default=True, help="Doubtful rows to print.")
@level_option
@interval_option
@json_option
@seed_option
@overwrite_option
def command(model: Path, table: Path, as_json: bool, **options: Any) -> None:
    """Check the labels in TABLE with the MODEL folder.

    Ranks every row by the confidence that its observed label is right, estimates the noise rate of
    each group from the reviewed rows (weighted, where their selection probabilities are there),
    says whether the reviewed rows are like the others, and proposes what to review next.
    """
    _check_outputs(options)
    asked = {name: options[name] for name in ASKED}
    found = audit(
        load_model(model), read_table(table), group=options["group"] or None, id=options["id_"],
        rule=INTERVALS[options["interval"]], random_state=options["seed"], **asked,
    )  # fmt: skip
    if options["out"] is not None:
        write_table(found.frame(), options["out"], overwrite=options["overwrite"])
    if as_json:
        click.echo(json.dumps(_as_json(found, options["top"]), indent=2))
    else:
        _print(found, options["top"])
        if options["out"] is not None:
            click.echo(f"{options['out']}: {len(found.ranked)} rows, the most doubtful first")
    if found.next is not None and options["sheet"] is not None:
        places = options["sheet"], options["tasks"]
        write_outputs(found.next, *places, overwrite=options["overwrite"], echo=not as_json)
    elif found.next is not None and not as_json:
        say(f"proposed for review: {len(found.next)} rows; write them with --sheet next.csv")


def _check_outputs(options: dict[str, Any]) -> None:
    """Refuse before any work is done."""
    if options["next_rows"] < 0:
        raise click.UsageError("--next must not be negative.")
    if options["sheet"] is not None and not options["next_rows"]:
        raise click.UsageError("--sheet goes with --next N.")
    if options["tasks"] is not None and options["sheet"] is None:
        raise click.UsageError("--label-studio goes with --sheet.")
    if options["out"] is not None:
        check_output(options["out"], overwrite=options["overwrite"])
    if options["sheet"] is not None:
        check_sheet_outputs(options["sheet"], options["tasks"], overwrite=options["overwrite"])


def _as_json(found: Audit, top: int) -> Any:
    return plain(
        {
            "verdict": found.verdict.colour,
            "action": found.verdict.action,
            "notes": found.notes,
            "reasons": [asdict(reason) for reason in found.verdict.reasons],
            "level": found.level,
            "noise_rates": [
                {**asdict(rate), "model_rate": found.model_rates[rate.group]}
                for rate in found.rates
            ],
            "two_sample_tests": [asdict(test) for test in found.tests],
            "empty_cells": [asdict(cell) for cell in found.empty],
            "most_doubtful": found.ranked.head(top).to_dict("records"),
            "next": None if found.next is None else found.next.frame().to_dict("records"),
        }
    )


TITLES = {
    "group": "group", "rows": "rows", "reviewed": "reviewed", "wrong": "wrong",
    "rate": "noise rate", "low": "from", "high": "to", "effective_size": "worth",
    "model_rate": "model says", "told_apart_auroc": "told apart",
}  # fmt: skip
"""Column of an audit's rates -> how it is headed."""


def _print(found: Audit, top: int) -> None:
    frame = found.rate_frame()
    sizes = ["all" if math.isinf(size) else f"{size:.0f}" for size in frame["effective_size"]]
    print_grid(frame.assign(effective_size=sizes), TITLES)
    weighted = any(rate.weighted for rate in found.rates)
    how = "weighted by selection probability" if weighted else "as if reviewed rows were random"
    say(
        f"noise rate: share of observed labels that are wrong, {how}, {found.level:.0%} intervals; "
        "worth: random rows it is as good as; told apart: AUROC of telling reviewed rows from "
        "others, 0.5 if alike"
    )
    for text in found.notes:
        say(f"note: {text}")
    say(f"\nverdict: {found.verdict.colour}")
    for reason in found.verdict.reasons:
        say(f"- {reason.colour}: {reason.text}")
    say(f"what helps most: {found.verdict.action}")
    if top > 0:
        say("\nmost doubtful labels:")
        shown = found.ranked.head(top)
        print_grid(shown, {str(name): str(name) for name in shown.columns})
