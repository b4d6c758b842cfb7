"""Adam with one learning rate and one L2 constant per replica."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
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
        self._one_pass = OnePass.of(self)

    @torch.no_grad()
    def step(self, grads: Params) -> None:
        """Take one step; ``grads`` is overwritten."""
        assert self.steps is not None
        self.steps += 1
        if self._one_pass is not None and self._one_pass.step(grads, self.steps.item()):
            return
        rate = self.lr * (-1.0 / (1.0 - BETA_1**self.steps)).to(self.lr.dtype)
        root = (1.0 - BETA_2**self.steps).rsqrt().to(self.lr.dtype)
        for name, param in self.params.items():
            state = (param, grads[name], self.first[name], self.second[name])
            if fused.usable(*state):
                fused.adam_(*state, rate, self.l2, root)
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


class OnePass:
    """Steps in C over all weights of an optimiser at once, as a table of pieces: ``adam.c``."""

    def __init__(self, adam: StackedAdam) -> None:
        self.params = adam.params  # not adam: two that hold each other are freed late
        self.lr, self.l2 = adam.lr.contiguous(), adam.l2.contiguous()
        table, self.owner = [], []
        for number, (name, p) in enumerate(adam.params.items()):
            (q, c), apart = p.shape[:2], not p.is_contiguous()
            # by feature, replicas take turns within a problem; else each is one run of weights
            run, in_turn = (p.shape[2], c) if apart else (p[0, 0].numel(), q * c)
            size = p[0].numel() if apart else p.numel()
            own = [t.data_ptr() for t in (p, adam.first[name], adam.second[name])]
            for i in range(p.numel() // size):
                at, m, v = (address + 4 * i * size for address in own)
                for start in range(0, size, PIECE):
                    stop = min(size, start + PIECE)
                    table.append((at, 4 * i * size, m, v, start, stop, run, in_turn, i * c))
                    self.owner.append(number)
        self.table = np.array(table, dtype=np.int64)
        self.within = self.table[:, 1].copy()
        ends = np.cumsum(self.table[:, 5] - self.table[:, 4])
        # small ones go together: handing out a piece costs more than they do
        shares = np.flatnonzero(np.diff(ends // PIECE, append=-1)) + 1
        self.shares = list(zip([0, *shares[:-1].tolist()], shares.tolist(), strict=True))

    @classmethod
    def of(cls, adam: StackedAdam) -> OnePass | None:
        """Return None where there is no library, or weights are not float32 on a CPU."""
        numbers = [adam.lr, adam.l2]
        for state in (adam.params, adam.first, adam.second):
            numbers += state.values()
        plain = all(t.device.type == "cpu" and t.dtype == torch.float32 for t in numbers)
        dense = all(p.is_contiguous() or _by_feature(p) for p in adam.params.values())
        return cls(adam) if plain and dense and adam.params and _library() is not None else None

    def step(self, grads: Params, t: float) -> bool:
        """Take step number ``t``; False, with nothing done, if gradients are laid out otherwise."""
        for name, p in self.params.items():
            g = grads[name]
            alike = g.is_contiguous() if p.is_contiguous() else _by_feature(g)
            if not alike or g.dtype != torch.float32:
                return False
        addresses = np.array([grads[name].data_ptr() for name in self.params])
        self.table[:, 1] = addresses[self.owner] + self.within
        rate = self.lr * (-1.0 / (1.0 - BETA_1**t))
        root = (1.0 - BETA_2**t) ** -0.5
        fixed = (rate.data_ptr(), self.l2.data_ptr(), root, BETA_1, BETA_2, EPS)
        start, width, update = self.table.ctypes.data, self.table.strides[0], _library().adam

        def work(number: int) -> None:
            first, last = self.shares[number]
            update(start + first * width, last - first, *fixed)

        share(work, len(self.shares))
        return True


def _by_feature(p: Tensor) -> bool:
    """Tell whether weights (Q, C, H, D) are laid out by feature: see ``sparse.feature_major``."""
    return p.dim() == 4 and p.permute(0, 3, 1, 2).is_contiguous()


@cache
def _library() -> Any:
    library = native.library("adam")
    if library is not None:
        pointer, size, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
        numbers = [ctypes.c_float, real, real, ctypes.c_float]
        library.adam.argtypes = [pointer, size, pointer, pointer, *numbers]
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
