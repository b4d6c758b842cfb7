"""Options and table printing shared by the review commands."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import click
import pandas as pd
from rich.console import Console
from rich.table import Table as Grid

from alignset.cli.visible import one_line, visible
from alignset.evaluate.proportion import IntervalRule, clopper_pearson, wilson
from alignset.review.aim import MEASURES, Aim
from alignset.review.design import Allocation, even, neyman, proportional
from alignset.review.log import read_answers
from alignset.tables.files import plain

ALLOCATIONS: Mapping[str, Allocation] = {of.__name__: of for of in (proportional, even, neyman)}
INTERVALS: Mapping[str, IntervalRule] = {"wilson": wilson, "exact": clopper_pearson}
LEVEL, ASSURANCE = 0.95, 0.9
"""Coverage of intervals, and share of reviews that keep a plan, unless others are asked for."""
MAX_CELL = 200
"""Characters of a cell that are printed."""
LONG_TEXT = 40
"""Characters from which a column is text that may be wrapped."""
FILE_WIDTH = 160
"""Width of printed tables when the output is not a terminal."""

PATH = click.Path(path_type=Path)

table_argument = click.argument("table", type=PATH)
group_option = click.option(
    "--group", multiple=True, metavar="COLUMN", help="Group column; repeat to intersect groups."
)
id_option = click.option(
    "--id", metavar="COLUMN", help="Column that identifies rows.  [default: position]"
)


def _check_level(_context: click.Context, _option: click.Parameter, level: float) -> float:
    """Refuse a level before any work is done, and before anything is computed with it."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}; write 0.95 for 95 %.")
    return level


level_option = click.option(
    "--level", default=LEVEL, show_default=True, callback=_check_level,
    help="Coverage of the intervals.",
)  # fmt: skip
interval_option = click.option(
    "--interval", "rule", type=click.Choice(list(INTERVALS)), default="wilson", show_default=True,
    callback=lambda _context, _option, name: INTERVALS[name],
)  # fmt: skip
assurance_option = click.option(
    "--assurance", type=float, default=ASSURANCE, show_default=True,
    help="Share of reviews that keep the half-width.",
)  # fmt: skip
expected_option = click.option(
    "--expected", is_flag=True, help="Plan the expected half-width: half keep it."
)
allocation_option = click.option(
    "--allocation", type=click.Choice(list(ALLOCATIONS)), default="proportional", show_default=True,
    callback=lambda _context, _option, name: ALLOCATIONS[name],
    help="How to share rows out among group x label cells.",
)  # fmt: skip
score_option = click.option(
    "--score", metavar="COLUMN",
    help="Score of the larger label, from a model that did not learn from these true labels.",
)  # fmt: skip
score_b_option = click.option(
    "--score-b", metavar="COLUMN", help="A second score, to be compared with the first."
)
threshold_option = click.option("--threshold", type=float, help="Scores from here on are flagged.")
between_option = click.option(
    "--between", nargs=2, metavar="GROUP GROUP", default=None,
    help="The difference between two groups: the second minus the first.",
)  # fmt: skip
answers_option = click.option(
    "--answers", type=PATH, metavar="FILE",
    help="Log of reviewers' answers that `alignset join` wrote: labels are as sure as these are.",
)  # fmt: skip
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
overwrite_option = click.option("--overwrite", is_flag=True, help="Replace files that exist.")
seed_option = click.option("--seed", "random_state", default=0, show_default=True)
label_studio_option = click.option(
    "--label-studio", "tasks", type=PATH, help="Also write Label Studio tasks (JSON)."
)
design_option = click.option(
    "--design", type=PATH, metavar="FILE",
    help="How rows were drawn, as `alignset sample` wrote it.  [default: beside sheet or table]",
)  # fmt: skip
show_option = click.option(
    "--show", multiple=True, metavar="COLUMN", help="Column the reviewer sees; can be repeated."
)
guess_option = click.option(
    "--guess", multiple=True, metavar="RATE|LABEL=RATE",
    help="Expected noise rate, or LABEL=RATE for each observed label.  [default: 0.2]",
)  # fmt: skip


def measure_option(default: str | None) -> Callable[[Any], Any]:
    """Return the option that says what the review is to tell."""
    return click.option(
        "--measure", type=click.Choice(MEASURES), default=default, show_default=default is not None,
        help="What to know: wrong is the noise rate; all but wrong and prevalence need --score.",
    )  # fmt: skip


def take_aim(options: dict[str, Any]) -> Aim | None:
    """Take the options that make an aim out of all options; None if no measure was named."""
    names = ("score", "score_b", "threshold", "between")
    given = {name: options.pop(name) for name in names}
    measure = options.pop("measure")
    if measure is None:
        for name, value in given.items():
            if value is not None:
                raise click.UsageError(f"--{name.replace('_', '-')} needs --measure.")
        return None
    return Aim(measure, **given)


def out_option(text: str) -> Callable[[Any], Any]:
    """Return the option that says where the result goes."""
    return click.option("-o", "--out", type=PATH, required=True, metavar="FILE", help=text)


def parse_guess(given: Sequence[str], labels: Sequence[Any]) -> float | dict[Any, float]:
    """Turn ``("0.2",)`` or ``("no=0.1", "yes=0.3")`` into what plan and sample take."""
    try:
        if not given:
            return 0.2
        if len(given) == 1 and "=" not in given[0]:
            return float(given[0])
        pairs = [text.rpartition("=") for text in given]
        values = {str(label): label for label in labels}
        return {values.get(name, name): float(rate) for name, _, rate in pairs}
    except ValueError:
        raise click.BadParameter(
            f"{' '.join(given)!r}; write --guess 0.2, or --guess no=0.1 --guess yes=0.3.",
            param_hint="--guess",
        ) from None


REVIEWERS = {
    "reviewer": "reviewer", "answers": "answers", "shared": "shared", "cannot_tell": "cannot tell",
    "error": "error rate", "low": "from", "high": "to",
}  # fmt: skip
"""Column of what is known about reviewers -> its heading."""


def read_answers_file(path: Path | None) -> pd.DataFrame | None:
    """Read a log of answers as text; None if there is no file."""
    return None if path is None else read_answers(path)


def print_grid(frame: pd.DataFrame, titles: Mapping[str, str]) -> None:
    """Print columns of a frame: numbers right-aligned, missing values blank.

    Only columns of long texts are wrapped. What does not fit a terminal is printed a row at a time,
    a line for each column; into a file, lines are as long as they have to be.
    """
    heads = [visible(title, most=MAX_CELL) for title in titles.values()]
    rows = [[_text(v) for v in row.values()] for row in frame[list(titles)].to_dict("records")]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    least = sum(min(width, LONG_TEXT) + 2 for width in widths) - 2
    out = console()
    if least > out.width and out.is_terminal:
        _print_upright(out, heads, rows)
        return
    out.width = max(out.width, least)
    grid = Grid(box=None, pad_edge=False)
    for name, head, width in zip(titles, heads, widths, strict=True):
        number = pd.api.types.is_numeric_dtype(frame[name])
        side: Literal["left", "right"] = "right" if number else "left"
        grid.add_column(head, justify=side, no_wrap=width <= LONG_TEXT)
    for row in rows:
        grid.add_row(*row)
    out.print(grid)


def _print_upright(out: Console, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print every row as a block: its first column, and below it a line for each of the others."""
    for i, row in enumerate(rows):
        if i:
            out.print()
        for j, (head, text) in enumerate(zip(heads, row, strict=True)):
            if text or j == 0:
                out.print(f"{'  ' if j else ''}{head}: {text}", soft_wrap=True)


def say_next(*words: object) -> None:
    """Print the command to type next, on one line, as a shell takes it, so that it can be copied.

    The words are those after ``alignset``.
    """
    command = shlex.join(["alignset", *map(str, words)])
    click.echo(visible(f"next: {command}"))


def say(text: str) -> None:
    """Print a sentence, wrapped to the terminal."""
    console().print(visible(text), highlight=False, markup=False)


def console() -> Console:
    """Return a console for standard output; wide when that is not a terminal."""
    out = Console(highlight=False, markup=False, emoji=False)
    if not out.is_terminal:
        out.width = FILE_WIDTH
    return out


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.3f}" if isinstance(value, float) else one_line(visible(value, most=MAX_CELL))


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(plain(value), indent=2))
