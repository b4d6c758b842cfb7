"""Group-dependent noise: labels of some groups are wrong more often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from alignset.noise.base import (
    Noise,
    as_codes,
    check_groups,
    count_classes,
    flip_at_random,
    rate_per_group,
)


def flip_by_group(
    y: Any,
    group: Any,
    *,
    rate: float | Sequence[float],
    n_classes: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Noise:
    """Flip labels with the probability of their group, to any other class with equal chance.

    Parameters
    ----------
    y : int array of shape (n,)
        True class codes; not changed.
    group : int array of shape (n,)
        Group codes ``0..G-1``, none of them empty.
    rate : float or sequence of G floats in [0, 1)
        Probability of a flip in each group. Rows are flipped independently.
    n_classes : int, optional
        Number of classes; by default as many as ``y`` shows.
    random_state : int, Generator or None

    Returns
    -------
    Noise

    Examples
    --------
    >>> noise = flip_by_group([0, 1, 0, 1], [0, 0, 1, 1], rate=[0.2, 0.4], random_state=0)
    >>> noise.probability
    array([0.2, 0.2, 0.4, 0.4])
    """
    codes = as_codes(y, "y")
    groups, n_groups = check_groups(group, len(codes))
    probability = rate_per_group(rate, n_groups)[groups]
    rng = np.random.default_rng(random_state)
    return flip_at_random(codes, probability, count_classes(codes, n_classes), rng)
