"""Work in threads that ends soon after its caller was interrupted: Ctrl-C is answered at once.

A thread cannot be ended from outside. So the caller does not wait for it: it is told that its work
is no longer wanted, and ends itself the next time it calls :func:`check_wanted`.
"""

from __future__ import annotations

import atexit
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_active = threading.local()
_abandoned: list[threading.Thread] = []

GRACE = 0.8
"""Seconds to wait for threads that were told to stop, and again when the program ends."""

_LOOK_SECONDS = 0.1


class Unwanted(BaseException):
    """Ends a thread whose work nobody waits for any longer."""


class _Order:
    """Whether work is wanted: not when it was called off, or the work that it is part of."""

    def __init__(self, whole: _Order | None) -> None:
        self.whole, self.called_off = whole, False

    @property
    def wanted(self) -> bool:
        return not self.called_off and (self.whole is None or self.whole.wanted)


def check_wanted() -> None:
    """End this thread's work if its caller was interrupted; call this every few milliseconds."""
    order: _Order | None = getattr(_active, "order", None)
    if order is not None and not order.wanted:
        raise Unwanted


def spread(work: Callable[[T], R], items: Sequence[T], n: int) -> Iterator[R]:
    """Yield ``work(item)`` for every item, in order, computed in up to ``n`` threads.

    With one thread that is the caller's own. If the caller is interrupted, if an item fails or the
    generator is closed, the threads are called off; they have no part in what happens next.

    Examples
    --------
    >>> list(spread(lambda i: i * i, range(4), 2))
    [0, 1, 4, 9]
    """
    if min(n, len(items)) < 2:
        yield from map(work, items)
        return
    order = _Order(getattr(_active, "order", None))
    results: list[Future[R]] = [Future() for _ in items]
    numbers = itertools.count()  # the next item goes to whoever is free

    def serve() -> None:
        _active.order = order
        for i in numbers:
            if i >= len(items) or not order.wanted:
                return
            try:
                results[i].set_result(work(items[i]))
            except BaseException as error:  # raised again in the caller
                results[i].set_exception(error)

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(min(n, len(items)))]
    try:
        for thread in threads:
            thread.start()
        for result in results:
            while not wait([result], _LOOK_SECONDS).done:
                check_wanted()
            yield result.result()
    finally:
        order.called_off = True
        _let_end(threads)


def _let_end(threads: Sequence[threading.Thread]) -> None:
    """Wait a moment for threads to end; those that do not are left to themselves."""
    last = time.monotonic() + GRACE
    for thread in threads:
        if thread.ident is not None:
            thread.join(max(0.0, last - time.monotonic()))
    left = [thread for thread in threads if thread.is_alive()]
    if left:
        if not _abandoned:
            # compiled code that runs on while the interpreter is taken down may crash
            atexit.register(lambda: _let_end(list(_abandoned)))
        _abandoned[:] = [t for t in {*_abandoned, *left} if t.is_alive()]
