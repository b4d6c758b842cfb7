"""Adam with one learning rate and one L2 constant per replica."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor

from alignset.stack import fused, native
from alignset.stack.net import Params
from alignset.stack.threads import share

BETA_1, BETA_2, EPS = 0.9, 0.999, 1e-8

PIECE = 1 << 18
"""Floats updated at a time on a CPU: four tensors of this size stay in the cache."""


@dataclass
class StackedAdam:
    """Equal, replica by replica, to ``torch.optim.Adam(lr=lr, weight_decay=l2)``.

    Parameters
    ----------
    params : dict of Tensor of shape (Q, C, ...)
        Updated in place by :meth:`step`.
    lr, l2 : Tensor of shape (Q, C)
        Learning rate and (coupled) L2 constant of each replica.

    Examples
    --------
    >>> params = {"w": torch.ones(1, 2, 1)}
    >>> adam = StackedAdam(params, lr=torch.tensor([[0.1, 0.5]]), l2=torch.zeros(1, 2))
    >>> adam.step({"w": torch.ones(1, 2, 1)})
    >>> params["w"].flatten()
    tensor([0.9000, 0.5000])
    """

    params: Params
    lr: Tensor
    l2: Tensor
    steps: Tensor | None = None
    first: Params = field(default_factory=dict)
    second: Params = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.steps is None:  # on the device, so that a recorded step counts too
            self.steps = torch.zeros((), dtype=torch.float64, device=self.lr.device)
        if not self.first:
            self.first = {k: torch.zeros_like(v) for k, v in self.params.items()}
            self.second = {k: torch.zeros_like(v) for k, v in self.params.items()}

    @torch.no_grad()
    def step(self, grads: Params) -> None:
        """Take one step; ``grads`` is overwritten."""
        assert self.steps is not None
        self.steps += 1
        rate = self.lr * (-1.0 / (1.0 - BETA_1**self.steps)).to(self.lr.dtype)
        root = (1.0 - BETA_2**self.steps).rsqrt().to(self.lr.dtype)
        for name, param in self.params.items():
            state = (param, grads[name], self.first[name], self.second[name])
            if fused.usable(*state):
                fused.adam_(*state, rate, self.l2, root)
                continue
            if _in_one_pass(*state, rate, self.l2, root):
                continue
            l2, lr = _like(self.l2, param), _like(rate, param)
            for p, g, m, v in _pieces(*state):
                g.addcmul_(p, l2)
                m.lerp_(g, 1.0 - BETA_1)
                v.mul_(BETA_2).addcmul_(g, g, value=1.0 - BETA_2)
                denominator = torch.sqrt(v, out=g).mul_(root).add_(EPS)
                p.addcdiv_(m * lr, denominator)

    def rearranged(self, params: Params, take: Callable[[Tensor], Tensor]) -> StackedAdam:
        """Return the optimiser of a regridded stack; ``take`` maps old tensors to new ones."""
        return StackedAdam(
            params,
            take(self.lr),
            take(self.l2),
            self.steps,
            {k: take(v) for k, v in self.first.items()},
            {k: take(v) for k, v in self.second.items()},
        )


def _in_one_pass(
    p: Tensor, g: Tensor, m: Tensor, v: Tensor, rate: Tensor, l2: Tensor, root: Tensor
) -> bool:
    """Take the step in C; False where it cannot: other types, or gradients laid out otherwise."""
    library = _library()
    state = (p, g, m, v)
    alike = all(t.dtype == torch.float32 and t.stride() == p.stride() for t in state)
    if library is None or not alike or p.device.type != "cpu":
        return False
    q, c = p.shape[:2]
    if p.is_contiguous():
        grids, run = [(rate, l2)], p.numel() // (q * c)
    elif p.dim() == 4 and p.permute(0, 3, 1, 2).is_contiguous():  # by feature, see sparse.py
        grids, run = list(zip(rate, l2, strict=True)), p.shape[2]
    else:
        return False
    size = p.numel() // len(grids)
    n_pieces = -(-size // PIECE)
    numbers = [(lr.contiguous(), decay.contiguous()) for lr, decay in grids]

    def update(piece: int) -> None:
        grid, i = divmod(piece, n_pieces)
        lr, decay = numbers[grid]
        library.adam(
            *(t.data_ptr() + 4 * grid * size for t in state),
            i * PIECE,
            min(size, (i + 1) * PIECE),
            run,
            lr.numel(),
            lr.data_ptr(),
            decay.data_ptr(),
            root.item(),
            BETA_1,
            BETA_2,
            EPS,
        )

    share(update, len(grids) * n_pieces)
    return True


@cache
def _library() -> Any:
    library = native.library("adam")
    if library is not None:
        pointer, size, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
        numbers = [ctypes.c_float, real, real, ctypes.c_float]
        library.adam.argtypes = [*[pointer] * 4, *[size] * 4, pointer, pointer, *numbers]
    return library


def _pieces(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Cut large tensors along their slowest axis, so that a step reads memory once."""
    param = tensors[0]
    if param.numel() <= PIECE or param.device.type != "cpu":
        yield tensors
        return
    axis = max(range(2, param.dim()), key=param.stride)
    step = max(1, PIECE * param.shape[axis] // param.numel())
    for start in range(0, param.shape[axis], step):
        length = min(step, param.shape[axis] - start)
        yield tuple(t.narrow(axis, start, length) for t in tensors)


def _like(per_replica: Tensor, p: Tensor) -> Tensor:
    """Give a (Q, C) tensor as many trailing axes as a parameter of shape (Q, C, ...)."""
    return per_replica.reshape(*per_replica.shape, *(1,) * (p.dim() - 2))
