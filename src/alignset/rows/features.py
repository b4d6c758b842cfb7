"""Features ready for computation: finite numbers of one type, and their scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def check_sparse(X: Any) -> None:
    """Refuse a sparse matrix whose indices lie outside it: compiled code would follow them.

    Examples
    --------
    >>> X = scipy.sparse.csr_matrix(([1.0], [0], [0, 1]), shape=(1, 2))
    >>> X.indices[0] = 1_000_000
    >>> check_sparse(X)
    Traceback (most recent call last):
        ...
    ValueError: X is a damaged sparse matrix (indices must be < 2); build it again.
    """
    if not scipy.sparse.issparse(X):
        return
    try:
        if X.format in ("csr", "csc", "bsr"):
            X.check_format(full_check=True)
        elif X.format == "coo":
            for axis, place in enumerate(X.coords):
                if len(place) != X.nnz or len(X.data) != len(place):
                    raise ValueError("row, col and data differ in length")
                if len(place) and not 0 <= place.min() <= place.max() < X.shape[axis]:
                    raise ValueError(f"indices must be in [0, {X.shape[axis]})")
        elif X.format == "lil":
            ends = [i for row in X.rows for i in (*row[:1], *row[-1:])]
            if ends and not 0 <= min(ends) <= max(ends) < X.shape[1]:
                raise ValueError(f"indices must be in [0, {X.shape[1]})")
    except ValueError as problem:
        told = str(problem).replace("column index values", "indices")
        raise ValueError(f"X is a damaged sparse matrix ({told}); build it again.") from None


def as_float(X: Any, dtype: Any) -> Any:
    """Return finite floats as an ndarray, or as a CSR matrix if ``X`` is sparse."""
    check_sparse(X)
    try:
        with np.errstate(over="ignore"):
            if scipy.sparse.issparse(X):
                features = X.tocsr().astype(dtype)
            elif hasattr(X, "iloc"):  # a pandas DataFrame; this does not need to import pandas
                features = X.to_numpy(dtype=dtype, na_value=np.nan)
            else:
                features = np.asarray(X).astype(dtype)
    except (TypeError, ValueError) as problem:
        raise ValueError(
            f"X holds values that are not numbers ({problem}); encode them first."
        ) from None
    if features.ndim != 2:
        raise ValueError(f"X must have rows and columns, got shape {features.shape}.")
    bad = ~np.isfinite(features.data if scipy.sparse.issparse(X) else features)
    if bad.any():
        row = (
            features.tocoo().row[bad.argmax()] if scipy.sparse.issparse(X) else bad.any(1).argmax()
        )
        raise ValueError(
            f"X holds {bad.sum()} NaN or infinite values (in {features.dtype}), first in row "
            f"{row}; impute or drop them first."
        )
    return features


@dataclass(frozen=True, eq=False)
class Scale:
    """What to subtract from features, and what to divide them by afterwards: both (D,).

    Sparse features are only divided.
    """

    centre: Floats
    spread: Floats

    def __call__(self, X: Any) -> Any:
        """Return scaled features in double precision."""
        if scipy.sparse.issparse(X):
            return (X @ scipy.sparse.diags_array(1.0 / self.spread)).tocsr()
        return (X - self.centre) / self.spread

    def trained_rows(self, X: Any, rows: NDArray[np.int64]) -> Any:
        """Return ``X[rows]``, scaled, in the precision used for training."""
        if scipy.sparse.issparse(X):
            return self(X[rows]).astype(np.float32)
        out = np.empty((len(rows), X.shape[1]), dtype=np.float32)
        for at in row_blocks(len(rows)):
            out[at] = self(X[rows[at]])
        return out


def no_scale(n_features: int) -> Scale:
    """Return the scale that leaves features as they are."""
    return Scale(np.zeros(n_features), np.ones(n_features))


def learn_scale(X: Any, rows: NDArray[np.int64], weight: Floats) -> Scale:
    """Scale ``X[rows]`` to mean 0 and standard deviation 1, sparse features to maximum 1."""
    centre = np.zeros(X.shape[1])
    if scipy.sparse.issparse(X):
        spread = abs(X).max(axis=0).toarray().reshape(-1)
    else:  # block by block: there may be no memory for a copy of a large table
        blocks = [(rows[at], weight[at]) for at in row_blocks(len(rows))]
        centre = sum(w @ X[r] for r, w in blocks) / weight.sum()
        square = sum(w @ (X[r] - centre) ** 2 for r, w in blocks)
        spread = np.sqrt(square / weight.sum())
    # the mean of a constant column has a rounding error, which must not become its unit
    rounding = len(weight) * np.finfo(np.float64).eps * abs(centre)
    return Scale(centre, np.where(spread > rounding, spread, 1.0))


def row_blocks(n: int, size: int = 1 << 16) -> list[slice]:
    """Cut rows into blocks, so that memory stays bounded; no rows are one empty block."""
    return [slice(start, start + size) for start in range(0, max(1, n), size)]
