"""How certain a proportion is: intervals for an effective sample size, also in finite populations.

Both intervals take an *effective size* instead of a count: the number of independent draws that
would be as informative. One function thus serves simple, finite and weighted samples:

    n* = n (N - 1) / (N - n)          simple random sampling of n out of N without replacement
    n* = r (1 - r) / V                any design, where V is the design variance of the rate r

`clopper_pearson` at a size that is not a whole number is the Korn-Graubard interval.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta, binom, norm

Floats = NDArray[np.float64]
IntervalRule = Callable[..., tuple[Floats, Floats]]
"""``rule(rate, size, level=0.95) -> (low, high)``."""

_EXPECT_BELOW = 20_000
"""Larger samples hardly vary, so their half-width is computed at the rate itself."""


def wilson(rate: ArrayLike, size: ArrayLike, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """Compute the Wilson score interval of a proportion in [0, 1], for an effective size >= 0.

    Size 0 gives (0, 1); an infinite size gives the rate itself.
    """
    rate, size = _checked(rate, size, level)
    z2 = norm.isf((1 - level) / 2) ** 2
    inverse = 1 / np.maximum(size, 1e-12)
    centre = (rate + z2 * inverse / 2) / (1 + z2 * inverse)
    spread = rate * (1 - rate) * inverse + z2 * inverse**2 / 4
    half = np.sqrt(z2 * spread) / (1 + z2 * inverse)
    low = np.where(size > 0, np.clip(centre - half, 0.0, rate), 0.0)
    high = np.where(size > 0, np.clip(centre + half, rate, 1.0), 1.0)
    return low, high


def clopper_pearson(
    rate: ArrayLike, size: ArrayLike, *, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Compute the exact interval of a proportion; Korn and Graubard's if the size is not whole."""
    rate, size = _checked(rate, size, level)
    tail, finite = (1 - level) / 2, np.isfinite(size)
    n = np.where(finite, size, 1.0)
    wrong = rate * n
    right = n - wrong
    some, others = (wrong > 0) & (n > 0), (right > 0) & (n > 0)
    low = np.where(some, beta.ppf(tail, np.where(some, wrong, 1.0), right + 1), 0.0)
    high = np.where(others, beta.isf(tail, wrong + 1, np.where(others, right, 1.0)), 1.0)
    return np.where(finite, low, rate), np.where(finite, high, rate)


def _checked(rate: Any, size: Any, level: float) -> tuple[Floats, Floats]:
    rate, size = np.broadcast_arrays(np.asarray(rate, float), np.asarray(size, float))
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}; write 0.95 for 95 %.")
    if not ((rate >= 0) & (rate <= 1)).all():
        raise ValueError(f"rate must lie in [0, 1], got {rate[~((rate >= 0) & (rate <= 1))][0]}.")
    if not (size >= 0).all():
        raise ValueError(f"size must not be negative, got {size[~(size >= 0)][0]}.")
    return rate, size


def effective_size(n: ArrayLike, population: ArrayLike) -> Floats:
    """Return how many independent draws equal n draws without replacement from a population.

    ``n (N - 1) / (N - n)``: infinite when every row was drawn, about n when N is far larger.
    """
    n, total = np.broadcast_arrays(np.asarray(n, float), np.asarray(population, float))
    left = total - n
    return np.where(left > 0, n * np.maximum(total - 1, 0) / np.where(left > 0, left, 1), np.inf)


def kish_size(weight: ArrayLike, copies: ArrayLike = 1.0) -> float:
    """Return how many rows of equal weight the rows are worth (Kish 1965): (sum w)^2 / sum w^2."""
    w, m = np.asarray(weight, dtype=np.float64), np.asarray(copies, dtype=np.float64)
    total, squares = (m * w).sum(), (m * w**2).sum()
    return float(total**2 / squares) if squares > 0 else 0.0


def to_whole_rows(
    low: float, high: float, *, wrong: float, n: float, population: float
) -> tuple[float, float]:
    """Widen an interval to whole rows of a population, and cut it to what is possible.

    A rate in N rows is a multiple of 1/N. Of n reviewed rows, ``wrong`` are known to be wrong and
    ``n - wrong`` to be right, whatever the others are.
    """
    slack = 1e-9
    fewest = max(np.floor(low * population + slack), wrong)
    most = min(np.ceil(high * population - slack), population - (n - wrong))
    return float(fewest / population), float(max(fewest, most) / population)


def assured_half_width(
    rate: float,
    size: float,
    assurance: float,
    *,
    level: float = 0.95,
    rule: IntervalRule = wilson,
) -> float:
    """Return the half-width that a share of samples, the assurance, does not exceed.

    The true rate is given, the sample's varies about it.
    """
    if not np.isfinite(size):
        return 0.0
    n = round(size)
    if n < 1:
        return 0.5
    # an interval is widest where the sample's rate is nearest to 0.5
    tail = assurance if rate <= 0.5 else 1 - assurance
    met = min(float(binom.ppf(tail, n, rate)) / n, 0.5)
    if rate > 0.5:
        met = max(float(binom.ppf(tail, n, rate)) / n, 0.5)
    low, high = rule(met, size, level=level)
    return float(high - low) / 2


def expected_half_width(
    rate: float, size: float, *, level: float = 0.95, rule: IntervalRule = wilson
) -> float:
    """Average the half-width of an interval over the samples that a true rate can give."""
    if not np.isfinite(size):
        return 0.0
    n = round(size)
    if n < 1:
        return 0.5
    if n >= _EXPECT_BELOW:
        low, high = rule(rate, size, level=level)
        return float(high - low) / 2
    reach = 8 * np.sqrt(n * rate * (1 - rate)) + 1
    wrong = np.arange(max(0, np.floor(n * rate - reach)), min(n, np.ceil(n * rate + reach)) + 1)
    chance = binom.pmf(wrong, n, rate)
    low, high = rule(wrong / n, size, level=level)
    return float(chance @ (high - low) / chance.sum()) / 2
