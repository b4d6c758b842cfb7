"""Memory for activations, kept from step to step.

The operating system hands out new memory page by page, and touching it for the first time costs
as much as a pass over it. Training needs the same few buffers thousands of times; a workspace
keeps them. It belongs to one thread and lasts for one training.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alignset.extras import torch

if TYPE_CHECKING:
    from torch import Tensor

_active = threading.local()

Buffer = NDArray[np.float32]


SMALL = 1 << 14
"""Buffers with fewer floats are not kept: the C library has such memory ready."""

LARGE = 1 << 18
"""Larger sizes are rounded up to multiples of this many floats, so that buffers can be reused."""

LOOSE = 4
"""A buffer may be this many times larger than needed, as stacks shrink while they train."""


class _Memory:
    """Buffers that are free, and those that are lent.

    What is called when an array is gone must not be Python code: an interrupt in it would be lost.
    So it is the method of a list, and the list is read later.
    """

    def __init__(self) -> None:
        self._free: list[Buffer] = []
        self._lent: dict[int, tuple[weakref.ref[Buffer], Buffer]] = {}
        self._returned: list[weakref.ref[Buffer]] = []

    def free_buffers(self) -> list[Buffer]:
        """Return the buffers that nothing refers to any longer; take what you need out of it."""
        while self._returned:
            self._free.append(self._lent.pop(id(self._returned.pop()))[1])
        return self._free

    def lend(self, array: Buffer, buffer: Buffer) -> None:
        """Take the buffer back when the array is gone."""
        ref = weakref.ref(array, self._returned.append)
        self._lent[id(ref)] = ref, buffer


def borrow(*shape: int, like: Tensor | None = None) -> Tensor:
    """Return uninitialised memory for numbers: float32 on the CPU, or ``like`` a tensor.

    Inside a workspace, CPU memory returns to it automatically once nothing refers to it.
    """
    memory: _Memory | None = getattr(_active, "memory", None)
    # the GPU allocator keeps memory itself
    if like is not None and (like.device.type != "cpu" or like.dtype != torch.float32):
        return like.new_empty(shape)
    size = math.prod(shape)
    if memory is None or size < SMALL:
        return torch.empty(shape)
    free = memory.free_buffers()
    fitting = [i for i, b in enumerate(free) if size <= b.size <= LOOSE * size]
    if fitting:
        buffer = free.pop(min(fitting, key=lambda i: free[i].size))
    else:
        buffer = torch.empty(size if size < LARGE else -(-size // LARGE) * LARGE).numpy()
    # a tensor made from an array keeps it alive, and so does every view of the tensor
    array = buffer[:size].reshape(shape)
    memory.lend(array, buffer)
    return torch.from_numpy(array)


@contextmanager
def workspace() -> Iterator[None]:
    """Keep buffers between steps inside this block, in this thread."""
    before = getattr(_active, "memory", None)
    _active.memory = _Memory()
    try:
        yield
    finally:
        _active.memory = before
