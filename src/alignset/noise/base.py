"""What every noise model returns, and the checks they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.labels import Codes
from alignset.rows.units import check_codes


@dataclass(frozen=True, eq=False)
class Noise:
    """Labels after noise, and which of them it changed.

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


def count_classes(y: Codes, n_classes: int | None) -> int:
    """Return the number of classes, of which a flip needs at least two."""
    found = int(y.max()) + 1
    count = found if n_classes is None else n_classes
    if count < max(found, 2):
        raise ValueError(
            f"labels cannot be flipped among {count} classes when y holds code {found - 1}; "
            f"pass n_classes of at least {max(found, 2)}."
        )
    return count


def check_groups(group: Any, n: int) -> tuple[Codes, int]:
    """Return group codes and how many groups there are, none of them empty."""
    if group is None:
        return np.zeros(n, dtype=np.int64), 1
    codes = check_codes(group, "group", n)
    sizes = np.bincount(codes)
    if not sizes.all():
        raise ValueError(
            f"group {sizes.argmin()} has no rows; codes must run from 0 to {len(sizes) - 1} "
            "without gaps, as encode_groups makes them."
        )
    return codes, len(sizes)
