"""Uniform noise: every label is equally likely to be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from alignset.noise.base import Noise, as_codes, check_rate, count_classes, flip_at_random


def flip_uniform(
    y: Any,
    *,
    rate: float,
    n_classes: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Noise:
    """Flip every label with the same probability, to any other class with equal chance.

    Parameters
    ----------
    y : int array of shape (n,)
        True class codes; not changed.
    rate : float in [0, 1)
        Probability of a flip. Rows are flipped independently, so the realised rate varies.
    n_classes : int, optional
        Number of classes; by default as many as ``y`` shows.
    random_state : int, Generator or None

    Returns
    -------
    Noise

    Examples
    --------
    >>> noise = flip_uniform([0, 1, 2, 0, 1, 2], rate=0.5, random_state=1)
    >>> noise.probability
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    codes = as_codes(y, "y")
    probability = np.full(len(codes), check_rate(rate))
    rng = np.random.default_rng(random_state)
    return flip_at_random(codes, probability, count_classes(codes, n_classes), rng)
