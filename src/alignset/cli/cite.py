"""``alignset cite``: print BibTeX."""

from __future__ import annotations

import click

from alignset.estimator.names import papers_of
from alignset.methods.registry import REFERENCES


@click.command("cite")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def command(names: tuple[str, ...]) -> None:
    """Print BibTeX entries for the papers behind methods, or for alignset itself.

    NAME is one listed by `alignset methods`. Without a NAME, the entries are this software
    and the paper it grew from.
    """
    entries = [REFERENCES["alignset"], REFERENCES["tjandra2023"]]
    if names:
        try:
            entries = [entry for name in names for entry in papers_of(name)]
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    click.echo("\n\n".join(entry.text for entry in dict.fromkeys(entries)))
