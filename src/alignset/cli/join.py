"""``alignset join``: add what reviewers found to the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pandas as pd

from alignset.cli import review_options as ask
from alignset.cli.reading import TableCommand, TableReading, reading_options, reading_words, tell
from alignset.cli.visible import visible
from alignset.review.ids import DESIGN, REVIEW_STATE, ROW
from alignset.review.join import Joined, join
from alignset.review.log import answers_path, no_answers, read_answers, write_with_answers
from alignset.review.problems import SheetError
from alignset.review.reading import read_reviews
from alignset.review.sheet import REVIEWED, Reviews
from alignset.review.verbatim import join_verbatim
from alignset.tables.files import check_output, form_for, is_text, read_table

MOST_SAID = 20_000
"""Characters of a list of problems that are printed."""


@click.command("join", cls=TableCommand)
@click.argument("sheets", metavar="SHEET...", type=ask.PATH, nargs=-1, required=True)
@ask.table_argument
@click.option("--label", metavar="COLUMN", help="Observed label.  [default: as the sheet has it]")
@click.option("--truth", default=REVIEWED, show_default=True, metavar="COLUMN",
              help="Column for the true labels.")  # fmt: skip
@ask.design_option
@click.option("--reviewer", "named", multiple=True, metavar="NAME=FILE",
              help="Who filled a sheet in.  [default: its column reviewer, or its file's name]"
              )  # fmt: skip
@click.option("--replace", is_flag=True, help="Let answers that differ replace earlier ones.")
@click.option("--adjudicated", is_flag=True, help="These answers settle what others disputed.")
@ask.out_option("Table with reviews.")
@ask.overwrite_option
@reading_options
def command(
    sheets: tuple[Path, ...],
    table: Path,
    label: str | None,
    truth: str,
    design: Path | None,
    named: tuple[str, ...],
    replace: bool,
    adjudicated: bool,
    out: Path,
    overwrite: bool,
    reading: TableReading,
) -> None:
    """Add the answers in each SHEET to the TABLE it was drawn from.

    SHEET is the filled-in CSV or TSV, what the review page exported, or a JSON or JSON-MIN export
    from Label Studio. It may be half filled in: join it again when there is more. The result has
    the columns "reviewed" (the true label that all who reviewed the row agree on, or that was
    adjudicated), "review_state" (agreed, disputed, cannot tell or open), and "stratum", "wave" and
    "probability", which `alignset fit` and `alignset audit` use. Every answer is kept in a file
    beside it, NAME.answers.csv, with reviewer, time and comment.

    How the rows were drawn is read from the file that `alignset sample` wrote, NAME.design.json,
    beside the sheet or the table.
    """
    check_output(out, overwrite=overwrite)
    people = _read_names(named, sheets)
    given = [
        read_reviews(sheet, design=design, beside=[table], reviewer=people.get(sheet))
        for sheet in sheets
    ]
    label = label or _label_of(given)
    frame, cells = _read_table(table, out, reading, given[0].id_column, label, truth)
    try:
        joined = join(
            frame, given, label=label, truth=truth, log=_log_beside(table), replace=replace,
            adjudicated=adjudicated,
        )  # fmt: skip
    except SheetError as error:
        click.echo(f"error: {visible(error, most=MOST_SAID)}", err=True)
        click.get_current_context().exit(1)
    _check_kept(out, joined.log, replace=replace)
    whole = joined.table
    if cells is not None:
        whole = join_verbatim(cells, joined.table, label=label, truth=truth)
    form = form_for(out, table, dialect=reading.dialect)
    write_with_answers(whole, joined.log, out, overwrite=overwrite, form=form)
    for note in dict.fromkeys(note for sheet in given for note in sheet.notes):
        ask.say(f"note: {note}")
    _report(joined, given, out)
    _say_next(joined, given, label, truth, out)


def _read_table(
    table: Path, out: Path, reading: TableReading, id_column: str, label: str, truth: str
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Read what a join looks at, and, to be written again, every cell of a text file as it is.

    From text to a format that knows numbers, a table is read as a whole, as every command does.
    """
    named: dict[str, Any] = {"ids": [id_column], "label": label, "truth": truth}
    if not (is_text(table) and is_text(out)):
        frame = reading.read(table, **named)
        if is_text(table):
            tell()(
                f"{out.name} holds numbers as numbers, so 5.10 is 5.1 there, and words such as NA "
                "are empty cells; write .csv or .tsv to keep every cell as it is."
            )
        return frame, None
    cells = read_table(table, as_text=True, dialect=reading.dialect, tell=tell())
    wanted = [label, *([] if id_column == ROW else [id_column])]
    wanted += [name for name in (truth, *DESIGN, REVIEW_STATE) if name in cells]
    return reading.read(table, columns=list(dict.fromkeys(wanted)), **named), cells


def _read_names(named: Sequence[str], sheets: Sequence[Path]) -> dict[Path, str]:
    """Turn ``("anna=a.csv",)`` into the name for each sheet; ``("anna",)`` is for all of them."""
    people: dict[Path, str] = {}
    for text in named:
        name, equals, file = text.partition("=")
        if not name.strip() or (equals and Path(file) not in sheets):
            known = ", ".join(map(str, sheets))
            raise click.UsageError(f"--reviewer {text}: write NAME=FILE, with one of {known}.")
        people |= dict.fromkeys([Path(file)] if equals else sheets, name.strip())
    return people


def _label_of(given: Sequence[Reviews]) -> str:
    """Return the label that the sheets were drawn for."""
    known = {sheet.design.label for sheet in given if sheet.design is not None}
    label = known.pop() if len(known) == 1 else None
    if label is None:
        raise click.UsageError("--label is needed: the sheets do not say which column it is.")
    return label


def _log_beside(table: Path) -> pd.DataFrame:
    place = answers_path(table)
    return read_answers(place) if place.exists() else no_answers()


def _check_kept(out: Path, log: pd.DataFrame, *, replace: bool) -> None:
    """Refuse to write over a log with answers that the new one does not have."""
    place = answers_path(out)
    if replace or not place.exists():
        return
    names = ["id", "reviewer", "answer", "adjudicated"]
    old = read_answers(place)[names].drop_duplicates()
    lost = len(old) - len(old.merge(log[names].drop_duplicates()))
    if lost:
        raise ValueError(
            f"{place} has {lost} answers that would be lost; join the sheet to {out}, which has "
            "them, or write another file."
        )


def _report(joined: Joined, given: Sequence[Reviews], out: Path) -> None:
    disputed = f", {joined.n_disputed} disputed" if joined.n_disputed else ""
    click.echo(
        f"{out}: {joined.n_reviewed} rows reviewed, {joined.n_cannot_tell} where the reviewer "
        f"could not tell, {joined.n_open} without an answer{disputed}"
    )
    people = visible(", ".join(dict.fromkeys(joined.log["reviewer"])))
    click.echo(
        f"{answers_path(out)}: {len(joined.log)} answers, {joined.n_new} of them new, by {people}"
    )
    twice = int((joined.log.groupby("id")["reviewer"].nunique() > 1).sum())
    shared = any(sheet.design is not None and sheet.design.reviewers for sheet in given)
    if twice and not shared and not joined.log["adjudicated"].eq("yes").any():
        click.echo(
            f"note: {twice} rows have answers by more than one of {people}; if these are one "
            "person, join again with --reviewer NAME"
        )


def _say_next(joined: Joined, given: Sequence[Reviews], label: str, truth: str, out: Path) -> None:
    """Say what settles a dispute, or else how to learn from the answers."""
    own_id = ["--id", given[0].id_column] if given[0].id_column != "row" else []
    words: list[object]
    if joined.n_disputed:
        log = answers_path(out)
        words = ["disputes", log, out, "--label", label, *own_id, *reading_words()]
        ask.say_next(*words, "-o", "disputes.csv")
        return
    design = next((sheet.design for sheet in given if sheet.design is not None), None)
    words = ["fit", out, "--label", label, "--truth", truth]
    for name in () if design is None else design.groups:
        words += ["--group", name]
    if joined.log["reviewer"].nunique() > 1:  # how often each errs is part of what is known
        words += ["--answers", answers_path(out)]
    words += [*own_id, "--probability", "probability", *reading_words()]
    ask.say_next(*words, "--out", "model")
