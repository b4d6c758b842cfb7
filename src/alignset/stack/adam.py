"""Adam with one learning rate and one L2 constant per replica."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from alignset.stack import fused
from alignset.stack.net import Params

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
