"""What models predicted for reviewed rows they were not trained on, kept to be measured later.

Rows are kept without id or features: group, observed label, true label, how many rows of the table
each stands for, and the probabilities that cross-fitted models gave. They are sorted by these
values, so that their order reveals nothing.

A row i of group g with observed label k stands for

    w_i = N_gk (1 / pi_i) / sum_{j reviewed in gk} (1 / pi_j)

rows, where N_gk is the number of rows in that cell and pi_i the probability of being reviewed:
weighted by design and post-stratified. Without probabilities pi is constant in a cell: its
reviewed rows then count as drawn at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.labels import Codes
from alignset.tables.targets import Floats, Targets

MIN_CELL = 5
"""Reviewed rows that a group needs in every class to be compared."""
DIGITS = 6
"""Decimals to which probabilities are kept."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Held-out predictions for reviewed rows.

    Examples
    --------
    >>> data = {"classes": ["no", "yes"], "groups": ["all"], "group": [0, 0], "observed": [0, 1]}
    >>> data |= {"true": [0, 0], "weight": [3.0, 1.0], "asked": "m", "by_design": False}
    >>> Evaluation.from_data({**data, "scores": {"m": [[0.9, 0.1], [0.3, 0.7]]}}).wrong.tolist()
    [False, True]
    """

    classes: tuple[str, ...]  # what the codes stand for
    groups: tuple[str, ...]
    group: Codes  # (n,), as are the next three
    observed: Codes
    true: Codes
    weight: Floats  # how many rows of the table each stands for; at least about 1
    scores: Mapping[str, Floats]  # method -> (n, K)
    asked: str  # the method the model was trained with
    by_design: bool  # whether selection probabilities were known

    def __len__(self) -> int:
        return len(self.true)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Which observed labels are wrong."""
        return np.asarray(self.observed != self.true)

    def score(self, name: str) -> Floats:
        """Return a model's scores as metrics take them: with two classes, only the second."""
        return self.scores[name][:, 1] if len(self.classes) == 2 else self.scores[name]

    def to_data(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        known = {**vars(self), "scores": {k: v.tolist() for k, v in self.scores.items()}}
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in known.items()}

    @classmethod
    def from_data(cls, data: Any) -> Evaluation:
        """Read what :meth:`to_data` returned, or raise ValueError."""
        try:
            found = cls(
                tuple(map(str, data["classes"])),
                tuple(map(str, data["groups"])),
                np.array(data["group"], dtype=np.int64),
                np.array(data["observed"], dtype=np.int64),
                np.array(data["true"], dtype=np.int64),
                np.array(data["weight"], dtype=np.float64),
                {str(name): np.array(s, dtype=np.float64) for name, s in data["scores"].items()},
                str(data["asked"]),
                bool(data["by_design"]),
            )
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"the evaluation is not what alignset writes ({error!r})") from None
        _check(found)
        return found


def _check(found: Evaluation) -> None:
    n, k, g = len(found.true), len(found.classes), len(found.groups)
    shapes = [a.shape == (n,) for a in (found.group, found.observed, found.true, found.weight)]
    shapes += [score.shape == (n, k) for score in found.scores.values()]
    if not (n and all(shapes) and found.asked in found.scores):
        raise ValueError("the evaluation's columns do not match each other")
    codes = ((found.group, g), (found.observed, k), (found.true, k))
    values = [np.isfinite(found.weight) & (found.weight > 0)]
    values += [(score >= 0) & (score <= 1) for score in found.scores.values()]
    if not (all(((c >= 0) & (c < m)).all() for c, m in codes) and all(v.all() for v in values)):
        raise ValueError("the evaluation holds values out of range")


def small_groups(targets: Targets) -> tuple[Any, ...]:
    """Name the groups with too few reviewed rows of some class."""
    count = np.zeros((len(targets.group_names), len(targets.labels.classes)), dtype=np.int64)
    rows = targets.reviewed
    np.add.at(count, (targets.group[rows], targets.labels.y_true[rows]), 1)
    return tuple(targets.group_names[count.min(axis=1) < MIN_CELL].tolist())


def keep_evaluation(
    targets: Targets, scores: Mapping[str, Floats], asked: str, left_out: Sequence[Any]
) -> Evaluation:
    """Keep what models predicted for the reviewed rows; ``scores`` are (n, K), for every row.

    ``asked`` is the method that the model is trained with. The groups in ``left_out`` are dropped;
    if that is every group, all rows count as one group, "all".
    """
    names, labels = targets.group_names, targets.labels
    small = np.isin(np.arange(len(names)), [names.tolist().index(name) for name in left_out])
    if small.all():
        rows, group, kept = targets.reviewed, np.zeros(len(targets.group), np.int64), ["all"]
    else:
        rows = targets.reviewed & ~small[targets.group]
        group, kept = (np.cumsum(~small) - 1)[targets.group], names[~small].tolist()
    order = np.flatnonzero(rows)
    said = {name: np.clip(np.round(score[order], DIGITS), 0, 1) for name, score in scores.items()}
    keys = [labels.y_true[order], labels.y_seen[order], group[order]]
    place = np.lexsort([*keys, *(column for score in said.values() for column in score.T)])
    order = order[place]
    return Evaluation(
        tuple(map(str, labels.classes.tolist())), tuple(map(str, kept)), group[order],
        labels.y_seen[order], labels.y_true[order], targets.weight[order],
        {name: score[place] for name, score in said.items()}, asked, targets.by_design,
    )  # fmt: skip
