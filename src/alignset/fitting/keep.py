"""Keep what cross-fitted models said of the reviewed rows, to be measured later."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from alignset.fitting.compare import Comparison
from alignset.model.evaluation import Evaluation, Floats
from alignset.tables.targets import Targets

DIGITS = 6
"""Decimals of a probability that are kept."""


def keep_evaluation(
    targets: Targets, scores: Mapping[str, Floats], comparison: Comparison
) -> Evaluation:
    """Keep what cross-fitted models said of the reviewed rows.

    Parameters
    ----------
    targets : Targets
    scores : mapping from method name to (n, K) probabilities
    comparison : Comparison
        Of the same scores. Groups it left out are left out; if it left out every group, rows
        count as one group, "all".
    """
    weight = _stand_for(targets)
    names, left_out = targets.group_names, comparison.groups_left_out
    small = np.isin(np.arange(len(names)), [names.tolist().index(name) for name in left_out])
    if small.all():
        rows, group, kept = targets.reviewed, np.zeros(len(targets.group), np.int64), ["all"]
    else:
        rows = targets.reviewed & ~small[targets.group]
        group, kept = (np.cumsum(~small) - 1)[targets.group], names[~small].tolist()
    order = np.flatnonzero(rows)
    said = {name: _rounded(score[order]) for name, score in scores.items()}
    keys = [targets.labels.y_true[order], targets.labels.y_seen[order], group[order]]
    keys += [column for score in said.values() for column in score.T]
    place = np.lexsort(keys)
    order = order[place]
    return Evaluation(
        tuple(map(str, targets.labels.classes.tolist())),
        tuple(map(str, kept)),
        group[order].astype(np.int64),
        targets.labels.y_seen[order].astype(np.int64),
        targets.labels.y_true[order].astype(np.int64),
        weight[order],
        {name: score[place] for name, score in said.items()},
        comparison.asked,
        bool((targets.weight != 1).any()),
    )


def _rounded(score: Floats) -> Floats:
    return np.asarray(np.clip(np.round(score, DIGITS), 0, 1))


def _stand_for(targets: Targets) -> Floats:
    """Rows that each reviewed row stands for: w_i of the module's formula; 0 elsewhere."""
    cell = targets.group * len(targets.labels.classes) + targets.labels.y_seen
    inverse = np.where(targets.reviewed, targets.weight, 0.0)
    size, total = np.bincount(cell), np.bincount(cell, inverse)
    return np.asarray(inverse * (size / np.where(total > 0, total, 1))[cell])
