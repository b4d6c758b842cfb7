"""What the reviewed rows say about a fit: noise rates, and classes the model swapped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from alignset.engine.ensemble import Ensemble
from alignset.evaluate.noise_rate import ReviewDesign, noise_rates
from alignset.evaluate.switching import Switch, switched_groups
from alignset.rows import Part, Problem
from alignset.rows.divide import Division
from alignset.rows.selection import review_probability


def noise_rates_of(
    rows: Part, division: Division, names: Sequence[Any], *, selective: bool, picked: bool
) -> dict[Any, float]:
    """Share of wrong labels in each group, over its reviewed rows weighted by 1 / P(reviewed).

    Of a review that turned out to be ``selective``, that is counted by cells; NaN if rows were
    ``picked`` because their label was wrong.
    """
    if picked:
        return dict.fromkeys(names, math.nan)
    how = division.weighted_by(rows)
    how = "cells" if how is None and selective else how
    design = None if how is None else ReviewDesign.one_sheet(_where_reviewed(rows, how))
    wrong = rows.y_seen != rows.y_true
    found = noise_rates(rows.group, names, wrong, rows.reviewed, design, sample_weight=rows.weights)
    return {rate.group: rate.rate for rate in found}


def _where_reviewed(rows: Part, how: Any) -> Any:
    return np.where(rows.reviewed, review_probability(rows, how), np.nan)


def switches(problems: Sequence[Problem], ensemble: Ensemble) -> list[Switch]:
    """Find the groups in which held-out reviewed rows show that the model swapped classes."""
    held = [problem.validation for problem in problems]
    prob = [ensemble.probability(part.X, fold) for fold, part in enumerate(held)]
    y, group = ([getattr(part, name) for part in held] for name in ("y_true", "group"))
    return switched_groups(np.concatenate(prob), np.concatenate(y), np.concatenate(group))
