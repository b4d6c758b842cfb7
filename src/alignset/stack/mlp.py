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

from alignset.stack import blocked, fused
from alignset.stack.net import Backbone, NetShape, Params
from alignset.stack.products import bmm
from alignset.stack.random import uniform_like
from alignset.stack.sparse import Block, SparseRows, feature_major
from alignset.stack.workspace import Lease


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

    def apply(self, shape: NetShape, params: Params, blocks: tuple[Block, ...]) -> Tensor:
        """Return the logits (Q, C, B, K): a view of the feature-major (Q, C, K, B)."""
        del shape  # the parameters say it all
        flat = _ordered(params, len(blocks), self.depth)
        if blocked.usable(blocks, flat):
            return blocked.logits(self.last_relu, blocks, flat).transpose(-1, -2)
        out: Tensor = _StackedMLP.apply(self.last_relu, len(blocks), *blocks, *flat)  # type: ignore[no-untyped-call]
        return out.transpose(-1, -2)

    def features(self, shape: NetShape, params: Params, blocks: tuple[Block, ...]) -> Tensor:
        """Return the last hidden layer (Q, C, B, H), without gradient."""
        del shape
        with torch.no_grad():
            flat = _ordered(params, len(blocks), self.depth)
            own = Lease(flat[0], pooled=False)
            hidden = _hidden_layers(self.last_relu, list(blocks), list(flat), own)
        return hidden[-1].transpose(-1, -2)

    def tangent(
        self, shape: NetShape, params: Params, direction: Params, blocks: tuple[Block, ...]
    ) -> Tensor:
        """Push a parameter direction forward: d logits (Q, C, B, K), without gradient."""
        del shape
        with torch.no_grad():
            flat = _ordered(params, len(blocks), self.depth)
            own = Lease(flat[0], pooled=False)
            hidden = _hidden_layers(self.last_relu, list(blocks), list(flat), own)
            weights = [direction[f"w0.{i}"] for i in range(len(blocks))]
            moved = _first_layer(
                weights, direction["b0"], list(blocks), torch.empty_like(hidden[0])
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

    def for_sparse(self, params: Params) -> Params:
        """Lay the first block's weights out by feature."""
        return {**params, "w0.0": feature_major(params["w0.0"])}

    def working_set(self, shape: NetShape) -> int:
        """Count the hidden activations and the outputs of one row."""
        return self.depth * self.hidden + shape.outputs


def _ordered(params: Params, n_blocks: int, depth: int) -> tuple[Tensor, ...]:
    """First-layer blocks, then b0, w1, b1, ..."""
    names = [f"w0.{i}" for i in range(n_blocks)] + ["b0"]
    for layer in range(1, depth + 1):
        names += [f"w{layer}", f"b{layer}"]
    return tuple(params[name] for name in names)


def _laid_out(block: Tensor, slots: tuple[int, int, int]) -> tuple[tuple[int, int], Tensor]:
    """Return how units of (Q, C, H) stand in a first-layer product, and x as (batch, B, D).

    Slots of a problem row stand side by side, one wide product, where they share x; else apart.
    """
    q, c, h = slots
    if block.shape[1] == 1:
        return (q, c * h), block[:, 0]
    return (q * c, h), block.reshape(q * c, *block.shape[2:])


def _first_layer(
    weights: list[Tensor], bias: Tensor, blocks: list[Block], out: Tensor, relu: bool = False
) -> Tensor:
    """W x + b into ``out`` (Q, C, H, B); one wide product where all replicas share x."""
    q, c, h, n_rows = out.shape
    bias_last = fused.usable(out, bias) and isinstance(blocks[0], Tensor)
    for i, (weight, block) in enumerate(zip(weights, blocks, strict=True)):
        if isinstance(block, SparseRows):
            if i == 0:
                out.copy_(bias.expand_as(out))
            block.add_product(weight, out)
            continue
        lead, x = _laid_out(block, (q, c, h))
        wide, so_far = weight.reshape(*lead, -1), out.view(*lead, n_rows)
        if i > 0:
            torch.baddbmm(so_far, wide, x.transpose(1, 2), out=so_far)
        else:
            first = None if bias_last else bias.reshape(*lead, 1)
            bmm(wide, x.transpose(1, 2), out=so_far, bias=first)
    if bias_last:
        fused.bias_relu_(out, bias, relu)
        return out
    return out.relu_() if relu else out


def _dense_layer(weight: Tensor, bias: Tensor, h: Tensor, out: Tensor, relu: bool) -> Tensor:
    """W h + b into ``out`` (Q, C, H, B), then ReLU if asked for."""
    q, c, width, fan_in = weight.shape
    n_rows = h.shape[-1]
    flat = out.view(q * c, width, n_rows)
    wide, x = weight.reshape(q * c, width, fan_in), h.reshape(q * c, fan_in, n_rows)
    if fused.usable(out, bias):
        torch.bmm(wide, x, out=flat)
        fused.bias_relu_(out, bias, relu)
        return out
    bmm(wide, x, out=flat, bias=bias.reshape(q * c, width, 1))
    return out.relu_() if relu else out


def _hidden_layers(
    last_relu: bool, blocks: list[Block], flat: list[Tensor], lease: Lease
) -> list[Tensor]:
    """Return every hidden layer after its activation, feature-major (Q, C, H, B)."""
    n = len(blocks)
    q, c, h, _ = flat[0].shape
    shape = (q, c, h, blocks[0].shape[-2])
    rest = flat[n + 1 :]
    n_hidden = len(rest) // 2
    relu = n_hidden > 1 or last_relu
    hidden = [_first_layer(flat[:n], flat[n], blocks, lease.take(*shape), relu)]
    for layer in range(1, n_hidden):
        weight, bias = rest[2 * layer - 2 : 2 * layer]
        relu = layer < n_hidden - 1 or last_relu
        hidden.append(_dense_layer(weight, bias, hidden[-1], lease.take(*shape), relu))
    return hidden


class _StackedMLP(torch.autograd.Function):
    """Forward and backward of the whole network: the products and few passes beside them.

    Autograd over separate operations would keep the pre-activations and mask twice; here the
    post-activation is the only thing kept, and ReLU's mask is read off it.
    """

    @staticmethod
    def forward(ctx: Any, last_relu: bool, n_blocks: int, *tensors: Any) -> Tensor:
        blocks, flat = list(tensors[:n_blocks]), list(tensors[n_blocks:])
        lease = Lease(flat[0])
        hidden = _hidden_layers(last_relu, blocks, flat, lease)
        ctx.last_relu, ctx.n_blocks = last_relu, n_blocks
        # neither inputs nor outputs, so they may be kept here; the lease ends with the graph
        ctx.hidden, ctx.lease = hidden, lease
        ctx.sparse = {i: b for i, b in enumerate(blocks) if isinstance(b, SparseRows)}
        ctx.save_for_backward(*(None if i in ctx.sparse else t for i, t in enumerate(tensors)))
        q, c, width, _ = flat[-2].shape
        out = flat[0].new_empty(q, c, width, blocks[0].shape[-2])
        return _dense_layer(flat[-2], flat[-1], hidden[-1], out, relu=False)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        saved, hidden, n_hidden = ctx.saved_tensors, ctx.hidden, len(ctx.hidden)
        blocks = [ctx.sparse.get(i, saved[i]) for i in range(ctx.n_blocks)]
        flat = saved[ctx.n_blocks :]
        q, c = flat[0].shape[:2]
        lease = Lease(flat[0])
        out: list[Tensor | None] = []
        g = grads[0].reshape(q * c, *grads[0].shape[2:])
        for layer in range(n_hidden, 0, -1):
            weight = flat[ctx.n_blocks + 2 * layer - 1]
            h = hidden[layer - 1].view(q * c, *hidden[layer - 1].shape[2:])
            out.append(g.sum(-1, keepdim=True).reshape(q, c, -1, 1))
            out.append(bmm(g, h.transpose(1, 2)).reshape(weight.shape))
            flipped = weight.reshape(q * c, *weight.shape[2:]).transpose(1, 2)
            g = bmm(flipped, g, out=lease.take(*h.shape))
            if layer < n_hidden or ctx.last_relu:
                torch.ops.aten.threshold_backward.grad_input(g, h, 0.0, grad_input=g)
        out.append(g.sum(-1, keepdim=True).reshape(q, c, -1, 1))
        out += [_first_layer_grad(g, blocks[i], flat[i].shape) for i in range(ctx.n_blocks)][::-1]
        wanted = ctx.needs_input_grad[2 : 2 + ctx.n_blocks]
        back = [
            _input_grad(g, flat[i], blocks[i]) if needed else None
            for i, needed in enumerate(wanted)
        ]
        return None, None, *back, *reversed(out)


def _first_layer_grad(g: Tensor, block: Block, shape: torch.Size) -> Tensor:
    """Return g x; computed as (x^T g^T)^T, whose long axis suits the product when D is small."""
    q, c, h, _ = shape
    if isinstance(block, SparseRows):
        return block.weight_gradient(g.reshape(q, c, h, -1))
    lead, x = _laid_out(block, (q, c, h))
    flipped = bmm(x.transpose(1, 2), g.reshape(*lead, -1).transpose(1, 2))
    return flipped.transpose(1, 2).reshape(shape)


def _input_grad(g: Tensor, weight: Tensor, block: Tensor) -> Tensor:
    """Return W^T g for a network that reads another one's output."""
    q, c, h, _ = weight.shape
    lead, _ = _laid_out(block, (q, c, h))
    back = torch.bmm(g.reshape(*lead, -1).transpose(1, 2), weight.reshape(*lead, -1))
    return back.reshape(block.shape)
