"""Reductions over rows: the only sums a method needs, as matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alignset.stack.kernels import on

if TYPE_CHECKING:
    from torch import Tensor


def mean_rows(values: Tensor, weight: Tensor) -> Tensor:
    """Weighted mean over rows, (..., B) -> (...); zero if no row has weight.

    Examples
    --------
    >>> import torch
    >>> mean_rows(torch.tensor([[1.0, 2.0, 9.0]]), torch.tensor([[1.0, 1.0, 0.0]]))
    tensor([1.5000])
    """
    return sum_rows(values, weight) / weight.sum(-1).clamp_min(_TINY)


def sum_rows(values: Tensor, weight: Tensor) -> Tensor:
    """Weighted sum over rows, (..., B) -> (...)."""
    return on(values.device).weighted_sums(values, weight.unsqueeze(-2)).squeeze(-1)


def group_sums(values: Tensor, membership: Tensor) -> Tensor:
    """Sum over the rows of each group, (..., B) x (..., B, G) -> (..., G).

    Examples
    --------
    >>> import torch
    >>> membership = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> group_sums(torch.tensor([[1.0, 2.0, 3.0]]), membership)
    tensor([[1., 5.]])
    """
    return on(values.device).weighted_sums(values, membership.mT)


_TINY = 1e-12
