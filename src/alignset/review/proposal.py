"""Which rows to review next: doubt, mixed with a random floor so that probabilities stay known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alignset.review.design import draw_systematic, inclusion_probabilities

Floats = NDArray[np.float64]


def propose(
    confidence: Floats,
    n: int,
    *,
    floor: float = 0.25,
    random_state: int | np.random.Generator | None,
) -> tuple[NDArray[np.int64], Floats]:
    """Draw rows to review next, doubtful ones more often, every one with some chance.

    Parameters
    ----------
    confidence : float array of shape (m,)
        Of the rows to draw from.
    n : int
    floor : float in (0, 1]
        Share drawn whatever the confidence.
    random_state : int, Generator or None

    Returns
    -------
    drawn : int array of shape (n,)
    chance : float array of shape (m,)
        Probability of every row to be drawn; sums to n.

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
        raise ValueError(f"next must lie in 1 to {m} (the open rows), got {n}.")
    doubt = np.sqrt(confidence * (1 - confidence))
    share = doubt / doubt.sum() if doubt.sum() > 0 else np.full(m, 1 / m)
    chance = inclusion_probabilities(floor / m + (1 - floor) * share, n)
    return draw_systematic(chance, np.random.default_rng(random_state)), chance
