"""The power-tuned difference estimator, its variance, and intervals for few events.

    theta_hat = theta(y; A, w) + lambda [ theta(q; all rows) - theta(q; A, w) ]

With psi^y and psi^q the influence functions of the two functionals and e = psi^y - lambda psi^q,
row i adds

    T_i = lambda psi^q_i + e_h + [i in A] w_i (e_i - e_h)

to N (theta_hat - theta), where e_h is the mean of e in the stratum of row i (rows of equal review
probability; 0 where probabilities differ from row to row). So V = sum T_i^2 / N^2 counts the draw
of the rows from their population as well as the draw of the reviewed ones from the rows. Rows of
one unit (a person) were drawn together: their T_i are added up before they are squared, and what is
expected under the soft labels is raised by as much as that raises V.

Few labels are wrong, so few e are large, and a variance made of three of them is no variance.
V is therefore averaged with its expectation under the soft labels, sum_i E_q[T_i^2] / N^2, which
counts as a few events (`PRIOR_EVENTS`); and the interval solves

    (theta - theta_hat)^2 = t^2 [ V + (K3 / V) (theta - theta_hat) ],    K3 = sum T_i^3 / N^3,

the score interval of a mean whose variance changes with it as skewness says it does, which for a
proportion is Wilson's and for a Poisson count that of a rate. (The shift is taken with the factor
that makes it right to second order, and the variance of a share also vanishes at 0 and 1.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from alignset.evaluate.estimands import Linearized

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

PRIOR_EVENTS = 1.5
"""How many events the variance expected under the soft labels counts for."""
PRIOR_EVENTS_IF_LESS = 5.0
"""The same where less was seen than expected, as in a review that met none of the rare errors."""

_MOST_SKEW = 1.0
_EDGE = 1e-3
_LEAST_IN_STRATUM = 5


@dataclass(frozen=True, eq=False)
class ReviewedSample:
    """Who was reviewed, with what probability, and what is believed of everyone.

    Parameters
    ----------
    true : int array of shape (n,)
        Class codes; used on reviewed rows only.
    reviewed : bool array of shape (n,)
    chance : float array of shape (n,)
        Probability of being reviewed; NaN where it is not known.
    size : float array of shape (n,)
        How many rows each counts as.
    soft : float array of shape (n, K)
        q: the control variate.
    belief : float array of shape (n, K)
        Calibrated probability of each class, never 0; only the width of intervals uses it.
    stratum : int array of shape (n,)
        Rows drawn at random from a known number of rows; -1 if each row was drawn by itself.
    unit : int array of shape (n,), optional
        Whom each row belongs to; None if each row is a unit.
    """

    true: Codes
    reviewed: Mask
    chance: Floats
    size: Floats
    soft: Floats
    belief: Floats
    stratum: Codes
    unit: Codes | None = None

    def by_unit(self, steps: Floats) -> Floats:
        """Return the sums over the rows of each unit of what rows add, (n,) or (n, C)."""
        if self.unit is None:
            return steps
        _, code = np.unique(self.unit, return_inverse=True)
        found = np.zeros((int(code.max(initial=-1)) + 1, *steps.shape[1:]))
        np.add.at(found, code.reshape(-1), steps)
        return found

    @cached_property
    def weight(self) -> Floats:
        """1 / chance; NaN where that is not known."""
        with np.errstate(divide="ignore"):
            return np.asarray(1 / self.chance)

    @cached_property
    def known(self) -> bool:
        """Whether the probability of review is known for every row."""
        return not bool(np.isnan(self.chance).any())

    @cached_property
    def state_chance(self) -> Floats:
        """Probability of being left out, or reviewed and found to be of class k, (n, 1 + K).

        If probabilities are known for reviewed rows only, for these, each standing for others.
        """
        rows = slice(None) if self.known else self.reviewed
        p = self.chance[rows]
        found = np.concatenate([(1 - p)[:, None], p[:, None] * self.belief[rows]], axis=1)
        return np.asarray(found if self.known else found / p[:, None])

    @cached_property
    def label(self) -> Floats:
        """True labels (n, K), 0 where a row was not reviewed."""
        hot = self.true[:, None] == np.arange(self.soft.shape[1])
        return np.asarray(hot & self.reviewed[:, None], dtype=np.float64)

    @cached_property
    def expanded(self) -> Floats:
        """How many rows each reviewed row stands for; 0 for the others."""
        return np.where(self.reviewed, self.weight, 0.0) * self.size


def design_strata(chance: Floats, reviewed: Mask) -> tuple[Floats, Codes]:
    """Group rows of equal review probability, and replace it by the share that was reviewed.

    If some stratum has too few reviewed rows for that, or probabilities are unknown outside the
    reviewed rows, they are left as they are, and every row counts as drawn by itself.
    """
    if not np.isnan(chance).any():
        values, code = np.unique(np.round(chance, 12), return_inverse=True)
        if len(values) * _LEAST_IN_STRATUM <= max(reviewed.sum(), _LEAST_IN_STRATUM):
            count = np.bincount(code[reviewed], minlength=len(values))
            if len(values) == 1 or count.min() >= _LEAST_IN_STRATUM:
                return (count / np.bincount(code))[code], code.astype(np.int64)
    return chance, np.full(len(chance), -1, dtype=np.int64)


@dataclass(frozen=True)
class Moments:
    """Variance and third central moment of an estimate, and its degrees of freedom."""

    variance: float
    third: float
    df: float

    def __sub__(self, other: Moments) -> Moments:
        """Moments of the difference between two independent estimates."""
        total = self.variance + other.variance
        # Satterthwaite: the larger variance has more say
        spread = self.variance**2 / self.df + other.variance**2 / other.df
        df = total**2 / spread if spread > 0 else min(self.df, other.df)
        return Moments(total, self.third - other.third, df)


@dataclass(frozen=True)
class Difference:
    """An estimate by the difference estimator, and the one from reviewed rows alone."""

    value: float
    moments: Moments
    power: float  # lambda
    alone: float
    moments_alone: Moments

    @property
    def gain(self) -> float:
        """Variance of the estimate from reviewed rows alone, relative to this one."""
        if not self.moments.variance > 0:
            return 1.0
        return max(self.moments_alone.variance / self.moments.variance, 1.0)


def estimate_by_difference(
    sample: ReviewedSample,
    of_true: Linearized,
    of_soft: Linearized,
    soft_reviewed: float,
    *,
    finite: bool = False,
    power: float | None = None,
) -> Difference:
    """Combine theta(y; A, w), theta(q; all rows) and theta(q; A, w).

    ``power`` is lambda if it is not to be tuned.
    """
    alone, soft_all = of_true.value, of_soft.value
    psi_soft = (sample.soft * of_soft.psi).sum(1)
    usable = np.isfinite(soft_all) and np.isfinite(soft_reviewed)
    if not usable:
        power = 0.0
    elif power is None:
        rows = np.flatnonzero(sample.reviewed)
        power = tuned_power(sample, of_true.psi[rows, sample.true[rows]], psi_soft)
    shift = power * (soft_all - soft_reviewed) if power > 0 else 0.0
    return Difference(
        alone + shift,
        moments(sample, of_true.psi, psi_soft, power, finite=finite),
        power,
        alone,
        moments(sample, of_true.psi, psi_soft, 0.0, finite=finite),
    )


def tuned_power(sample: ReviewedSample, found: Floats, psi_soft: Floats) -> float:
    """Return the lambda in [0, 1] with the smallest estimated variance.

    ``found`` (m,) is psi^y of the reviewed rows, ``psi_soft`` (n,) psi^q of all; with columns of
    several estimates, (m, C) and (n, C), the sum of their variances is what is made small.
    """
    rows = np.flatnonzero(sample.reviewed)
    found = (found.T * sample.size[rows]).T
    soft = (psi_soft.T * sample.size).T
    shared, own = 0.0, 0.0
    if sample.stratum[0] >= 0:
        for h in np.unique(sample.stratum):
            here, seen = sample.stratum == h, sample.stratum[rows] == h
            n, total = int(seen.sum()), int(here.sum())
            if n < 2:
                continue
            factor = total**2 * (1 / n - 1 / total)
            y, q = found[seen], soft[rows][seen]
            shared += factor * float(((y - y.mean(0)) * (q - q.mean(0))).sum()) / n
            own += factor * float(soft[here].var(0, ddof=1).sum())
    else:
        w = sample.weight[rows]
        shared = float(((w * (w - 1)) @ (found * soft[rows])).sum())
        square = (sample.weight - 1) @ soft**2 if sample.known else (w * (w - 1)) @ soft[rows] ** 2
        own = float(square.sum())
    return float(np.clip(shared / own, 0.0, 1.0)) if own > 0 else 0.0


def influence_steps(
    sample: ReviewedSample, found: Floats, psi_soft: Floats, power: float, *, finite: bool = False
) -> tuple[Floats, Floats]:
    """Return what each row adds to the error of an estimate, (n,) or (n, C), and its base.

    The base is lambda psi^q + e_h: what a row adds, times N, if it is not reviewed. ``found``,
    (m,) or (m, C), is psi^y of the reviewed rows. In a finite population only the draw of these
    is left: sqrt(w (w - 1)) (e - e_h).
    """
    rows = np.flatnonzero(sample.reviewed)
    lean = power * psi_soft
    residual = found - lean[rows]
    centre, ddof = residual_centres(sample, rows, residual)
    w, inner = sample.weight[rows], residual - centre[rows]
    base = lean + centre
    if finite:
        step = np.zeros_like(lean)
        step[rows] = (inner.T * np.sqrt(ddof[rows] * w * (w - 1))).T
    else:
        step = base.copy()
        step[rows] += (inner.T * np.sqrt(ddof[rows]) * w).T
    return np.asarray((step.T * (sample.size / sample.size.sum())).T), base


def moments(
    sample: ReviewedSample,
    psi_true: Floats,
    psi_soft: Floats,
    power: float,
    *,
    finite: bool = False,
) -> Moments:
    """Moments of the estimate at a given lambda; see the top of the module."""
    rows = np.flatnonzero(sample.reviewed)
    found = psi_true[rows, sample.true[rows]]
    step, base = influence_steps(sample, found, psi_soft, power, finite=finite)
    chance, states = believed_steps(sample, psi_true[:, :, None], base[:, None], finite=finite)
    states = states[..., 0]
    square = states**2
    second = np.einsum("ij,ij->i", chance, square)
    events = count_events(second, float(np.vdot(chance, square**2)))
    part = prior_share(float(step @ step), float(second.sum()), events)
    whole = sample.by_unit(step)
    together = max(float(whole @ whole) / float(step @ step), 1.0) if step.any() else 1.0
    third, believed = step**3, np.einsum("ij,ij,ij->i", chance, square, states)
    if finite:  # of being drawn with probability 1 / w, the third moment
        third, believed = _drawn_third(sample, third), _drawn_third(sample, believed)
    surprise = np.einsum("ij,ij->i", sample.belief[rows], (psi_true[rows] - base[rows, None]) ** 2)
    spread = np.zeros(len(step))
    spread[rows] = surprise * (sample.size * sample.weight)[rows] ** 2
    return Moments(
        together * ((1 - part) * float(step @ step) + part * float(second.sum())),
        together**1.5 * ((1 - part) * float(third.sum()) + part * float(believed.sum())),
        _degrees(sample.by_unit(spread)),
    )


def _drawn_third(sample: ReviewedSample, third: Floats) -> Floats:
    """Turn w^1.5 (w - 1)^1.5 into w (w - 1) (w - 2), for all rows or the reviewed ones."""
    w = sample.weight if len(third) == len(sample.weight) else sample.weight[sample.reviewed]
    w = np.where(np.isnan(w), 2.0, w)  # not reviewed: the step is 0
    return np.asarray(third * (w - 2) / np.sqrt(np.maximum(w * (w - 1), 1e-12)))


def _degrees(part: Floats) -> float:
    """Degrees of freedom: how many rows share the variance, less one."""
    return max(float(part.sum() ** 2 / (part**2).sum()) - 1, 1.0) if part.any() else 1.0


def believed_steps(
    sample: ReviewedSample, psi_true: Floats, base: Floats, *, finite: bool = False
) -> tuple[Floats, Floats]:
    """Return what each row may add, (n, 1 + K, C), and with what probability, (n, 1 + K).

    A row is not reviewed, or reviewed and found to be of class k; ``psi_true`` (n, K, C) is what
    it then adds, ``base`` (n, C) is lambda psi^q + e_h. Where probabilities of review are known
    for reviewed rows only, these stand for the others.
    """
    rows = slice(None) if sample.known else sample.reviewed
    p = sample.chance[rows]
    scale = (sample.size[rows] / sample.size.sum())[:, None, None]
    out = base[rows][:, None] * scale
    jump = (psi_true[rows] - base[rows][:, None]) * scale
    if finite:
        out, inside = 0 * out, jump * np.sqrt((1 - p) / p**2)[:, None, None]
    else:
        inside = out + jump / p[:, None, None]
    return sample.state_chance, np.concatenate([out, inside], axis=1)


def count_events(second: Floats, fourth: float) -> float:
    """How many events a sum of squares is made of: 2 V^2 / Var(V).

    ``second`` (n,) are the expected squares, ``fourth`` the sum of the expected fourth powers.
    """
    spread = fourth - float(second @ second)
    return 2 * float(second.sum()) ** 2 / spread if spread > 0 else float("inf")


def prior_share(seen: float, believed: float, events: float) -> float:
    """Weight of what was expected in the average with what was seen, from so many events."""
    prior = PRIOR_EVENTS_IF_LESS if seen < believed else PRIOR_EVENTS
    return prior / (prior + events) if np.isfinite(events) else 0.0


def residual_centres(
    sample: ReviewedSample, rows: Codes, residual: Floats
) -> tuple[Floats, Floats]:
    """Mean residual (n,) or (n, C) of each row's stratum, and n_h / (n_h - 1), (n,)."""
    if sample.stratum[0] < 0:
        return np.zeros((len(sample.size), *residual.shape[1:])), np.ones(len(sample.size))
    code, size = sample.stratum[rows], sample.size[rows]
    member = (np.arange(sample.stratum.max() + 1)[:, None] == code) * size  # (H, m)
    whole = member.sum(1)
    mean = ((member @ residual).T / np.where(whole > 0, whole, 1)).T
    n = (member > 0).sum(1)
    return mean[sample.stratum], (n / np.maximum(n - 1, 1))[sample.stratum]


def score_interval(
    value: float,
    moments: Moments,
    *,
    level: float = 0.95,
    low: float = 0.0,
    high: float = 1.0,
    skewed: bool = True,
) -> tuple[float, float]:
    """Solve the quadratic at the top of the module; cut to what is possible.

    If ``low`` and ``high`` are 0 and 1, the variance also has to vanish there, as that of a
    proportion does. With ``skewed=False`` the interval is symmetric.
    """
    if not np.isfinite(value):
        return float("nan"), float("nan")
    variance = moments.variance
    if not variance > 0:
        return value, value
    # A variance of labels, which are 0 or 1, is known better than one of normal numbers.
    quantile = float(stdtrit(2 * moments.df, (1 + level) / 2))
    skew = np.clip(moments.third / variance**1.5, -_MOST_SKEW, _MOST_SKEW) if skewed else 0.0
    # 2 (2 t^2 + 1) / 6 t^2 of Wilson's shift: right to second order (Hall 1992)
    shift = (2 * quantile**2 + 1) / 6 * skew * np.sqrt(variance)
    bend = 1.0
    if (low, high) == (0.0, 1.0):
        inside = np.clip(value, _EDGE, 1 - _EDGE)
        bend += quantile**2 * min(variance / (inside * (1 - inside)), 1 / (moments.df + 1))
    half = np.sqrt(shift**2 + bend * quantile**2 * variance)
    bounds = np.clip([value + (shift - half) / bend, value + (shift + half) / bend], low, high)
    return float(bounds[0]), float(bounds[1])
