"""Memory for activations, kept from step to step.

Freshly allocated memory is handed out by the operating system page by page, and touching it for
the first time costs as much as a pass over it. Training asks for the same few buffers thousands
of times; a workspace keeps them. It belongs to one thread and lives as long as one training.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

_active = threading.local()


class Lease:
    """Buffers on loan; they go back to their workspace when the lease is dropped."""

    def __init__(self, like: Tensor, pooled: bool = True) -> None:
        free: list[Tensor] | None = getattr(_active, "free", None)
        # a GPU allocator keeps memory by itself
        ours = pooled and like.device.type == "cpu" and like.dtype == torch.float32
        self._free = free if ours else None
        self._like = like
        self._taken: list[Tensor] = []

    def take(self, *shape: int) -> Tensor:
        """Return an uninitialised tensor of this shape."""
        if self._free is None:
            return self._like.new_empty(shape)
        size = math.prod(shape)
        fitting = [i for i, buffer in enumerate(self._free) if buffer.numel() >= size]
        if fitting:
            at = min(fitting, key=lambda i: self._free[i].numel())  # type: ignore[index]
            buffer = self._free.pop(at)
        else:
            buffer = torch.empty(size, dtype=torch.float32)
        self._taken.append(buffer)
        return buffer[:size].view(shape)

    def __del__(self) -> None:
        if self._free is not None:
            self._free.extend(self._taken)


LARGE = 1 << 18
"""Sizes of borrowed memory are rounded up to this many floats, so that they meet again."""


def borrow(size: int) -> Tensor:
    """Return ``size`` float32 numbers on the CPU, not initialised.

    Inside a workspace their memory comes back by itself once nothing refers to it: for results
    that are handed on, where a :class:`Lease` would end too early.
    """
    pools: dict[int, list[Tensor]] | None = getattr(_active, "large", None)
    if pools is None:
        return torch.empty(size)
    pool = pools.setdefault(-(-size // LARGE), [])
    buffer = pool.pop() if pool else torch.empty(-(-size // LARGE) * LARGE)
    # a tensor made from an array holds on to it, and so does every view of the tensor
    array = buffer.numpy()
    weakref.finalize(array, pool.append, buffer).atexit = False
    return torch.from_numpy(array)[:size]


@contextmanager
def workspace() -> Iterator[None]:
    """Keep buffers between steps inside this block, in this thread."""
    before = getattr(_active, "free", None), getattr(_active, "large", None)
    _active.free, _active.large = [], {}
    try:
        yield
    finally:
        _active.free, _active.large = before
