"""``alignset monitor``: compare a later table with what a model was trained on."""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

from alignset.cli import review_options as ask
from alignset.cli.reading import TableCommand, TableReading, reading_options, tell
from alignset.fitting.monitor import Change, Monitored, monitor
from alignset.model.folder import load_model
from alignset.model.reading import read_for_model
from alignset.tables.files import check_output, in_thousands, write_table

SHOWN = 10
"""Changed columns that are printed."""

TITLES = {
    "measure": "measure", "group": "group", "then": "then", "now": "now (interval)",
    "change": "change (interval)", "reviewed": "reviewed", "clear": "",
}  # fmt: skip

MEASURES = {
    "flagged": "flagged", "wrong": "wrong labels", "log_loss": "log loss", "auroc": "AUROC",
    "tpr": "sensitivity (TPR)", "fpr": "false alarms (FPR)", "ppv": "PPV",
}  # fmt: skip

VERDICTS = {
    "green": "nothing speaks against going on as before.",
    "amber": "look before you go on: see the lines marked above and the notes.",
    "red": "do not rely on the model: on reviewed rows it is clearly worse than it was.",
}


@click.command("monitor", cls=TableCommand)
@click.argument("model", type=ask.PATH)
@ask.table_argument
@click.option(
    "--by", multiple=True, metavar="COLUMN", help="Judge every value of it, such as a site, too."
)
@click.option(
    "--threshold", type=click.FloatRange(0, 1),
    help="Probability from which a row is flagged.  [default: the model's, else 0.5]",
)  # fmt: skip
@click.option("-o", "--out", type=ask.PATH, help="File for every measure, group and place.")
@ask.level_option
@ask.json_option
@ask.overwrite_option
@reading_options
def command(
    model: Path,
    table: Path,
    by: tuple[str, ...],
    threshold: float | None,
    out: Path | None,
    level: float,
    as_json: bool,
    overwrite: bool,
    reading: TableReading,
) -> None:
    """Compare TABLE, which came after training, with what MODEL was trained on.

    Says which columns have changed, how many rows are flagged now and then, and, if some rows of
    TABLE are reviewed, whether labels are more often wrong and the model worse than it was:
    overall, by group, and by site or the like (--by). Review a few rows of every later table.
    """
    if out is not None:
        check_output(out, overwrite=overwrite)
    loaded = load_model(model)
    frame = read_for_model(loaded, table, dialect=reading.dialect, tell=tell(as_json))
    found = monitor(loaded, frame, by=by, threshold=threshold, level=level)
    if out is not None:
        write_table(found.frame(), out, overwrite=overwrite)
    if as_json:
        ask.print_json(_as_json(found))
        return
    _print(found)
    if out is not None:
        ask.say(f"{out}: {len(found.frame())} measures")
    if found.colour == "green":
        ask.say_next("predict", model, table, "-o", "predictions.csv")
    else:  # whatever has changed, reviewed rows of the later table tell whether it matters
        ask.say_next("audit", model, table, "--next", "50", "--sheet", "next.csv")


def _as_json(found: Monitored) -> dict[str, object]:
    return {
        "verdict": found.colour, "rows": found.rows, "reviewed": found.reviewed,
        "columns": found.columns, "far_values": found.far, "measures": found.frame(),
        "notes": found.notes,
    }  # fmt: skip


def _print(found: Monitored) -> None:
    ask.say(f"{in_thousands(found.rows)} rows, {in_thousands(found.reviewed)} reviewed")
    if found.columns:
        ask.say(f"{len(found.changed)} of {len(found.columns)} columns have changed")
    if found.changed:
        shown = pd.DataFrame([vars(column) for column in found.changed[:SHOWN]])
        ask.print_grid(shown, {"name": "column", "psi": "PSI", "how": "where most"})
    for one in found.far:
        ask.say(f"note: {one}")
    _print_changes(found.changes)
    for column, part in found.places.items():
        ask.say(f"\nby {column}:")
        _print_changes(part)
    for note in found.notes:
        ask.say(f"note: {note}")
    ask.say(f"\nverdict: {found.colour}; {VERDICTS[found.colour]}")


def _print_changes(changes: tuple[Change, ...]) -> None:
    if not changes:
        return
    rows = [
        {
            "measure": MEASURES[one.measure],
            "group": str(one.group),
            "then": one.then,
            "now": f"{one.now:.3f} ({one.now_low:.3f} to {one.now_high:.3f})",
            "change": _interval(one),
            "reviewed": one.reviewed,
            "clear": "worse" if one.worse else "changed" if one.notable else "",
        }
        for one in changes
    ]
    ask.print_grid(pd.DataFrame(rows), TITLES)


def _interval(one: Change) -> str:
    if pd.isna(one.low):
        return ""
    return f"{one.now - one.then:+.3f} ({one.low:+.3f} to {one.high:+.3f})"
