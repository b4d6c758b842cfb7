"""What a split must not cut: an individual with all its rows, or a row where there is no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Units:
    """Units, each with its group, and the unit of every row.

    Parameters
    ----------
    of_row : int array of shape (n,)
    group : int array of shape (U,)
    sizes : int array of shape (G,)
        Number of units in each group.
    """

    of_row: Codes
    group: Codes
    sizes: Codes


def units_of(group: Codes, individuals: Any, n_groups: int | None = None) -> Units:
    """Return rows, or the individuals they belong to, as units.

    An individual whose rows lie in several groups counts in that of the first of them.
    """
    least = int(group.max()) + 1 if n_groups is None else n_groups
    if individuals is None:
        of_row = np.arange(len(group), dtype=np.int64)
        unit_group = group
    else:
        who = np.asarray(individuals)
        if who.shape != group.shape:
            raise ValueError(
                f"individuals has shape {who.shape} but there are {len(group)} rows; "
                "pass one per row."
            )
        import pandas as pd

        of_row = pd.factorize(who)[0].astype(np.int64)
        nobody = of_row < 0
        if nobody.any():
            raise ValueError(
                f"individuals is missing in {nobody.sum()} of {len(who)} rows, first in row "
                f"{nobody.argmax()}; give each such row an individual of its own, or drop it."
            )
        unit_group = group[np.unique(of_row, return_index=True)[1]]
    sizes = np.bincount(unit_group, minlength=least).astype(np.int64)
    return Units(of_row, unit_group, sizes)


def check_group(group: Any) -> Codes:
    """Return group codes if they are whole numbers from 0 on."""
    codes = np.asarray(group)
    if codes.ndim != 1 or codes.dtype.kind not in "biu" or not codes.size or codes.min() < 0:
        raise ValueError(
            f"group must be a flat array of codes 0, 1, ..., got {codes.dtype} values of shape "
            f"{codes.shape}; encode_groups makes such codes."
        )
    return codes.astype(np.int64)


def check_share(share: float, name: str, where: str = "", *, strict: bool = False) -> float:
    """Return ``share`` if it lies in [0, 1], or in (0, 1) when ``strict``."""
    value = float(share)
    if not ((0.0 < value < 1.0) if strict else (0.0 <= value <= 1.0)):
        percent = value if 1.0 < value < 100.0 else 10.0
        raise ValueError(
            f"{name} must lie in {'(0, 1)' if strict else '[0, 1]'}, got {value}{where}; "
            f"write {percent / 100:g} for {percent:g} %."
        )
    return value
