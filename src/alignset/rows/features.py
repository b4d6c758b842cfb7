"""Features ready for computation: finite numbers of one type, and their scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGEST, SMALLEST = 1e305, 1e-300
"""Between these, differences and quotients of double precision numbers are finite."""

LARGEST_SINGLE = 1e18
"""Up to this, and down to its inverse, squares fit into single precision."""

SQUARED = 1e100
"""Up to this, and down to its inverse, sums of squares fit into double precision."""


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
        """Return scaled features in double precision; refuse values that are far too large."""
        if scipy.sparse.issparse(X):
            scaled = (X @ scipy.sparse.diags_array(1.0 / self.spread)).tocsr()
            self._check(X, abs(scaled.data).max(initial=0.0))
            return scaled
        with np.errstate(over="ignore"):
            scaled = (X - self.centre) / self.spread
        self._check(X, abs(scaled).max(initial=0.0))
        return scaled

    def _check(self, X: Any, largest: float) -> None:
        if not largest <= LARGEST_SINGLE:
            most = largest_values(X)
            with np.errstate(over="ignore"):
                at = int((most / self.spread).argmax())
            raise ValueError(
                f"column {at} of X holds {most[at]:.3g}, more than {LARGEST_SINGLE:.0e} standard "
                "deviations from what the model was trained on; correct it."
            )

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
    centre, largest = np.zeros(X.shape[1]), largest_values(X)
    wrong = (largest > LARGEST) | ((largest > 0) & (largest < SMALLEST))
    _refuse(wrong, largest, SMALLEST, LARGEST, "give the column another unit")
    if scipy.sparse.issparse(X):
        spread = largest
    else:  # block by block: there may be no memory for a copy of a large table
        unit = units_of(largest)
        blocks = [(rows[at], weight[at]) for at in row_blocks(len(rows))]
        centre = sum(w @ _in_units(X[r], unit) for r, w in blocks) / weight.sum()
        square = sum(w @ (_in_units(X[r], unit) - centre) ** 2 for r, w in blocks)
        centre, spread = np.ldexp(centre, unit), np.ldexp(np.sqrt(square / weight.sum()), unit)
    # the mean of a constant column has a rounding error, which must not become its unit
    rounding = len(weight) * np.finfo(np.float64).eps * abs(centre)
    return Scale(centre, np.where(spread > rounding, spread, 1.0))


def largest_values(X: Any) -> Floats:
    """Return the largest absolute value of each column, (D,)."""
    if scipy.sparse.issparse(X):
        return np.asarray(abs(X).max(axis=0).toarray().reshape(-1), dtype=np.float64)
    parts = [abs(X[at]).max(axis=0, initial=0.0) for at in row_blocks(len(X))]
    return np.asarray(np.max(parts, axis=0), dtype=np.float64)


def units_of(largest: Floats) -> NDArray[np.int64]:
    """Return the power of two in which to compute with each column: 0 unless squares would not fit.

    Powers of two change no digit of a number.
    """
    far = (largest > SQUARED) | ((largest > 0) & (largest < 1 / SQUARED))
    return np.where(far, np.frexp(largest)[1], 0).astype(np.int64)


def _in_units(X: Floats, unit: NDArray[np.int64]) -> Floats:
    return np.ldexp(X, -unit) if unit.any() else X


def check_single(X: Any) -> Any:
    """Return features that are not to be scaled; refuse what single precision cannot square."""
    largest = largest_values(X)
    varies = largest > 0
    if not scipy.sparse.issparse(X):  # a constant column may hold nothing but a rounding error
        varies &= np.ptp(X, axis=0) > 0
    wrong = varies & ((largest > LARGEST_SINGLE) | (largest < 1 / LARGEST_SINGLE))
    advice = "pass standardize=True, or give the column another unit"
    _refuse(wrong, largest, 1 / LARGEST_SINGLE, LARGEST_SINGLE, advice)
    return X


def _refuse(wrong: NDArray[np.bool_], largest: Floats, low: float, high: float, how: str) -> None:
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(
            f"column {at} of X holds values up to {largest[at]:.3g}; the largest value of a column "
            f"must lie between {low:.3g} and {high:.3g}, so {how}."
        )


def row_blocks(n: int, size: int = 1 << 16) -> list[slice]:
    """Cut rows into blocks, so that memory stays bounded; no rows are one empty block."""
    return [slice(start, start + size) for start in range(0, max(1, n), size)]


def canonical(X: Any) -> Any:
    """Return CSR rows without repeated entries; the caller's matrix is not changed."""
    X = scipy.sparse.csr_matrix(X, copy=not X.has_canonical_format)
    X.sum_duplicates()
    return X
