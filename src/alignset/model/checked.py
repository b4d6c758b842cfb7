"""Numbers from a model folder, checked before anything is built from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.model.network import Arrays

UNKNOWN = "weights.safetensors does not match the described model"


def checked_array(
    arrays: Arrays, name: str, shape: tuple[int | None, ...], dtype: Any, *, infinite: bool = False
) -> NDArray[Any]:
    """Return a copy of an array that has this shape (None: any length), type, and finite values.

    Examples
    --------
    >>> checked_array({"v": np.ones(2)}, "v", (None,), np.float64)
    array([1., 1.])
    >>> checked_array({"v": np.ones(2)}, "v", (3,), np.float64)
    Traceback (most recent call last):
    ValueError: weights.safetensors does not match the described model ('v')
    """
    values = arrays.get(name)
    if (
        values is None
        or values.dtype != np.dtype(dtype)
        or values.ndim != len(shape)
        or any(n not in (None, m) for n, m in zip(shape, values.shape, strict=True))
    ):
        raise ValueError(f"{UNKNOWN} ({name!r})")
    odd = np.isnan(values) if infinite else ~np.isfinite(values)
    if odd.any():
        raise ValueError(f"weights.safetensors must hold finite numbers in {name!r}")
    return np.array(values)


def checked_count(value: Any, most: int, name: str) -> int:
    """Return a whole number from 0 to ``most``."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError(f"manifest.json holds {name} {value!r}, expected a number up to {most}")
    return value


def checked_names(arrays: Arrays, names: set[str]) -> None:
    """Refuse arrays that are missing, or more than there should be."""
    odd = sorted(set(arrays) ^ names)
    if odd:
        raise ValueError(f"{UNKNOWN} ({odd[0]!r})")


def checked_present(present: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """Return the codes of at least two classes, in order."""
    known = (present >= 0) & (present < classes)
    if len(present) < 2 or not known.all() or (np.diff(present) <= 0).any():
        raise ValueError("weights.safetensors holds classes that are not there ('present')")
    return present
