"""Report the progress of long work: the one way it is done, and a bar that shows it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, float, float], None]
"""Called with (what is being done, how much of it is done, how much there is to do)."""


def silent(what: str, done: float, total: float) -> None:
    """Report to nobody."""


class Counter:
    """Count finished pieces of work, from any thread, and report them.

    Parameters
    ----------
    progress : Progress or None
        Called with every report; None reports to nobody.
    what : str
        What is being done.
    total : float
        Number of pieces to do.

    Examples
    --------
    >>> told = []
    >>> counter = Counter(lambda *report: told.append(report), "training", 3)
    >>> counter.add(2)
    >>> told
    [('training', 0, 3), ('training', 2, 3)]
    """

    def __init__(self, progress: Progress | None, what: str, total: float) -> None:
        self.progress, self.what, self.total = progress or silent, what, total
        self.done: float = 0
        self.lock = threading.Lock()
        self.add(0)

    def add(self, n: float = 1, what: str | None = None) -> None:
        """Count ``n`` more pieces as finished; ``what``, if given, is what comes next."""
        with self.lock:
            self.done += n
            self.what = what or self.what
            self.progress(self.what, self.done, self.total)

    @contextmanager
    def part(self, size: float) -> Iterator[Callable[[float], None]]:
        """Yield what takes the share of ``size`` pieces that is done; in the end all of them are.

        Examples
        --------
        >>> told = []
        >>> counter = Counter(lambda *report: told.append(report[1]), "training", 8)
        >>> with counter.part(4) as tell:
        ...     tell(0.25)
        >>> told
        [0, 1.0, 4.0]
        """
        done = 0.0

        def tell(share: float) -> None:
            nonlocal done
            self.add(size * share - done)
            done = size * share

        yield tell
        tell(1.0)


@contextmanager
def progress_bar(*, show: bool | None = None) -> Iterator[Progress]:
    """Yield a Progress that draws a bar on standard error.

    Parameters
    ----------
    show : bool, optional
        By default the bar is shown only in a terminal or a notebook.

    Examples
    --------
    >>> with progress_bar(show=False) as progress:
    ...     progress("reading", 1, 2)
    """
    from rich import progress as shown  # only when there may be something to show
    from rich.console import Console

    console = Console(stderr=True)
    looked_at = console.is_terminal or console.is_jupyter
    if not (looked_at if show is None else show):
        yield silent
        return
    text, left = (shown.TextColumn(of, markup=False) for of in ("{task.description}", "left"))
    bar, spent, remaining = (
        shown.BarColumn(),
        shown.TimeElapsedColumn(),
        shown.TimeRemainingColumn(),
    )
    columns = (text, bar, spent, left, remaining)
    # with few, long pieces, a short window would forget the slow ones
    with shown.Progress(*columns, console=console, speed_estimate_period=3600.0) as bars:
        task = bars.add_task("", total=None)
        yield lambda what, done, total: bars.update(
            task, description=what, completed=done, total=total
        )
