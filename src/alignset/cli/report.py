"""``alignset report``: present a store of results, or a model folder, as one HTML file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pandas as pd

from alignset.cli.reading import TableCommand, TableReading, reading_options, tell
from alignset.cli.review_options import say_next
from alignset.cli.visible import visible
from alignset.report.displays import Display, save_figures
from alignset.report.gather import gather
from alignset.report.model_page import model_page
from alignset.tables.atomic import new_file

if TYPE_CHECKING:
    from alignset.study.publication import Publication

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
DOUBTFUL = 20
"""Default number of doubtful rows to list."""
MARK, MARKED_BYTES = '<meta name="generator" content="alignset">', 1000
"""What tells a page of ours, and how far from its beginning it stands."""


@click.command("report", cls=TableCommand)
@click.argument("source", metavar="STORE|MODEL", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=_FILE, default=Path("report.html"), show_default=True,
    help="The HTML file to write.",
)  # fmt: skip
@click.option("--figures", type=_FOLDER, help="Folder for every figure as SVG and CSV.")
@click.option(
    "--claims", type=_FILE,
    help="For a store: Python file that defines PUBLICATION (names, figures, claims). The file is "
    "executed.",
)  # fmt: skip
@click.option(
    "--published", type=_FILE,
    help="For a store: CSV of published values; defaults to published.csv beside the claims.",
)  # fmt: skip
@click.option("--table", type=_FILE, help="For a model: table whose labels to check.")
@click.option("--top", type=click.IntRange(0), help="With --table: rows to list; by default 20.")
@click.option("--show", multiple=True, metavar="COLUMN", help="With --table: column to list too.")
@click.option("heading", "--title", help="For a model: what it is called.")
@click.option("--owner", help="For a model: who is responsible for it.")
@click.option("--intended-use", help="For a model: what it is for, and for whom.")
@click.option("--overwrite", is_flag=True, help="Replace a file that is no page of alignset's.")
@reading_options
def command(
    source: Path,
    output: Path,
    figures: Path | None,
    claims: Path | None,
    published: Path | None,
    table: Path | None,
    top: int | None,
    show: tuple[str, ...],
    overwrite: bool,
    reading: TableReading,
    **said: str | None,
) -> None:
    """Present results as one self-contained HTML file.

    For a STORE, every experiment is plotted with mean and standard deviation over seeds. With
    --claims, the published values appear beside ours and every claim gets a verdict.

    For a MODEL folder, the file says first whether to use it, for what and why, then what it does
    at its threshold, how good it is, how even across groups, whether a simpler one would do, noise
    rates, what would change that, a model card and a TRIPOD+AI checklist. With --table, it also
    lists the most doubtful labels: id, observed label, confidence, and the columns named by --show.

    Nothing is trained; the same input gives the same file, which replaces an earlier page.
    """
    check_page(output, overwrite=overwrite)
    _check_source(source)
    is_model, of_rows = source.is_dir(), top is not None or bool(show)
    if is_model and (claims or published):
        raise click.UsageError("--claims and --published need a store, not a model folder.")
    if not is_model and (table or of_rows):
        raise click.UsageError("--table, --top and --show need a model folder, not a store.")
    told = {name: text for name, text in said.items() if text}
    if told and not is_model:
        raise click.UsageError("--title, --owner and --intended-use need a model folder.")
    if table is None and of_rows:
        raise click.UsageError("--top and --show need --table.")
    if not is_model:
        _write_store(source, output, figures, claims, published)
        return
    most = DOUBTFUL if top is None else top
    how: dict[str, Any] = {"dialect": reading.dialect, "tell": tell(), "said": told}
    facts = gather(source, table, top=most, show=show, **how)
    page = model_page(facts)
    write_text(output, page.html())
    _save(page.displays, figures)
    click.echo(f"{output}: {len(page.sections)} sections, {len(page.displays)} figures")
    click.echo(visible(f"conclusion: {facts.advice.conclusion}"))
    if facts.advice.level != "no":
        say_next("predict", source, "NEW_TABLE.csv", "-o", "predictions.csv")


def _check_source(source: Path) -> None:
    if not source.exists():
        raise FileNotFoundError(
            f"{source} does not exist; name a model folder, which `alignset fit` writes, or a "
            "store of `alignset run`."
        )


def check_page(path: Path, *, overwrite: bool) -> None:
    """Refuse a file that exists and that alignset did not write, unless it may be replaced."""
    if not path.is_file() or overwrite:
        return
    with path.open("rb") as file:
        if MARK.encode() not in file.read(MARKED_BYTES):
            raise ValueError(
                f"{path} exists and is no page that alignset wrote; name another file, or pass "
                "--overwrite."
            )


def _save(pictures: Sequence[Display], figures: Path | None) -> None:
    if figures:
        figures.mkdir(parents=True, exist_ok=True)
        for name, text in save_figures(pictures).items():
            write_text(figures / name, text)


def _write_store(
    store: Path, output: Path, figures: Path | None, claims: Path | None, published: Path | None
) -> None:
    # only here: the page of a model needs nothing of what a study needs
    from alignset.study.claims import Verdicts
    from alignset.study.publication import load_publication
    from alignset.study.reproduction import NO_PUBLICATION, Reproduction
    from alignset.study.store import Store

    results = Store(store).frame()
    if results.empty:
        raise ValueError(f"{store} has no results yet; fill it with `alignset run SPEC`.")
    publication = load_publication(claims) if claims else NO_PUBLICATION
    found = Reproduction(results, publication, _published(publication, claims, published))
    write_text(output, found.page().html())
    _save(found.displays, figures)
    if figures and publication.claims:
        verdicts = Verdicts(found.judged).frame()
        write_text(figures / "claims.csv", verdicts.to_csv(index=False, lineterminator="\n"))
    counts = Counter(judged.state for judged in found.judged)
    told = [f"{len(found.cells)} cells", f"{len(found.displays)} figures"]
    told += [f"{n} {state}" for state, n in sorted(counts.items())]
    click.echo(f"{output}: {', '.join(told)}")


def _published(
    publication: Publication, claims: Path | None, published: Path | None
) -> pd.DataFrame | None:
    if published is None and claims is not None:
        beside = claims.parent / "published.csv"
        published = beside if beside.is_file() else None
    if published is None:
        return None
    if not published.is_file():
        raise FileNotFoundError(f"{published} does not exist; --published takes a CSV file.")
    return publication.read_published(published)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with new_file(path.absolute()) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
