"""Which rows are reviewed: choose the alignment set, and which part of it validates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.labels import Codes
from alignset.rows.units import check_codes, check_share, share_per_group, units_of

Mask = NDArray[np.bool_]


def draw_review(
    group: Any,
    *,
    share: float | Sequence[float] = 0.10,
    composition: Sequence[float] | None = None,
    individuals: Any = None,
    random_state: int | np.random.Generator | None,
) -> Mask:
    """Choose at random which rows are reviewed: the alignment set A, as a mask of shape (n,).

    Parameters
    ----------
    group : int array of shape (n,)
        Group codes ``0..G-1``.
    share : float or sequence of G floats in [0, 1], default=0.10
        Share of each group to review; one number applies to every group, which makes the
        alignment set representative.
    composition : sequence of G floats that sum to 1, optional
        What part of the alignment set each group makes up, for a biased alignment set; its total
        size is ``share`` of all rows.
    individuals : array of shape (n,), optional
        Whom each row belongs to. Whole individuals are then chosen, and shares count them.
    random_state : int, Generator or None
        For the same integer, a larger ``share`` reviews the same rows and some more.

    Examples
    --------
    >>> group = np.repeat([0, 1], [80, 20])
    >>> reviewed = draw_review(group, share=0.10, composition=[0.5, 0.5], random_state=0)
    >>> np.bincount(group[reviewed])
    array([5, 5])
    """
    codes = check_codes(group, "group")
    units = units_of(codes, individuals)
    rng = np.random.default_rng(random_state)
    counts = review_counts(units.sizes, share=share, composition=composition)
    return pick(units.group, counts, rng)[units.of_row]


def hold_out(
    group: Any,
    reviewed: Any,
    *,
    share: float = 0.5,
    individuals: Any = None,
    random_state: int | np.random.Generator | None,
) -> Mask:
    """Choose which reviewed rows validate instead of training, the same share of each group.

    Parameters
    ----------
    group, individuals, random_state
        As in :func:`draw_review`; all reviewed rows of an individual go to the same side.
    reviewed : bool array of shape (n,)
        Which rows are in the alignment set; the result is True for some of them.
    share : float in (0, 1), default=0.5
        Share to hold out. A group with two or more reviewed rows keeps at least one on each side.

    Examples
    --------
    >>> held = hold_out([0, 0, 0, 0, 1, 1], [1, 1, 0, 0, 1, 1], random_state=0)
    >>> int(held[:4].sum()), int(held[4:].sum())
    (1, 1)
    """
    codes = check_codes(group, "group")
    mask = np.asarray(reviewed).astype(bool)
    if mask.shape != codes.shape:
        raise ValueError(
            f"reviewed has shape {mask.shape} but group has {len(codes)} entries; pass one per row."
        )
    check_share(share, "validation share", strict=True)
    rows = np.flatnonzero(mask)
    held = np.zeros(len(codes), dtype=bool)
    if len(rows):
        everyone = units_of(codes, individuals).of_row
        units = units_of(codes[rows], everyone[rows])
        counts = np.array([_inner_count(share, size) for size in units.sizes])
        held[rows] = pick(units.group, counts, np.random.default_rng(random_state))[units.of_row]
    return held


def review_counts(
    sizes: Codes, *, share: float | Sequence[float], composition: Sequence[float] | None
) -> Codes:
    """Return how many rows or individuals of each group, out of ``sizes``, are reviewed."""
    if composition is None:
        return np.round(share_per_group(share, len(sizes), "share") * sizes).astype(np.int64)
    if np.ndim(share):
        raise ValueError(
            "composition fixes what part of the alignment set each group makes up, so share must "
            f"be one number, its total size, got {len(np.asarray(share))} shares."
        )
    total = round(check_share(float(np.asarray(share)), "share") * int(sizes.sum()))
    counts = largest_remainder(total * _check_composition(composition, len(sizes)), total)
    for g, (count, size) in enumerate(zip(counts, sizes, strict=True)):
        if count > size:
            raise ValueError(
                f"composition asks for {count} reviewed rows of group {g} but it has {size}; "
                f"lower share or composition[{g}]."
            )
    return counts


def pick(group: Codes, counts: Codes, rng: np.random.Generator) -> Mask:
    """Choose ``counts[g]`` entries of each group ``g``."""
    chosen = np.zeros(len(group), dtype=bool)
    chosen[draw(group, counts, rng)] = True
    return chosen


def draw(group: Codes, counts: Codes, rng: np.random.Generator) -> Codes:
    """Draw ``counts[g]`` entries of each group ``g``, and return their positions, group by group.

    Entries of groups beyond ``counts`` are not drawn.
    """
    # One order for all entries, from which each group takes its first: draws are nested.
    order = rng.permutation(len(group))
    grouped = order[np.argsort(group[order], kind="stable")]
    size = np.bincount(group, minlength=len(counts))
    place = np.arange(len(group)) - np.repeat(np.cumsum(size) - size, size)
    most = np.pad(counts, (0, len(size) - len(counts)))
    return grouped[place < np.repeat(most, size)]


def _inner_count(share: float, size: int) -> int:
    if size < 2:
        return 0
    return min(max(round(share * size), 1), size - 1)


def _check_composition(composition: Sequence[float], n_groups: int) -> NDArray[np.float64]:
    parts = np.asarray(composition, dtype=np.float64)
    if parts.shape != (n_groups,):
        raise ValueError(
            f"composition has shape {parts.shape} but there are {n_groups} groups; "
            "pass one part per group."
        )
    if not ((parts >= 0.0).all() and np.isclose(parts.sum(), 1.0, rtol=0.0, atol=1e-6)):
        raise ValueError(
            f"composition must hold parts in [0, 1] that sum to 1, got {parts.tolist()} "
            f"with sum {parts.sum():g}."
        )
    return parts


def largest_remainder(shares: NDArray[np.float64], total: int, most: Any = np.inf) -> Codes:
    """Round shares to whole counts that sum to ``total``, none above ``most``.

    All are rounded down, and the rest goes to the largest remainders, the first one if tied.
    """
    whole = np.floor(shares + 1e-9).astype(np.int64)
    while whole.sum() > total:  # the tolerance above rounded several up
        whole[np.unravel_index(np.argmax(whole - shares), whole.shape)] -= 1
    rest = np.where(whole < most, shares - whole, -np.inf).reshape(-1)
    flat = whole.reshape(-1)
    flat[np.argsort(-rest, kind="stable")[: total - int(whole.sum())]] += 1
    return flat.reshape(shares.shape)
