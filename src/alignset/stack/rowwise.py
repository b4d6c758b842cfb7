"""Losses per row and sums over rows in C, one pass over memory each, see ``rowwise.c``."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import torch
from torch import Tensor

from alignset.stack import native


@cache
def _library() -> Any:
    library = native.library("rowwise")
    if library is not None:
        pointer, size = ctypes.c_void_p, ctypes.c_ssize_t
        two, three = [pointer] * 2, [size] * 3
        library.pair_loss.argtypes = [*two, *three, *two]
        library.logit_loss.argtypes = [*two, *three, *two]
        library.pair_gradient.argtypes = [*two, size, size, pointer]
        library.weighted_sums.argtypes = [*two, *three, size, pointer]
        library.weighted_sums_gradient.argtypes = [*two, *three, size, pointer]
        for name in ("pair_loss", "logit_loss", "pair_gradient", "weighted_sums"):
            getattr(library, name).restype = None
        library.weighted_sums_gradient.restype = None
    return library


def usable(values: Tensor, shared: Tensor) -> bool:
    """Tell whether values (Q, C, B) go with what replicas may share (Q, 1 or C, B), a constant."""
    return (
        values.dim() == shared.dim() == 3
        and values.device.type == "cpu"
        and values.dtype == shared.dtype == torch.float32
        and not shared.requires_grad
        and values.shape[::2] == shared.shape[::2]
        and shared.shape[1] in (1, values.shape[1])
        and values.numel() > 0
        and _library() is not None
    )


def refuse_second_derivative() -> None:
    """Raise where autograd would differentiate a backward pass: what C computes leaves no trace."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            "compiled losses and networks have no second derivative; set ALIGNSET_NATIVE=0 for "
            "losses written with torch alone."
        )


def _sizes(values: Tensor, shared: Tensor) -> tuple[int, int, int]:
    """Replicas, replicas per shared entry, rows."""
    q, c = values.shape[:2]
    return q * c, c // shared.shape[1], values.shape[-1]


def pair_loss(z: Tensor, sign: Tensor) -> Tensor:
    """log(1 + exp(sign (z_1 - z_0))) per row, of logits (Q, C, 2, B) and signs (Q, 1 or C, B)."""
    out: Tensor = _PairLoss.apply(z, sign)  # type: ignore[no-untyped-call]
    return out


def logit_loss(z: Tensor, target: Tensor) -> Tensor:
    """log(1 + exp(z)) - target z per row, of logits (Q, C, B) and targets (Q, 1 or C, B)."""
    out: Tensor = _LogitLoss.apply(z, target)  # type: ignore[no-untyped-call]
    return out


def weighted_sums(values: Tensor, weight: Tensor) -> Tensor:
    """Sum values (Q, C, B) over rows, by weights (Q, 1 or C, G, B), to (Q, C, G)."""
    out: Tensor = _WeightedSums.apply(values, weight)  # type: ignore[no-untyped-call]
    return out


class _PairLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, sign: Tensor) -> Tensor:
        z, sign = z.contiguous(), sign.contiguous()
        loss = z.new_empty(*z.shape[:2], z.shape[-1])
        slope = torch.empty_like(loss)
        _library().pair_loss(
            z.data_ptr(), sign.data_ptr(), *_sizes(z, sign), loss.data_ptr(), slope.data_ptr()
        )
        ctx.save_for_backward(slope)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        refuse_second_derivative()
        (slope,), grad = ctx.saved_tensors, grads[0].contiguous()
        q, c, n_rows = slope.shape
        out = slope.new_empty(q, c, 2, n_rows)
        _library().pair_gradient(slope.data_ptr(), grad.data_ptr(), q * c, n_rows, out.data_ptr())
        return out, None


class _LogitLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, target: Tensor) -> Tensor:
        z, target = z.contiguous(), target.contiguous()
        loss, slope = torch.empty_like(z), torch.empty_like(z)
        _library().logit_loss(
            z.data_ptr(), target.data_ptr(), *_sizes(z, target), loss.data_ptr(), slope.data_ptr()
        )
        ctx.save_for_backward(slope)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        refuse_second_derivative()
        return ctx.saved_tensors[0] * grads[0], None


class _WeightedSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor) -> Tensor:
        values, weight = values.contiguous(), weight.contiguous()
        groups = weight.shape[2]
        ctx.save_for_backward(weight)
        ctx.sizes = n, per, n_rows = _sizes(values, weight)
        out = values.new_empty(*values.shape[:2], groups)
        _library().weighted_sums(
            values.data_ptr(), weight.data_ptr(), n, per, groups, n_rows, out.data_ptr()
        )
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        refuse_second_derivative()
        (weight,), grad = ctx.saved_tensors, grads[0].contiguous()
        n, per, n_rows = ctx.sizes
        out = grad.new_empty(*grad.shape[:2], n_rows)
        _library().weighted_sums_gradient(
            grad.data_ptr(), weight.data_ptr(), n, per, grad.shape[2], n_rows, out.data_ptr()
        )
        return out, None
