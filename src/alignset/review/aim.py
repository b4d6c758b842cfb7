"""What a review is to tell: a measure, of which score, for which groups, or a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.evaluate.estimands import ESTIMANDS, ScoredRows
from alignset.evaluate.estimate_rows import EstimateRows
from alignset.evaluate.estimates import estimate_between, estimate_within
from alignset.evaluate.result import Estimate
from alignset.evaluate.soft_labels import log_odds, soft_labels
from alignset.labels import UNREVIEWED, encode_known
from alignset.rows.problem import Part
from alignset.rows.selection import picked_as_wrong
from alignset.tables.files import check_columns
from alignset.tables.targets import Cells, Targets, if_shared, read_cells

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

OF_LABELS = ("wrong", "prevalence")
"""Measures that need no score."""
OF_SCORES = ("auroc", "tpr", "fpr", "ppv", "npv")
MEASURES = (*OF_LABELS, *OF_SCORES)
"""Measures that can be planned, and that an audit tells."""


@dataclass(frozen=True)
class Aim:
    """What to know.

    Parameters
    ----------
    measure : str
        One of ``MEASURES``: wrong (share of wrong observed labels), prevalence, auroc, tpr, ...
    score, score_b : str, optional
        Columns of scores of the positive class (the larger label), which must not come from a model
        that was fitted to the true labels of these rows. With ``score_b``, the aim is its measure
        minus that of ``score``.
    threshold : float, optional
        Scores of this much or more are flagged.
    between : two group names, optional
        The aim is the measure of the second minus that of the first.

    Examples
    --------
    >>> Aim("tpr", "risk", threshold=0.2).title
    'TPR at 0.2'
    """

    measure: str = "wrong"
    score: str | None = None
    score_b: str | None = None
    threshold: float | None = None
    between: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            known = ", ".join(MEASURES)
            raise ValueError(f"there is no measure {self.measure!r}; use one of {known}.")
        if self.measure in OF_SCORES and self.score is None:
            raise ValueError(f"{self.measure} needs score, the column of the score it is about.")
        if self.needs_threshold and self.threshold is None:
            raise ValueError(f"{self.measure} needs threshold, the score from which rows count.")
        if self.score_b is not None and self.measure not in OF_SCORES:
            raise ValueError(
                f"{self.measure} does not depend on a score, so two scores do not differ in it; "
                "leave score_b out."
            )
        if self.score_b is not None and self.between is not None:
            raise ValueError("between compares two groups, score_b two scores; pass one of them.")

    @property
    def needs_threshold(self) -> bool:
        """Whether the measure is about flagged rows."""
        return ESTIMANDS[self.measure].needs == "threshold"

    @property
    def finite(self) -> bool:
        """Whether it is about the rows of the table, not about the population they are from."""
        return self.measure == "wrong"

    @property
    def title(self) -> str:
        """The aim in words."""
        name = {"wrong": "noise rate", "prevalence": "prevalence"}.get(
            self.measure, self.measure.upper()
        )
        name += f" at {self.threshold:g}" if self.needs_threshold else ""
        if self.between is not None:
            return f"{name}, {self.between[1]} minus {self.between[0]}"
        return name if self.score_b is None else f"{name}, {self.score_b} minus {self.score}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of scores."""
        return tuple(name for name in (self.score, self.score_b) if name is not None)


@dataclass(frozen=True, eq=False)
class AimRows:
    """The rows of a table, as an aim needs them.

    Parameters
    ----------
    cells : Cells
        Group and observed label.
    true : int array of shape (n,)
        True labels; ``UNREVIEWED`` elsewhere.
    scores : tuple of float arrays of shape (n, K)
        None, one or two; of two classes only the second column is used.
    unit : int array of shape (n,), optional
        Whom each row belongs to.
    """

    cells: Cells
    true: Codes
    scores: tuple[Floats, ...]
    unit: Codes | None = None

    @classmethod
    def of(cls, targets: Targets) -> AimRows:
        """Return the rows of a table, without scores."""
        labels = targets.labels
        cells = Cells(targets.group_names, labels.classes, targets.group, labels.y_seen)
        return cls(cells, labels.y_true, (), if_shared(targets.unit))

    def __len__(self) -> int:
        return len(self.true)

    @property
    def picked(self) -> bool:
        """Whether so many labels are wrong that rows seem to have been reviewed for that."""
        seen, group = self.cells.label, self.cells.group
        rows = Part(np.zeros((len(self), 1)), seen, self.true, group, unit=self.unit)
        return picked_as_wrong(rows, self.n_classes)

    @property
    def reviewed(self) -> Mask:
        """Which rows have a true label."""
        return np.asarray(self.true != UNREVIEWED)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.cells.labels)

    @property
    def score(self) -> Floats:
        """The first score, (n, K); without any, one that is the same for all rows."""
        return self.scores[0] if self.scores else np.full((len(self), self.n_classes), 0.5)

    @property
    def members(self) -> dict[Any, Mask]:
        """Which rows each group has; none if all rows are one group."""
        names = self.cells.groups.tolist()
        return {} if len(names) < 2 else {g: self.cells.group == i for i, g in enumerate(names)}

    def take(self, rows: Codes) -> AimRows:
        """Return some of the rows."""
        cells = Cells(
            self.cells.groups, self.cells.labels, self.cells.group[rows], self.cells.label[rows]
        )
        scores = tuple(score[rows] for score in self.scores)
        unit = None if self.unit is None else self.unit[rows]
        return AimRows(cells, self.true[rows], scores, unit)

    def scored(self, threshold: float | None) -> tuple[ScoredRows, ...]:
        """Scores with what they flag."""
        seen, cut = self.cells.label, float("nan") if threshold is None else threshold
        flags = [None if threshold is None else s[:, 1] >= threshold for s in self.scores]
        if not self.scores:
            return (ScoredRows(self.score, seen),)
        return tuple(
            ScoredRows(score, seen, flag, cut)
            for score, flag in zip(self.scores, flags, strict=True)
        )


def read_rows(
    table: pd.DataFrame,
    *,
    label: str,
    truth: str | None = None,
    group: str | Sequence[str] = (),
    scores: Sequence[str] = (),
) -> AimRows:
    """Read groups, observed and true labels, and scores from a table."""
    cells = read_cells(table, label=label, group=group)
    check_columns(table, [*scores, *([] if truth is None else [truth])])
    true = np.full(len(table), UNREVIEWED)
    if truth is not None:
        true = encode_known(table[truth], cells.labels, column=truth, gaps=True)
    return AimRows(cells, true, read_scores(table, scores, label, len(cells.labels)))


def read_scores(
    table: pd.DataFrame, scores: Sequence[str], label: str, n_classes: int
) -> tuple[Floats, ...]:
    """Read columns of scores of the positive class, each (n, 2)."""
    check_columns(table, scores)
    if scores and n_classes != 2:
        raise ValueError(
            f"a score column is for two classes, but {label!r} has {n_classes}; leave the score "
            "out, or make a table with one class against the others."
        )
    return tuple(_read_score(table, name) for name in scores)


def _read_score(table: pd.DataFrame, name: str) -> Floats:
    score = pd.to_numeric(table[name], errors="coerce").to_numpy(float, na_value=np.nan)
    bad = ~np.isfinite(score)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"column {name!r} holds {table[name].iloc[row]} in data row {row + 1}; a score must "
            "be a number in every row."
        )
    return np.stack([-score, score], axis=1)


def check_between(aim: Aim, cells: Cells) -> Aim:
    """Return the aim with its groups as the table names them; refuse groups it does not have."""
    if aim.between is None:
        return aim
    names = {str(name): name for name in cells.groups.tolist()}
    chosen = [str(name) for name in aim.between]
    if len(set(chosen)) != 2 or any(name not in names for name in chosen):
        raise ValueError(
            f"between must be two of the groups {', '.join(names)}, got {' and '.join(chosen)}."
        )
    pair = names[chosen[0]], names[chosen[1]]
    return Aim(aim.measure, aim.score, aim.score_b, aim.threshold, pair)


def prepare(
    rows: AimRows, true: Codes, chance: Floats, threshold: float | None, rng: np.random.Generator
) -> EstimateRows:
    """Make soft labels and put everything together that estimates are made from."""
    seen, k = true != UNREVIEWED, rows.n_classes
    score = rows.score if k > 2 else rows.score[:, 1]
    more = [log_odds(other[:, 1])[:, None] for other in rows.scores[1:]]
    groups = (rows.cells.group,) if rows.members else ()
    soft = np.full((len(rows), k), 1 / k)
    if seen.sum() >= 2:
        soft = soft_labels(
            score, rows.cells.label, true, seen, n_classes=k, groups=groups,
            X=np.concatenate(more, axis=1) if more else None, unit=rows.unit, rng=rng,
        )  # fmt: skip
    members = rows.members
    return EstimateRows(
        rows.scored(threshold), true, seen, chance, np.ones(len(rows)), soft, soft, members,
        tuple(members), rows.unit,
    )  # fmt: skip


def reach(every: EstimateRows, aim: Aim, level: float) -> dict[Any, Estimate]:
    """Estimate what an aim asks for: a difference, or the measure of each group, or of all."""
    settings: dict[str, Any] = {"finite": aim.finite, "power": None}
    if aim.between is not None:
        found = estimate_between(aim.measure, every, *aim.between, level, **settings)
        return {aim.title: found}
    members = every.cells or {"all": np.ones(len(every.true), dtype=bool)}
    return {
        name: estimate_within(aim.measure, every, member, name, level, **settings)
        for name, member in members.items()
    }
