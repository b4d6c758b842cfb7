"""What is wrong with rows of a sheet: found all at once, each said with its place and a guess."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from alignset.rows.listing import most_like

MOST = 20
"""Problems of a sheet that are listed; the others are counted."""
_SHORT = 80
"""Characters of a value that are shown."""


class SheetProblem(NamedTuple):
    """One row of a sheet that cannot be joined.

    Examples
    --------
    >>> str(SheetProblem(4, "17", "'ys' is no answer"))
    "line 4, row '17': 'ys' is no answer"
    """

    line: int  # as a spreadsheet program counts: the header is line 1; 0 if it is not known
    id: str
    said: str

    def __str__(self) -> str:
        where = f"line {self.line}, " if self.line else ""
        return f"{where}row {shorten(self.id)}: {self.said}"


class SheetError(ValueError):
    """Rows of sheets that cannot be joined; the message has a line for each, up to twenty."""


def shorten(value: str) -> str:
    """Return a value in quotation marks, cut off if it is very long."""
    return repr(value if len(value) <= _SHORT else f"{value[:_SHORT]}...")


def suggest(value: str, known: Sequence[str]) -> str:
    """Return "; did you mean ...?" for the known value that is most like this one.

    Examples
    --------
    >>> suggest("ys", ["no", "yes"])
    "; did you mean 'yes'?"
    """
    close = most_like(value[:_SHORT], known)
    return "" if close is None else f"; did you mean {close!r}?"


def refuse(found: Iterable[tuple[str, SheetProblem]]) -> None:
    """Raise one error about all problems, in the order of sheets and lines; nothing if none."""
    problems = list(found)
    if not problems:
        return
    if len(problems) == 1:
        name, one = problems[0]
        raise SheetError(f"{name}, {one}")
    lines = [f"  {name}, {one}" for name, one in problems[:MOST]]
    more = len(problems) - len(lines)
    lines += [f"  and {more} more"] if more else []
    raise SheetError("\n".join([f"{len(problems)} rows cannot be joined:", *lines]))
