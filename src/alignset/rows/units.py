"""Units that a split must not divide, such as individuals; checks of codes and shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.labels import Codes as Codes
from alignset.labels import check_complete


@dataclass(frozen=True, eq=False)
class Units:
    """The unit of every row (n,), the group of every unit (U,), and the units of each group."""

    of_row: Codes
    group: Codes
    sizes: Codes


def units_of(group: Codes, individuals: Any, n_groups: int | None = None) -> Units:
    """Return rows, or the individuals they belong to, as units.

    An individual whose rows are in several groups counts in the group of its first row.
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
        advice = "give each such row an individual of its own, or drop it"
        check_complete(of_row < 0, "individuals", advice)
        unit_group = group[np.unique(of_row, return_index=True)[1]]
    sizes = np.bincount(unit_group, minlength=least).astype(np.int64)
    return Units(of_row, unit_group, sizes)


def check_codes(values: Any, name: str, n: int | None = None) -> Codes:
    """Return a copy of ``values`` if they are codes ``0, 1, ...`` and, if given, ``n`` of them."""
    codes = np.array(values)
    if codes.ndim != 1 or codes.dtype.kind not in "biu" or not codes.size or codes.min() < 0:
        raise ValueError(
            f"{name} must be a flat array of codes 0, 1, ..., got {codes.dtype} values of shape "
            f"{codes.shape}; encode_labels and encode_groups make such codes."
        )
    if n is not None and len(codes) != n:
        raise ValueError(f"{name} has {len(codes)} entries but y has {n}; pass one per row.")
    return codes.astype(np.int64)


def check_share(
    share: float, name: str, where: str = "", *, strict: bool = False, below_one: bool = False
) -> float:
    """Return ``share`` if it lies in [0, 1], in (0, 1) when ``strict``, or is ``below_one``."""
    value = float(share)
    ends = (() if strict else (0.0,)) + (() if strict or below_one else (1.0,))
    if not (0.0 < value < 1.0 or value in ends):
        percent = value if 1.0 < value < 100.0 else 10.0
        within = f"{'(' if strict else '['}0, 1{')' if strict or below_one else ']'}"
        raise ValueError(
            f"{name} must lie in {within}, got {value}{where}; "
            f"write {percent / 100:g} for {percent:g} %."
        )
    return value


def share_per_group(
    share: float | Sequence[float], n_groups: int, name: str, *, below_one: bool = False
) -> NDArray[np.float64]:
    """Return one checked share per group, from one for all or one for each."""
    if np.ndim(share) == 0:
        return np.full(n_groups, check_share(float(np.asarray(share)), name, below_one=below_one))
    shares = np.asarray(share, dtype=np.float64)
    if shares.shape != (n_groups,):
        raise ValueError(
            f"{name} has shape {shares.shape} but there are {n_groups} groups; "
            f"pass one {name} for all, or one per group."
        )
    for g, value in enumerate(shares):
        check_share(value, name, f" for group {g}", below_one=below_one)
    return shares
