"""Features as they are computed with: numbers of one type, dense or CSR, without gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def as_float32(X: Any) -> Any:
    """Return a float32 ndarray, or CSR matrix if ``X`` is sparse, and check that it is finite."""
    return as_float(X, np.float32)


def as_float(X: Any, dtype: Any) -> Any:
    """Return an ndarray, or CSR matrix if ``X`` is sparse, of floats that are finite."""
    try:
        with np.errstate(over="ignore"):
            if sparse.issparse(X):
                features = X.tocsr().astype(dtype)
            elif hasattr(X, "iloc"):  # a DataFrame of pandas, which need not be imported for this
                features = X.to_numpy(dtype=dtype, na_value=np.nan)
            else:
                features = np.asarray(X).astype(dtype)
    except (TypeError, ValueError) as problem:
        raise ValueError(
            f"X holds values that are not numbers ({problem}); encode them first."
        ) from None
    if features.ndim != 2:
        raise ValueError(f"X must have rows and columns, got shape {features.shape}.")
    bad = ~np.isfinite(features.data if sparse.issparse(X) else features)
    if bad.any():
        row = features.tocoo().row[bad.argmax()] if sparse.issparse(X) else bad.any(1).argmax()
        raise ValueError(
            f"X holds {bad.sum()} NaN or infinite values (in {features.dtype}), first in row "
            f"{row}; impute or drop them first."
        )
    return features
