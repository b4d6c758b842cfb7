"""A stacked network: a backbone (pure functions) and parameters with a replica axis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from alignset.extras import torch
from alignset.stack.sparse import Block

if TYPE_CHECKING:
    from torch import Tensor

Params: TypeAlias = "dict[str, Tensor]"
"""Parameter name -> tensor of shape (Q, C, ...): Q problem rows, C replicas in each."""


@dataclass(frozen=True)
class NetShape:
    """Widths of a network's input blocks and of its output.

    The blocks are concatenated logically, not in memory: phi reads (x, one-hot observed label)
    without copying x.

    Examples
    --------
    >>> NetShape(inputs=(30, 2), outputs=1)
    NetShape(inputs=(30, 2), outputs=1)
    """

    inputs: tuple[int, ...]
    outputs: int


class Backbone(ABC):
    """A family of networks of one architecture, with a replica axis."""

    @abstractmethod
    def init(self, shape: NetShape, seeds: Tensor, stream: str) -> Params:
        """Return initial parameters of shape (P, 1, ...), one per seed."""

    @abstractmethod
    def apply(self, shape: NetShape, params: Params, blocks: tuple[Block, ...]) -> Tensor:
        """Map blocks (Q, 1, B, D_i) to outputs (Q, C, B, K)."""

    @abstractmethod
    def features(self, shape: NetShape, params: Params, blocks: tuple[Block, ...]) -> Tensor:
        """Map blocks to the last hidden layer after its activation, (Q, C, B, H)."""

    @abstractmethod
    def tangent(
        self, shape: NetShape, params: Params, direction: Params, blocks: tuple[Block, ...]
    ) -> Tensor:
        """Directional derivative of the outputs along ``direction`` in parameter space."""

    def for_sparse(self, params: Params) -> Params:
        """Return the same parameters in the memory layout that suits sparse first blocks."""
        return params

    @abstractmethod
    def working_set(self, shape: NetShape) -> int:
        """Return how many floats one row of one replica keeps alive, to size chunks."""


@dataclass(frozen=True)
class Net:
    """A backbone bound to parameters; call it like any network.

    Examples
    --------
    >>> import torch
    >>> from alignset.stack import MLP
    >>> mlp, shape = MLP(hidden=4), NetShape((3,), 2)
    >>> theta = Net(mlp, shape, mlp.init(shape, torch.tensor([0]), "theta"))
    >>> theta(torch.zeros(1, 1, 5, 3)).shape
    torch.Size([1, 1, 5, 2])
    """

    backbone: Backbone
    shape: NetShape
    params: Params

    def __call__(self, *blocks: Block) -> Tensor:
        """Return the outputs (..., B, K) for input blocks (..., B, D_i)."""
        return self.backbone.apply(self.shape, self.params, blocks)

    def features(self, *blocks: Block) -> Tensor:
        """Return the last hidden layer (..., B, H)."""
        return self.backbone.features(self.shape, self.params, blocks)

    def tangent(self, direction: Params, *blocks: Block) -> Tensor:
        """Return d outputs / d epsilon at params + epsilon * direction."""
        return self.backbone.tangent(self.shape, self.params, direction, blocks)

    def gradient(self, loss: Callable[[Tensor], Tensor], *blocks: Block) -> Params:
        """Return d loss(outputs) / d params, (Q, C, ...); ``loss`` gives one number per replica.

        The network's own parameters get no gradient, so that this works for a frozen network, too.
        """
        leaves = {k: v.detach().requires_grad_(True) for k, v in self.params.items()}
        with torch.enable_grad():
            total = loss(self.backbone.apply(self.shape, leaves, blocks)).sum()
        return dict(zip(leaves, torch.autograd.grad(total, list(leaves.values())), strict=True))
