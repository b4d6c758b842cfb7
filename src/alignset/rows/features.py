"""Features as the engine takes them: float32, dense or CSR, without gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def as_float32(X: Any) -> Any:
    """Return a float32 ndarray, or CSR matrix if ``X`` is sparse, and check that it is finite."""
    if sparse.issparse(X):
        with np.errstate(over="ignore"):
            features = X.tocsr().astype(np.float32)
        bad = ~np.isfinite(features.data)
        if bad.any():
            _refuse(int(bad.sum()), int(features.tocoo().row[bad.argmax()]))
        return features
    features = _as_numbers(X)
    if features.ndim != 2:
        raise ValueError(f"X must have rows and columns, got shape {features.shape}.")
    bad = ~np.isfinite(features)
    if bad.any():
        _refuse(int(bad.sum()), int(bad.any(axis=1).argmax()))
    return features


def _refuse(count: int, row: int) -> None:
    raise ValueError(
        f"X holds {count} NaN or infinite values (in float32), first in row {row}; "
        "impute or drop them before the split."
    )


def _as_numbers(X: Any) -> Any:
    try:
        with np.errstate(over="ignore"):
            if hasattr(X, "iloc"):  # a DataFrame of pandas, which need not be imported for this
                return X.to_numpy(dtype=np.float32, na_value=np.nan)
            return np.asarray(X).astype(np.float32)
    except (TypeError, ValueError) as problem:
        raise ValueError(
            f"X holds values that are not numbers ({problem}); encode them before the split."
        ) from None
