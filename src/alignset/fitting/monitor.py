"""Is a model still what it was? Compare a later table with the one it was trained on.

* columns: do their values fall into the parts of the training table in the same shares?
* rows without review: observed labels and decisions, per class and group, then and now
* reviewed rows: log loss, AUROC and, with two classes, what happens at the threshold, then (on rows
  that were held out) and now; an interval of the difference by MOVER from both intervals

"Then" is what the folder keeps of held-out rows; without it only columns are compared. They were
scored by models trained on part of the rows, a little unlike the model itself and often a little
worse: a measure that is better now says nothing, and shares of rows have to move by ``NOTABLE`` to
count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from alignset.evaluate import Estimate
from alignset.fitting.later import read_later
from alignset.model.fitted import Model
from alignset.review.verdict import Colour
from alignset.tables.drift import (
    ColumnDrift,
    FarValues,
    column_drift,
    far_values,
    is_same_table,
)
from alignset.tables.files import check_columns
from alignset.tables.preprocess import Matrix
from alignset.tables.profile import read_columns
from alignset.tables.targets import read_groups

LEAST_REVIEWED = 20
"""Reviewed rows that it takes to say how good a model is now."""

MORE_IS_BETTER = ("auroc", "tpr", "ppv")
NOTABLE = 0.05
"""Change of a share, of flagged rows or of wrong labels, from which it is reported."""

SAME = (
    "every column has exactly the values it had in training. If this is the training table, the "
    "model knows its reviewed rows and looks better than it is: compare a table that came later."
)


@dataclass(frozen=True)
class Change:
    """A measure then and now, and the interval of now minus then.

    Examples
    --------
    >>> change = Change.of(Estimate("auroc", "all", 0.8, 0.75, 0.85, 900, 90, 200.0),
    ...                    Estimate("auroc", "all", 0.6, 0.52, 0.68, 900, 90, 150.0))
    >>> round(change.low, 3), round(change.high, 3), change.clear
    (-0.294, -0.106, True)
    """

    measure: str
    group: Any
    then: float
    now: float
    now_low: float
    now_high: float
    low: float  # of the difference
    high: float
    reviewed: int

    @property
    def clear(self) -> bool:
        """Whether the interval of the difference leaves out zero."""
        return self.low > 0 or self.high < 0

    @property
    def worse(self) -> bool:
        """Whether the model has clearly become worse in this measure."""
        if self.measure in MORE_IS_BETTER:
            return self.high < 0
        return self.measure == "log_loss" and self.low > 0

    @property
    def notable(self) -> bool:
        """Whether more or fewer rows are flagged, or labels wrong, than chance explains."""
        share = self.measure in ("flagged", "wrong")
        return share and self.clear and abs(self.now - self.then) >= NOTABLE

    @classmethod
    def of(cls, then: Estimate | None, now: Estimate) -> Change:
        """Compare two estimates from different rows."""
        before = math.nan if then is None else then.estimate
        low = high = math.nan
        if then is not None:
            apart = now.estimate - then.estimate
            low = apart - math.hypot(now.estimate - now.low, then.high - then.estimate)
            high = apart + math.hypot(now.high - now.estimate, then.estimate - then.low)
        numbers = (before, now.estimate, now.low, now.high, low, high)
        return cls(now.metric, now.group, *numbers, now.reviewed)


@dataclass(frozen=True, eq=False)
class Monitored:
    """What a later table says about a model; :meth:`frame` has every measure."""

    rows: int
    reviewed: int
    columns: tuple[ColumnDrift, ...]  # the most changed first
    far: tuple[FarValues, ...]
    changes: tuple[Change, ...]  # overall and by group
    places: Mapping[str, tuple[Change, ...]] = field(default_factory=dict)  # by another column
    notes: tuple[str, ...] = ()
    same: bool = False  # whether it seems to be the training table itself

    @property
    def changed(self) -> tuple[ColumnDrift, ...]:
        """Columns that have changed beyond chance."""
        return tuple(column for column in self.columns if column.changed)

    @property
    def worse(self) -> tuple[Change, ...]:
        """Measures that are clearly worse than they were."""
        every = (*self.changes, *(one for part in self.places.values() for one in part))
        return tuple(one for one in every if one.worse)

    @property
    def colour(self) -> Colour:
        """Red: clearly worse on reviewed rows; amber: something changed, or nobody looked."""
        if any(one.group == "all" for one in self.worse):
            return "red"
        unknown = self.same or self.reviewed < LEAST_REVIEWED
        moved = any(one.notable for one in self.changes) or bool(self.changed or self.far)
        return "amber" if self.worse or moved or unknown else "green"

    def frame(self) -> pd.DataFrame:
        """One row per measure and group or place."""
        every = [(one, "") for one in self.changes]
        every += [(one, by) for by, part in self.places.items() for one in part]
        return pd.DataFrame([{"by": by, **vars(one), "clear": one.clear} for one, by in every])


def monitor(
    model: Model,
    frame: pd.DataFrame,
    *,
    by: Sequence[str] = (),
    threshold: float | None = None,
    level: float = 0.95,
) -> Monitored:
    """Compare a later table, with or without reviewed rows, with the training table.

    Parameters
    ----------
    model : Model
    frame : DataFrame
        With the model's features; observed labels, groups, true labels and probabilities of review
        are used where it has them.
    by : sequence of str
        Columns, such as the site, whose values are judged one by one.
    threshold : float, optional
        Of the class that is sought; by default the model's, else 0.5.
    level : float, default 0.95

    Examples
    --------
    >>> import numpy as np
    >>> from alignset.fitting.fit import fit_table
    >>> from alignset.fitting.held_out import Settings
    >>> from alignset.tables import choose_columns
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> frame = pd.DataFrame({"x": x, "told": np.where(x + rng.normal(size=200) > 0, "yes", "no")})
    >>> frame["reviewed"] = frame["told"].where(frame.index < 60)
    >>> choice = choose_columns(frame, label="told", truth="reviewed")
    >>> quick = Settings(folds=2, n_boot=50, n_jobs=1)
    >>> model = fit_table(frame, choice, method="observed_linear", settings=quick).model
    >>> later = frame.drop(columns="reviewed").assign(x=frame["x"] + 2)
    >>> [column.name for column in monitor(model, later).changed]
    ['x']
    """
    check_columns(frame, by)
    notes: list[str] = []
    drift, far, same = _columns(model, frame, notes)
    told = (len(frame), 0, drift, far)
    if model.columns.label not in frame:
        notes.append(f"the table has no column {model.columns.label!r}: only columns are compared.")
        return Monitored(*told, (), notes=tuple(notes), same=same)
    if model.evaluation is None:
        notes.append("the folder keeps no held-out predictions, so there is nothing to compare to.")
    later = read_later(model, frame, threshold, level)
    if later.reviewed < LEAST_REVIEWED:
        notes.append(
            f"{later.reviewed} rows are reviewed, too few to say how good the model is now (at "
            f"least {LEAST_REVIEWED}); draw some with `alignset sample`."
        )
    measures = later.measures(enough=later.reviewed >= LEAST_REVIEWED)
    before = {name: later.then(name) for name in measures}
    found = _changes([later.now(name, later.groups) for name in measures], before)
    places = {}
    for column in by:
        names, codes = read_groups(frame, [column])
        parts = [later.now(name, names[codes]) for name in measures]
        places[column] = _changes(parts, before)[len(parts) :]
    told = (len(frame), later.reviewed, drift, far)
    return Monitored(*told, found, places, tuple(notes), same)


def _columns(
    model: Model, frame: pd.DataFrame, notes: list[str]
) -> tuple[tuple[ColumnDrift, ...], tuple[FarValues, ...], bool]:
    """Compare columns with the profile; tell whether this seems to be the training table."""
    if model.profile is None or isinstance(model.preprocessing, Matrix):
        notes.append("the folder keeps no profile of its training table; fit again to get one.")
        return (), (), False
    check_columns(frame, model.columns.features)
    held = read_columns(frame, model.preprocessing)
    drift = column_drift(model.profile, held)
    same = is_same_table(model.profile, held.rows, drift)
    if same:
        notes.append(SAME)
    return drift, tuple(far_values(model.profile, held)), same


def _changes(now: Sequence[Estimate], then: Mapping[str, Estimate | None]) -> tuple[Change, ...]:
    """Compare every estimate with what it was, overall and then within groups.

    What is new, a site or a group, is compared with all rows of the training table.
    """
    every = [Change.of(then[one.metric], one) for one in now]
    for one in now:
        known = then[one.metric]
        parts = {} if known is None else {str(name): part for name, part in known.by_group.items()}
        every += [
            Change.of(parts.get(str(name), known), part)
            for name, part in one.by_group.items()
            if not math.isnan(part.estimate)
        ]
    return tuple(every)
