"""What a fit chooses for itself: the number of batches, and the score that stops and selects."""

from __future__ import annotations

from collections.abc import Sequence

from alignset.engine.train import Score
from alignset.evaluate.ranked import odds_over_fpr
from alignset.evaluate.validation import HarmonicMean, LogLikelihood
from alignset.methods import Method
from alignset.rows import Problem

ROWS_PER_BATCH = 2000  # in a large data set; a small one is cut into five batches
REVIEWED_PER_BATCH = 50  # in stages that see only reviewed rows


def count_batches(problems: Sequence[Problem]) -> tuple[int, int]:
    """Return how many mini-batches an epoch has, over all rows and over the reviewed rows."""
    whole = max(5, max(len(p.train) for p in problems) // ROWS_PER_BATCH)
    reviewed = max(int(p.train.reviewed.sum()) for p in problems) // REVIEWED_PER_BATCH
    return whole, min(whole, max(5, reviewed))


def score_of(method: Method) -> Score:
    """Return the score that stops and selects: likelihood if the method says so, else HM by rank.

    EO over thresholds is best when all probabilities are equal, hence ranks; on few rows the
    likelihood varies less than a rank, which pays if the loss is that likelihood (docs/beyond).
    """
    return LogLikelihood() if method.select_by == "likelihood" else HarmonicMean(odds_over_fpr)
