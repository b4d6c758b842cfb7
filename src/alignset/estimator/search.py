"""From distinct rows to problems to train on, and from their training to one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from alignset.engine import Fits, Trainer
from alignset.engine.ensemble import best_configs, fold_means
from alignset.engine.train import Score
from alignset.evaluate.ranked import odds_over_fpr
from alignset.evaluate.validation import HarmonicMean, LogLikelihood
from alignset.methods import Method, Standard
from alignset.progress import progress_bar
from alignset.rows import Part, Problem, hold_out, review_weights
from alignset.rows.folds import deal, take, weights
from alignset.rows.review import Mask

ROWS_PER_BATCH = 2000  # of a large data set; a small one is cut into five batches
REVIEWED_PER_BATCH = 50  # in stages that see reviewed rows alone
HELD_OUT_SHARE = 0.2  # validates on observed labels where no row was reviewed
MIN_ROWS_TO_HOLD_OUT = 40  # with fewer rows nothing is held out; training runs its full length


def weighted(rows: Part, how: Any) -> Part:
    """Return rows that count by how likely they were to be reviewed; see ``review_weights``."""
    if how is None:
        return rows
    return replace(rows, weight=weights(rows) * review_weights(rows, how))


def held_out(rows: Part, folds: int | None, share: float, seed: int) -> list[Mask]:
    """Return which rows validate: of each fold, or once.

    Where no row was reviewed, part of all rows validates on observed labels.
    """
    n_reviewed = int(rows.reviewed.sum())
    if folds is not None and n_reviewed > 1:
        return deal(rows, min(folds, n_reviewed), seed)
    held = np.zeros(len(rows), dtype=bool)
    if n_reviewed:
        # right and wrong labels are halved apart, so that both sides see some of each
        cell = 2 * rows.group + (rows.y_seen == rows.y_true)
        held = hold_out(cell, rows.reviewed, share=share, random_state=seed)
    elif len(rows) >= MIN_ROWS_TO_HOLD_OUT:
        held = hold_out(rows.y_seen, ~held, share=HELD_OUT_SHARE, random_state=seed)
    return [held]


def problem_of(rows: Part, held: Mask, n_classes: int, n_groups: int, seed: int) -> Problem:
    """Return the problem in which the held-out rows validate and the others train."""
    observed = held & ~rows.reviewed  # validates on the observed label
    if observed.any():
        rows = replace(rows, y_true=np.where(observed, rows.y_seen, rows.y_true))
    return Problem(take(rows, ~held), take(rows, held), None, n_classes, n_groups, seed)


def can_train(method: Method, problem: Problem) -> bool:
    """Tell whether a fold's training rows have what the method needs: a wrong label, say."""
    try:
        method.check(problem)
    except ValueError:
        return False
    return True


def n_batches(problems: Sequence[Problem]) -> tuple[int, int]:
    """Return the numbers of mini-batches of an epoch, over all rows and over reviewed ones."""
    whole = max(5, max(len(p.train) for p in problems) // ROWS_PER_BATCH)
    reviewed = max(int(p.train.reviewed.sum()) for p in problems) // REVIEWED_PER_BATCH
    return whole, min(whole, max(5, reviewed))


def score_of(method: Method) -> Score:
    """Return what stops and selects: likelihood for Standard, else HM by rank.

    Over thresholds, EO is best where all probabilities are alike; and of few rows the likelihood
    varies less than a rank, which pays where the loss itself is that likelihood (docs/beyond).
    """
    return LogLikelihood() if isinstance(method, Standard) else HarmonicMean(odds_over_fpr)


def search_results(fits: Fits, size: int) -> dict[str, Any]:
    """Return what the search found of every config, over all folds."""
    score = fold_means(fits)
    epochs = fits.epochs.double().mean(0).round().long()
    averaged = np.zeros(len(score), dtype=bool)
    averaged[best_configs(fits, size)] = True
    return {
        "config": fits.configs,
        "score": score,
        "epochs": epochs.numpy(),
        "rank": (-score).argsort(kind="stable").argsort(kind="stable") + 1,
        "averaged": averaged,
    }


def train(
    trainer: Trainer,
    method: Method,
    problems: Sequence[Problem],
    configs: Sequence[dict[str, float]],
    verbose: bool,
) -> Fits:
    """Train all configs on all folds, under a progress bar if ``verbose``."""
    with progress_bar(show=verbose) as progress:
        return trainer.fit(method, problems, configs, progress)
