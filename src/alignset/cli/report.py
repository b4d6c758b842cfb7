"""``alignset report``: lay the results of a store out as one HTML file."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path

import click
import pandas as pd

from alignset.experiment.store import Store
from alignset.report import Publication, Reproduction
from alignset.report.publication import load_publication
from alignset.report.reproduction import NO_PUBLICATION, save_figures
from alignset.report.verdicts import Verdicts

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("report")
@click.argument("store", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=_FILE, default=Path("report.html"), show_default=True,
    help="The HTML file to write.",
)  # fmt: skip
@click.option(
    "--claims", type=_FILE,
    help="A Python file that defines PUBLICATION: names, figures and claims. It is executed.",
)  # fmt: skip
@click.option(
    "--published", type=_FILE,
    help="Published values as CSV; published.csv beside the claims if there is one.",
)  # fmt: skip
@click.option("--figures", type=_FOLDER, help="Also write every picture as SVG and CSV here.")
def command(
    store: Path, output: Path, claims: Path | None, published: Path | None, figures: Path | None
) -> None:
    """Lay the results of STORE out as one self-contained HTML file.

    Every experiment is drawn with mean and standard deviation over seeds. With --claims, the
    publication's values stand beside ours and every claim gets a verdict. Nothing is trained;
    the same store gives the same file.
    """
    results = Store(store).frame()
    if results.empty:
        raise ValueError(f"{store} holds no cell yet; fill it with `alignset run SPEC`.")
    publication = load_publication(claims) if claims else NO_PUBLICATION
    found = Reproduction(results, publication, _published(publication, claims, published))
    write_text(output, found.page().html())
    if figures:
        figures.mkdir(parents=True, exist_ok=True)
        for name, text in save_figures(found.displays).items():
            write_text(figures / name, text)
        if publication.claims:
            verdicts = Verdicts(found.judged).frame()
            write_text(figures / "claims.csv", verdicts.to_csv(index=False, lineterminator="\n"))
    click.echo(f"{output}: {_told(found)}")


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


def _told(found: Reproduction) -> str:
    counts = Counter(str(judged.verdict.state) for judged in found.judged)
    told = [f"{len(found.cells)} cells", f"{len(found.displays)} figures"]
    told += [f"{n} {state}" for state, n in sorted(counts.items())]
    return ", ".join(told)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", newline="\n", dir=path.absolute().parent, delete=False
    ) as part:
        try:
            part.write(text)
            part.close()
            os.chmod(part.name, 0o644)
            os.replace(part.name, path)
        except BaseException:
            os.unlink(part.name)
            raise
