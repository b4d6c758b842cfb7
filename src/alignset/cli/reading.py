"""Options that say how a table is written, and what its groups are; shared by all commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pandas as pd

from alignset.cli.visible import visible
from alignset.tables.bins import Bins, add_bins, binned, parse_bins
from alignset.tables.dialect import Dialect
from alignset.tables.files import column_names, is_text, read_table
from alignset.tables.spelling import fill_groups, read_names, unify_labels

_DIALECT = (
    click.option("--sep", metavar="MARK", help="Separator of TABLE, such as ';' or tab.  "
                 "[default: found out]"),
    click.option("--decimal", metavar="MARK", help="Decimal mark, '.' or ','.  "
                 "[default: found out]"),
    click.option("--encoding", metavar="NAME", help="Such as utf-8 or cp1252.  "
                 "[default: found out]"),
    click.option("--sheet-name", metavar="NAME", help="Sheet of an Excel file.  "
                 "[default: the first that is not empty]"),
    click.option("--keep-na", multiple=True, metavar="COLUMN", help="Column where the words None "
                 "and NA are values; only empty cells are gaps."),
)  # fmt: skip
_GROUPING = (
    click.option("bins", "--bin", multiple=True, metavar="COLUMN=NUMBERS", help="Groups from "
                 "ranges, such as age=18,40,65, or COLUMN=each for numbers that are names."),
    click.option("--missing-group", metavar="NAME", help="Group of rows without one.  "
                 "[default: refused]"),
)  # fmt: skip


@dataclass(frozen=True)
class TableReading:
    """How a table is to be read, as the options say."""

    dialect: Dialect
    bins: Bins = field(default_factory=dict)
    missing_group: str | None = None

    def groups(self, names: Sequence[str]) -> list[str]:
        """Return the group columns; one with ranges is the column of these."""
        return [binned(name) if self.bins.get(name) else name for name in names]

    def read(
        self,
        path: Path,
        *,
        ids: Sequence[str | None] = (),
        label: str | None = None,
        truth: str | None = None,
        groups: Sequence[str] = (),
        texts: Sequence[str] = (),
        columns: Sequence[str] | None = None,
        quiet: bool = False,
    ) -> pd.DataFrame:
        """Read a table; notes go to standard output, or to standard error if ``quiet``.

        ``ids`` are read as they are written; so are ``texts``, but NA is a gap there.
        """
        note = tell(quiet)
        kept = [*texts, *(name for name in ids if name is not None)]
        if columns is not None:
            columns = list(dict.fromkeys([*columns, *self.bins]))
        frame = read_table(path, columns=columns, as_text=kept, dialect=self.dialect, tell=note)
        frame = read_names(frame, texts, keep_na=self.dialect.keep_na)
        frame = unify_labels(frame, label, truth, tell=note)
        frame = add_bins(frame, self.bins)
        if self.missing_group is not None:
            frame = fill_groups(frame, self.groups(groups), self.missing_group, note)
        return frame

    def cells(self, path: Path, names: Sequence[str]) -> pd.DataFrame:
        """Return the columns of these that a text or Excel file has, as it shows them.

        Other formats know numbers from text, and show nothing.
        """
        if not is_text(path) and path.suffix.lower() != ".xlsx":
            return pd.DataFrame()
        there = set(column_names(path, dialect=self.dialect))
        wanted = [name for name in dict.fromkeys(names) if name in there]
        if not wanted:
            return pd.DataFrame()
        # what there is to tell was told when the table was read
        return read_table(
            path, columns=wanted, as_text=wanted, dialect=self.dialect, tell=_say_nothing
        )

    def to_data(self) -> dict[str, Any]:
        """Return what a model must know to read other tables in the same way."""
        found: dict[str, Any] = {name: list(edges) for name, edges in self.bins.items()}
        return {
            **({"bins": found} if found else {}),
            **({"missing_group": self.missing_group} if self.missing_group is not None else {}),
        }


def _say_nothing(_: str) -> None:
    pass


def tell(quiet: bool = False) -> Callable[[str], None]:
    """Return what prints a note; ``quiet`` keeps standard output free for a result."""
    return lambda text: click.echo(visible(f"note: {text}"), err=quiet)


GIVEN = "options of a reading"
"""Where a context keeps the options of a reading as they were given."""


def reading_words() -> list[str]:
    """Return the options of a reading as they were given, for the command to type next."""
    context = click.get_current_context()
    words: list[str] = []
    for param in context.command.params:
        value = context.meta[GIVEN].get(param.name or "")
        for each in value if isinstance(value, tuple) else [value]:
            words += [] if each is None else [param.opts[-1], str(each)]
    return words


class TableCommand(click.Command):
    """A command whose options about reading a table become one argument, ``reading``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse all options, and pack those of a reading."""
        left = super().parse_args(ctx, args)
        names = ("sep", "decimal", "encoding", "sheet_name", "keep_na", "bins", "missing_group")
        given = {name: ctx.params.pop(name) for name in names if name in ctx.params}
        ctx.meta[GIVEN] = given
        dialect = Dialect(
            separator=given["sep"],
            decimal=given["decimal"],
            encoding=given["encoding"],
            sheet=given["sheet_name"],
            keep_na=given["keep_na"],
        )
        bins = parse_bins(given.get("bins", ()))
        ctx.params["reading"] = TableReading(dialect, bins, given.get("missing_group"))
        return left


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a file's dialect; a ``TableCommand`` passes them on as ``reading``."""
    for option in reversed(_DIALECT):
        command = option(command)
    return command


def grouping_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that make groups; they are part of ``reading``, too."""
    for option in reversed(_GROUPING):
        command = option(command)
    return command
