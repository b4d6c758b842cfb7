"""True labels that are not quite known: several sets of them, each as well possible.

If reviewers err, nobody knows the true classes; what is known are draws of them (multiple
imputation, Rubin 1987). Each set is analysed as if it were right, and with theta_m the M values and
V_m their variances,

    theta = mean theta_m,   V = mean V_m + (1 + 1/M) B,   B = sum (theta_m - theta)^2 / (M - 1)

the law of total variance: B is what is not known about the labels. If the draws differ in the
reviewers' error rates, too, it is also what is not known about these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alignset.evaluate.difference import Difference, Moments
from alignset.labels import UNREVIEWED

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

DRAWS = 20
"""Sets of labels, by default: the variance between them is then known within a third."""


@dataclass(frozen=True, eq=False)
class TruthDraws:
    """Sets of true class codes (M, n), each as well possible; -1 where a row was not reviewed.

    Examples
    --------
    >>> q = np.array([[0.7, 0.3], [0.0, 1.0], [np.nan, np.nan]])
    >>> draws = TruthDraws.from_shares(q, 200, np.random.default_rng(0))
    >>> draws.codes.shape, draws.mode.tolist(), draws.shares[1].tolist()
    ((200, 3), [0, 1, -1], [0.0, 1.0])
    """

    codes: Codes
    n_classes: int

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or len(self.codes) < 2:
            raise ValueError(
                f"draws of true labels must have shape (M, n) with M >= 2, got {self.codes.shape}."
            )

    @classmethod
    def from_shares(cls, shares: Floats, n_draws: int, rng: np.random.Generator) -> TruthDraws:
        """Draw sets from probabilities (n, K), NaN where a row was not reviewed."""
        known = np.asarray(~np.isnan(shares).any(axis=1))
        edges = np.cumsum(np.where(known[:, None], shares, 1.0), axis=1)[:, :-1]
        drawn = (rng.random((n_draws, len(shares)))[:, :, None] > edges).sum(2)
        return cls(np.where(known, drawn, UNREVIEWED).astype(np.int64), shares.shape[1])

    @property
    def reviewed(self) -> NDArray[np.bool_]:
        """Which rows have a true label."""
        return np.asarray(self.codes[0] != UNREVIEWED)

    @property
    def shares(self) -> Floats:
        """How many of the draws are of each class, (n, K); NaN where a row was not reviewed."""
        found = np.stack([(self.codes == k).mean(0) for k in range(self.n_classes)], axis=1)
        return np.where(self.reviewed[:, None], found, np.nan)

    @property
    def mode(self) -> Codes:
        """The most frequent class of each row, (n,); -1 where it was not reviewed."""
        best = np.nan_to_num(self.shares).argmax(1)
        return np.where(self.reviewed, best, UNREVIEWED)

    def take(self, rows: NDArray[np.bool_] | Codes) -> TruthDraws:
        """Return the draws of some of the rows."""
        return TruthDraws(self.codes[:, rows], self.n_classes)


def pool_values(values: Sequence[float], variances: Sequence[float]) -> tuple[float, float, float]:
    """Return the pooled value, its variance, and the part of the variance between draws.

    Examples
    --------
    >>> [round(v, 4) for v in pool_values([0.1, 0.2, 0.3], [0.01, 0.01, 0.01])]
    [0.2, 0.0233, 0.0133]
    """
    found = np.asarray(values, dtype=np.float64)
    between = (1 + 1 / len(found)) * float(found.var(ddof=1)) if len(found) > 1 else 0.0
    return float(found.mean()), float(np.mean(variances)) + between, between


def pool_differences(found: Sequence[Difference]) -> Difference:
    """Put together what each set of labels gave; sets in which nothing can be said are left out."""
    if len(found) == 1:
        return found[0]
    known = [one for one in found if np.isfinite(one.value)]
    if 2 * len(known) < len(found):
        return next(one for one in found if not np.isfinite(one.value))
    value, moments = _pool([one.value for one in known], [one.moments for one in known])
    alone = [one.alone for one in known], [one.moments_alone for one in known]
    power = float(np.mean([one.power for one in known]))
    return Difference(value, moments, power, *_pool(*alone))


def _pool(values: Sequence[float], each: Sequence[Moments]) -> tuple[float, Moments]:
    value, total, between = pool_values(values, [one.variance for one in each])
    within = total - between
    df = float(np.mean([one.df for one in each]))
    # Satterthwaite: a variance made of few draws is known no better than they say; intervals
    # double the degrees of freedom of labels, which those of draws must not gain from
    spread = within**2 / df + between**2 / max((len(values) - 1) / 2, 1.0)
    df = total**2 / spread if spread > 0 else df
    return value, Moments(total, float(np.mean([one.third for one in each])), df)
