"""Per-row losses on stacked outputs, with their derivatives written out.

Outputs are (..., B, K) views of feature-major memory; classes are reduced along the strided axis,
so that rows stay contiguous.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alignset.extras import torch
from alignset.stack.kernels import on
from alignset.stack.kernels.torch import row_loss

if TYPE_CHECKING:
    from torch import Tensor


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
    """-log p_y per row (..., B), of logits (..., B, K) and int64 labels (..., B).

    A code outside 0..K-1 gives a finite but meaningless value: the caller masks such rows.

    Examples
    --------
    >>> cross_entropy(torch.zeros(1, 2, 4), torch.tensor([[0, 3]]))
    tensor([[1.3863, 1.3863]])
    """
    if logits.shape[-1] == 2:
        sign = 1.0 - 2.0 * (y == 1).to(logits.dtype)
        return on(logits.device).pair_loss(logits.transpose(-1, -2), sign)
    classes = torch.arange(logits.shape[-1], device=logits.device).unsqueeze(-1)
    onehot = (y.unsqueeze(-2) == classes).to(logits.dtype)
    return row_loss(_class_loss, logits.transpose(-1, -2), onehot)


def _class_loss(z: Tensor, onehot: Tensor) -> tuple[Tensor, Tensor]:
    """log-sum-exp(z) - z_y, and its slope softmax(z) - e_y, on (..., K, B)."""
    log_p = torch.log_softmax(z, dim=-2)
    return (log_p * onehot).sum(-2).neg_(), log_p.exp() - onehot


def binary_cross_entropy(logit: Tensor, target: Tensor) -> Tensor:
    """-[t log s(z) + (1 - t) log(1 - s(z))] per row, for logits and targets (..., B).

    Examples
    --------
    >>> binary_cross_entropy(torch.tensor([0.0, 50.0]), torch.tensor([1.0, 0.0]))
    tensor([ 0.6931, 50.0000])
    """
    return on(logit.device).logit_loss(logit, target)


def marginal_cross_entropy(logits: Tensor, likelihood: Tensor) -> Tensor:
    """-log sum_k p_k l_k per row: cross entropy of an observation whose class is hidden.

    l_k = P(what was seen | class k) (..., B, K) is floored at ``MIN_LIKELIHOOD``.

    Examples
    --------
    >>> marginal_cross_entropy(torch.zeros(1, 2), torch.tensor([[0.9, 0.3]])).exp()
    tensor([1.6667])
    """
    joint = log_softmax(logits) + likelihood.clamp_min(MIN_LIKELIHOOD).log()
    return -torch.logsumexp(joint.transpose(-1, -2), dim=-2)


MIN_LIKELIHOOD = 1e-7
"""Keeps every class possible, so that the gradient stays finite and never vanishes."""
