"""What every noise model returns, and the checks they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Noise:
    """Labels after noise, and where it struck.

    Parameters
    ----------
    y_seen : int array of shape (n,)
        Observed class code.
    flipped : bool array of shape (n,)
        Where the observed class differs from the true one.
    probability : float array of shape (n,)
        Probability with which the model flips each row; 0 or 1 where flips are a function of
        the features.

    Examples
    --------
    >>> Noise(np.array([1, 1]), np.array([True, False]), np.array([1.0, 0.0])).rate
    0.5
    """

    y_seen: Codes
    flipped: NDArray[np.bool_]
    probability: NDArray[np.float64]

    @property
    def rate(self) -> float:
        """Share of rows whose label is wrong."""
        return float(self.flipped.mean())


def as_codes(values: Any, name: str, n: int | None = None) -> Codes:
    """Return ``values`` as a new array of codes ``0, 1, ...``."""
    codes = np.array(values)
    if codes.ndim != 1 or codes.dtype.kind not in "biu" or (codes.size and codes.min() < 0):
        raise ValueError(
            f"{name} must be a flat array of whole codes 0, 1, ..., got {codes.dtype} values of "
            f"shape {codes.shape}; encode_labels and encode_groups make such codes."
        )
    if not codes.size:
        raise ValueError(f"{name} is empty; there is no row to flip.")
    if n is not None and len(codes) != n:
        raise ValueError(f"{name} has {len(codes)} entries but y has {n}; pass one per row.")
    return codes.astype(np.int64)


def count_classes(y: Codes, n_classes: int | None) -> int:
    """Return the number of classes, which a flip needs two of."""
    found = int(y.max()) + 1
    count = found if n_classes is None else n_classes
    if count < max(found, 2):
        raise ValueError(
            f"a label cannot be flipped among {count} classes when y holds code {found - 1}; "
            f"pass n_classes, at least {max(found, 2)}."
        )
    return count


def check_rate(rate: float, where: str = "") -> float:
    """Return ``rate`` if it lies in [0, 1)."""
    value = float(rate)
    if not 0.0 <= value < 1.0:
        percent = value if 1.0 < value < 100.0 else 40.0
        raise ValueError(
            f"noise rate must lie in [0, 1), got {value}{where}; "
            f"write {percent / 100:g} for {percent:g} %."
        )
    return value


def rate_per_group(rate: float | Sequence[float], n_groups: int) -> NDArray[np.float64]:
    """Return one checked rate per group."""
    if np.ndim(rate) == 0:
        return np.full(n_groups, check_rate(float(np.asarray(rate))))
    rates = np.asarray(rate, dtype=np.float64)
    if rates.shape != (n_groups,):
        raise ValueError(
            f"rate has shape {rates.shape} but there are {n_groups} groups; "
            "pass one rate for all, or one per group."
        )
    return np.array([check_rate(r, f" for group {g}") for g, r in enumerate(rates)])


def check_groups(group: Any, n: int) -> tuple[Codes, int]:
    """Return group codes and how many groups there are, none of them empty."""
    if group is None:
        return np.zeros(n, dtype=np.int64), 1
    codes = as_codes(group, "group", n)
    sizes = np.bincount(codes)
    if not sizes.all():
        raise ValueError(
            f"group {sizes.argmin()} has no rows; codes must run from 0 to {len(sizes) - 1} "
            "without a gap, as encode_groups makes them."
        )
    return codes, len(sizes)


def flip_at_random(
    y: Codes, probability: NDArray[np.float64], n_classes: int, rng: np.random.Generator
) -> Noise:
    """Flip each row with its own probability, to any other class with equal chance."""
    # Both draws are made for every row, so that a row's fate does not hang on its neighbours'.
    flipped = rng.random(len(y)) < probability
    step = rng.integers(1, n_classes, len(y))
    y_seen = np.where(flipped, (y + step) % n_classes, y)
    return Noise(y_seen, flipped, probability)
