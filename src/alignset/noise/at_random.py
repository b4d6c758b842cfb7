"""Random noise: the same probability for every row, one per group, or one per class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.noise.base import Noise, check_groups, count_classes
from alignset.rows.units import check_codes, check_share, share_per_group


def flip_uniform(
    y: Any,
    *,
    rate: float,
    n_classes: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Noise:
    """Flip every label with the same probability, to any other class with equal probability.

    Parameters
    ----------
    y : int array of shape (n,)
        True class codes; not changed.
    rate : float in [0, 1)
        Probability of a flip. Rows are flipped independently, so the realised rate varies.
    n_classes : int, optional
        Number of classes; by default as many as occur in ``y``.
    random_state : int, Generator or None

    Examples
    --------
    >>> noise = flip_uniform([0, 1, 2, 0, 1, 2], rate=0.5, random_state=1)
    >>> noise.probability
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    return flip_by_group(y, None, rate=rate, n_classes=n_classes, random_state=random_state)


def flip_by_group(
    y: Any,
    group: Any,
    *,
    rate: float | Sequence[float],
    n_classes: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Noise:
    """Flip labels with their group's probability, to any other class with equal probability.

    Parameters
    ----------
    y, n_classes, random_state
        As in :func:`flip_uniform`.
    group : int array of shape (n,)
        Group codes ``0..G-1``, none of them empty; None means one group.
    rate : float or sequence of G floats in [0, 1)
        Probability of a flip in each group. Rows are flipped independently.

    Examples
    --------
    >>> noise = flip_by_group([0, 1, 0, 1], [0, 0, 1, 1], rate=[0.2, 0.4], random_state=0)
    >>> noise.probability
    array([0.2, 0.2, 0.4, 0.4])
    """
    codes = check_codes(y, "y")
    groups, n_groups = check_groups(group, len(codes))
    probability = share_per_group(rate, n_groups, "noise rate", below_one=True)[groups]
    n_classes, rng = count_classes(codes, n_classes), np.random.default_rng(random_state)
    # Both draws are made for every row, so that one row's flip does not depend on another's.
    flipped = rng.random(len(codes)) < probability
    step = rng.integers(1, n_classes, len(codes))
    return Noise(np.where(flipped, (codes + step) % n_classes, codes), flipped, probability)


def flip_by_class(
    y: Any, matrix: Any, *, random_state: int | np.random.Generator | None = None
) -> Noise:
    """Draw each observed label from its true class's row of a transition matrix.

    Parameters
    ----------
    y, random_state
        As in :func:`flip_uniform`.
    matrix : float array of shape (K, K)
        ``matrix[i, j]`` is the probability that class ``i`` is observed as class ``j``; rows sum
        to 1 and each diagonal entry is positive.

    Examples
    --------
    >>> under_diagnosed = [[1.0, 0.0], [0.3, 0.7]]
    >>> flip_by_class([0, 1, 1], under_diagnosed, random_state=0).probability
    array([0. , 0.3, 0.3])
    """
    codes = check_codes(y, "y")
    transition = _check_matrix(matrix, int(codes.max()))
    rng = np.random.default_rng(random_state)
    bounds = transition.cumsum(axis=1)[codes]  # (n, K)
    # Dividing by the last bound keeps a draw near 1 from falling past the last class.
    draw = rng.random(len(codes))[:, None]
    y_seen = (bounds / bounds[:, -1:] <= draw).sum(axis=1).astype(np.int64)
    probability = 1.0 - transition[codes, codes]
    return Noise(y_seen, y_seen != codes, probability)


def _check_matrix(matrix: Any, last: int) -> NDArray[np.float64]:
    transition = np.array(matrix, dtype=np.float64)
    if transition.ndim != 2 or transition.shape[0] != transition.shape[1] or len(transition) < 2:
        raise ValueError(
            f"matrix must be square with at least 2 classes, got shape {transition.shape}; "
            "pass one row per true class and one column per observed class."
        )
    if last >= len(transition):
        raise ValueError(
            f"y holds class {last} but matrix has {len(transition)} classes; "
            f"pass at least {last + 1} rows and columns."
        )
    for k, row in enumerate(transition):
        if not ((row >= 0.0).all() and np.isclose(row.sum(), 1.0, rtol=0.0, atol=1e-8)):
            raise ValueError(
                f"row {k} of matrix must hold probabilities that sum to 1, got {row.tolist()} "
                f"with sum {row.sum():g}."
            )
        check_share(1.0 - row[k], "noise rate", f" for class {k}", below_one=True)
    return transition
