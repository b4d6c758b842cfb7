"""How far reviewers agree: raw, and beyond chance, for two or any number of them.

Of a row with m_i >= 2 answers, a_i is the share of its ordered pairs of answers that agree. Then

    observed   A_o = sum m_i a_i / sum m_i
    alpha      1 - (1 - A_o) / (1 - A_e),  A_e = sum_k n_k (n_k - 1) / n (n - 1)     Krippendorff
    kappa      (A_o - A_e) / (1 - A_e),    A_e = sum_k p_k^2                         Fleiss
    kappa      the same for two people,    A_e = sum_k p_k1 p_k2                     Cohen

with n_k the answers k among rows answered twice or more. Alpha is made for gaps (Krippendorff 2004)
and is Fleiss' kappa (1971) but for small samples. Of a single class k, the other classes count as
one. Intervals leave out one row at a time (jackknife): a row is what was drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.evaluate.proportion import wilson
from alignset.review.answers import Answers

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

FEWEST = 10
"""Rows answered twice that an interval needs."""


@dataclass(frozen=True)
class Agreement:
    """How far reviewers agree on some rows; NaN where it cannot be said."""

    what: str  # "all", a pair of reviewers, a group, or a class
    rows: int  # answered by two or more
    raw: float  # share of pairs of answers that agree
    kappa: float  # Cohen's of a pair, else Krippendorff's alpha
    low: float
    high: float
    fleiss: float = float("nan")


def count_answers(ratings: Codes, n_classes: int) -> Floats:
    """Return how many answers of each class every row has, (n, K), from ratings (n, R)."""
    return np.stack([(ratings == k).sum(1) for k in range(n_classes)], axis=1).astype(np.float64)


def _pairs(counts: Floats, weight: Floats) -> tuple[float, Floats]:
    """Return raw agreement and the answers of each class, of rows answered twice or more."""
    m = counts.sum(1)
    agree = (counts * (counts - 1)).sum(1) / np.where(m > 1, m - 1, 1)
    return float(weight @ agree / max(weight @ m, 1e-12)), np.asarray(weight @ counts)


def krippendorff_alpha(counts: Floats, weight: Floats | None = None) -> float:
    """Return Krippendorff's alpha of nominal answers, from counts (n, K) of each row's answers.

    Rows with fewer than two answers do not count. NaN if all answers are the same.

    Examples
    --------
    >>> round(krippendorff_alpha(np.array([[2.0, 0], [1, 1], [0, 2], [0, 2]])), 4)
    0.5333
    """
    counts, weight = _twice(counts, weight)
    observed, total = _pairs(counts, weight)
    n = total.sum()
    chance = float((total * (total - 1)).sum() / (n * (n - 1))) if n > 1 else float("nan")
    return (observed - chance) / (1 - chance) if chance < 1 else float("nan")


def fleiss_kappa(counts: Floats, weight: Floats | None = None) -> float:
    """Return Fleiss' kappa from counts (n, K); rows may have different numbers of answers.

    Examples
    --------
    >>> round(fleiss_kappa(np.array([[2.0, 0], [1, 1], [0, 2], [0, 2]])), 4)
    0.4667
    """
    counts, weight = _twice(counts, weight)
    observed, total = _pairs(counts, weight)
    chance = float(((total / max(total.sum(), 1e-12)) ** 2).sum())
    return (observed - chance) / (1 - chance) if chance < 1 - 1e-12 else float("nan")


def cohen_kappa(first: Codes, second: Codes, n_classes: int, weight: Floats | None = None) -> float:
    """Return Cohen's kappa of two reviewers' answers to the same rows.

    Examples
    --------
    >>> round(cohen_kappa(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 2), 4)
    0.5
    """
    weight = np.ones(len(first)) if weight is None else weight
    total = max(float(weight.sum()), 1e-12)
    a, b = (np.bincount(one, weight, n_classes) / total for one in (first, second))
    observed, chance = float(weight @ (first == second)) / total, float(a @ b)
    return (observed - chance) / (1 - chance) if chance < 1 - 1e-12 else float("nan")


def _twice(counts: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    several = counts.sum(1) >= 2
    weight = np.ones(len(counts)) if weight is None else weight
    return counts[several], weight[several]


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Kinds of rows, how many rows there are of each, and agreement as a function of these."""

    count: Floats
    statistic: Callable[[Floats], float]
    differ: float  # share of pairs of answers that differ
    by_chance: float  # share that would differ by chance

    def interval(self, level: float) -> tuple[float, float]:
        """Leave one row out, then the interval of a share: 1 - kappa is one, but for a factor.

        So a review in which all agreed still says how often they may differ.
        """
        n, value = float(self.count.sum()), self.statistic(self.count)
        if n < FEWEST or not np.isfinite(value):
            return float("nan"), float("nan")
        size, by = n, self.by_chance
        if self.differ > 0:
            here = np.flatnonzero(self.count)
            without = [self.statistic(self.count - np.eye(len(self.count))[kind]) for kind in here]
            off, own = np.nan_to_num(np.array(without) - value), self.count[here]
            variance = (n - 1) / n * float(own @ (off - own @ off / n) ** 2)
            size = min(self.differ * (1 - self.differ) / max(variance * by**2, 1e-12), 4 * n)
        low, high = wilson(self.differ, max(size, 1e-9), level=level)
        return max(1 - float(high) / by, -1.0), 1 - float(low) / by


def measure_agreement(
    answers: Answers, groups: NDArray[Any] | None = None, *, level: float = 0.95
) -> list[Agreement]:
    """Return the agreement of all reviewers, of each pair, in each group and about each class.

    Of a class, ``raw`` is how often an answer that names it is met by another one, and kappa takes
    the other classes as one.

    Parameters
    ----------
    answers : Answers
        "Cannot tell" is no answer here.
    groups : array of shape (n,), optional
        Group of each row of the table.
    """
    ratings, k = answers.ratings(), len(answers.classes)
    counts = count_answers(ratings, k)
    found = [_of_counts("all", counts, level)]
    for a, b in combinations(range(len(answers.names)), 2):
        names = answers.names[a], answers.names[b]
        found.append(_of_pair(*names, ratings[:, [a, b]], k, level))
    if groups is not None:
        own = np.unique(groups[answers.row]).tolist()
        found += [_of_counts(f"group {g}", counts[groups == g], level) for g in own]
    met = class_agreement(ratings, k)
    for code, value in enumerate(answers.classes.tolist()):
        rest = np.delete(counts, code, axis=1).sum(1)
        both = np.stack([counts[:, code], rest], axis=1)
        found.append(_of_counts(f"class {value}", both, level, float(met[code])))
    return found


def agreement_frame(found: list[Agreement]) -> pd.DataFrame:
    """Return one row per agreement."""
    return pd.DataFrame([vars(one) for one in found])


def class_agreement(ratings: Codes, n_classes: int) -> Floats:
    """Return specific agreement (K,): of answers k in pairs, the share that is met by another k.

    Examples
    --------
    >>> class_agreement(np.array([[0, 0], [0, 1], [1, 1], [1, 1]]), 2).round(4).tolist()
    [0.6667, 0.8]
    """
    counts = count_answers(ratings, n_classes)
    m = counts.sum(1, keepdims=True)
    weight = np.where(m > 1, 1 / np.maximum(m - 1, 1), 0.0)
    met, all_pairs = (counts * (counts - 1) * weight).sum(0), (counts * (m - 1) * weight).sum(0)
    return np.where(all_pairs > 0, met / np.where(all_pairs > 0, all_pairs, 1), np.nan)


def _of_counts(what: str, counts: Floats, level: float, raw: float | None = None) -> Agreement:
    counts, weight = _twice(counts, None)
    if not len(counts):
        return Agreement(what, 0, *[float("nan")] * 4)
    kinds, number = np.unique(counts, axis=0, return_counts=True)
    agree, total = _pairs(counts, weight)
    n = total.sum()
    chance = float((total * (total - 1)).sum() / (n * (n - 1)))
    of = _Kinds(number.astype(float), lambda w: krippendorff_alpha(kinds, w), 1 - agree, 1 - chance)
    raw = agree if raw is None else raw
    return Agreement(
        what, len(counts), raw, krippendorff_alpha(counts), *of.interval(level),
        fleiss_kappa(counts),
    )  # fmt: skip


def _of_pair(one: str, other: str, ratings: Codes, k: int, level: float) -> Agreement:
    both = ratings[(ratings >= 0).all(1)]
    what = f"{one} and {other}"
    if not len(both):
        return Agreement(what, 0, *[float("nan")] * 4)
    (a, b), (first, second) = both.T, np.divmod(np.arange(k * k), k)
    number = np.bincount(a * k + b, minlength=k * k).astype(float)
    shares = [np.bincount(each, minlength=k) / len(a) for each in (a, b)]
    of = _Kinds(
        number,
        lambda w: cohen_kappa(first, second, k, w),
        float((a != b).mean()),
        1 - float(shares[0] @ shares[1]),
    )
    kappa = cohen_kappa(a, b, k)
    return Agreement(what, len(both), float((a == b).mean()), kappa, *of.interval(level))
