"""``alignset review``: make the page on which a reviewer fills in a sheet."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

import click

from alignset.cli import review_options as ask
from alignset.cli.reading import tell
from alignset.review.disputes import ANSWERS
from alignset.review.page import MARK, review_page
from alignset.tables.atomic import new_file
from alignset.tables.files import check_new_file


@click.command("review")
@click.argument("sheet", type=ask.PATH)
@click.option("-o", "--out", type=ask.PATH, metavar="FILE",
              help="HTML file to write; without it, SHEET.review.html, which is opened."
              )  # fmt: skip
@click.option("--show", multiple=True, metavar="COLUMN",
              help="Column of the sheet to show; can be repeated.  [default: all]")  # fmt: skip
@click.option("--choice", "choices", multiple=True, metavar="ANSWER",
              help="Answer to choose from; repeat.  [default: classes of the label]")  # fmt: skip
@ask.design_option
@click.option("--reviewer", default="", metavar="NAME", help="Whom the page is for.")
@click.option("--title", default="", help="Heading of the page.")
@ask.overwrite_option
def command(
    sheet: Path,
    out: Path | None,
    show: tuple[str, ...],
    choices: tuple[str, ...],
    design: Path | None,
    reviewer: str,
    title: str,
    overwrite: bool,
) -> None:
    """Make one HTML file on which SHEET is filled in, row by row, with keys or a finger.

    The file needs no server and no network, and nothing leaves the machine it is opened on:
    answers are kept in the browser until the reviewer exports them, as CSV, for `alignset join`.
    It shows the columns of the sheet, so the observed label only if that is one of them.
    """
    place = out if out is not None else sheet.with_name(f"{sheet.stem}.review.html")
    if place.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{place.name} must end in .html, so that a browser opens it.")
    check_new_file(place, overwrite=overwrite or (out is None and _is_ours(place)))
    page = review_page(
        sheet, show=show or None, choices=choices, design=design, reviewer=reviewer, title=title,
        tell=tell(),
    )  # fmt: skip
    with new_file(place.absolute()) as part:
        part.write_text(page.html(), encoding="utf-8", newline="\n")
    shown = ", ".join(page.columns) or "nothing but the id"
    ask.say(f"{place}: {len(page.ids)} rows, showing {shown}")
    if out is None:
        _open(place)
    if sum(one is not None for one in page.filled) < len(page.ids):
        click.echo("answer the rows there, and export them; what is exported is joined with")
    name = f"{sheet.stem}{'.' + page.reviewer if page.reviewer else '.NAME'}-filled.csv"
    if page.reviewer and sheet.stem.endswith(f".{page.reviewer}"):
        name = f"{sheet.stem}-filled.csv"
    final = ["--adjudicated"] if ANSWERS in page.columns else []
    ask.say_next("join", name, "TABLE", *final, "-o", "reviewed.csv")


def _is_ours(place: Path) -> bool:
    """Tell whether a file is a review page, which can be made again."""
    if not place.is_file():
        return False
    with place.open(encoding="utf-8", errors="replace") as stream:
        return MARK in stream.read(4096)


def _open(place: Path) -> None:
    """Open a page in the browser; where there is no screen, say where it is."""
    screen = sys.platform != "linux" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if not (screen and webbrowser.open(place.absolute().as_uri())):
        click.echo(f"open it in a browser: {place.absolute()}")
