"""Several threads for the work of one stack, cut so that their number does not affect the result.

Only the size of the work decides how it is cut into pieces; threads decide who does which piece,
and every number is computed within one piece. A team belongs to the thread that opened it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from alignset.extras import torch

_active = threading.local()


@contextmanager
def team(size: int) -> Iterator[None]:
    """Let :func:`share` use ``size`` threads inside this block, including this thread."""
    before = getattr(_active, "team", None)
    # a pool does not start a thread until there is work for it
    with ThreadPoolExecutor(
        max(1, size - 1), initializer=torch.set_num_threads, initargs=(1,)
    ) as pool:
        _active.team = (pool, size)
        try:
            yield
        finally:
            _active.team = before


def alone() -> bool:
    """Tell whether this thread trains the only stack: whether it has a team, even a team of one.

    Work is cut the same way for a team of any size, even of one, so that all give the same bits.
    """
    return getattr(_active, "team", None) is not None


def share(work: Callable[[int], object], n: int) -> None:
    """Call ``work(0)`` to ``work(n - 1)``, in any order, on the threads of this thread's team."""
    helpers, size = getattr(_active, "team", None) or (None, 1)
    if helpers is None or min(size, n) < 2:
        for i in range(n):
            work(i)
        return
    numbers = itertools.count()  # the next piece goes to whoever is free

    def take_part() -> None:
        with torch.no_grad():  # a new thread starts with gradients enabled
            for i in numbers:
                if i >= n:
                    return
                work(i)

    others = [helpers.submit(take_part) for _ in range(min(size, n) - 1)]
    try:
        take_part()
    finally:
        for other in others:
            other.result()
