"""What a fit chooses by itself: the number of batches, and what stops and selects."""

from __future__ import annotations

from collections.abc import Sequence

from alignset.engine.train import Score
from alignset.evaluate.ranked import odds_over_fpr
from alignset.evaluate.validation import HarmonicMean, LogLikelihood
from alignset.methods import Method
from alignset.rows import Problem

ROWS_PER_BATCH = 2000  # of a large data set; a small one is cut into five batches
REVIEWED_PER_BATCH = 50  # in stages that see reviewed rows alone


def count_batches(problems: Sequence[Problem]) -> tuple[int, int]:
    """Return the numbers of mini-batches of an epoch, over all rows and over reviewed ones."""
    whole = max(5, max(len(p.train) for p in problems) // ROWS_PER_BATCH)
    reviewed = max(int(p.train.reviewed.sum()) for p in problems) // REVIEWED_PER_BATCH
    return whole, min(whole, max(5, reviewed))


def score_of(method: Method) -> Score:
    """Return what stops and selects: likelihood where the method says so, else HM by rank.

    Over thresholds, EO is best where all probabilities are alike; and of few rows the likelihood
    varies less than a rank, which pays where the loss itself is that likelihood (docs/beyond).
    """
    return LogLikelihood() if method.select_by == "likelihood" else HarmonicMean(odds_over_fpr)
