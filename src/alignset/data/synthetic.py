"""Synthetic data sets: the paper's, as written and as released, and a small multi-class one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alignset.rows.table import Table

N_FEATURES = 30
MINORITY_PERCENTILE = 20
NOISE_SD = 0.33
RELEASED_SEED = 123456789
RELEASED_SENSITIVE_COEFFICIENT = -1.1


@dataclass(frozen=True, eq=False)
class SyntheticData:
    """A synthetic table, with the coefficients that decide whose label is wrong.

    Parameters
    ----------
    table : Table
        Features, true labels and groups (0 majority, 1 minority).
    noise_coefficients : float array of shape (D,)
        w_m in the paper: pass them to ``flip_by_features``.

    Examples
    --------
    >>> SyntheticData(make_synthetic(100, random_state=0).table, np.zeros(30)).table.n_groups
    2
    """

    table: Table
    noise_coefficients: NDArray[np.float64]


def make_synthetic(n: int = 5000, *, random_state: int | np.random.Generator) -> SyntheticData:
    """Draw the synthetic data set of the paper's Appendix B, as written.

    The label is linear in all 30 features and is drawn first; features 10-19 of the majority and
    20-29 of the minority are hidden afterwards, so part of what decides the label cannot be seen.
    The authors' code does this differently: see :func:`make_synthetic_released`.

    Parameters
    ----------
    n : int, default=5000
        Number of rows, at least 10.
    random_state : int or Generator

    Returns
    -------
    SyntheticData
        Its noise coefficients are drawn from N(0, 0.33), where 0.33 is the standard deviation.

    References
    ----------
    Appendix B of ``tjandra2023leveraging``.

    Examples
    --------
    >>> data = make_synthetic(1000, random_state=0)
    >>> data.table
    Table('synthetic', 1000 rows x 30 features, 2 classes, groups majority, minority)
    >>> int(data.table.y.sum()), int(data.table.group.sum())
    (500, 200)
    """
    _check_rows(n, 10)
    rng = np.random.default_rng(random_state)
    x = rng.standard_normal((n, N_FEATURES))
    w = rng.standard_normal(N_FEATURES)
    w_m = rng.normal(0.0, NOISE_SD, N_FEATURES)
    minority = x[:, 0] < np.percentile(x[:, 0], MINORITY_PERCENTILE)
    y = _above_median(x @ w)
    return SyntheticData(_table(_hide(x, minority), y, minority, "synthetic"), w_m)


def make_synthetic_released(n: int = 5000, *, random_state: int = RELEASED_SEED) -> SyntheticData:
    """Draw the synthetic data set that the authors' released code trains on.

    It differs from Appendix B: features are hidden before labels are computed, about half of
    them enter the label squared, and the noise coefficient of the sensitive feature 0 is -1.1.
    With the defaults, these are exactly the rows behind the published figures.

    Parameters
    ----------
    n : int, default=5000
        Number of rows, at least 10.
    random_state : int, default=123456789
        Seed of NumPy's legacy generator, which produced the published rows.

    Returns
    -------
    SyntheticData
        The released code flips the rows with the *lowest* noise score in each group:
        ``flip_by_features(y, X, group, rate=..., coefficients=..., lowest=True)``.

    Examples
    --------
    >>> data = make_synthetic_released()
    >>> round(float(data.table.X.sum()), 6), int(data.table.y.sum())
    (354.505679, 2500)
    """
    _check_rows(n, 10)
    rng = np.random.RandomState(random_state)  # legacy: it produced the published rows
    x = rng.normal(0.0, 1.0, (n, N_FEATURES))
    w = rng.normal(0.0, 1.0, (N_FEATURES, 1))
    exponent = rng.randint(1, 3, N_FEATURES)  # the paper's label is linear
    w_m = rng.normal(0.0, NOISE_SD, N_FEATURES)
    w_m[0] = RELEASED_SENSITIVE_COEFFICIENT
    minority = x[:, 0] < np.percentile(x[:, 0], MINORITY_PERCENTILE)
    x = _hide(x, minority)
    y = _above_median((x**exponent @ w)[:, 0])
    return SyntheticData(_table(x, y, minority, "synthetic_released"), w_m)


def make_multiclass(
    n: int = 600,
    *,
    n_classes: int = 3,
    n_groups: int = 2,
    n_features: int = 8,
    random_state: int | np.random.Generator,
) -> Table:
    """Draw a small, learnable table with any number of classes and groups.

    Each class is a Gaussian cloud, shifted a little in each group. Classes are equal in size,
    group 0 is twice as large as every other group, and every class occurs in every group.

    Parameters
    ----------
    n : int, default=600
        Number of rows, at least ``n_classes * (n_groups + 1)``.
    n_classes, n_groups, n_features : int
        At least 2, 1 and 1.
    random_state : int or Generator

    Returns
    -------
    Table

    Examples
    --------
    >>> table = make_multiclass(90, n_classes=3, n_groups=2, random_state=0)
    >>> np.bincount(table.y), np.bincount(table.group)
    (array([30, 30, 30]), array([60, 30]))
    """
    if n_classes < 2 or n_groups < 1 or n_features < 1:
        raise ValueError(
            "n_classes, n_groups and n_features must be at least 2, 1 and 1, "
            f"got {n_classes}, {n_groups} and {n_features}."
        )
    _check_rows(n, n_classes * (n_groups + 1))
    rng = np.random.default_rng(random_state)
    place = rng.permutation(n)
    y = place % n_classes
    group = (place // n_classes) % (n_groups + 1) % n_groups
    center = 1.5 * rng.standard_normal((n_classes, n_features))
    shift = 0.5 * rng.standard_normal((n_groups, n_features))
    return Table(
        X=center[y] + shift[group] + rng.standard_normal((n, n_features)),
        y=y.astype(np.int64),
        group=group.astype(np.int64),
        name="multiclass",
        feature_names=tuple(f"x{j}" for j in range(n_features)),
        class_names=tuple(f"class {k}" for k in range(n_classes)),
        group_names=tuple(f"group {g}" for g in range(n_groups)),
    )


def _check_rows(n: int, least: int) -> None:
    if n < least:
        raise ValueError(
            f"n must be at least {least}, got {n}; with fewer rows a class or group is empty."
        )


def _hide(x: NDArray[np.float64], minority: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Set features 10-19 of the majority and 20-29 of the minority to 0, in a copy."""
    hidden = x.copy()
    hidden[~minority, 10:20] = 0.0
    hidden[minority, 20:30] = 0.0
    return hidden


def _above_median(z: NDArray[np.float64]) -> NDArray[np.int64]:
    return (z > np.percentile(z, 50)).astype(np.int64)


def _table(
    x: NDArray[np.float64], y: NDArray[np.int64], minority: NDArray[np.bool_], name: str
) -> Table:
    return Table(
        X=x,
        y=y,
        group=minority.astype(np.int64),
        name=name,
        feature_names=tuple(f"x{j}" for j in range(N_FEATURES)),
        class_names=("negative", "positive"),
        group_names=("majority", "minority"),
    )
