"""Kernels in C on a CPU, in single precision; anything they cannot do is left to torch.

Loops in C do not hold Python's lock, so two threads really use two cores. Each replica is computed
separately, so its bits do not depend on what it is stacked with.
"""

from __future__ import annotations

import ctypes
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from alignset.extras import torch
from alignset.stack.kernels import constants
from alignset.stack.kernels.build import verified
from alignset.stack.kernels.constants import BETA_1, BETA_2, EPS, PIECES, ROWS, SLAB
from alignset.stack.kernels.torch import Torch, refuse_second_derivative, row_loss
from alignset.stack.threads import alone, share
from alignset.stack.workspace import borrow

if TYPE_CHECKING:
    from torch import Tensor

    from alignset.stack.kernels import AdamStep, Blocks, PullBack, Tensors, Weights

PANEL = 500
"""Fewest rows whose gradients are summed in one go; more rows are cut evenly into panels."""

MIN_WORK = 1 << 24
"""Multiplications above which it pays to hand out pieces to threads, if there are any."""

MAX_INPUTS = 2048
"""Above about this many features the matrix library is as fast, and needs no packed copy."""


class C(Torch):
    """The functions of one compiled file."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(verified(path))

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function: tensors, arrays, tuples and lists of tensors as pointers."""
        getattr(self._library, name)(*map(_for_c, arguments))

    def mlp(
        self, last_relu: bool, blocks: Blocks, flat: Tensors, keep: bool = True
    ) -> tuple[Tensor, PullBack]:
        if not _can_run(blocks, flat):
            return super().mlp(last_relu, blocks, flat, keep)
        n, (q, c, h, _) = len(blocks), flat[0].shape
        widths = [b.shape[-1] for b in blocks]
        weights = [flat[0] if n == 1 else torch.cat(flat[:n], -1), *flat[n:]]  # type: ignore[arg-type]
        weights = [t.contiguous() for t in weights]
        size = (blocks[0].shape[-2], sum(widths), h, flat[-1].shape[2], len(weights) // 2 - 1)
        s = _Stack(q, c, *size, last_relu, any(b.shape[1] > 1 for b in blocks))
        x, panels = self._packed(s, blocks), s.panels()
        pieces = [piece for panel in panels for piece in panel]
        kept = [borrow(q, c, s.n_blocks, h, ROWS) for _ in range(s.depth)] if keep else []
        room = borrow(len(pieces), h * s.depth + s.k, ROWS)
        logits = torch.empty(q, c, s.k, s.n_rows)

        def forward(i: int) -> None:
            *layers, top = torch.split(room[i], [h] * s.depth + [s.k])
            self.call("forward", s, pieces[i], x, weights, kept or layers, len(kept), top, logits)

        def pull_back(grad: Tensor, wanted: tuple[bool, ...]) -> tuple[Tensor | None, ...]:
            del wanted  # gradients with respect to the inputs are left to torch
            total = self._weight_grads(s, panels, (x, weights, kept, grad.contiguous()))
            first = torch.split(total[0], widths, -1) if n > 1 else total[:1]
            return *[None] * n, *(part.contiguous() for part in first), *total[1:]

        share(forward, len(pieces))
        return logits, pull_back

    def _packed(self, s: _Stack, blocks: Blocks) -> Tensor:
        x, first = borrow(s.q, s.c if s.own_x else 1, s.n_blocks, s.d, ROWS), 0
        for block in blocks:
            assert isinstance(block, torch.Tensor)
            of_problem, of_replica, *rest = block.stride()
            step = (of_problem, of_replica if block.shape[1] > 1 else 0, *rest)
            self.call("pack_inputs", s, block, step, block.shape[-1], first, x)
            first += block.shape[-1]
        return x

    def _weight_grads(self, s: _Stack, panels: list[Any], read: tuple[Any, ...]) -> list[Tensor]:
        _, weights, *_ = read
        sums = [[torch.empty_like(w) for w in weights] for _ in panels]
        pieces = [(piece, own) for panel, own in zip(panels, sums, strict=True) for piece in panel]
        room = borrow(len(pieces), -(-s.n_blocks // len(panels)), 2 * s.h + s.k, ROWS)

        def backward(i: int) -> None:
            piece, own = pieces[i]
            self.call("backward", s, piece, *read, room[i], own)

        share(backward, len(pieces))
        for panel in sums[1:]:
            for total, more in zip(sums[0], panel, strict=True):
                total.add_(more)
        return sums[0]

    def pair_loss(self, z: Tensor, sign: Tensor) -> Tensor:
        if not _rowwise(z, sign, (4, 3)):
            return super().pair_loss(z, sign)
        return row_loss(partial(self._row_loss, "pair_loss"), z, sign)

    def logit_loss(self, z: Tensor, target: Tensor) -> Tensor:
        if not _rowwise(z, target, (3, 3)):
            return super().logit_loss(z, target)
        return row_loss(partial(self._row_loss, "logit_loss"), z, target)

    def _row_loss(self, name: str, z: Tensor, shared: Tensor) -> tuple[Tensor, Tensor]:
        z, n_rows = z.contiguous(), z.shape[-1]
        loss, slope = z.new_empty(*z.shape[:2], n_rows), torch.empty_like(z)
        self.call(name, z, shared.contiguous(), *_sizes(z, shared), n_rows, loss, slope)
        return loss, slope

    def weighted_sums(self, values: Tensor, weight: Tensor) -> Tensor:
        if not _rowwise(values, weight, (3, 4)):
            return super().weighted_sums(values, weight)
        out: Tensor = _weighted_sums().apply(self.call, values, weight)
        return out

    def adam(
        self, params: Weights, first: Weights, second: Weights, lr: Tensor, l2: Tensor
    ) -> AdamStep:
        slow = super().adam(params, first, second, lr, l2)
        dense = all(p.is_contiguous() or _by_feature(p) for p in params.values())
        state = [*params.values(), *first.values(), *second.values()]
        if not (params and dense and _fits(lr, l2, *state)):
            return slow
        lr, l2 = lr.contiguous(), l2.contiguous()
        table, owner = _table(params, first, second)
        within = table[:, 1].copy()
        ends = np.cumsum(table[:, 5] - table[:, 4])
        # small ones go together: handing out a piece costs more than the work itself
        cuts = [0, *(np.flatnonzero(np.diff(ends // constants.PIECE, append=-1)) + 1).tolist()]

        def step(grads: Weights, number: Tensor) -> None:
            if not all(_alike(grads[name], p) for name, p in params.items()):
                slow(grads, number)
                return
            table[:, 1] = np.array([grads[name].data_ptr() for name in params])[owner] + within
            t = number.item()
            rate, root = lr * (-1.0 / (1.0 - BETA_1**t)), (1.0 - BETA_2**t) ** -0.5

            def work(i: int) -> None:
                part = table[cuts[i] : cuts[i + 1]]
                self.call("adam", part, len(part), rate, l2, root, BETA_1, BETA_2, EPS)

            share(work, len(cuts) - 1)

        return step

    def sparse_product(self, columns: list[Any], wide: Tensor, out: Tensor) -> None:
        if not (_fits(wide, out) and _plain(*columns)):
            super().sparse_product(columns, wide, out)
            return
        self._in_slabs("sparse_forward", columns, wide.contiguous(), out, wide.shape[2])

    def sparse_gradient(self, columns: list[Any], g: Tensor) -> Tensor:
        if not (_fits(g) and _plain(*columns)):
            return super().sparse_gradient(columns, g)
        out = borrow(len(columns), columns[0].shape[1], g.shape[1])
        self._in_slabs("sparse_backward", columns, g.contiguous(), out, g.shape[1])
        return out

    def _in_slabs(
        self, name: str, columns: list[Any], dense: Tensor, out: Tensor, units: int
    ) -> None:
        """Multiply for every problem and slab of units."""
        n_slabs = -(-units // SLAB)

        def multiply(piece: int) -> None:
            i, slab = divmod(piece, n_slabs)
            x = columns[i]
            given = (x.indptr, x.indices, x.data, *x.shape, dense[i], units, slab * SLAB)
            self.call(name, *given, out[i], torch.empty(x.shape[0] * SLAB))

        share(multiply, len(columns) * n_slabs)

    def take_rows(self, matrix: Any, rows: NDArray[np.int64]) -> Any:
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        n = int((matrix.indptr[rows + 1] - matrix.indptr[rows]).sum(dtype=np.int64))
        if not _plain(matrix) or n > np.iinfo(np.int32).max:
            return super().take_rows(matrix, rows)
        shape = (len(rows), matrix.shape[1])
        starts = np.empty(shape[1] + 1, dtype=np.int32)
        row, value = borrow(n).numpy().view(np.int32), borrow(n).numpy()
        given = (matrix.indptr, matrix.indices, matrix.data, rows, *shape)
        self.call("sparse_columns", *given, starts, row, value)
        return scipy.sparse.csc_matrix((value, row, starts), shape)


class _Stack(NamedTuple):
    """The structure of this name in ``mlp.c``."""

    q: int
    c: int
    n_rows: int
    d: int
    h: int
    k: int
    depth: int
    last_relu: bool
    own_x: bool

    @property
    def n_blocks(self) -> int:
        return -(-self.n_rows // ROWS)

    def panels(self) -> list[list[tuple[int, ...]]]:
        """Cut the work: by panels of rows, which decide how sums round, then by replicas."""
        n, n_panels = self.q * self.c, max(1, self.n_rows // PANEL)
        busy = alone() and n * self.n_rows * self.h * (self.d + self.h) >= MIN_WORK
        step = -(-n // max(1, PIECES // n_panels)) if busy else n
        size = -(-self.n_blocks // n_panels)
        return [
            [(r, min(r + step, n), b, min(b + size, self.n_blocks)) for r in range(0, n, step)]
            for b in range(0, self.n_blocks, size)
        ]


@cache
def _weighted_sums() -> Any:
    """Return the function, defined once torch is there."""

    class WeightedSums(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, call: Any, values: Tensor, weight: Tensor) -> Tensor:
            values, weight = values.contiguous(), weight.contiguous()
            out = values.new_empty(*values.shape[:2], weight.shape[2])
            ctx.save_for_backward(weight)
            ctx.call, ctx.sizes = call, (*_sizes(values, weight), *weight.shape[2:])
            call("weighted_sums", values, weight, *ctx.sizes, out)
            return out

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, None]:
            refuse_second_derivative()
            (weight,), grad = ctx.saved_tensors, grads[0].contiguous()
            out = grad.new_empty(*grad.shape[:2], weight.shape[-1])
            ctx.call("weighted_sums_gradient", grad, weight, *ctx.sizes, out)
            return None, out, None

    return WeightedSums


def _for_c(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    if isinstance(value, int):
        return ctypes.c_int64(value)
    if isinstance(value, tuple):
        return (ctypes.c_int64 * len(value))(*value)
    if isinstance(value, list):
        return (ctypes.c_void_p * len(value))(*(t.data_ptr() for t in value))
    if isinstance(value, float):
        return ctypes.c_double(value)
    return ctypes.c_void_p(value.ctypes.data)


def _fits(*tensors: Any) -> bool:
    return all(
        isinstance(t, torch.Tensor) and t.is_cpu and t.dtype is torch.float32 for t in tensors
    )


def _can_run(blocks: Blocks, flat: Tensors) -> bool:
    n_rows, n_inputs = blocks[0].shape[-2], sum(b.shape[-1] for b in blocks)
    sizes_fit = n_rows > 0 and 0 < n_inputs < MAX_INPUTS
    return sizes_fit and _fits(*blocks, *flat) and not any(b.requires_grad for b in blocks)  # type: ignore[union-attr]


def _rowwise(values: Tensor, shared: Tensor, dims: tuple[int, int]) -> bool:
    """Tell whether values (Q, C, .., B) match a constant (Q, 1 or C, .., B)."""
    return (
        (values.dim(), shared.dim()) == dims
        and _fits(values, shared)
        and not shared.requires_grad
        and (values.shape[0], values.shape[-1]) == (shared.shape[0], shared.shape[-1])
        and shared.shape[1] in (1, values.shape[1])
        and values.numel() > 0
        and shared.numel() > 0
    )


def _sizes(values: Tensor, shared: Tensor) -> tuple[int, int]:
    """Replicas, and replicas per shared entry."""
    return values.shape[0] * values.shape[1], values.shape[1] // shared.shape[1]


def _table(params: Weights, first: Weights, second: Weights) -> tuple[NDArray[np.int64], list[int]]:
    """Return Adam's pieces (structures of ``adam.c``), gradients at address 0, and their owners."""
    table, owner = [], []
    for number, (name, p) in enumerate(params.items()):
        (q, c), apart = p.shape[:2], not p.is_contiguous()
        # by feature, replicas alternate within a problem; otherwise each is one run of weights
        run, in_turn = (p.shape[2], c) if apart else (p[0, 0].numel(), q * c)
        size = p[0].numel() if apart else p.numel()
        for i in range(p.numel() // size):
            at, m, v = (t.data_ptr() + 4 * i * size for t in (p, first[name], second[name]))
            for start in range(0, size, constants.PIECE):
                stop = min(size, start + constants.PIECE)
                table.append((at, 4 * i * size, m, v, start, stop, run, in_turn, i * c))
                owner.append(number)
    return np.array(table, dtype=np.int64), owner


def _by_feature(p: Tensor) -> bool:
    """Tell whether weights (Q, C, H, D) are laid out by feature: see ``sparse.feature_major``."""
    return p.dim() == 4 and p.permute(0, 3, 1, 2).is_contiguous()


def _alike(g: Tensor, p: Tensor) -> bool:
    laid_out = g.is_contiguous() if p.is_contiguous() else _by_feature(g)
    return laid_out and g.dtype == torch.float32


def _plain(*matrices: Any) -> bool:
    return all(m.dtype == np.float32 and m.indptr.dtype == np.int32 for m in matrices)
