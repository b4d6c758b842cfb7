"""Instance-dependent noise: a row's features decide whether its label is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.labels import Codes
from alignset.noise.base import Noise, check_groups, count_classes
from alignset.rows.features import as_float
from alignset.rows.units import check_codes, share_per_group

COEFFICIENT_SD = 0.33


def flip_by_features(
    y: Any,
    X: Any,
    group: Any = None,
    *,
    rate: float | Sequence[float],
    coefficients: Any = None,
    lowest: bool = False,
    n_classes: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Noise:
    """Flip the labels of the rows with the highest feature scores in each group.

    Flips are a function of features and group, so the result's ``probability`` is 0 or 1.

    Parameters
    ----------
    y, group, n_classes
        As in :func:`flip_by_group`.
    X : float array or scipy sparse matrix of shape (n, D)
    rate : float or sequence of G floats in [0, 1)
        Share of each group to flip. Exactly ``round(rate * n_g)`` rows are flipped; ties are
        broken by row order.
    coefficients : float array of shape (D,), optional
        w_m of the paper; by default drawn from N(0, 0.33), where 0.33 is the standard deviation.
    lowest : bool, default=False
        Flip the rows with the lowest scores instead, as the authors' released code does.
    random_state : int, Generator or None
        Used for coefficients that are not passed, and for target classes when K > 2.

    Notes
    -----
    The score is z_m = sigmoid(x . w_m); the sigmoid keeps the order, so it is left out. With more
    than two classes a flipped row gets the wrong class that it resembles most: class c has the
    score x . v_c, centred over rows, with v_c ~ N(0, 0.33) drawn from ``random_state``.

    Examples
    --------
    >>> noise = flip_by_features(
    ...     [0, 1, 0, 1], [[1.0], [2.0], [3.0], [4.0]], rate=0.5, coefficients=[1.0]
    ... )
    >>> noise.y_seen, noise.flipped
    (array([0, 1, 1, 0]), array([False, False,  True,  True]))
    """
    codes = check_codes(y, "y")
    features = as_float(X, np.float64)
    if len(codes) != features.shape[0]:
        raise ValueError(
            f"y has {len(codes)} entries but X has {features.shape[0]} rows; pass one per row."
        )
    groups, n_groups = check_groups(group, len(codes))
    rates = share_per_group(rate, n_groups, "noise rate", below_one=True)
    n_classes = count_classes(codes, n_classes)
    rng = np.random.default_rng(random_state)
    w = _check_coefficients(coefficients, features.shape[1], rng)
    score = np.asarray(features @ w)
    flipped = _top_of_each_group(score if not lowest else -score, groups, rates)
    y_seen = np.where(flipped, _targets(codes, features, n_classes, rng), codes)
    return Noise(y_seen, flipped, flipped.astype(np.float64))


def _top_of_each_group(
    score: NDArray[np.float64], group: Codes, rates: NDArray[np.float64]
) -> NDArray[np.bool_]:
    top = np.zeros(len(score), dtype=bool)
    for g, rate in enumerate(rates):
        rows = np.flatnonzero(group == g)
        order = np.argsort(-score[rows], kind="stable")
        top[rows[order[: round(rate * len(rows))]]] = True
    return top


def _targets(y: Codes, features: Any, n_classes: int, rng: np.random.Generator) -> Codes:
    """Return the wrong class that each row would be taken for."""
    if n_classes == 2:
        return 1 - y
    v = rng.normal(0.0, COEFFICIENT_SD, (features.shape[1], n_classes))
    likeness = np.asarray(features @ v)  # (n, K)
    # Uncentred, all-positive features would send nearly every row to the same class.
    likeness = likeness - likeness.mean(axis=0)
    likeness[np.arange(len(y)), y] = -np.inf
    return np.asarray(likeness.argmax(axis=1), dtype=np.int64)


def _check_coefficients(
    coefficients: Any, n_features: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    if coefficients is None:
        return rng.normal(0.0, COEFFICIENT_SD, n_features)
    w = np.asarray(coefficients, dtype=np.float64)
    if w.shape != (n_features,) or not np.isfinite(w).all():
        raise ValueError(
            f"coefficients must be {n_features} finite numbers, one per column of X, "
            f"got shape {w.shape}."
        )
    return w
