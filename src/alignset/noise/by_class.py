"""Class-conditional noise: a transition matrix says which class is taken for which."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.noise.base import Noise, as_codes, check_rate


def flip_by_class(
    y: Any, matrix: Any, *, random_state: int | np.random.Generator | None = None
) -> Noise:
    """Draw each observed label from the row of a transition matrix that its true class selects.

    Parameters
    ----------
    y : int array of shape (n,)
        True class codes; not changed.
    matrix : float array of shape (K, K)
        ``matrix[i, j]`` is the probability that class ``i`` is observed as class ``j``; rows sum
        to 1 and each diagonal entry is positive.
    random_state : int, Generator or None

    Returns
    -------
    Noise

    Examples
    --------
    >>> under_diagnosed = [[1.0, 0.0], [0.3, 0.7]]
    >>> flip_by_class([0, 1, 1], under_diagnosed, random_state=0).probability
    array([0. , 0.3, 0.3])
    """
    codes = as_codes(y, "y")
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
            "row = true class, column = observed class."
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
        check_rate(1.0 - row[k], f" for class {k}")
    return transition
