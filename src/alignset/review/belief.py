"""What is believed about each row's true label before it is reviewed.

Learned from the rows reviewed so far where there are any: the regression that soft labels come
from, with its uncertainty. Otherwise a guess: how often each observed label is wrong. If there is a
score, wrong labels may be where it disagrees,

    logit P(y = 1 | y~ = k, s) = a_k + u b s,

where u = 1 is what errors that depend on the true class alone give, and u = 0 errors that have
nothing to do with the score. A guess does not say which, so simulated reviews draw u from [0, 1].
b is that of P(y = 1 | s), fitted to observed labels as far as they can be wrong; a_k makes the
share of wrong labels what was guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize

from alignset.evaluate.soft_labels import learn_labels, log_odds
from alignset.review.aim import AimRows
from alignset.tables.targets import guessed_rates

Floats = NDArray[np.float64]

LEAST_LEARNED = 20
"""Reviewed rows from which something is learned."""


class Belief(Protocol):
    """Probability of every true class, (n, K); with ``rng``, one that is as well possible."""

    def probability(self, rng: np.random.Generator | None = None) -> Floats:
        """Return the probabilities."""


@dataclass(frozen=True, eq=False)
class Guessed:
    """How often each observed label is wrong, but not which ones.

    Parameters
    ----------
    shares : float array of shape (n, K), or None
        Probability of each true class; None with two classes.
    observed : int array of shape (n,)
    rate : float array of shape (K,)
        Share of wrong labels among those observed as k.
    along : float array of shape (n,)
        b s: log odds of the positive class by score.
    """

    shares: Floats | None
    observed: NDArray[np.int64]
    rate: Floats
    along: Floats

    def probability(self, rng: np.random.Generator | None = None) -> Floats:
        """Return the guess; with ``rng``, wrong labels are more or less where the score doubts."""
        if self.shares is not None:
            return self.shares
        pull = (0.5 if rng is None else rng.random()) * self.along
        share = np.empty(len(pull))
        for k in (0, 1):
            here = self.observed == k
            wanted = self.rate[k] if k == 0 else 1 - self.rate[k]
            share[here] = _shifted(pull[here], float(wanted)) if here.any() else 0.0
        return np.stack([1 - share, share], axis=1)


def believe(rows: AimRows, guess: float | Mapping[Any, float]) -> tuple[Belief, bool]:
    """Return what is believed, and whether it was learned from reviewed rows."""
    if rows.reviewed.sum() < LEAST_LEARNED:
        return _guessed(rows, guess), False
    score = rows.score if rows.n_classes > 2 else rows.score[:, 1]
    groups = (rows.cells.group,) if rows.members else ()
    return learn_labels(
        score, rows.cells.label, rows.true, rows.reviewed, n_classes=rows.n_classes, groups=groups
    ), True


def _guessed(rows: AimRows, guess: float | Mapping[Any, float]) -> Guessed:
    rate = guessed_rates(guess, rows.cells)[0]  # (K,), the same in every group
    seen, k = rows.cells.label, rows.n_classes
    if k == 2:
        return Guessed(None, seen, rate, _along(rows, rate))
    # another class is as probable as it is frequent
    other = np.tile(np.bincount(seen, minlength=k).astype(np.float64), (k, 1))
    np.fill_diagonal(other, 0.0)
    shares = other / other.sum(1, keepdims=True) * rate[:, None] + np.diag(1 - rate)
    return Guessed(np.asarray(shares[seen]), seen, rate, np.zeros(len(seen)))


def _along(rows: AimRows, rate: Floats) -> Floats:
    """Return b s, from P(y~ = 1 | s) = e_0 + (1 - e_0 - e_1) P(y = 1 | s) with guessed e."""
    seen, odds = rows.cells.label, log_odds(rows.score[:, 1])
    if odds.std() == 0:
        return np.zeros(len(rows))
    z, told = (odds - odds.mean()) / odds.std(), float(seen.mean())
    positive = told * (1 - rate[1]) + (1 - told) * rate[0]
    missed = min((1 - told) * rate[0] / positive, 0.49)
    alarm = min(told * rate[1] / (1 - positive), 0.49)

    def loss(ab: Floats) -> float:
        p = alarm + (1 - alarm - missed) / (1 + np.exp(-np.clip(ab[0] + ab[1] * z, -500, 500)))
        p = np.clip(p, 1e-9, 1 - 1e-9)
        return -float(np.log(np.where(seen == 1, p, 1 - p)).mean()) + 1e-3 * float(ab[1]) ** 2

    found = minimize(loss, np.array([0.0, 1.0]), method="BFGS").x
    return np.asarray(max(float(found[1]), 0.0) * z)


def _shifted(along: Floats, wanted: float) -> Floats:
    """Return logistic(a + along) with the a that makes its mean what is wanted."""

    def probability(a: float) -> Floats:
        return np.asarray(1 / (1 + np.exp(-np.clip(a + along, -500, 500))))

    far = float(np.abs(along).max()) + 30
    return probability(brentq(lambda a: float(probability(a).mean()) - wanted, -far, far))
