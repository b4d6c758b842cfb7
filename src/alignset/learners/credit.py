"""What a model of both labels is worth: by observed labels, and by which of them are wrong.

A candidate that models errors along with the class by EM (joint, rates, sharp) says more of a
held-out row than P(y | x): how probable its observed label is and, if the row was reviewed, whether
that label is right. Two dozen reviewed rows tell such candidates apart much sooner by this than by
the class alone. What such a candidate starts with is multiplied by skill^8 and exp(TRUST gain); the
joint network is judged by the class alone.

    skill  =  (E + LEAST) / (E~ + LEAST)        E of the candidate, E~ of the best model of y~
    E      =  sum over unreviewed rows of log P(y~ | x), less what the shares of labels give
    gain   =  sum over reviewed rows of log P(y | y~, x) - log R(y | y~, x)

R is what can be said without such a model: the shares of classes by observed label, or a
regression on y~ and the log-odds of the best model of y~, whichever says it better. Where labels
are wrong only near the boundary between classes, R says as well which they are, and models of
observed labels need no correction; where they are wrong beyond a threshold, it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alignset.learners.base import CERTAIN, Floats, row_log_loss
from alignset.learners.stacking import JudgedRows, expected_labels
from alignset.learners.strategies.rates import count_pairs

POWER = 8
LEAST = 20.0
"""Log-likelihood that is explained by chance: less than this tells nothing."""
FEWEST, MOST = 0.1, 3.0
"""A skill is between these."""
LOWEST = float(np.log(CERTAIN))
"""No row counts for less: a single one must not decide."""


@dataclass(frozen=True, eq=False)
class Credit:
    """What candidates' models of errors say for them; nothing for those that have none."""

    skill: Floats  # (J,), 1 for those
    gain: Floats  # (J, n), 0 for those, and of rows nobody reviewed

    @property
    def factor(self) -> Floats:
        """What unreviewed rows make of the weights that candidates start with."""
        return self.skill**POWER


def read_credit(
    odds: Floats,
    joint: Sequence[Floats | None],
    observed: Sequence[bool],
    rows: JudgedRows,
    *,
    seed: int,
) -> Credit:
    """Compare models of errors with what can be said without one.

    Parameters
    ----------
    odds : float array of shape (J, n, K)
        Log-odds of rows that the candidates did not see.
    joint : sequence of J arrays of shape (n, K), or None
        log P(y, observed label | x), of those that model both.
    observed : sequence of bool
        Which candidates are models of the observed label; without any there is no evidence.
    """
    found = Credit(np.ones(len(odds)), np.zeros(odds.shape[:2]))
    own = [odds[j] for j in np.flatnonzero(observed)]
    if not own or not rows.reviewed.any():
        return found
    labels = [_explained(-row_log_loss(each, rows.y_seen), rows) for each in own]
    best = int(np.argmax(labels))
    usual = _without_a_model(own[best], rows, seed)
    at = np.flatnonzero(rows.reviewed)
    for j, each in enumerate(joint):
        if each is not None:
            label = np.logaddexp.reduce(each, axis=1)
            skill = (_explained(label, rows) + LEAST) / (labels[best] + LEAST)
            found.skill[j] = np.clip(skill, FEWEST, MOST)
            found.gain[j, at] = np.maximum(each[at, rows.y[at]] - label[at], LOWEST) - usual
    return found


def _explained(log_p: Floats, rows: JudgedRows) -> float:
    """Return what log P(y~ | x) (n,) explains of the unreviewed labels, at least nothing."""
    out = ~rows.reviewed
    count = np.bincount(rows.y_seen[out], rows.weight[out], rows.n_classes)
    by_shares = count @ np.log(np.maximum(count, 1e-12) / max(count.sum(), 1e-12))
    return float(max(rows.weight[out] @ np.maximum(log_p[out], LOWEST) - by_shares, 0.0))


def _without_a_model(odds: Floats, rows: JudgedRows, seed: int) -> Floats:
    """Return log R(y | y~, x) of the reviewed rows, each from the others."""
    at, k = np.flatnonzero(rows.reviewed), rows.n_classes
    y, seen, weight = rows.y[at], rows.y_seen[at], rows.weight[at]
    n = np.arange(len(at))
    same = n if rows.unit is None else np.unique(rows.unit[at] * k + seen, return_inverse=True)[1]
    own = np.zeros((same.max() + 1, k))
    np.add.at(own, (same, y), weight)
    others = count_pairs(seen, y, weight, k)[seen] - own[same]
    shares = np.log(others[n, y] / others.sum(axis=1))
    q = expected_labels(odds, rows, seed=seed)[at]
    regression = np.log(np.maximum(q[n, y], CERTAIN))
    return max(shares, regression, key=lambda each: float(weight @ each))
