"""How often each reviewer errs, and how sure the true label of each reviewed row is.

The model is in ``alignset.review.dawid_skene``. Rows with two answers, or with one and an
adjudicated label, say how often reviewers err. Reviewers with few of them share their error rates
with the others of that kind; if there are few in all, errors count as equally likely for all
classes; if there is none, nothing can be said, and answers are taken as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.evaluate.imputed import DRAWS, TruthDraws
from alignset.evaluate.soft_labels import learn_labels
from alignset.labels import UNREVIEWED
from alignset.review.answers import Answers
from alignset.review.dawid_skene import (
    AnswerCodes,
    DrawPrior,
    ErrorPrior,
    PosteriorDraw,
    draw_posterior,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Errors = Literal["auto", "by_class", "symmetric"]

OWN = 20
"""Answers to rows that somebody else answered, too, that a reviewer needs for own error rates."""
BY_CLASS = 20
"""The same for each class: with fewer, errors count as equally likely for all classes."""
FEW_IN_CELL = 10
"""Reviewed rows that a cell needs for its own share of true classes."""
APART, BURN, KEPT = 3, 100, 10
"""Rounds between draws of error rates, and at the start; of so many draws one gives labels."""


@dataclass(frozen=True)
class ReviewerError:
    """How often one reviewer errs: estimate and interval; NaN if that cannot be known."""

    reviewer: str
    answers: int  # that name a class
    shared: int  # to rows that somebody else answered, too, or that were adjudicated
    cannot_tell: int
    error: float
    low: float
    high: float
    by_class: tuple[float, ...]  # of rows truly of each class, the share answered otherwise


@dataclass(frozen=True, eq=False)
class ReviewerModel:
    """What answers say about rows and about reviewers.

    ``draws`` are sets of true labels that are as well possible; ``shares`` (n, K) how probable
    each class is, NaN for rows without an answer.
    """

    answers: Answers
    draws: TruthDraws
    shares: Floats
    errors: tuple[ReviewerError, ...]
    identified: bool  # whether any row says how often reviewers err
    symmetric: bool
    level: float

    def frame(self) -> pd.DataFrame:
        """One row per reviewer."""
        names = [f"wrong_if_{value}" for value in self.answers.classes.tolist()]
        own = [field.name for field in fields(ReviewerError) if field.name != "by_class"]
        return pd.DataFrame(
            [{**vars(one), **dict(zip(names, one.by_class, strict=True))} for one in self.errors],
            columns=[*own, *names],  # also where all answers settle others, and nobody is judged
        )

    @property
    def uncertain(self) -> int:
        """How many rows are of their most probable class with less than 95 %."""
        best = np.nan_to_num(self.shares, nan=1.0).max(1)
        return int((best < 0.95).sum())

    @property
    def note(self) -> str:
        """Say in a sentence what was assumed."""
        n = int(self.draws.reviewed.sum())
        if not self.identified:
            return (
                f"no row was answered by two reviewers or adjudicated, so nobody can say how often "
                f"reviewers err; their {len(self.answers)} answers are taken as right."
            )
        twice = int((self.answers.n_told >= 2).sum())
        how = "whatever the true class is" if self.symmetric else "for each true class"
        return (
            f"true labels of {n} rows are probabilities, from the answers of "
            f"{len(self.answers.names)} reviewers, {twice} rows answered twice, and how often each "
            f"reviewer errs, {how} (Dawid and Skene); {self.uncertain} rows are less than 95 % "
            "sure."
        )


def fit_reviewers(
    answers: Answers,
    observed: Codes,
    groups: Codes | None = None,
    *,
    stratum: Codes | None = None,
    score: Floats | None = None,
    errors: Errors = "auto",
    n_draws: int = DRAWS,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = 0,
) -> ReviewerModel:
    """Estimate how often reviewers err, and the true labels that answers make probable.

    Parameters
    ----------
    answers : Answers
    observed : int array of shape (n,)
        Observed class of each row of the table; reviewers have not seen it.
    groups, stratum : int arrays of shape (n,), optional
        Group, and the stratum that a row was drawn from: rows that were drawn with different
        probability do not lend each other their true classes.
    score : float array of shape (n,) or (n, K), optional
        A score that is to be judged by the labels: without it, labels that are filled in would
        know nothing of it, and the score would look worse than it is.
    errors : "auto", "by_class" or "symmetric"
        Whether reviewers may err more often about one class than about another.
    n_draws : int
        Sets of true labels to draw.
    level : float, default=0.95
        Coverage of the intervals of error rates.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true = rng.integers(0, 2, 300)
    >>> said = np.where(rng.random((300, 2)) < 0.1, 1 - true[:, None], true[:, None])
    >>> row, who = np.divmod(np.arange(600), 2)
    >>> given = Answers(row, who, said.ravel(), np.full(300, -1), ("an", "bo"), np.arange(2))
    >>> [round(one.error, 2) for one in fit_reviewers(given, true).errors]
    [0.07, 0.07]
    """
    shared = _shared(answers)
    if not shared.any():
        return _taken_as_right(answers, shared, level)
    pool, k = _pools(answers, shared), len(answers.classes)
    symmetric = errors == "symmetric"
    if errors == "auto":
        symmetric = int(shared.sum()) < BY_CLASS * k * (int(pool.max()) + 1)
    cell = prior_cells(answers, observed, groups, stratum)
    known = (answers.n_told > 0) | (answers.settled >= 0)
    own, told = answers.take(known), answers.take(known).told  # the others say nothing here
    codes = AnswerCodes(
        own.row[told], pool[own.reviewer[told]], own.answer[told], own.settled, cell[known], k,
        int(pool.max()) + 1,
    )  # fmt: skip
    near = None if groups is None else groups[known]
    prior = None if score is None else _score_prior(score[known], observed[known], near, k)
    drawn = draw_posterior(
        codes, ErrorPrior(symmetric=symmetric), rng=np.random.default_rng(random_state),
        n_draws=n_draws * KEPT, apart=APART, burn=BURN, draw_prior=prior,
    )  # fmt: skip
    found = list(drawn)
    rates = _error_rates(answers, shared, pool, found, level)
    shares = np.full((answers.n_rows, k), np.nan)
    shares[known] = np.mean([one.q for one in found], axis=0)
    labels = np.full((n_draws, answers.n_rows), UNREVIEWED, dtype=np.int64)
    labels[:, known] = [one.true for one in found[::KEPT]]
    return ReviewerModel(answers, TruthDraws(labels, k), shares, rates, True, symmetric, level)


def _shared(answers: Answers) -> Codes:
    """Count, for each reviewer, answers to rows that someone else answered or adjudicated."""
    told = answers.told
    row = answers.row[told]
    useful = (answers.n_told[row] >= 2) | (answers.settled[row] >= 0)
    return np.bincount(answers.reviewer[told][useful], minlength=len(answers.names))


def _pools(answers: Answers, shared: Codes) -> Codes:
    """Return which error rates each reviewer has: their own, or those of all with few answers."""
    own = shared >= OWN
    pool = np.where(own, np.cumsum(own) - 1, own.sum())
    return np.asarray(pool if len(answers.names) else np.zeros(1), dtype=np.int64)


def prior_cells(
    answers: Answers, observed: Codes, groups: Codes | None = None, stratum: Codes | None = None
) -> Codes:
    """Return the cell of each row: observed label, group and stratum, as far as rows suffice."""
    known = (answers.n_told > 0) | (answers.settled >= 0)
    cell, names = observed, [observed]
    for more in (groups, stratum):
        if more is None:
            continue
        names.append(more)
        fine = np.unique(np.column_stack(names), axis=0, return_inverse=True)[1].reshape(-1)
        count = np.bincount(fine[known], minlength=int(fine.max()) + 1)
        own = count[fine] >= FEW_IN_CELL
        cell = np.where(own, fine + int(cell.max()) + 1, cell)
    return np.unique(cell, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _score_prior(score: Floats, observed: Codes, groups: Codes | None, k: int) -> DrawPrior:
    """Draw probabilities of classes from a regression on score, observed label and group."""
    every = np.ones(len(score), dtype=bool)
    near = (groups,) if groups is not None and len(np.unique(groups)) > 1 else ()

    def draw(true: Codes, rng: np.random.Generator) -> Floats:
        return learn_labels(score, observed, true, every, n_classes=k, groups=near).probability(rng)

    return draw


def _error_rates(
    answers: Answers, shared: Codes, pool: Codes, found: list[PosteriorDraw], level: float
) -> tuple[ReviewerError, ...]:
    k = len(answers.classes)
    right = np.stack([np.einsum("rkk->rk", one.confusion) for one in found])  # (S, R, K)
    share = np.stack([np.bincount(one.true, minlength=k) / len(one.true) for one in found])
    whole = 1 - np.einsum("srk,sk->sr", right, share)
    low, high = np.quantile(whole, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return tuple(
        ReviewerError(
            *_counts(answers, shared, r),
            float(whole[:, p].mean()),
            float(low[p]),
            float(high[p]),
            tuple((1 - right[:, p].mean(0)).tolist()),
        )
        for r, p in enumerate(pool.tolist())
    )


def _counts(answers: Answers, shared: Codes, r: int) -> tuple[str, int, int, int]:
    own, told = answers.reviewer == r, answers.told
    return answers.names[r], int((own & told).sum()), int(shared[r]), int((own & ~told).sum())


def _taken_as_right(answers: Answers, shared: Codes, level: float) -> ReviewerModel:
    """Return answers as labels, where nothing says how often they are wrong."""
    true = answers.settled.copy()
    told = answers.told
    true[answers.row[told]] = answers.answer[told]
    k, nan = len(answers.classes), float("nan")
    hot = np.where((true != UNREVIEWED)[:, None], np.eye(k)[np.maximum(true, 0)], np.nan)
    unknown: Any = (nan, nan, nan, (nan,) * k)
    rates = tuple(
        ReviewerError(*_counts(answers, shared, r), *unknown) for r in range(len(answers.names))
    )
    return ReviewerModel(
        answers, TruthDraws(np.stack([true, true]), k), hot, rates, False, False, level
    )
