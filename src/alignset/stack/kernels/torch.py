"""The reference kernels: operations of torch and scipy, on any device and in any precision."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alignset.extras import torch
from alignset.stack.kernels import constants
from alignset.stack.kernels.constants import BETA_1, BETA_2, EPS, PIECES
from alignset.stack.threads import alone, share
from alignset.stack.workspace import borrow

if TYPE_CHECKING:
    from torch import Tensor

    from alignset.stack.kernels import AdamStep, Blocks, PullBack, Tensors, Weights

MIN_WORK = 1 << 26
"""Multiplications above which a product is cut; below, handing out pieces costs what it saves."""


class Torch:
    """The reference for the other kernels, which leave to it what they cannot do."""

    def mlp(
        self, last_relu: bool, blocks: Blocks, flat: Tensors, keep: bool = True
    ) -> tuple[Tensor, PullBack]:
        # autograd over separate operations would keep the pre-activations and mask twice; here the
        # post-activation is the only thing kept, and ReLU's mask is derived from it
        del keep
        layers, n = self.hidden(last_relu, blocks, flat), len(blocks)
        q, c, k, _ = flat[-2].shape
        logits = flat[0].new_empty(q, c, k, blocks[0].shape[-2])
        self.linear(flat[-2:-1], flat[-1], (layers[-1].mT,), logits, False)

        def pull_back(grad: Tensor, wanted: tuple[bool, ...]) -> tuple[Tensor | None, ...]:
            found: list[Tensor | None] = []
            g = grad.flatten(0, 1)
            for layer in range(len(layers), 0, -1):
                weight, h = flat[n + 2 * layer - 1], layers[layer - 1].flatten(0, 1)
                found.append(g.sum(-1, keepdim=True).reshape(q, c, -1, 1))
                found.append(bmm(g, h.mT).reshape(weight.shape))
                g = bmm(weight.flatten(0, 1).mT, g, out=borrow(*h.shape, like=h))
                if layer < len(layers) or last_relu:
                    torch.ops.aten.threshold_backward.grad_input(g, h, 0.0, grad_input=g)
            found.append(g.sum(-1, keepdim=True).reshape(q, c, -1, 1))
            g = g.view(layers[0].shape)
            found += [_weight_grad(g, flat[i], blocks[i]) for i in reversed(range(n))]
            back = [_input_grad(g, flat[i], blocks[i]) if wanted[i] else None for i in range(n)]
            return *back, *reversed(found)

        return logits, pull_back

    def hidden(self, last_relu: bool, blocks: Blocks, flat: Tensors) -> list[Tensor]:
        n, (q, c, h, _) = len(blocks), flat[0].shape
        depth, below, weights = (len(flat) - n) // 2, blocks, flat[:n]
        layers = []
        for layer in range(depth):
            out = borrow(q, c, h, blocks[0].shape[-2], like=flat[0])
            relu = layer < depth - 1 or last_relu
            layers.append(self.linear(weights, flat[n + 2 * layer], below, out, relu))
            below, weights = (out.mT,), flat[n + 2 * layer + 1 :][:1]
        return layers

    def linear(
        self, weights: Tensors, bias: Tensor, blocks: Blocks, out: Tensor, relu: bool
    ) -> Tensor:
        add_products(weights, blocks, out, bias)
        return out.relu_() if relu else out

    def pair_loss(self, z: Tensor, sign: Tensor) -> Tensor:
        def loss_and_slope(z: Tensor, sign: Tensor) -> tuple[Tensor, Tensor]:
            margin = (z[..., 1, :] - z[..., 0, :]).mul_(sign)
            slope = torch.sigmoid(margin).mul_(sign)
            return torch.nn.functional.softplus(margin), torch.stack([-slope, slope], -2)

        return row_loss(loss_and_slope, z, sign)

    def logit_loss(self, z: Tensor, target: Tensor) -> Tensor:
        return torch.nn.functional.softplus(z) - z * target

    def weighted_sums(self, values: Tensor, weight: Tensor) -> Tensor:
        return (values.unsqueeze(-2) @ weight.mT).squeeze(-2)

    def adam(
        self, params: Weights, first: Weights, second: Weights, lr: Tensor, l2: Tensor
    ) -> AdamStep:
        def step(grads: Weights, number: Tensor) -> None:
            rate = lr * (-1.0 / (1.0 - BETA_1**number)).to(lr.dtype)
            root = (1.0 - BETA_2**number).rsqrt().to(lr.dtype)
            for name, param in params.items():
                self.adam_((param, grads[name], first[name], second[name]), rate, l2, root)

        return step

    def adam_(self, state: Tensors, rate: Tensor, l2: Tensor, root: Tensor) -> None:
        each = (*rate.shape, *(1,) * (state[0].dim() - 2))
        rate, l2 = rate.reshape(each), l2.reshape(each)
        for p, g, m, v in _pieces(*state):
            g.addcmul_(p, l2)
            m.lerp_(g, 1.0 - BETA_1)
            v.mul_(BETA_2).addcmul_(g, g, value=1.0 - BETA_2)
            denominator = torch.sqrt(v, out=g).mul_(root).add_(EPS)
            p.addcdiv_(m * rate, denominator)

    def sparse_product(self, columns: list[Any], wide: Tensor, out: Tensor) -> None:
        for matrix, weight, total in zip(columns, wide, out, strict=True):
            total.add_(_times(matrix, weight).T)

    def sparse_gradient(self, columns: list[Any], g: Tensor) -> Tensor:
        tall = g.mT.contiguous()  # (Q, B, U)
        parts = [_times(matrix.T, own) for matrix, own in zip(columns, tall, strict=True)]
        return parts[0].unsqueeze(0) if len(parts) == 1 else torch.stack(parts)

    def take_rows(self, matrix: Any, rows: NDArray[np.int64]) -> Any:
        return matrix[rows].tocsc()


def add_products(weights: Tensors, blocks: Blocks, out: Tensor, bias: Tensor | None = None) -> None:
    """W x + b into ``out`` (Q, C, H, B), in one wide product if all replicas share x."""
    for i, (weight, block) in enumerate(zip(weights, blocks, strict=True)):
        if not isinstance(block, torch.Tensor):
            if i == 0 and bias is not None:
                out.copy_(bias.expand_as(out))
            block.add_product(weight, out)
            continue
        lead, x = _laid_out(block, out.shape)
        wide, so_far = weight.reshape(*lead, -1), out.view(*lead, out.shape[-1])
        if i > 0:
            torch.baddbmm(so_far, wide, x.mT, out=so_far)
        else:
            bmm(wide, x.mT, out=so_far, bias=None if bias is None else bias.reshape(*lead, 1))


def _laid_out(block: Tensor, shape: tuple[int, ...]) -> tuple[tuple[int, int], Tensor]:
    """Return how units of (Q, C, H, ...) are arranged in a product, and x as (batch, B, D).

    Slots of a problem row that share x are side by side, in one wide product; otherwise separate.
    """
    q, c, h, _ = shape
    return ((q, c * h), block[:, 0]) if block.shape[1] == 1 else ((q * c, h), block.flatten(0, 1))


def bmm(a: Tensor, b: Tensor, out: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """Return ``a`` (N, m, k) times ``b`` (N, k, p), plus ``bias`` (N, m, 1), in ``out`` if given.

    In a stack that is trained alone, pieces are ranges of the result's longer axis, which depend
    only on its shape; several stacks have one thread each.
    """
    (n, m, k), p = a.shape, b.shape[2]
    if a.device.type != "cpu" or m * k * p < MIN_WORK or not alone():
        if bias is None:
            return torch.bmm(a, b, out=out)
        return torch.baddbmm(bias.expand(n, m, p), a, b, out=out)
    result = a.new_empty(n, m, p) if out is None else out
    step = -(-max(m, p) // PIECES)

    def multiply(piece: int) -> None:
        i, part = divmod(piece, PIECES)
        cut = slice(part * step, (part + 1) * step)
        rows, columns = (cut, slice(None)) if m > p else (slice(None), cut)
        into = result[i, rows, columns]
        if bias is None:
            torch.mm(a[i, rows], b[i, :, columns], out=into)
        else:
            torch.addmm(bias[i, rows].expand_as(into), a[i, rows], b[i, :, columns], out=into)

    share(multiply, n * PIECES)
    return result


def _weight_grad(g: Tensor, weight: Tensor, block: Any) -> Any:
    """Return g x, computed as (x^T g^T)^T, whose long axis suits the product when D is small."""
    if not isinstance(block, torch.Tensor):
        return block.weight_gradient(g)
    lead, x = _laid_out(block, g.shape)
    return bmm(x.mT, g.reshape(*lead, -1).mT).mT.reshape(weight.shape)


def _input_grad(g: Tensor, weight: Tensor, block: Any) -> Tensor:
    """Return W^T g for a network that reads another network's output."""
    lead, _ = _laid_out(block, g.shape)
    return torch.bmm(g.reshape(*lead, -1).mT, weight.reshape(*lead, -1)).reshape(block.shape)


def refuse_second_derivative() -> None:
    """Raise if autograd would differentiate a backward pass that it cannot trace."""
    # not once_differentiable: autograd.grad ignores the error it leaves, and is silently wrong
    if torch.is_grad_enabled():
        raise RuntimeError(
            "the losses, sums and MLP of alignset.stack have no second derivative; write such a "
            "loss with torch operations, on a Module backbone."
        )


def row_loss(loss_and_slope: Any, z: Tensor, shared: Tensor) -> Tensor:
    """Differentiate a loss per row, using the slope that comes with it."""
    loss: Tensor = _row_loss().apply(loss_and_slope, z, shared)
    return loss


@cache
def _row_loss() -> Any:
    """Return the function, defined once torch is there."""

    class RowLoss(torch.autograd.Function):
        """A loss with its slope, that of one logit, (..., B), or of every class, (..., K, B)."""

        @staticmethod
        def forward(ctx: Any, loss_and_slope: Any, z: Tensor, shared: Tensor) -> Any:
            loss, slope = loss_and_slope(z, shared)
            ctx.save_for_backward(slope)
            return loss

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, None]:
            refuse_second_derivative()
            (slope,), (grad,) = ctx.saved_tensors, grads
            return None, slope * (grad.unsqueeze(-2) if slope.dim() > grad.dim() else grad), None

    return RowLoss


def _pieces(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Cut large tensors along their slowest axis, so that a step reads memory once."""
    param = tensors[0]
    if param.numel() <= constants.PIECE or param.device.type != "cpu":
        yield tensors
        return
    axis = max(range(2, param.dim()), key=param.stride)
    step = max(1, constants.PIECE * param.shape[axis] // param.numel())
    yield from zip(*(torch.split(t, step, axis) for t in tensors), strict=True)


def _times(matrix: Any, dense: Tensor) -> Any:
    if dense.device.type == "cpu":
        return torch.from_numpy(matrix @ dense.detach().numpy())
    rows = matrix.tocsr()
    starts, index, values = (
        torch.from_numpy(a).to(dense.device) for a in (rows.indptr, rows.indices, rows.data)
    )
    return torch.sparse_csr_tensor(starts, index, values, size=rows.shape) @ dense
