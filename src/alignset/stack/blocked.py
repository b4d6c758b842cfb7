"""The MLP's two passes in C: rows in blocks that stay in the first-level cache, see ``mlp.c``.

A replica is computed on its own, so its bits do not depend on what it is stacked with.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, TypeGuard

import torch
from torch import Tensor

from alignset.stack import native
from alignset.stack.rowwise import refuse_second_derivative
from alignset.stack.sparse import Block
from alignset.stack.threads import alone, share
from alignset.stack.workspace import Lease

ROWS = 64
"""Rows of a block, as in ``mlp.c``."""

PANEL = 500
"""Rows whose gradients are summed in one go, at least; more rows are cut evenly into panels."""

MIN_WORK = 1 << 24
"""Multiplications from which handing out pieces pays where threads are to be had."""

PIECES = 8

MAX_INPUTS = 2048
"""From about this many features on the matrix library is as fast, and needs no packed copy."""


class _Stack(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_ssize_t)
        for name in ("q", "c", "n_rows", "d", "h", "k", "depth", "last_relu", "own_x")
    )


class _Piece(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_ssize_t) for name in ("replica", "replica_to", "block", "block_to")
    )


@cache
def _library() -> Any:
    library = native.library("mlp")
    if library is not None:
        pointer, size = ctypes.c_void_p, ctypes.c_ssize_t
        library.pack_inputs.argtypes = [pointer, pointer, pointer, size, size, pointer]
        library.forward.argtypes = [*[pointer] * 5, size, pointer, pointer]
        library.backward.argtypes = [pointer] * 8
        for function in (library.pack_inputs, library.forward, library.backward):
            function.restype = None
    return library


def usable(blocks: tuple[Block, ...], flat: tuple[Tensor, ...]) -> TypeGuard[tuple[Tensor, ...]]:
    """Tell whether both passes can run here; a gradient into the inputs cannot."""
    if _library() is None or not all(_plain(t) for t in (*blocks, *flat)):
        return False
    n_rows, n_inputs = blocks[0].shape[-2], sum(b.shape[-1] for b in blocks)
    return n_rows > 0 and 0 < n_inputs < MAX_INPUTS and not any(_wants_grad(b) for b in blocks)


def _plain(t: Block) -> bool:
    return isinstance(t, Tensor) and t.device.type == "cpu" and t.dtype == torch.float32


def _wants_grad(block: Block) -> bool:
    return isinstance(block, Tensor) and block.requires_grad


def logits(last_relu: bool, blocks: tuple[Tensor, ...], flat: tuple[Tensor, ...]) -> Tensor:
    """Return the logits, feature-major (Q, C, K, B)."""
    if torch.is_grad_enabled() and any(t.requires_grad for t in flat):
        out: Tensor = _BlockedMLP.apply(last_relu, len(blocks), *blocks, *flat)  # type: ignore[no-untyped-call]
        return out
    lease = Lease(flat[0])
    return _Passes(last_relu, blocks, flat, lease).forward([], lease)


class _Passes:
    """What both passes of one stack read: its shape, packed inputs and contiguous weights."""

    def __init__(
        self, last_relu: bool, blocks: tuple[Tensor, ...], flat: tuple[Tensor, ...], lease: Lease
    ) -> None:
        n = len(blocks)
        q, c, h, _ = flat[0].shape
        self.widths = [b.shape[-1] for b in blocks]
        first = flat[0] if n == 1 else torch.cat(flat[:n], -1)
        self.weights = [t.contiguous() for t in (first, *flat[n:])]
        own = any(b.shape[1] > 1 for b in blocks)
        n_rows, depth = blocks[0].shape[-2], len(self.weights) // 2 - 1
        k = flat[-1].shape[2]
        self.stack = _Stack(q, c, n_rows, sum(self.widths), h, k, depth, last_relu, own)
        self.n_blocks = -(-n_rows // ROWS)
        self.x = lease.take(q, c if own else 1, self.n_blocks, sum(self.widths), ROWS)
        self._pack(blocks)

    def _pack(self, blocks: tuple[Tensor, ...]) -> None:
        first = 0
        for block in blocks:
            sq, sc, *rest = block.stride()
            step = (ctypes.c_ssize_t * 4)(sq, sc if block.shape[1] > 1 else 0, *rest)
            _library().pack_inputs(
                ctypes.byref(self.stack),
                block.data_ptr(),
                step,
                block.shape[-1],
                first,
                self.x.data_ptr(),
            )
            first += block.shape[-1]

    def room(self, lease: Lease) -> list[Tensor]:
        """Return room for all hidden layers (Q, C, blocks, H, ROWS)."""
        s = self.stack
        return [lease.take(s.q, s.c, self.n_blocks, s.h, ROWS) for _ in range(s.depth)]

    def pieces(self) -> list[list[_Piece]]:
        """Cut the work: by panels of rows, which decide how sums round, then by replicas."""
        s = self.stack
        n, n_panels = s.q * s.c, max(1, s.n_rows // PANEL)
        busy = alone() and n * s.n_rows * s.h * (s.d + s.h) >= MIN_WORK
        step = -(-n // max(1, PIECES // n_panels)) if busy else n
        size = -(-self.n_blocks // n_panels)
        return [
            [
                _Piece(r, min(r + step, n), b, min(b + size, self.n_blocks))
                for r in range(0, n, step)
            ]
            for b in range(0, self.n_blocks, size)
        ]

    def forward(self, kept: list[Tensor], lease: Lease) -> Tensor:
        """Return the logits; the hidden layers are written to ``kept`` if there is room."""
        s = self.stack
        out = self.weights[0].new_empty(s.q, s.c, s.k, s.n_rows)
        pieces = [piece for panel in self.pieces() for piece in panel]
        room = lease.take(len(pieces), s.h * s.depth + s.k, ROWS)

        def work(i: int) -> None:
            *layers, scratch = torch.split(room[i], [s.h] * s.depth + [s.k])
            _library().forward(
                ctypes.byref(s),
                ctypes.byref(pieces[i]),
                self.x.data_ptr(),
                _addresses(self.weights),
                _addresses(kept or layers),
                len(kept),
                scratch.data_ptr(),
                out.data_ptr(),
            )

        share(work, len(pieces))
        return out

    def backward(self, hidden: list[Tensor], grad: Tensor, lease: Lease) -> list[Tensor]:
        """Return the gradients of the weights, the first layer's cut into its blocks."""
        s, panels = self.stack, self.pieces()
        sums = [[torch.empty_like(w) for w in self.weights] for _ in panels]
        pieces = [(piece, own) for panel, own in zip(panels, sums, strict=True) for piece in panel]
        room = lease.take(len(pieces), -(-self.n_blocks // len(panels)), 2 * s.h + s.k, ROWS)
        grad = grad.contiguous()

        def work(i: int) -> None:
            piece, own = pieces[i]
            _library().backward(
                ctypes.byref(s),
                ctypes.byref(piece),
                self.x.data_ptr(),
                _addresses(self.weights),
                _addresses(hidden),
                grad.data_ptr(),
                room[i].data_ptr(),
                _addresses(own),
            )

        share(work, len(pieces))
        total = sums[0]
        for panel in sums[1:]:
            total = [t.add_(more) for t, more in zip(total, panel, strict=True)]
        first = torch.split(total[0], self.widths, -1) if len(self.widths) > 1 else total[:1]
        return [*(part.contiguous() for part in first), *total[1:]]


def _addresses(tensors: list[Tensor]) -> Any:
    return (ctypes.c_void_p * len(tensors))(*(t.data_ptr() for t in tensors))


class _BlockedMLP(torch.autograd.Function):
    """Both passes for autograd; what is kept is private memory, neither input nor output."""

    @staticmethod
    def forward(ctx: Any, last_relu: bool, n_blocks: int, *tensors: Tensor) -> Tensor:
        blocks, flat = tensors[:n_blocks], tensors[n_blocks:]
        ctx.lease = Lease(flat[0])  # ends with the graph
        ctx.passes = _Passes(last_relu, blocks, flat, ctx.lease)
        ctx.hidden = ctx.passes.room(ctx.lease)
        ctx.save_for_backward(*flat)  # complains where weights were changed in between
        out: Tensor = ctx.passes.forward(ctx.hidden, Lease(flat[0]))
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivative()
        n_blocks = len(ctx.saved_tensors) - len(ctx.passes.weights) + 1
        found = ctx.passes.backward(ctx.hidden, grads[0], Lease(grads[0]))
        return (None, None, *[None] * n_blocks, *found)
