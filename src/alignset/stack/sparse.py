"""Sparse feature rows that are multiplied, never densified.

A batch of one problem is kept by column (CSC): both products a first layer needs then walk the
weights and the gradient row by row and touch only one small matrix at random, which is three
times faster than walking the rows of the batch. The products are loops in C where they can be
compiled (``native/sparse.c``), else scipy's.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from alignset.stack import native
from alignset.stack.threads import share
from alignset.stack.workspace import borrow

DENSE_ABOVE = 0.1
"""Share of non-zeros from which dense products are faster."""

MIN_FEATURES = 256
"""Fewer columns than this are multiplied dense."""

SLAB = 64
"""Units of one piece of a product: ``MOST`` of ``native/sparse.c``."""


def worth_it(matrix: Any) -> bool:
    """Tell whether sparse products pay for this matrix."""
    n, d = matrix.shape
    return bool(d >= MIN_FEATURES and matrix.nnz < DENSE_ABOVE * max(n, 1) * d)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows of Q problems as sparse matrices; stands for a dense block (Q, 1, B, D).

    Parameters
    ----------
    columns : list of CSC matrices of shape (B, D)
    device : torch.device
        Where products end up; matrices are sent there when they are used.

    Examples
    --------
    >>> identity = scipy.sparse.csc_matrix(np.eye(3, dtype=np.float32))
    >>> rows = SparseRows([identity], torch.device("cpu"))
    >>> rows.shape, rows.dense()[0, 0, 1]
    (torch.Size([1, 1, 3, 3]), tensor([0., 1., 0.]))
    """

    columns: list[Any]
    device: torch.device

    @property
    def shape(self) -> torch.Size:
        """Shape of the dense block this stands for."""
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
        wide = weight.permute(0, 3, 1, 2).reshape(q, -1, c * h)  # (Q, D, C*H), a view if D-major
        if self._native(wide, out):
            self._in_slabs("sparse_forward", wide.contiguous(), out.view(q, c * h, n_rows))
            return
        for i in range(q):
            product = self._times(self.columns[i], wide[i])
            out[i].view(c * h, n_rows).add_(product.T)

    def weight_gradient(self, g: Tensor) -> Tensor:
        """Return g x as (Q, C, H, D), D-major, for the gradient ``g`` (Q, C, H, B)."""
        q, c, h, n_rows = g.shape
        if self._native(g):
            flat = borrow(q * self.shape[-1] * c * h).view(q, -1, c * h)
            self._in_slabs("sparse_backward", g.reshape(q, c * h, n_rows).contiguous(), flat)
        else:
            tall = g.reshape(q, c * h, n_rows).transpose(1, 2).contiguous()  # (Q, B, C*H)
            parts = [self._times(self.columns[i].T, tall[i]) for i in range(q)]
            flat = parts[0].unsqueeze(0) if q == 1 else torch.stack(parts)
        return flat.reshape(q, -1, c, h).permute(0, 2, 3, 1)

    def _native(self, *tensors: Tensor) -> bool:
        """Tell whether the loops in C can do it: all float32, on a CPU, positions of 32 bits."""
        plain = all(m.dtype == np.float32 and m.indptr.dtype == np.int32 for m in self.columns)
        return (
            plain
            and all(t.device.type == "cpu" and t.dtype == torch.float32 for t in tensors)
            and _library() is not None
        )

    def _in_slabs(self, name: str, dense: Tensor, out: Tensor) -> None:
        """Call a product of the library for every problem and slab of units."""
        function = getattr(_library(), name)
        n_rows, n_columns = self.shape[-2:]
        units = dense.shape[-1] if name == "sparse_forward" else dense.shape[-2]
        n_slabs = -(-units // SLAB)

        def multiply(piece: int) -> None:
            i, slab = divmod(piece, n_slabs)
            tile = torch.empty(n_rows * SLAB)
            function(
                *_addresses(self.columns[i]),
                n_rows,
                n_columns,
                dense[i].data_ptr(),
                units,
                slab * SLAB,
                out[i].data_ptr(),
                tile.data_ptr(),
            )

        share(multiply, len(self.columns) * n_slabs)

    def _times(self, matrix: Any, dense: Tensor) -> Tensor:
        if self.device.type == "cpu":
            return torch.from_numpy(matrix @ dense.detach().numpy())
        rows = matrix.tocsr()
        starts, index, values = (
            torch.from_numpy(a).to(self.device) for a in (rows.indptr, rows.indices, rows.data)
        )
        sparse = torch.sparse_csr_tensor(starts, index, values, size=rows.shape)
        product: Tensor = sparse @ dense
        return product


@cache
def _library() -> Any:
    library = native.library("sparse")
    if library is not None:
        pointer, size = ctypes.c_void_p, ctypes.c_int64
        for product in (library.sparse_forward, library.sparse_backward):
            product.argtypes = [*[pointer] * 3, size, size, pointer, size, size, pointer, pointer]
        library.sparse_columns.argtypes = [*[pointer] * 4, size, size, *[pointer] * 3]
    return library


def _addresses(matrix: Any) -> tuple[int, int, int]:
    return matrix.indptr.ctypes.data, matrix.indices.ctypes.data, matrix.data.ctypes.data


def take_rows(matrix: Any, rows: NDArray[np.int64]) -> Any:
    """Return ``matrix[rows]`` of a CSR matrix, by column (CSC).

    Examples
    --------
    >>> identity = scipy.sparse.csr_matrix(np.eye(3, dtype=np.float32))
    >>> take_rows(identity, np.array([2, 0])).toarray()
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    library = _library()
    if library is None or matrix.dtype != np.float32 or matrix.indptr.dtype != np.int32:
        return matrix[rows].tocsc()
    rows = np.ascontiguousarray(rows, dtype=np.int64)
    n = int((matrix.indptr[rows + 1] - matrix.indptr[rows]).sum(dtype=np.int64))
    if n > np.iinfo(np.int32).max:
        return matrix[rows].tocsc()
    shape = (len(rows), matrix.shape[1])
    starts = np.empty(shape[1] + 1, dtype=np.int32)
    row, value = borrow(n).numpy().view(np.int32), borrow(n).numpy()
    result = [a.ctypes.data for a in (starts, row, value)]
    library.sparse_columns(*_addresses(matrix), rows.ctypes.data, *shape, *result)
    return scipy.sparse.csc_matrix((value, row, starts), shape)


Block = Tensor | SparseRows
"""What a network reads: a dense block (Q, 1 or C, B, D) or sparse rows."""


def feature_major(weight: Tensor) -> Tensor:
    """Return the same weights (Q, C, H, D) laid out so that a sparse product needs no copy."""
    return weight.permute(0, 3, 1, 2).contiguous().permute(0, 2, 3, 1)
