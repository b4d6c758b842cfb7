"""How far long work has come, shown on standard error where that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Advance = Callable[[str, float, float], None]
"""Called with (what is being done, how much is done, how much there is)."""


@contextmanager
def progress_bar(*, show: bool = True) -> Iterator[Advance]:
    """Yield a function that moves a bar; silent where standard error is no terminal.

    Examples
    --------
    >>> with progress_bar(show=False) as advance:
    ...     advance("reading", 1, 2)
    """
    console = Console(stderr=True)
    if not (show and console.is_terminal):
        yield lambda *_: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=console) as bars:
        task = bars.add_task("", total=None)
        yield lambda what, done, total: bars.update(
            task, description=what, completed=done, total=total
        )
