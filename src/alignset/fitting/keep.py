"""Keep what models said of reviewed rows they were not trained on, to be measured later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alignset.model.evaluation import Evaluation, Floats
from alignset.tables.targets import Targets

MIN_CELL = 5
"""Reviewed rows in every class of a group that is compared."""
DIGITS = 6
"""Decimals of a probability that are kept."""


def small_groups(targets: Targets) -> tuple[Any, ...]:
    """Name the groups with too few reviewed rows of some class."""
    count = np.zeros((len(targets.group_names), len(targets.labels.classes)), dtype=np.int64)
    rows = targets.reviewed
    np.add.at(count, (targets.group[rows], targets.labels.y_true[rows]), 1)
    return tuple(targets.group_names[count.min(axis=1) < MIN_CELL].tolist())


def keep_evaluation(
    targets: Targets, scores: Mapping[str, Floats], asked: str, left_out: Sequence[Any]
) -> Evaluation:
    """Keep what models said of the reviewed rows.

    Parameters
    ----------
    targets : Targets
    scores : mapping from method name to (n, K) probabilities
    asked : str
        The method that the model is trained with.
    left_out : sequence
        Groups to leave out; if that is every group, rows count as one group, "all".
    """
    names = targets.group_names
    small = np.isin(np.arange(len(names)), [names.tolist().index(name) for name in left_out])
    if small.all():
        rows, group, kept = targets.reviewed, np.zeros(len(targets.group), np.int64), ["all"]
    else:
        rows = targets.reviewed & ~small[targets.group]
        group, kept = (np.cumsum(~small) - 1)[targets.group], names[~small].tolist()
    order = np.flatnonzero(rows)
    said = {name: np.clip(np.round(score[order], DIGITS), 0, 1) for name, score in scores.items()}
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
        targets.weight[order],
        {name: score[place] for name, score in said.items()},
        asked,
        targets.by_design,
    )
