"""Hold out whole places, or all that came after a day, instead of rows at random.

A model that is used elsewhere or later meets rows that are less like its own than rows drawn at
random from one table. Held-out rows are never of a person whose other rows were trained on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.labels import Codes
from alignset.tables.columns import Choice
from alignset.tables.files import check_columns
from alignset.tables.kinds import as_numbers, what_holds
from alignset.tables.spelling import fill_groups
from alignset.tables.targets import Targets, read_groups

AT_RANDOM = "rows at random"
"""How rows are held out where nothing else is asked for."""
SHOWN = 3
"""Values that a message names."""


@dataclass(frozen=True, eq=False)
class Holdout:
    """The part of each row, -1 for rows that are only trained on, and how it was dealt."""

    fold: Codes
    told: str

    @property
    def parts(self) -> int:
        """Number of parts."""
        return int(self.fold.max()) + 1

    @property
    def notes(self) -> tuple[str, ...]:
        """What to tell the user."""
        return (f"models are judged on rows held out together: {self.told}.",)


@dataclass(frozen=True)
class Judging:
    """Which rows models are judged on, and by which groups.

    Examples
    --------
    >>> Judging(holdout_by="site", holdout_after="2024-01-31")
    Traceback (most recent call last):
    ValueError: pass one of --holdout-by and --holdout-after, not both.
    """

    holdout_by: str | None = None  # column, such as the site, whose values are held out whole
    holdout_after: str | None = None  # a day, or COLUMN=day; what came later is held out
    by: tuple[str, ...] = ()  # columns of groups, if they are not those of the training
    missing_group: str | None = None  # group of rows without one in these columns

    def __post_init__(self) -> None:
        if self.holdout_by is not None and self.holdout_after is not None:
            raise ValueError("pass one of --holdout-by and --holdout-after, not both.")

    def holdout(
        self, frame: pd.DataFrame, choice: Choice, targets: Targets, folds: int
    ) -> Holdout | None:
        """Return what is held out together; None for rows at random."""
        if self.holdout_by is not None:
            found = hold_out_by(frame, self.holdout_by, targets, folds)
        elif self.holdout_after is not None:
            found = hold_out_after(frame, self.holdout_after, choice)
        else:
            return None
        check_trained(targets, found)
        return found

    def deal(
        self, frame: pd.DataFrame, choice: Choice, targets: Targets, folds: int
    ) -> tuple[Holdout | None, Targets]:
        """Return what is held out together, and the rows that models are judged on."""
        found = self.holdout(frame, choice, targets, folds)
        return found, self.targets(frame, targets, found)

    def facts(self, holdout: Holdout | None) -> dict[str, Any]:
        """Return what the model folder records."""
        told = AT_RANDOM if holdout is None else holdout.told
        return {"held_out": told, "judged_by": list(self.by)}

    def targets(self, frame: pd.DataFrame, targets: Targets, holdout: Holdout | None) -> Targets:
        """Return the rows that models are judged on, in the groups that they are judged by."""
        if self.by:
            check_columns(frame, self.by)
            names, codes = read_groups(self._filled(frame), list(self.by))
            targets = replace(targets, group_names=names, group=codes)
        return targets if holdout is None else targets.take(holdout.fold >= 0)

    def _filled(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of groups, without gaps if these have a name.

        The table keeps its gaps: a column to judge by may be a feature, too.
        """
        if self.missing_group is None:
            return frame
        gaps = [name for name in self.by if frame[name].isna().any()]
        return fill_groups(frame, gaps, self.missing_group, lambda _: None)


def hold_out_by(frame: pd.DataFrame, column: str, targets: Targets, folds: int) -> Holdout:
    """Deal the values of a column, such as sites, into parts that hold about as many reviews each.

    Examples
    --------
    >>> from alignset.tables.columns import Columns
    >>> from alignset.tables.targets import read_targets
    >>> frame = pd.DataFrame({"told": [0, 1] * 3, "true": [0, 1] * 3, "site": list("aabbcc")})
    >>> targets = read_targets(frame, Columns("told", (), truth="true"))
    >>> hold_out_by(frame, "site", targets, 3).fold.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    check_columns(frame, [column])
    if frame[column].isna().any():
        raise ValueError(
            f"column {column!r} is empty in {int(frame[column].isna().sum())} rows, so it is not "
            "known where they belong; fill it in, or leave those rows out."
        )
    codes, names = pd.factorize(frame[column].astype("object"))
    reviewed = np.bincount(codes, targets.reviewed, len(names))
    if (reviewed > 0).sum() < 2:
        raise ValueError(
            f"column {column!r} has reviewed rows in {int((reviewed > 0).sum())} of {len(names)} "
            "values; holding out whole values needs them in at least two."
        )
    # the largest first, each into the part with fewest reviews so far
    part, load = np.zeros(len(names), dtype=np.int64), np.zeros(min(folds, len(names)))
    for value in np.lexsort([np.arange(len(names)), -reviewed]):
        part[value] = int(load.argmin())
        load[part[value]] += max(reviewed[value], 1e-9)
    told = f"whole values of {column!r}, {len(names)} in {len(load)} parts"
    return Holdout(part[codes], told)


def hold_out_after(frame: pd.DataFrame, asked: str, choice: Choice) -> Holdout:
    """Hold out the rows after a day, written ``2024-01-31`` or ``COLUMN=2024-01-31``."""
    name, _, text = asked.rpartition("=")
    try:
        day = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(
            f"--holdout-after takes a day such as 2024-01-31, got {asked!r}."
        ) from None
    name = name or _only_date(choice)
    check_columns(frame, [name])
    holds = what_holds(frame[name])
    if holds.kind != "date":
        raise ValueError(f"column {name!r} holds no dates, so --holdout-after cannot use it.")
    days = as_numbers(frame[name], "date", None, form=holds.form)
    # false where missing
    after = days > (day.replace(tzinfo=None) - datetime(1970, 1, 1)) / timedelta(days=1)
    if not after.any() or after.all():
        where = "no row" if not after.any() else "every row"
        raise ValueError(f"{where} of column {name!r} is after {day:%Y-%m-%d}; name another day.")
    told = f"the {int(after.sum())} rows with {name!r} after {day:%Y-%m-%d}"
    return Holdout(np.where(after, 0, -1), told)


def _only_date(choice: Choice) -> str:
    """Return the one column that holds dates."""
    dates = [name for name, holds in choice.kinds.items() if holds.kind == "date"]
    if len(dates) != 1:
        found = ", ".join(map(repr, dates[:SHOWN])) or "none"
        raise ValueError(
            f"--holdout-after needs one column of dates, and the table has {len(dates)} ({found}); "
            "name it: --holdout-after COLUMN=2024-01-31."
        )
    return dates[0]


def check_trained(targets: Targets, holdout: Holdout) -> None:
    """Refuse parts without which nothing is left to learn from."""
    for part in range(holdout.parts):
        held = holdout.fold == part
        rest = trained_rows(targets, holdout.fold, part) & targets.reviewed
        if not rest.any():
            raise ValueError(
                f"without {holdout.told}, {int(held.sum())} of them at a time, no reviewed row is "
                "left to train on; hold out less, or review rows elsewhere."
            )


def trained_rows(targets: Targets, fold: Codes, part: int) -> NDArray[np.bool_]:
    """Return which rows train the models that judge a part: none of it, nor of its people."""
    held = fold == part
    people = np.zeros(int(targets.unit.max(initial=0)) + 1, dtype=bool)
    people[targets.unit[held]] = True
    return np.asarray(~held & ~people[targets.unit])
