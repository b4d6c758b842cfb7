"""Per-row losses on stacked outputs, with their derivatives written out.

Outputs are (..., B, K) views of feature-major memory; classes are reduced on the strided axis so
that rows stay contiguous.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from alignset.stack import rowwise


def log_softmax(logits: Tensor) -> Tensor:
    """Log-probabilities (..., B, K) of logits (..., B, K).

    Examples
    --------
    >>> log_softmax(torch.zeros(1, 2))
    tensor([[-0.6931, -0.6931]])
    """
    return torch.log_softmax(logits.transpose(-1, -2), dim=-2).transpose(-1, -2)


def softmax(logits: Tensor) -> Tensor:
    """Probabilities (..., B, K) of logits (..., B, K).

    Examples
    --------
    >>> softmax(torch.zeros(1, 2))
    tensor([[0.5000, 0.5000]])
    """
    return torch.softmax(logits.transpose(-1, -2), dim=-2).transpose(-1, -2)


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """-log p_y per row.

    Parameters
    ----------
    logits : Tensor of shape (..., B, K)
    y : int64 Tensor of shape (..., B), broadcastable
        A code outside 0..K-1 gives a finite value that means nothing: the caller masks such rows.

    Returns
    -------
    Tensor of shape (..., B)

    Examples
    --------
    >>> cross_entropy(torch.zeros(1, 2, 4), torch.tensor([[0, 3]]))
    tensor([[1.3863, 1.3863]])
    """
    if logits.shape[-1] == 2:
        sign = 1.0 - 2.0 * (y == 1).to(logits.dtype)
        if rowwise.usable(logits[..., 0], sign):
            return rowwise.pair_loss(logits.transpose(-1, -2), sign)
        pair: Tensor = _BinaryCrossEntropy.apply(logits.transpose(-1, -2), sign)  # type: ignore[no-untyped-call]
        return pair
    classes = torch.arange(logits.shape[-1], device=logits.device).unsqueeze(-1)
    onehot = (y.unsqueeze(-2) == classes).to(logits.dtype)
    loss: Tensor = _CrossEntropy.apply(logits.transpose(-1, -2), onehot)  # type: ignore[no-untyped-call]
    return loss


class _BinaryCrossEntropy(torch.autograd.Function):
    """log(1 + exp(z_other - z_y)) on (..., 2, B): two classes need one number per row."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, sign: Tensor) -> Tensor:
        margin = (z[..., 1, :] - z[..., 0, :]).mul_(sign)
        ctx.save_for_backward(margin, sign)
        return torch.nn.functional.softplus(margin)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        margin, sign = ctx.saved_tensors
        g = torch.sigmoid(margin).mul_(sign).mul_(grads[0])
        out = g.new_empty(*g.shape[:-1], 2, g.shape[-1])
        out[..., 1, :] = g
        torch.neg(g, out=out[..., 0, :])
        return out, None


class _CrossEntropy(torch.autograd.Function):
    """log-sum-exp(z) - z_y, and its derivative softmax(z) - e_y, on (..., K, B)."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, onehot: Tensor) -> Tensor:
        log_p = torch.log_softmax(z, dim=-2)
        ctx.save_for_backward(log_p, onehot)
        return (log_p * onehot).sum(-2).neg_()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        log_p, onehot = ctx.saved_tensors
        return (log_p.exp() - onehot).mul_(grads[0].unsqueeze(-2)), None


def binary_cross_entropy(logit: Tensor, target: Tensor) -> Tensor:
    """-[t log s(z) + (1 - t) log(1 - s(z))] per row, for logits and targets (..., B).

    Examples
    --------
    >>> binary_cross_entropy(torch.tensor([0.0, 50.0]), torch.tensor([1.0, 0.0]))
    tensor([ 0.6931, 50.0000])
    """
    if rowwise.usable(logit, target):
        return rowwise.logit_loss(logit, target)
    return torch.nn.functional.softplus(logit) - logit * target


def marginal_cross_entropy(logits: Tensor, likelihood: Tensor) -> Tensor:
    """-log sum_k p_k l_k per row: cross entropy of something seen, the class being hidden.

    Parameters
    ----------
    logits : Tensor of shape (..., B, K)
    likelihood : Tensor of shape (..., B, K), broadcastable
        l_k = P(what was seen | class k); floored at ``MIN_LIKELIHOOD``.

    Returns
    -------
    Tensor of shape (..., B)

    Examples
    --------
    >>> marginal_cross_entropy(torch.zeros(1, 2), torch.tensor([[0.9, 0.3]])).exp()
    tensor([1.6667])
    """
    joint = log_softmax(logits) + likelihood.clamp_min(MIN_LIKELIHOOD).log()
    return -torch.logsumexp(joint.transpose(-1, -2), dim=-2)


MIN_LIKELIHOOD = 1e-7
"""So that a class cannot be impossible: the gradient stays finite and alive."""
