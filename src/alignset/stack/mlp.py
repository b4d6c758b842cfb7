"""The default backbone: a multilayer perceptron whose backward pass is written by hand.

Layout. Activations are feature-major, (Q, C, H, B) with rows contiguous: for the narrow layers of
this field (H = 10) a product whose long axis is contiguous runs four times faster than the
row-major one. All C replicas of a problem row read the same x, so the first layer is one wide
product (C*H, D) x (D, B) per problem instead of C narrow ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from alignset.stack.net import Backbone, NetShape, Params
from alignset.stack.random import uniform_like


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
        False leaves the last hidden layer linear, as the CHIL 2023 released code does.

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

    def apply(self, shape: NetShape, params: Params, blocks: tuple[Tensor, ...]) -> Tensor:
        """Return the logits (Q, C, B, K): a view of the feature-major (Q, C, K, B)."""
        del shape  # the parameters say it all
        flat = _ordered(params, len(blocks), self.depth)
        out: Tensor = _StackedMLP.apply(self.last_relu, len(blocks), *blocks, *flat)  # type: ignore[no-untyped-call]
        return out.transpose(-1, -2)

    def features(self, shape: NetShape, params: Params, blocks: tuple[Tensor, ...]) -> Tensor:
        """Return the last hidden layer (Q, C, B, H), without gradient."""
        del shape
        with torch.no_grad():
            flat = _ordered(params, len(blocks), self.depth)
            hidden = _hidden_layers(self.last_relu, list(blocks), list(flat))
        return hidden[-1].transpose(-1, -2)

    def tangent(
        self, shape: NetShape, params: Params, direction: Params, blocks: tuple[Tensor, ...]
    ) -> Tensor:
        """Push a parameter direction forward: d logits (Q, C, B, K), without gradient."""
        del shape
        with torch.no_grad():
            flat = _ordered(params, len(blocks), self.depth)
            hidden = _hidden_layers(self.last_relu, list(blocks), list(flat))
            moved = _first_layer(
                [direction[f"w0.{i}"] for i in range(len(blocks))], direction["b0"], list(blocks)
            )
            for layer in range(1, self.depth + 1):
                if layer < self.depth or self.last_relu:
                    moved = moved * (hidden[layer - 1] > 0)
                moved = (
                    direction[f"w{layer}"] @ hidden[layer - 1]
                    + params[f"w{layer}"] @ moved
                    + direction[f"b{layer}"]
                )
        return moved.transpose(-1, -2)

    def working_set(self, shape: NetShape) -> int:
        """Count the hidden activations and the outputs of one row."""
        return self.depth * self.hidden + shape.outputs


def _ordered(params: Params, n_blocks: int, depth: int) -> tuple[Tensor, ...]:
    """First-layer blocks, then b0, w1, b1, ..."""
    names = [f"w0.{i}" for i in range(n_blocks)] + ["b0"]
    for layer in range(1, depth + 1):
        names += [f"w{layer}", f"b{layer}"]
    return tuple(params[name] for name in names)


def _first_layer(weights: list[Tensor], bias: Tensor, blocks: list[Tensor]) -> Tensor:
    q, c, h, _ = weights[0].shape
    n_rows = blocks[0].shape[-2]
    out = bias.reshape(q, c * h, 1).expand(q, c * h, n_rows)
    for weight, block in zip(weights, blocks, strict=True):
        if block.shape[1] == 1:  # shared by all replicas of the problem row
            wide = weight.reshape(q, c * h, -1)
            out = torch.baddbmm(out, wide, block[:, 0].transpose(-1, -2))
        else:
            own = weight.reshape(q * c, h, -1)
            x = block.reshape(q * c, n_rows, -1).transpose(-1, -2)
            out = torch.baddbmm(out.reshape(q * c, h, n_rows), own, x).reshape(q, c * h, n_rows)
    return out.reshape(q, c, h, n_rows)


def _dense_layer(weight: Tensor, bias: Tensor, h: Tensor) -> Tensor:
    q, c, width, fan_in = weight.shape
    n_rows = h.shape[-1]
    out = torch.baddbmm(
        bias.reshape(q * c, width, 1).expand(q * c, width, n_rows),
        weight.reshape(q * c, width, fan_in),
        h.reshape(q * c, fan_in, n_rows),
    )
    return out.reshape(q, c, width, n_rows)


def _hidden_layers(last_relu: bool, blocks: list[Tensor], flat: list[Tensor]) -> list[Tensor]:
    """Return every hidden layer after its activation, feature-major (Q, C, H, B)."""
    n = len(blocks)
    hidden = [_first_layer(flat[:n], flat[n], blocks)]
    rest = flat[n + 1 :]
    n_hidden = len(rest) // 2
    for layer in range(n_hidden):
        if layer < n_hidden - 1 or last_relu:
            hidden[-1].relu_()
        if layer < n_hidden - 1:
            hidden.append(_dense_layer(rest[2 * layer], rest[2 * layer + 1], hidden[-1]))
    return hidden


class _StackedMLP(torch.autograd.Function):
    """Forward and backward of the whole network: six products and six passes, nothing else.

    Autograd over separate operations would keep the pre-activations and mask twice; here the
    post-activation is the only thing saved, and ReLU's mask is read off it.
    """

    @staticmethod
    def forward(ctx: Any, last_relu: bool, n_blocks: int, *tensors: Tensor) -> Tensor:
        blocks, flat = list(tensors[:n_blocks]), list(tensors[n_blocks:])
        hidden = _hidden_layers(last_relu, blocks, flat)
        ctx.last_relu, ctx.n_blocks, ctx.n_hidden = last_relu, n_blocks, len(hidden)
        ctx.save_for_backward(*tensors, *hidden)
        return _dense_layer(flat[-2], flat[-1], hidden[-1])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        saved = ctx.saved_tensors
        blocks = saved[: ctx.n_blocks]
        flat = saved[ctx.n_blocks : -ctx.n_hidden]
        hidden = saved[-ctx.n_hidden :]
        q, c = flat[0].shape[:2]
        out: list[Tensor | None] = []
        g = g.reshape(q * c, *g.shape[2:])
        for layer in range(ctx.n_hidden, 0, -1):
            weight = flat[ctx.n_blocks + 2 * layer - 1]
            h = hidden[layer - 1].reshape(q * c, *hidden[layer - 1].shape[2:])
            out.append(g.sum(-1, keepdim=True).reshape(q, c, -1, 1))
            out.append(torch.bmm(g, h.transpose(1, 2)).reshape(weight.shape))
            g = torch.bmm(weight.reshape(q * c, *weight.shape[2:]).transpose(1, 2), g)
            if layer < ctx.n_hidden or ctx.last_relu:
                torch.ops.aten.threshold_backward.grad_input(g, h, 0.0, grad_input=g)
        out.append(g.sum(-1, keepdim=True).reshape(q, c, -1, 1))
        out += [_first_layer_grad(g, blocks[i], flat[i].shape) for i in range(ctx.n_blocks)][::-1]
        return None, None, *(None,) * ctx.n_blocks, *reversed(out)


def _first_layer_grad(g: Tensor, block: Tensor, shape: torch.Size) -> Tensor:
    q, c, h, _ = shape
    if block.shape[1] == 1:
        return torch.bmm(g.reshape(q, c * h, -1), block[:, 0]).reshape(shape)
    return torch.bmm(g, block.reshape(q * c, *block.shape[2:])).reshape(shape)
