"""How far reviewers agree: raw, and beyond chance, for two or any number of them.

Of a row with m_i >= 2 answers, a_i is the share of its ordered pairs of answers that agree. Then

    observed   A_o = sum m_i a_i / sum m_i
    alpha      1 - (1 - A_o) / (1 - A_e),  A_e = sum_k n_k (n_k - 1) / n (n - 1)     Krippendorff
    kappa      (A_o - A_e) / (1 - A_e),    A_e = sum_k p_k^2                         Fleiss
    kappa      the same for two people,    A_e = sum_k p_k1 p_k2                     Cohen

with n_k the answers k among rows answered twice or more. Alpha is made for gaps (Krippendorff 2004)
and is Fleiss' kappa (1971) but for small samples. Of a single class k, the other classes count as
one. Intervals resample rows, within what is known of them: a row is what was drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.review.answers import Answers

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

N_BOOT = 1000
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


def _interval(
    statistic: Callable[[Floats], float], n: int, level: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Resample rows by weights; the ends are drawn out to where t says for few rows."""
    if n < FEWEST:
        return float("nan"), float("nan")
    drawn = np.array(
        [statistic(rng.multinomial(n, np.full(n, 1 / n)).astype(float)) for _ in range(N_BOOT)]
    )
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < N_BOOT / 2:
        return float("nan"), float("nan")
    # a resample has n - 1 degrees of freedom left
    centre, stretch = float(np.median(drawn)), np.sqrt(n / (n - 1))
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return (
        float(max(centre + stretch * (low - centre), -1.0)),
        float(min(centre + stretch * (high - centre), 1.0)),
    )


def measure_agreement(
    answers: Answers,
    groups: NDArray[Any] | None = None,
    *,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = 0,
) -> list[Agreement]:
    """Return the agreement of all reviewers, of each pair, in each group and about each class.

    Parameters
    ----------
    answers : Answers
        "Cannot tell" is no answer here.
    groups : array of shape (n,), optional
        Group of each row of the table.
    """
    rng = np.random.default_rng(random_state)
    ratings, k = answers.ratings(), len(answers.classes)
    counts = count_answers(ratings, k)
    found = [_of_counts("all", counts, level, rng)]
    if len(answers.names) > 2:
        found += [
            _of_pair(answers.names[a], answers.names[b], ratings[:, [a, b]], k, level, rng)
            for a, b in combinations(range(len(answers.names)), 2)
        ]
    elif len(answers.names) == 2:
        found.append(_of_pair(*answers.names, ratings, k, level, rng))
    for name in [] if groups is None else np.unique(groups[answers.row]).tolist():
        found.append(_of_counts(f"group {name}", counts[groups == name], level, rng))
    for code, value in enumerate(answers.classes.tolist() if k > 2 else []):
        rest = np.delete(counts, code, axis=1).sum(1)
        found.append(
            _of_counts(f"class {value}", np.stack([counts[:, code], rest], 1), level, rng)
        )
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


def _of_counts(what: str, counts: Floats, level: float, rng: np.random.Generator) -> Agreement:
    counts, weight = _twice(counts, None)
    if not len(counts):
        return Agreement(what, 0, *[float("nan")] * 4)
    low, high = _interval(lambda w: krippendorff_alpha(counts, w), len(counts), level, rng)
    return Agreement(
        what, len(counts), _pairs(counts, weight)[0], krippendorff_alpha(counts), low, high,
        fleiss_kappa(counts),
    )  # fmt: skip


def _of_pair(
    one: str, other: str, ratings: Codes, k: int, level: float, rng: np.random.Generator
) -> Agreement:
    both = ratings[(ratings >= 0).all(1)]
    what = f"{one} and {other}"
    if not len(both):
        return Agreement(what, 0, *[float("nan")] * 4)
    a, b = both.T
    low, high = _interval(lambda w: cohen_kappa(a, b, k, w), len(both), level, rng)
    return Agreement(what, len(both), float((a == b).mean()), cohen_kappa(a, b, k), low, high)
