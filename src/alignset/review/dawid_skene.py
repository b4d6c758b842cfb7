"""What reviewers get wrong: true classes and error rates together, from answers alone.

Dawid and Skene (1979). Reviewer r answers a where k is true with probability C_r[k, a],
independently of other reviewers and, being blinded, of the observed label. A row's true class has
a probability that depends on its cell (group x observed label, or what else chose it for review):

    q_i(k)  proportional to  p_cell(i)(k)  prod over answers of row i  C_r[k, a]
    C_r[k, a]  =  (sum of q_i(k) over answers a of r  +  prior)  /  (the same over all answers)

which :func:`fit_by_em` iterates. Adjudicated rows have a known class: q is 1 there. What rows of
one answer say about C is little; rows with two carry it, and they are few, so that a single C
would claim too much. :func:`draw_posterior` draws classes and error rates in turn (Gibbs), each
given the other: every draw is a set of true classes that is as well possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]
DrawPrior = Callable[[Codes, np.random.Generator], Floats]
"""``true classes (n,), rng -> P(class) of every row (n, K)``, one that is as well possible."""

RIGHT, WRONG = 6.5, 0.5
"""Each reviewer starts from so many right and wrong answers, for each true class."""

CELL = 1.0
"""Each cell starts from so many rows, spread evenly over the classes."""


@dataclass(frozen=True, eq=False)
class AnswerCodes:
    """Answers as codes: one entry per answer, rows and reviewers by number.

    Parameters
    ----------
    row, reviewer, answer : int arrays of shape (m,)
    settled : int array of shape (n,)
        True class where it was adjudicated; -1 elsewhere.
    cell : int array of shape (n,)
        Rows of one cell share the probabilities of true classes.
    n_classes, n_reviewers : int
    """

    row: Codes
    reviewer: Codes
    answer: Codes
    settled: Codes
    cell: Codes
    n_classes: int
    n_reviewers: int

    @cached_property
    def known(self) -> Mask:
        """Which rows have an answer, or were adjudicated."""
        found = np.asarray(self.settled >= 0)
        found[self.row] = True
        return found

    def weigh(self, confusion: Floats) -> Floats:
        """Return the log-likelihood (n, K) of each row's answers."""
        said, n = np.log(confusion[self.reviewer, :, self.answer]), len(self.settled)  # (m, K)
        return np.stack([np.bincount(self.row, column, n) for column in said.T], axis=1)

    def posterior(self, prior: Floats, confusion: Floats) -> Floats:
        """Return q (n, K): of rows with an answer; of the others, the prior."""
        odds = np.log(prior) + self.weigh(confusion)
        odds -= odds.max(1, keepdims=True)
        found = np.exp(odds)
        found /= found.sum(1, keepdims=True)
        at = np.flatnonzero(self.settled >= 0)
        found[at] = np.eye(self.n_classes)[self.settled[at]]
        return np.asarray(found)

    def count(self, q: Floats) -> Floats:
        """Return how many answers of each kind were given, (R, K, K): reviewer, true, answer."""
        k, kind = self.n_classes, self.reviewer * self.n_classes + self.answer
        each = [np.bincount(kind, column, self.n_reviewers * k) for column in q[self.row].T]
        found = np.stack(each, axis=1).reshape(self.n_reviewers, k, k).transpose(0, 2, 1)
        return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True)
class ErrorPrior:
    """What is taken for granted about reviewers.

    Parameters
    ----------
    right, wrong : float
        Answers that each reviewer starts from, for each true class.
    cell : float
        Rows that each cell starts from.
    symmetric : bool
        Whether a reviewer is wrong equally often whatever is true, in favour of any other class.
    """

    right: float = RIGHT
    wrong: float = WRONG
    cell: float = CELL
    symmetric: bool = False

    def start(self, n_classes: int) -> Floats:
        """Return the answers (K, K) that a reviewer starts from."""
        off = self.wrong / (n_classes - 1)
        return np.asarray(off + (self.right - off) * np.eye(n_classes))

    def shares(self, counts: Floats) -> Floats:
        """Return error rates (R, K, K) from counts of answers."""
        k = counts.shape[1]
        if self.symmetric:
            wrong, right = self._total(counts)
            # with no prior and no answer there is nothing to divide by
            return _even(wrong / np.maximum(wrong + right, 1e-12), k)
        full = counts + self.start(k)
        return np.asarray(full / np.maximum(full.sum(2, keepdims=True), 1e-12))

    def draw(self, counts: Floats, rng: np.random.Generator) -> Floats:
        """Return error rates (R, K, K) that are as well possible, given counts of answers."""
        k = counts.shape[1]
        if self.symmetric:
            wrong, right = self._total(counts)
            return _even(rng.beta(wrong, right), k)
        drawn = rng.standard_gamma(counts + self.start(k)) + 1e-12
        return np.asarray(drawn / drawn.sum(2, keepdims=True))

    def _total(self, counts: Floats) -> tuple[Floats, Floats]:
        right = np.einsum("rkk->r", counts)
        return counts.sum((1, 2)) - right + self.wrong, right + self.right


def _even(wrong: Floats, k: int) -> Floats:
    off = np.ones((k, k)) - np.eye(k)
    rate = wrong[:, None, None]
    return np.asarray((1 - rate) * np.eye(k) + rate * off / (k - 1))


@dataclass(frozen=True, eq=False)
class ErrorModel:
    """Error rates (R, K, K), probability of classes (n, K) before any answer, and after: q."""

    confusion: Floats
    prior: Floats
    q: Floats


def cell_counts(codes: AnswerCodes, q: Floats) -> Floats:
    """Return how many known rows of each cell are of each class, (C, K)."""
    known, size = codes.known, int(codes.cell.max()) + 1
    cell = codes.cell[known]
    return np.stack([np.bincount(cell, column, size) for column in q[known].T], axis=1)


def fit_by_em(
    codes: AnswerCodes,
    taken: ErrorPrior | None = None,
    *,
    rounds: int = 500,
    tolerance: float = 1e-8,
) -> ErrorModel:
    """Iterate q and error rates until neither changes; see the top of the module.

    It starts from the share of answers that each class has in a row, as Dawid and Skene do.
    """
    taken = taken or ErrorPrior()
    k = codes.n_classes
    q = np.zeros((len(codes.settled), k))
    np.add.at(q, (codes.row, codes.answer), 1.0)
    total = q.sum(1, keepdims=True)
    q = np.where(total > 0, q / np.maximum(total, 1), 1 / k)
    at = np.flatnonzero(codes.settled >= 0)
    q[at] = np.eye(k)[codes.settled[at]]
    for _ in range(rounds):
        confusion = np.maximum(taken.shares(codes.count(q)), 1e-12)
        counts = cell_counts(codes, q) + taken.cell / k
        prior = np.maximum(counts / np.maximum(counts.sum(1, keepdims=True), 1e-12), 1e-12)
        new = codes.posterior(prior[codes.cell], confusion)
        change = float(np.abs(new - q)[codes.known].max(initial=0.0))
        q = new
        if change < tolerance:
            break
    return ErrorModel(confusion, prior[codes.cell], q)


@dataclass(frozen=True, eq=False)
class PosteriorDraw:
    """One draw: error rates (R, K, K), true classes (n,), -1 where nobody answered, and their q."""

    confusion: Floats
    true: Codes
    q: Floats


def draw_posterior(
    codes: AnswerCodes,
    taken: ErrorPrior | None = None,
    *,
    draw_prior: DrawPrior | None = None,
    n_draws: int = 100,
    apart: int = 5,
    burn: int = 50,
    rng: np.random.Generator,
) -> Iterator[PosteriorDraw]:
    """Yield draws of error rates and true classes, ``apart`` rounds from each other.

    ``draw_prior`` replaces the cells: P(class) of every row given the classes of the known ones.
    """
    taken = taken or ErrorPrior()
    start = fit_by_em(codes, taken)
    draw_prior = draw_prior or _by_cell(codes, taken)
    known = codes.known
    true = _draw_classes(start.q, known, rng)
    for done in range(1, burn + n_draws * apart + 1):
        hot = np.eye(codes.n_classes)[np.maximum(true, 0)]
        confusion = taken.draw(codes.count(hot), rng)
        q = codes.posterior(np.maximum(draw_prior(true, rng), 1e-12), confusion)
        true = _draw_classes(q, known, rng)
        if done > burn and (done - burn) % apart == 0:
            yield PosteriorDraw(confusion, true, q)


def _by_cell(codes: AnswerCodes, taken: ErrorPrior) -> DrawPrior:
    def draw(true: Codes, rng: np.random.Generator) -> Floats:
        counts = cell_counts(codes, np.eye(codes.n_classes)[np.maximum(true, 0)])
        drawn = rng.standard_gamma(counts + taken.cell / codes.n_classes) + 1e-12
        return np.asarray((drawn / drawn.sum(1, keepdims=True))[codes.cell])

    return draw


def _draw_classes(q: Floats, known: Mask, rng: np.random.Generator) -> Codes:
    """Draw a class for every known row from q; -1 for the others."""
    drawn = (rng.random(len(q))[:, None] > np.cumsum(q, axis=1)[:, :-1]).sum(1)
    return np.where(known, drawn, -1).astype(np.int64)
