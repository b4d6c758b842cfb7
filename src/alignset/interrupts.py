"""Ctrl-C that is neither too early nor lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_noted: list[int] = []


def note_interrupt(number: int) -> None:
    """Remember an interrupt that a handler is about to raise.

    Python drops an exception in a finalizer or a callback of compiled code, an interrupt as well.
    """
    _noted.append(number)


def was_interrupted() -> bool:
    """Tell whether there was an interrupt that nobody raised again."""
    return bool(_noted)


def raise_lost_interrupt() -> None:
    """Raise an interrupt once more that was noted; only the main thread is interrupted."""
    if _noted and threading.current_thread() is threading.main_thread():
        _noted.clear()
        raise KeyboardInterrupt


@contextmanager
def in_one_piece() -> Iterator[None]:
    """Hold back Ctrl-C while modules are imported: half a torch crashes when imported again.

    Only Python's own handler in the main thread is held back.
    """
    handler = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not main or handler is not signal.default_int_handler:
        yield
        return
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if pressed:
        raise KeyboardInterrupt
