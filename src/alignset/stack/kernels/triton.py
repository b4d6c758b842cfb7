"""Kernels in Triton on a GPU (CUDA torch brings it): elementwise work in one pass over memory.

As separate operations Adam moves 92 bytes per weight, fused only 28; bias and ReLU in one pass
save two more passes. Anything else is left to torch.
"""
# mypy: disable-error-code="untyped-decorator, no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING

from alignset.extras import torch
from alignset.stack.kernels.constants import BETA_1, BETA_2, EPS
from alignset.stack.kernels.torch import Torch, add_products

try:
    import triton
    import triton.language as tl
except ImportError:  # a CPU build of torch, or Windows
    triton = None

if TYPE_CHECKING:
    from torch import Tensor

    from alignset.stack.kernels import Blocks, Tensors

BLOCK, AVAILABLE = 1024, triton is not None


class Triton(Torch):
    """Bias and ReLU, and Adam."""

    def linear(
        self, weights: Tensors, bias: Tensor, blocks: Blocks, out: Tensor, relu: bool
    ) -> Tensor:
        if not (_fits(out, bias) and isinstance(blocks[0], torch.Tensor)):
            return super().linear(weights, bias, blocks, out, relu)
        add_products(weights, blocks, out)
        grid = (triton.cdiv(out.numel(), BLOCK),)
        _bias_relu_kernel[grid](out, bias, out.numel(), out.shape[-1], relu, BLOCK)
        return out

    def adam_(self, state: Tensors, rate: Tensor, l2: Tensor, root: Tensor) -> None:
        if not _fits(*state):
            super().adam_(state, rate, l2, root)
            return
        n = state[0].numel()
        numbers = (n, n // rate.numel(), BETA_1, BETA_2, EPS, BLOCK)
        grid = (triton.cdiv(n, BLOCK),)
        _adam_kernel[grid](*state, rate.contiguous(), l2.contiguous(), root, *numbers)


KERNELS = Triton()


def _fits(*tensors: Tensor) -> bool:
    """Tell whether one pass can handle these tensors; positions are 32-bit, for speed."""
    return all(
        t.is_cuda and t.dtype == torch.float32 and t.is_contiguous() and t.numel() < 2**31 - BLOCK
        for t in tensors
    )


if triton is not None:

    @triton.jit
    def _adam_kernel(
        p_at, g_at, m_at, v_at, rate_at, l2_at, root_at, n, per_replica,
        beta_1: tl.constexpr, beta_2: tl.constexpr, eps: tl.constexpr, block: tl.constexpr
    ):  # fmt: skip
        i = tl.program_id(0) * block + tl.arange(0, block)
        inside = i < n
        replica = i // per_replica
        p = tl.load(p_at + i, inside)
        g = tl.load(g_at + i, inside) + tl.load(l2_at + replica, inside) * p
        m = tl.load(m_at + i, inside)
        m = m + (1.0 - beta_1) * (g - m)
        v = beta_2 * tl.load(v_at + i, inside) + (1.0 - beta_2) * g * g
        step = tl.load(rate_at + replica, inside) * m
        p = p + step / (tl.sqrt(v) * tl.load(root_at) + eps)
        tl.store(p_at + i, p, inside)
        tl.store(m_at + i, m, inside)
        tl.store(v_at + i, v, inside)

    @triton.jit
    def _bias_relu_kernel(h_at, bias_at, n, n_rows, relu: tl.constexpr, block: tl.constexpr):
        i = tl.program_id(0) * block + tl.arange(0, block)
        inside = i < n
        h = tl.load(h_at + i, inside) + tl.load(bias_at + i // n_rows, inside)
        if relu:
            h = tl.maximum(h, 0.0)
        tl.store(h_at + i, h, inside)
