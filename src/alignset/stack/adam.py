"""Adam with one learning rate and one L2 constant per replica."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from alignset.extras import torch
from alignset.stack.gradient import without_gradient
from alignset.stack.kernels import on
from alignset.stack.net import Params

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class StackedAdam:
    """For each replica, the same as ``torch.optim.Adam(lr=lr, weight_decay=l2)``.

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
        if self.steps is None:  # on the device, so that a recorded step also counts
            self.steps = torch.zeros((), dtype=torch.float64, device=self.lr.device)
        if not self.first:
            self.first = {k: torch.zeros_like(v) for k, v in self.params.items()}
            self.second = {k: torch.zeros_like(v) for k, v in self.params.items()}
        state = (self.params, self.first, self.second, self.lr, self.l2)
        self._step = on(self.lr.device).adam(*state)  # not self: a cycle would be freed late

    @without_gradient
    def step(self, grads: Params) -> None:
        """Take one step; ``grads`` is overwritten."""
        assert self.steps is not None
        self.steps += 1
        self._step(grads, self.steps)

    def rearranged(self, params: Params, take: Callable[[Tensor], Tensor]) -> StackedAdam:
        """Return the optimiser for a repacked stack; ``take`` maps old tensors to new ones."""
        return StackedAdam(
            params,
            take(self.lr),
            take(self.l2),
            self.steps,
            {k: take(v) for k, v in self.first.items()},
            {k: take(v) for k, v in self.second.items()},
        )
