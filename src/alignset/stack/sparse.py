"""Sparse feature rows that are multiplied, never densified.

A batch of one problem is stored by column (CSC): both products that a first layer needs then read
the weights and the gradient row by row and access only one small matrix at random, which is three
times as fast as going through the rows of the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from alignset.extras import torch
from alignset.stack.kernels import on

if TYPE_CHECKING:
    from torch import Tensor

DENSE_ABOVE = 0.1
"""Share of non-zeros above which dense products are faster."""

MIN_FEATURES = 256
"""With fewer columns than this, products are dense."""


def worth_it(matrix: Any) -> bool:
    """Tell whether sparse products are worth it for this matrix."""
    n, d = matrix.shape
    return bool(d >= MIN_FEATURES and matrix.nnz < DENSE_ABOVE * max(n, 1) * d)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows of Q problems as CSC matrices (B, D), in place of a dense block (Q, 1, B, D).

    Products are on ``device``; matrices are sent there when they are used.
    """

    columns: list[Any]
    device: torch.device

    @property
    def shape(self) -> torch.Size:
        """Shape of the dense block that this replaces."""
        return torch.Size((len(self.columns), 1, *self.columns[0].shape))

    @property
    def dtype(self) -> torch.dtype:
        """Type of the values."""
        return torch.float32 if self.columns[0].dtype == np.float32 else torch.float64

    def dense(self) -> Tensor:
        """Return the block as a dense tensor; for the few methods that do arithmetic on x."""
        blocks = [torch.from_numpy(c.toarray()) for c in self.columns]
        return torch.stack(blocks).unsqueeze(1).to(self.device)

    def add_product(self, weight: Tensor, out: Tensor) -> None:
        """``out`` (Q, C, H, B) += ``weight`` (Q, C, H, D) x^T, one product for all C replicas."""
        q, c, h, n_rows = out.shape
        wide = weight.permute(0, 3, 1, 2).flatten(2)  # (Q, D, C*H), a view if D-major
        on(out.device).sparse_product(self.columns, wide, out.view(q, c * h, n_rows))

    def weight_gradient(self, g: Tensor) -> Tensor:
        """Return g x as (Q, C, H, D), D-major, for the gradient ``g`` (Q, C, H, B)."""
        q, c, h, _ = g.shape
        flat = on(g.device).sparse_gradient(self.columns, g.flatten(1, 2))
        return flat.reshape(q, -1, c, h).permute(0, 2, 3, 1)


def take_rows(matrix: Any, rows: NDArray[np.int64]) -> Any:
    """Return ``matrix[rows]`` of a CSR matrix, by column (CSC)."""
    return on(torch.device("cpu")).take_rows(matrix, rows)


Block: TypeAlias = "Tensor | SparseRows"
"""What a network reads: a dense block (Q, 1 or C, B, D) or sparse rows."""


def feature_major(weight: Tensor) -> Tensor:
    """Return the same weights (Q, C, H, D) laid out so that a sparse product needs no copy."""
    return weight.permute(0, 3, 1, 2).contiguous().permute(0, 2, 3, 1)
