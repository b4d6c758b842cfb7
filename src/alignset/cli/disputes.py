"""``alignset disputes``: how far reviewers agree, how often they err, and what to adjudicate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from alignset.cli import review_options as ask
from alignset.cli.reading import TableCommand, TableReading, reading_options, reading_words
from alignset.review.agreement import agreement_frame
from alignset.review.cells import written_cells
from alignset.review.disputes import Disputes, find_disputes
from alignset.review.log import read_answers
from alignset.review.verbatim import show_verbatim
from alignset.rows.percent import percent
from alignset.tables.files import check_output, write_table

AGREED = {
    "what": "who, where", "rows": "rows", "raw": "agree", "kappa": "beyond chance", "low": "from",
    "high": "to",
}  # fmt: skip
"""Column of agreement -> its heading."""
MOST_SHOWN = 50
"""Lines about agreement that are printed."""


@click.command("disputes", cls=TableCommand)
@click.argument("answers", type=ask.PATH)
@click.argument("table", type=ask.PATH, required=False)
@click.option("--label", metavar="COLUMN", help="Observed label.  [default: not used]")
@ask.group_option
@ask.id_option
@ask.show_option
@click.option("-o", "--out", type=ask.PATH, metavar="FILE", help="Sheet of rows to adjudicate.")
@ask.level_option
@ask.json_option
@ask.overwrite_option
@reading_options
def command(
    answers: Path, table: Path | None, as_json: bool, reading: TableReading, **options: Any
) -> None:
    """Show how far reviewers agree, and put the rows they differ about on a sheet.

    ANSWERS is the log that `alignset join` writes beside the table it makes, TABLE is that table,
    for groups, observed labels and columns to show. Agreement beyond chance is Cohen's kappa for
    two reviewers and Krippendorff's alpha otherwise; 1 is perfect, 0 what chance would give.

    Rows that matter most come first on the sheet: those whose label is least certain, given who
    said what, and that stand for most rows. Fill in its column `reviewed`, and add it with
    `alignset join --adjudicated`.
    """
    out, overwrite = options.pop("out"), options.pop("overwrite")
    if out is not None:
        check_output(out, overwrite=overwrite)
    log = read_answers(answers)
    frame = None if table is None else reading.read(table, ids=[options["id"]], quiet=as_json)
    found = find_disputes(log, frame, **options)
    if out is not None:
        queue = found.frame()
        if table is not None and frame is not None:
            queue = show_verbatim(queue, frame, reading.cells(table, options["show"]))
        write_table(written_cells(queue), out, overwrite=overwrite)
    if as_json:
        ask.print_json(_as_json(found))
        return
    _print(found, options["level"])
    if out is not None:
        ask.say(f"{out}: {len(found)} rows to adjudicate, those that matter most first")
        ask.say("next: fill in its column `reviewed`, on `alignset review`'s page or by hand, then")
        whole = table or Path("TABLE")
        ask.say_next("join", out, whole, "--adjudicated", *reading_words(), "-o", "adjudicated.csv")
    elif len(found):
        ask.say(f"{len(found)} rows to adjudicate; write them with -o queue.csv")


def _as_json(found: Disputes) -> dict[str, Any]:
    return {
        "agreement": agreement_frame(list(found.agreement)),
        "reviewers": found.reviewers.frame(),
        "identified": found.reviewers.identified,
        "note": found.reviewers.note,
        "adjudicated": found.n_settled,
        "queue": found.frame(),
    }


def _print(found: Disputes, level: float) -> None:
    every = agreement_frame(list(found.agreement))
    # pairs of many people are too many to be read, and most share no row
    most = every["rows"].sort_values(ascending=False, kind="stable").index[:MOST_SHOWN]
    ask.print_grid(every.loc[most.sort_values()], AGREED)
    if len(every) > MOST_SHOWN:
        ask.say(f"{len(every) - MOST_SHOWN} more, about fewer rows, are left out; see --json")
    ask.say(
        f"agree: share of pairs of answers that are the same; of a class, of answers that name it; "
        f"{percent(level)} intervals\n"
    )
    ask.print_grid(found.reviewers.frame(), ask.REVIEWERS)
    ask.say(
        "shared: answers to rows that somebody else answered, too, or that were adjudicated, which "
        "is what error rates are known from"
    )
    ask.say(f"note: {found.reviewers.note}")
