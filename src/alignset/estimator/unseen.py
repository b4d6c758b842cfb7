"""What a blend said of the rows it was given, row by row, by models that did not see them.

The blend holds every reviewed row out of its candidates and of their weights anyway, and thousands
of the others; what is fitted to that (recalibration, confidence) is fitted here without each fold
in turn. Judging a blend by this costs no second fit. How much it flatters is measured in
``docs/decisions/0024-one-fit-judges-itself.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alignset.estimator.calibrate import calibrate_blend
from alignset.learners.base import to_probability
from alignset.learners.blended import BlendFit, cross_confidence
from alignset.rows import Part
from alignset.rows.divide import count_copies

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WHOLE = "blend", "all"
"""The blend itself, beside labels and learner of its candidates."""


@dataclass(frozen=True, eq=False)
class Unseen:
    """Probabilities that models gave to rows they did not see.

    ``at`` are the positions of these rows among those that were given to the estimator.
    """

    at: Ints  # (m,)
    scores: Mapping[tuple[str, str], Floats]  # labels and learner -> (m, K)
    confidence: Floats  # (m,), P(the observed label is right)


@dataclass(frozen=True, eq=False)
class Origin:
    """Where distinct rows came from: which of them each row is, and whose place that row has.

    A row of uncertain class is one copy per class, so that several rows may have one place.
    """

    which: Ints
    place: Ints

    def copies(self, rows: Part) -> Ints:
        """Return, for every place in order, its row among the copies that ``spread`` makes.

        People who look alike are one distinct row, and then as many copies as it takes: the first
        of them has the first copy.
        """
        count = count_copies(rows)
        which = self.which[np.unique(self.place, return_index=True)[1]]
        order = np.argsort(which, kind="stable")
        _, start = np.unique(which[order], return_index=True)
        rank = np.empty(len(which), dtype=np.int64)
        rank[order] = np.arange(len(which)) - np.repeat(start, np.diff([*start, len(which)]))
        return np.asarray(np.cumsum(count)[which] - count[which] + rank % count[which])


def find_unseen(
    fitted: BlendFit, rows: Part, origin: Origin, sizes: tuple[int, int], seed: int
) -> Unseen:
    """Say what was said of each row that was held out; ``rows`` are the distinct ones."""
    place = np.full(int(count_copies(rows).sum()), -1)
    place[fitted.at] = np.arange(len(fitted.at))
    own = place[origin.copies(rows)]
    at = np.flatnonzero((own >= 0) & (fitted.fold[own] >= 0))
    own = own[at]
    scores = {name: to_probability(odds[own]) for name, odds in fitted.said.items()}
    scores[WHOLE] = _recalibrated(fitted, sizes, seed)[own]
    return Unseen(at, scores, cross_confidence(fitted, seed)[own])


def _recalibrated(fitted: BlendFit, sizes: tuple[int, int], seed: int) -> Floats:
    """Return the blend's probabilities (n, K), recalibrated without the fold that each is in."""
    found = to_probability(fitted.odds)
    for part in range(int(fitted.fold.max()) + 1):
        again = calibrate_blend(fitted, sizes, seed, without=part)
        if again is not None:
            out = fitted.fold == part
            found[out] = again.apply(found[out], fitted.review.rows.group[out])
    return found
