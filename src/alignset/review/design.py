"""Share out and draw rows to review, with a known selection probability for every row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alignset.rows.review import draw, largest_remainder

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Allocation = Callable[[Any, Any], Floats]
"""``allocation(sizes, rates) -> weights``, all of shape (G, K): the share each cell gets."""


def proportional(sizes: ArrayLike, rates: ArrayLike) -> Floats:
    """Weight cells by their size: a representative sample in which every row is equally likely."""
    del rates
    return np.asarray(sizes, float)


def neyman(sizes: ArrayLike, rates: ArrayLike) -> Floats:
    """Weight cells by size times standard deviation, to minimise the overall rate's variance.

    Examples
    --------
    >>> neyman([[100, 100]], [[0.5, 0.1]])
    array([[50., 30.]])
    """
    rates = np.asarray(rates, float)
    return np.asarray(np.asarray(sizes, float) * np.sqrt(rates * (1 - rates)))


def even(sizes: ArrayLike, rates: ArrayLike) -> Floats:
    """Give every group the same number of rows, shared among its cells in proportion to size.

    Examples
    --------
    >>> even([[90, 10], [5, 5]], [[0.2, 0.2], [0.2, 0.2]])
    array([[0.9, 0.1],
           [0.5, 0.5]])
    """
    del rates
    sizes = np.asarray(sizes, float)
    return np.asarray(sizes / np.maximum(sizes.sum(1, keepdims=True), 1))


def allocate(sizes: ArrayLike, weights: ArrayLike, total: int, *, floor: int = 1) -> Ints:
    """Share ``total`` draws out among cells: at least ``floor`` and at most all rows of each.

    Parameters
    ----------
    sizes, weights : array-like of one shape
        Rows in each cell, and the weights the draws are proportional to.
    total : int
        Number of draws; at most the number of rows, and at least one for each non-empty cell.
    floor : int, default=1
        Minimum draws from each cell, or all its rows if it has fewer. Lowered if ``total`` is too
        small to give every cell that many.

    Returns
    -------
    int array of the shape of ``sizes``
        Sums to ``total``. Within the bounds, proportional to the weights apart from rounding.

    Examples
    --------
    >>> allocate([900, 90, 10], [900, 90, 10], 100, floor=5)
    array([86,  9,  5])
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    weights = np.asarray(weights, float)
    filled = int((sizes > 0).sum())
    if total > sizes.sum():
        raise ValueError(f"cannot draw {total} of {sizes.sum()} rows; ask for fewer.")
    if total < filled:
        raise ValueError(
            f"cannot draw {total} rows from {filled} group x label cells; draw at least {filled}, "
            "one from each, or use fewer groups."
        )
    while np.minimum(sizes, floor).sum() > total:
        floor -= 1
    least = np.minimum(sizes, max(floor, 1))
    return largest_remainder(_clipped(weights, least, sizes, total), total, sizes)


def _clipped(weights: Floats, least: Ints, most: Ints, total: int) -> Floats:
    """Scale the weights to sum to the total once they are clipped to [least, most]."""
    weights = np.where(most > 0, np.maximum(weights, 1e-12 * max(weights.max(), 1e-300)), 0.0)
    low, high = 0.0, float((most / np.where(weights > 0, weights, 1)).max())
    for _ in range(200):
        middle = (low + high) / 2
        if np.clip(middle * weights, least, most).sum() < total:
            low = middle
        else:
            high = middle
    return np.clip(high * weights, least, most)


def draw_stratified(stratum: Ints, counts: Ints, rng: np.random.Generator) -> Ints:
    """Draw ``counts[h]`` rows from each stratum ``h`` without replacement, and shuffle them."""
    return rng.permutation(draw(stratum, counts, rng))


def inclusion_probabilities(size: ArrayLike, n: int) -> Floats:
    """Turn sizes into inclusion probabilities that sum to n, none above 1.

    Rows whose share would exceed 1 are certain; the others share what is left, repeatedly.
    """
    size = np.asarray(size, float)
    if not (np.isfinite(size).all() and (size > 0).all()):
        raise ValueError("every row needs a positive, finite size to have a chance of being drawn.")
    if not 0 <= n <= len(size):
        raise ValueError(f"cannot draw {n} of {len(size)} rows; ask for fewer.")
    if n == len(size):
        return np.ones(len(size))
    chance, certain = np.zeros(len(size)), np.zeros(len(size), dtype=bool)
    while True:
        chance = np.where(certain, 1.0, (n - certain.sum()) * size / size[~certain].sum())
        over = (chance >= 1) & ~certain
        if not over.any():
            return chance
        certain |= over


def draw_systematic(chance: Floats, rng: np.random.Generator) -> Ints:
    """Draw rows with exactly the given inclusion probabilities, in random order.

    Randomised systematic sampling (Madow 1949; Hartley and Rao 1962): rows are put in random
    order, their probabilities are laid end to end, and every row that covers one of
    u, u + 1, u + 2, ... is drawn, for one uniform u. The probabilities sum to the number of rows.
    """
    order = rng.permutation(len(chance))
    total = round(float(chance.sum()))
    ends = np.cumsum(chance[order])
    ends *= total / ends[-1] if total else 0.0
    ends[-1] = total  # rounding must not lose the last row
    points = rng.random() + np.arange(total)
    return rng.permutation(order[np.searchsorted(ends, points, side="right")])


def propose(
    confidence: Floats,
    n: int,
    *,
    floor: float = 0.25,
    random_state: int | np.random.Generator | None,
) -> tuple[Ints, Floats]:
    """Draw rows to review next: doubtful ones more often, but every row has a chance.

    Parameters
    ----------
    confidence : float array of shape (m,)
        Confidence of the rows to draw from.
    n : int
    floor : float in (0, 1]
        Share drawn regardless of confidence.
    random_state : int, Generator or None

    Returns
    -------
    drawn : int array of shape (n,)
    chance : float array of shape (m,)
        Probability that each row is drawn; sums to n.

    Notes
    -----
    A row is drawn with probability n (floor / m + (1 - floor) u_i / sum u), at most 1, with
    u_i = sqrt(c_i (1 - c_i)) for confidence c_i: the standard deviation of whether its label is
    right. That makes the next estimate of the noise rates most precise if the model is right
    (Zrnic and Candes 2024), and leaves it unbiased if the model is wrong.

    Examples
    --------
    >>> propose(np.array([0.5, 0.99, 0.99, 0.99]), 2, random_state=0)[1].round(2)
    array([1.  , 0.33, 0.33, 0.33])
    """
    m = len(confidence)
    if not 0 < floor <= 1:
        raise ValueError(f"floor must lie in (0, 1], got {floor}; write 0.25 for 25 %.")
    if not 0 < n <= m:
        raise ValueError(f"next must be from 1 to {m} (the open rows), got {n}.")
    doubt = np.sqrt(confidence * (1 - confidence))
    share = doubt / doubt.sum() if doubt.sum() > 0 else np.full(m, 1 / m)
    chance = inclusion_probabilities(floor / m + (1 - floor) * share, n)
    return draw_systematic(chance, np.random.default_rng(random_state)), chance
