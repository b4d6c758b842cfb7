"""What models predicted for rows they were not trained on, kept to be measured later.

Rows are kept without id or features: group, observed label, true label if it is known, how many
rows of the table each stands for, and the probabilities that cross-fitted models gave. They are
sorted by these values, so that their order reveals nothing. Rows nobody reviewed are kept too,
``MOST_KEPT`` at most, drawn at random: with their observed labels, what is measured against the
true labels of the reviewed ones is known better (``alignset.evaluate.estimate``).

A row i of group g with observed label k stands for

    w_i = N_gk (1 / pi_i) / sum_{j reviewed in gk} (1 / pi_j)

rows, where N_gk is the number of rows in that cell and pi_i the probability of being reviewed:
weighted by design and post-stratified. Without probabilities pi is constant in a cell: its
reviewed rows then count as drawn at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.labels import Codes
from alignset.tables.targets import Floats, Targets

MIN_CELL = 5
"""Reviewed rows that a group needs in every class to be compared."""
DIGITS = 6
"""Decimals to which probabilities are kept."""
MOST_KEPT = 50_000
"""Rows nobody reviewed that are kept; more would hardly make anything more precise."""


MOST_DRAWS = 20
"""Sets of true labels that are kept where reviewers err."""


@dataclass(frozen=True, eq=False)
class Unreviewed:
    """Held-out predictions for rows whose true label nobody knows."""

    group: Codes  # (m,)
    observed: Codes  # (m,)
    scores: Mapping[str, Floats]  # method -> (m, K)
    size: float  # how many rows of the table each stands for; 1 if all are kept
    unit: Codes | None = None  # (m,), numbers of people, if some have several rows

    def to_data(self) -> dict[str, Any]:
        """Return plain data that JSON can hold, without what the first class has to be."""
        scores = {name: np.round(s[:, 1:], DIGITS).tolist() for name, s in self.scores.items()}
        known = {"group": self.group.tolist(), "observed": self.observed.tolist()}
        unit = {} if self.unit is None else {"unit": self.unit.tolist()}
        return {**known, "scores": scores, "size": self.size, **unit}

    @classmethod
    def from_data(cls, data: Any, n_classes: int) -> Unreviewed:
        """Read what :meth:`to_data` returned."""
        scores = {}
        for name, values in data["scores"].items():
            rest = np.array(values, dtype=np.float64).reshape(-1, n_classes - 1)
            first = np.clip(1 - rest.sum(1, keepdims=True), 0, 1)
            scores[str(name)] = np.concatenate([np.round(first, DIGITS), rest], axis=1)
        group, observed = (np.array(data[k], dtype=np.int64) for k in ("group", "observed"))
        return cls(group, observed, scores, float(data["size"]), _codes(data, "unit"))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Held-out predictions for reviewed rows, and for others.

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
    unreviewed: Unreviewed | None = None  # an older folder has none
    draws: Codes | None = None  # (M, n), sets of true labels, if reviewers err
    unit: Codes | None = None  # (n,), numbers of people, if some have several rows

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
        rest = None if self.unreviewed is None else self.unreviewed.to_data()
        scores = {k: v.tolist() for k, v in self.scores.items()}
        known = {**vars(self), "scores": scores, "unreviewed": rest}
        if self.unit is None:
            del known["unit"]
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in known.items()}

    @classmethod
    def from_data(cls, data: Any) -> Evaluation:
        """Read what :meth:`to_data` returned, or raise ValueError."""
        try:
            rest, k = data.get("unreviewed"), len(data["classes"])
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
                None if rest is None else Unreviewed.from_data(rest, k),
                _codes(data, "draws"),
                _codes(data, "unit"),
            )
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"the evaluation is not what alignset writes ({error!r})") from None
        _check(found)
        return found


def _codes(data: Any, name: str) -> Codes | None:
    return None if data.get(name) is None else np.array(data[name], dtype=np.int64)


def _check(found: Evaluation) -> None:
    n, k, g = len(found.true), len(found.classes), len(found.groups)
    shapes = [a.shape == (n,) for a in (found.group, found.observed, found.true, found.weight)]
    shapes += [score.shape == (n, k) for score in found.scores.values()]
    if not (n and all(shapes) and found.asked in found.scores):
        raise ValueError("the evaluation's columns do not match each other")
    codes = [(found.group, g), (found.observed, k), (found.true, k)]
    if found.draws is not None:
        if found.draws.ndim != 2 or found.draws.shape[1] != n or len(found.draws) < 2:
            raise ValueError("the evaluation's columns do not match each other")
        codes.append((found.draws, k))
    values = [np.isfinite(found.weight) & (found.weight > 0)]
    values += [(score >= 0) & (score <= 1) for score in found.scores.values()]
    rest = found.unreviewed
    for part in (found, rest):
        if part is not None and part.unit is not None:
            if part.unit.shape != part.observed.shape:
                raise ValueError("the evaluation's columns do not match each other")
            codes.append((part.unit, 1 << 53))
    if rest is not None:
        m = len(rest.group)
        same = [score.shape == (m, k) for score in rest.scores.values()]
        same += [rest.observed.shape == (m,), set(rest.scores) == set(found.scores)]
        if not all(same):
            raise ValueError("the evaluation's columns do not match each other")
        codes += [(rest.group, g), (rest.observed, k)]
        values += [np.array([1 <= rest.size < np.inf])]
        values += [(score >= 0) & (score <= 1) for score in rest.scores.values()]
    if not (all(((c >= 0) & (c < m)).all() for c, m in codes) and all(v.all() for v in values)):
        raise ValueError("the evaluation holds values out of range")


def why_none(manifest: Mapping[str, Any]) -> str:
    """Say why a model folder keeps no held-out predictions.

    Examples
    --------
    >>> why_none({})
    'it was not written by `alignset fit`'
    """
    if manifest.get("comparison"):
        return "it was written with `alignset fit --no-evaluation`, which leaves them out"
    few = (str(note) for note in manifest.get("notes") or () if "too few to compare" in note)
    return next(few, "it was not written by `alignset fit`").partition(";")[0]


def small_groups(targets: Targets) -> tuple[Any, ...]:
    """Name the groups with too few reviewed rows of some class."""
    count = np.zeros((len(targets.group_names), len(targets.labels.classes)), dtype=np.int64)
    rows = targets.reviewed
    np.add.at(count, (targets.group[rows], targets.labels.y_true[rows]), 1)
    return tuple(targets.group_names[count.min(axis=1) < MIN_CELL].tolist())


def keep_evaluation(
    targets: Targets,
    scores: Mapping[str, Floats],
    asked: str,
    left_out: Sequence[Any],
    *,
    seed: int = 0,
) -> Evaluation:
    """Keep what models predicted; ``scores`` are (n, K), NaN in rows that were not held out.

    ``asked`` is the method that the model is trained with. The groups in ``left_out`` are dropped;
    if that is every group, all rows count as one group, "all".
    """
    names, labels = targets.group_names, targets.labels
    small = np.isin(np.arange(len(names)), [names.tolist().index(name) for name in left_out])
    if small.all():
        here, group, kept = np.ones(len(targets.group), bool), np.zeros_like(targets.group), ["all"]
    else:
        here = ~small[targets.group]
        group, kept = (np.cumsum(~small) - 1)[targets.group], names[~small].tolist()
    order, said = _in_order(
        np.flatnonzero(targets.reviewed & here), scores, [labels.y_true, labels.y_seen, group]
    )
    others, rest = _keep_others(targets, scores, here, group, seed)
    unit, of_others = _number_people(targets.unit, order, rest)
    return Evaluation(
        tuple(map(str, labels.classes.tolist())), tuple(map(str, kept)), group[order],
        labels.y_seen[order], labels.y_true[order], targets.weight[order], said, asked,
        targets.by_design, None if others is None else replace(others, unit=of_others),
        None if targets.draws is None else targets.draws[:MOST_DRAWS, order], unit,
    )  # fmt: skip


def _number_people(unit: Codes, rows: Codes, others: Codes) -> tuple[Codes | None, Codes | None]:
    """Return numbers of people, in the order in which rows are kept; None if nobody has two."""
    found = unit[np.concatenate([rows, others])]
    _, first, code = np.unique(found, return_index=True, return_inverse=True)
    if len(first) == len(found):
        return None, None
    number = np.argsort(np.argsort(first))[code.reshape(-1)].astype(np.int64)
    return number[: len(rows)], number[len(rows) :]


def _keep_others(
    targets: Targets, scores: Mapping[str, Floats], here: Any, group: Codes, seed: int
) -> tuple[Unreviewed | None, Codes]:
    """Keep rows that nobody reviewed and every model held out, or some; and say which."""
    scored = np.all([~np.isnan(score).any(axis=1) for score in scores.values()], axis=0)
    rest = np.flatnonzero(~targets.reviewed & here)
    rows = rest[scored[rest]]
    if not len(rows):
        return None, rows
    if len(rows) > MOST_KEPT:
        rows = np.sort(np.random.default_rng((seed, 41)).permutation(rows)[:MOST_KEPT])
    seen = targets.labels.y_seen
    order, said = _in_order(rows, scores, [seen, group])
    return Unreviewed(group[order], seen[order], said, len(rest) / len(order)), order


def _in_order(
    rows: Codes, scores: Mapping[str, Floats], keys: Sequence[Codes]
) -> tuple[Codes, dict[str, Floats]]:
    """Sort rows by what is kept of them; return them, and their rounded scores."""
    said = {name: np.clip(np.round(score[rows], DIGITS), 0, 1) for name, score in scores.items()}
    columns = [column for score in said.values() for column in score.T]
    place = np.lexsort([*(key[rows] for key in keys), *columns])
    return rows[place], {name: score[place] for name, score in said.items()}
