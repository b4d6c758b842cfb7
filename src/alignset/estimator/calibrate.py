"""Recalibrate a fitted model by what it said of reviewed rows that it was not trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alignset.engine.ensemble import Ensemble
from alignset.learners.base import to_probability
from alignset.learners.blended import BlendFit
from alignset.learners.recalibration import GroupCalibration, fit_group_calibration
from alignset.rows import Problem


def calibrate_blend(
    fitted: BlendFit, sizes: tuple[int, int], seed: int, *, without: int | None = None
) -> GroupCalibration | None:
    """Use what the blend said of held-out rows, if asked without those of a fold.

    Where some kinds of labels were never looked at, reviewed rows say nothing of the others; nor do
    rows that were picked because their label was wrong.
    """
    rows, review, n_groups = fitted.review.rows, fitted.review, sizes[1]
    if review.picked or (review.selective and review.anchors.any()):
        return None
    known = rows.reviewed & ~review.anchors
    at = np.flatnonzero(known if without is None else known & (fitted.fold != without))
    weight = (rows.weights * review.weight)[at]
    found = fit_group_calibration(
        to_probability(fitted.odds[at]), rows.y_seen[at], rows.y_true[at], rows.group[at],
        weight, n_groups, seed=seed, share=rows.shares[at],
    )  # fmt: skip
    return found if found.changed else None


def calibrate_ensemble(
    problems: Sequence[Problem], ensemble: Ensemble, sizes: tuple[int, int], seed: int
) -> GroupCalibration | None:
    """Use what the networks of each fold said of its validation rows."""
    held = [(fold, one.validation) for fold, one in enumerate(problems) if len(one.validation)]
    if not held or not all(part.reviewed.all() for _, part in held):
        return None
    parts = [part for _, part in held]
    looked = np.concatenate([part.y_seen for part in parts])
    if not np.isin(problems[0].train.y_seen, looked).all():  # a label that nobody looked at
        return None
    p = np.concatenate([ensemble.probability(part.X, fold) for fold, part in held])
    y_seen, y, group, weight, share = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("y_seen", "y_true", "group", "weights", "shares")
    )
    found = fit_group_calibration(p, y_seen, y, group, weight, sizes[1], seed=seed, share=share)
    return found if found.changed else None
