"""What the reviewed rows say of a fit: noise rates, and classes that changed places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alignset.engine.ensemble import Ensemble
from alignset.evaluate.switching import Switch, switched_groups
from alignset.rows import Part, Problem
from alignset.rows.divide import Division
from alignset.rows.selection import review_probability


def noise_rates(rows: Part, division: Division, n_groups: int) -> list[float]:
    """Share of wrong labels among each group's reviewed rows, by 1 / P(reviewed); NaN without."""
    how = division.review_weights if rows.probability is None else rows.probability
    weight = rows.weights * rows.reviewed
    if how is not None:
        weight = weight / np.where(rows.reviewed, review_probability(rows, how), 1.0)
    size = np.bincount(rows.group, weight, n_groups)
    wrong = np.bincount(rows.group, weight * (rows.y_seen != rows.y_true), n_groups)
    rates: list[float] = (wrong / np.where(size > 0, size, np.nan)).tolist()
    return rates


def switches(problems: Sequence[Problem], ensemble: Ensemble) -> list[Switch]:
    """Find groups in which held-out reviewed rows say that classes changed places."""
    held = [problem.validation for problem in problems]
    prob = [ensemble.probability(part.X, fold) for fold, part in enumerate(held)]
    y, group = ([getattr(part, name) for part in held] for name in ("y_true", "group"))
    return switched_groups(np.concatenate(prob), np.concatenate(y), np.concatenate(group))
