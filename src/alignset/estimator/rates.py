"""What reviewed rows that did not train say of a fit: noise rates, and classes that changed places.

A row's model is the mean of the members that did not train on it: those of its own fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.engine.ensemble import Ensemble
from alignset.evaluate.switching import Switch, switched_groups
from alignset.rows import Part, Problem

Floats = NDArray[np.float64]


def noise_rates(
    rows: Part, problems: Sequence[Problem], ensemble: Ensemble, n_groups: int
) -> Floats:
    """Share of wrong labels per group (G,): known where reviewed, elsewhere mean doubt.

    The doubt is put right by how far it is off on rows held out.
    """
    known = _group_means([rows], [rows.y_seen != rows.y_true], [rows.reviewed], n_groups)
    doubt = 1.0 - ensemble.confidence(rows.X, rows.y_seen)
    elsewhere = _group_means([rows], [doubt], [~rows.reviewed], n_groups)
    if rows.reviewed.any():
        held = [problem.validation for problem in problems]
        errors = [
            (part.y_seen != part.y_true) - (1.0 - ensemble.confidence(part.X, part.y_seen, fold))
            for fold, part in enumerate(held)
        ]
        off = _group_means(held, errors, [part.reviewed for part in held], n_groups)
        elsewhere = (elsewhere + off).clip(0.0, 1.0)
    share = _group_means([rows], [rows.reviewed], [True], n_groups)
    return np.asarray(share * known + (1 - share) * elsewhere)


def switches(problems: Sequence[Problem], ensemble: Ensemble) -> list[Switch]:
    """Find groups in which held-out reviewed rows say that classes changed places."""
    held = [problem.validation for problem in problems]
    prob = [ensemble.probability(part.X, fold) for fold, part in enumerate(held)]
    y, group = ([getattr(part, name) for part in held] for name in ("y_true", "group"))
    return switched_groups(np.concatenate(prob), np.concatenate(y), np.concatenate(group))


def _group_means(
    parts: Sequence[Part], values: Sequence[Any], where: Sequence[Any], n_groups: int
) -> Floats:
    total, size = np.zeros(n_groups), np.zeros(n_groups)
    for part, value, keep in zip(parts, values, where, strict=True):
        weight = keep * (1.0 if part.weight is None else part.weight)
        size += np.bincount(part.group, weight, n_groups)
        total += np.bincount(part.group, value * weight, n_groups)
    return np.asarray(total / np.where(size > 0, size, 1.0))
