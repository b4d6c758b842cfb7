"""Work in threads that ends soon after its caller was interrupted: Ctrl-C is answered at once.

A thread cannot be ended from outside. So the caller does not wait for it: it is told that its work
is no longer wanted, and ends itself the next time it calls :func:`check_wanted`.
"""

from __future__ import annotations

import atexit
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import TypeVar

from alignset.interrupts import raise_lost_interrupt

T = TypeVar("T")
R = TypeVar("R")

_active = threading.local()
_abandoned: list[threading.Thread] = []

GRACE = 0.8
"""Seconds to wait for threads that were told to stop, and again when the program ends."""

_LOOK_SECONDS = 0.1


class Unwanted(BaseException):
    """Ends a thread whose work nobody waits for any longer."""


class Overdue(Unwanted):
    """Ends work that takes longer than it was given."""


class _Order:
    """Whether work is wanted: not when it, or the work that it is part of, was called off."""

    def __init__(self, whole: _Order | None, until: float = math.inf) -> None:
        self.whole, self.until, self.called_off = whole, until, False

    @property
    def ended_by(self) -> type[Unwanted] | None:
        """Why the work is no longer wanted; None if it is."""
        above = None if self.whole is None else self.whole.ended_by
        if above is not None:
            return above
        if self.called_off:
            return Unwanted
        return Overdue if time.monotonic() >= self.until else None


def check_wanted() -> None:
    """End this thread's work if its caller was interrupted; call this every few milliseconds."""
    raise_lost_interrupt()
    order: _Order | None = getattr(_active, "order", None)
    why = None if order is None else order.ended_by
    if why is not None:
        raise why


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Give the work of a block so much time; then :func:`check_wanted` in it raises Overdue.

    Examples
    --------
    >>> with within(0):
    ...     check_wanted()
    Traceback (most recent call last):
        ...
    alignset.stack.wanted.Overdue
    """
    whole: _Order | None = getattr(_active, "order", None)
    _active.order = _Order(whole, time.monotonic() + seconds)
    try:
        yield
    finally:
        _active.order = whole


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
            if i >= len(items) or order.ended_by is not None:
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
