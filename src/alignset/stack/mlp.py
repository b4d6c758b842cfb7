"""The default backbone: a multilayer perceptron whose backward pass is written by hand.

Layout. Activations are feature-major, (Q, C, H, B) with rows contiguous: for the narrow layers
common in this field (H = 10), a product whose long axis is contiguous is four times as fast as in
row-major order. All C replicas of a problem row read the same x, so the first layer is one wide
product (C*H, D) x (D, B) per problem instead of C narrow ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from alignset.extras import torch
from alignset.stack.gradient import without_gradient
from alignset.stack.kernels import on
from alignset.stack.kernels.torch import refuse_second_derivative
from alignset.stack.net import Backbone, NetShape, Params
from alignset.stack.random import uniform_like
from alignset.stack.sparse import Block, feature_major

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class MLP(Backbone):
    """Feed-forward network with ``depth`` hidden ReLU layers, He-uniform initialisation.

    Parameters
    ----------
    hidden : int
        Width of every hidden layer.
    depth : int, default 2
        Number of hidden layers, each followed by ReLU.
    last_relu : bool, default True
        False leaves the last hidden layer linear, as in the released code of CHIL 2023.

    Examples
    --------
    >>> mlp = MLP(hidden=8)
    >>> shape = NetShape((3,), 2)
    >>> params = mlp.init(shape, torch.tensor([0, 1]), "theta")
    >>> mlp.apply(shape, params, (torch.zeros(2, 1, 5, 3),)).shape
    torch.Size([2, 1, 5, 2])
    """

    hidden: int
    depth: int = 2
    last_relu: bool = True

    def __post_init__(self) -> None:
        if self.hidden < 1 or self.depth < 1:
            raise ValueError(
                f"an MLP needs hidden >= 1 and depth >= 1, got {self.hidden} and {self.depth}."
            )

    def init(self, shape: NetShape, seeds: Tensor, stream: str) -> Params:
        """Draw He-uniform weights (bound sqrt(6 / fan_in)); biases start at zero."""
        params: Params = {}
        fan_in = sum(shape.inputs)
        for i, width in enumerate(shape.inputs):
            params[f"w0.{i}"] = self._he(seeds, f"{stream}.w0.{i}", (self.hidden, width), fan_in)
        widths = [self.hidden] * self.depth + [shape.outputs]
        for layer, width in enumerate(widths):
            if layer > 0:
                name = f"w{layer}"
                params[name] = self._he(seeds, f"{stream}.{name}", (width, self.hidden))
            params[f"b{layer}"] = torch.zeros(len(seeds), 1, width, 1, device=seeds.device)
        return params

    def _he(
        self, seeds: Tensor, stream: str, shape: tuple[int, int], fan_in: int | None = None
    ) -> Tensor:
        bound = math.sqrt(6.0 / (fan_in or shape[1]))
        return uniform_like(seeds, stream, shape).mul_(2 * bound).sub_(bound).unsqueeze(1)

    def apply(self, shape: NetShape, params: Params, blocks: tuple[Block, ...]) -> Tensor:
        """Return the logits (Q, C, B, K): a view of the feature-major (Q, C, K, B)."""
        del shape  # the parameters say it all
        flat = _ordered(params, len(blocks), self.depth)
        learning = any(isinstance(t, torch.Tensor) and t.requires_grad for t in (*blocks, *flat))
        if learning and torch.is_grad_enabled():
            out: Tensor = _logits().apply(self.last_relu, len(blocks), *blocks, *flat)
        else:
            out, _ = on(flat[0].device).mlp(self.last_relu, blocks, flat, keep=False)
        return out.transpose(-1, -2)

    @without_gradient
    def features(self, shape: NetShape, params: Params, blocks: tuple[Block, ...]) -> Tensor:
        """Return the last hidden layer (Q, C, B, H), without gradient."""
        del shape
        flat = _ordered(params, len(blocks), self.depth)
        return on(flat[0].device).hidden(self.last_relu, blocks, flat)[-1].transpose(-1, -2)

    @without_gradient
    def tangent(
        self, shape: NetShape, params: Params, direction: Params, blocks: tuple[Block, ...]
    ) -> Tensor:
        """Push a parameter direction forward: d logits (Q, C, B, K), without gradient."""
        del shape
        flat, along = (_ordered(p, len(blocks), self.depth) for p in (params, direction))
        kernels = on(flat[0].device)
        hidden = kernels.hidden(self.last_relu, blocks, flat)
        n = len(blocks)
        moved = kernels.linear(along[:n], along[n], blocks, torch.empty_like(hidden[0]), False)
        for layer in range(1, self.depth + 1):
            if layer < self.depth or self.last_relu:
                moved = moved * (hidden[layer - 1] > 0)
            moved = (
                direction[f"w{layer}"] @ hidden[layer - 1]
                + params[f"w{layer}"] @ moved
                + direction[f"b{layer}"]
            )
        return moved.transpose(-1, -2)

    def for_sparse(self, params: Params) -> Params:
        """Lay out the first block's weights by feature."""
        return {**params, "w0.0": feature_major(params["w0.0"])}

    def working_set(self, shape: NetShape) -> int:
        """Count the hidden activations and outputs of one row."""
        return self.depth * self.hidden + shape.outputs


def _ordered(params: Params, n_blocks: int, depth: int) -> tuple[Tensor, ...]:
    """First-layer blocks, then b0, w1, b1, ..."""
    names = [f"w0.{i}" for i in range(n_blocks)] + ["b0"]
    for layer in range(1, depth + 1):
        names += [f"w{layer}", f"b{layer}"]
    return tuple(params[name] for name in names)


@cache
def _logits() -> Any:
    """Return the function, defined once torch is there."""

    class Logits(torch.autograd.Function):
        """Both passes of the whole network for autograd, with whichever kernels are in use."""

        @staticmethod
        def forward(ctx: Any, last_relu: bool, n_blocks: int, *tensors: Any) -> Tensor:
            blocks, flat = tensors[:n_blocks], tensors[n_blocks:]
            ctx.n_blocks = n_blocks
            ctx.save_for_backward(*(t for t in tensors if isinstance(t, torch.Tensor)))
            out, ctx.pull_back = on(flat[0].device).mlp(last_relu, blocks, flat)
            return out

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
            refuse_second_derivative()
            assert ctx.saved_tensors  # raises if weights were changed in between
            wanted = ctx.needs_input_grad[2 : 2 + ctx.n_blocks]
            return None, None, *ctx.pull_back(grads[0], wanted)

    return Logits
