"""The sheet that reviewers fill in: what they see, and in a file beside it, how it was drawn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alignset.review.cells import written_cells
from alignset.review.ids import DESIGN as DESIGN
from alignset.review.ids import PROBABILITY as PROBABILITY
from alignset.review.ids import REMARKS as REMARKS
from alignset.review.ids import REVIEWED as REVIEWED
from alignset.review.ids import REVIEWER, id_text
from alignset.review.ids import ROW as ROW
from alignset.review.ids import STRATUM as STRATUM
from alignset.review.ids import WAVE as WAVE
from alignset.review.ids import row_ids as row_ids
from alignset.review.problems import SheetProblem
from alignset.review.sidecar import MAX_WAVE as MAX_WAVE
from alignset.review.sidecar import SheetDesign, design_path, write_design
from alignset.tables.files import check_new_file, check_output, write_table

CANNOT_TELL = "cannot tell"
"""What reviewers write if they looked but could not decide."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Rows drawn for review, in the order to review them.

    ``rows`` has the row id, stratum, wave, probability, the columns shown to the reviewer, and an
    empty ``reviewed``. Stratum, wave and probability tell what the observed label is; they go to a
    file beside the sheet (:meth:`design`), and reviewers get the rest (:meth:`shown`).

    Examples
    --------
    >>> rows = pd.DataFrame({"row": [7], "stratum": ["1"], "wave": [1], "probability": [0.5]})
    >>> Sheet(rows.assign(reviewed=""), ("no", "yes")).shown().columns.tolist()
    ['row', 'reviewed']
    """

    rows: pd.DataFrame
    choices: tuple[str, ...]  # the labels a reviewer chooses from
    label: str | None = None  # column of the observed label
    groups: tuple[str, ...] = ()  # group columns
    reviewers: tuple[str, ...] = ()  # who shares the rows

    def frame(self) -> pd.DataFrame:
        """One row per row to review, with its design."""
        return self.rows

    def shown(self) -> pd.DataFrame:
        """Return what a reviewer sees."""
        return self.rows.drop(columns=list(DESIGN))

    def design(self) -> SheetDesign:
        """Return how the rows were drawn."""
        return SheetDesign(
            self.id_column,
            pd.DataFrame(
                {
                    "id": [id_text(value) for value in self.rows[self.id_column].tolist()],
                    STRATUM: [str(value) for value in self.rows[STRATUM].tolist()],
                    WAVE: [int(value) for value in self.rows[WAVE].tolist()],
                    PROBABILITY: [float(value) for value in self.rows[PROBABILITY].tolist()],
                }
            ),
            self.choices,
            self.label,
            self.groups,
            self.reviewers,
        )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def id_column(self) -> str:
        """Name of the column that identifies a row."""
        return str(self.rows.columns[0])


@dataclass(frozen=True, eq=False)
class Reviews:
    """What came back from reviewers.

    ``rows`` has the columns id, reviewed, probability, stratum, wave, and may have reviewer, time,
    comment and line (where on the sheet); ``reviewed`` is text, ``"cannot tell"``, or None where
    nobody answered.

    Examples
    --------
    >>> rows = pd.DataFrame({"id": ["1", "2"], "reviewed": ["yes", CANNOT_TELL]})
    >>> Reviews("row", rows).n_cannot_tell
    1
    """

    id_column: str  # a column of the table, or "row" for the position in it
    rows: pd.DataFrame
    name: str = "the sheet"  # its file
    problems: tuple[SheetProblem, ...] = ()  # rows that cannot be joined
    notes: tuple[str, ...] = ()
    design: SheetDesign | None = None  # None where the sheet has the columns itself
    sure: bool = True  # whether that is its design by name, and not just one that has its rows
    missing: str = ""  # what to do if the design is nowhere

    def frame(self) -> pd.DataFrame:
        """One row per row of the sheet."""
        return self.rows

    @property
    def n_cannot_tell(self) -> int:
        """Rows that somebody looked at but could not decide."""
        return int((self.rows["reviewed"] == CANNOT_TELL).sum())

    @property
    def n_open(self) -> int:
        """Rows without an answer."""
        return int(self.rows["reviewed"].isna().sum())


def make_sheet(
    table: pd.DataFrame,
    positions: Any,
    *,
    probability: Any,
    stratum: Any,
    wave: int,
    id: str | None,
    show: Sequence[str],
    choices: Sequence[Any],
    label: str | None = None,
    groups: Sequence[str] = (),
) -> Sheet:
    """Make a sheet from rows of a table; ``positions`` says which rows, in which order."""
    ids = row_ids(table, id)
    for name in show:
        if name in (REVIEWED, *DESIGN, *REMARKS, ids.name):
            raise ValueError(f"cannot show column {name!r}: the sheet has its own.")
    columns: dict[str, Any] = {
        str(ids.name): ids.to_numpy()[positions],
        STRATUM: stratum,
        WAVE: wave,
        PROBABILITY: probability,
        **{name: table[name].to_numpy(object)[positions] for name in show},
        REVIEWED: "",
    }
    named = tuple(str(choice) for choice in choices)
    return Sheet(pd.DataFrame(columns), named, label, tuple(groups))


def share_sheet(
    sheet: Sheet,
    reviewers: Sequence[str],
    *,
    twice: float = 0.0,
    random_state: int | np.random.Generator | None,
) -> dict[str, Sheet]:
    """Share the rows of a sheet out among reviewers at random; some rows go to two of them.

    Parameters
    ----------
    sheet : Sheet
    reviewers : sequence of str
    twice : float in [0, 1], default=0
        Share of the rows that two people review, to see how far they agree.
    random_state : int, Generator or None

    Returns
    -------
    dict of Sheet
        One for each reviewer, in whose order a row that somebody else has, too, cannot be told.

    Examples
    --------
    >>> rows = pd.DataFrame({"row": range(10), "stratum": "1", "wave": 1, "probability": 0.5})
    >>> shared = share_sheet(
    ...     Sheet(rows.assign(reviewed=""), ()), ["anna", "ben"], twice=0.2, random_state=0
    ... )
    >>> sum(map(len, shared.values()))
    12
    """
    people = check_reviewers(reviewers)
    if not 0 <= twice <= 1:
        raise ValueError(f"twice must lie in [0, 1], got {twice}; write 0.2 for 20 %.")
    if twice and len(people) < 2:
        raise ValueError("rows can be reviewed twice by two people; name another reviewer.")
    rng, n = np.random.default_rng(random_state), len(sheet)
    first = np.empty(n, dtype=np.int64)
    first[rng.permutation(n)] = np.arange(n) % len(people)
    again = np.full(n, -1)
    load = np.bincount(first, minlength=len(people)).astype(float)
    for row in rng.permutation(n)[: int(np.ceil(twice * n))]:
        others = load.copy()
        others[first[row]] = np.inf
        again[row] = others.argmin()  # whoever else has least to do
        load[again[row]] += 1
    shared = {}
    for k, name in enumerate(people):
        own = sheet.rows[(first == k) | (again == k)].reset_index(drop=True)
        shared[name] = replace(sheet, rows=own.assign(**{REVIEWER: name}), reviewers=people)
    return shared


def check_reviewers(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of reviewers; refuse those that cannot be part of a file's name."""
    for name in names:
        if not name.replace("-", "a").replace("_", "a").isalnum():
            raise ValueError(
                f"a reviewer cannot be called {name!r}: the name becomes part of a file's, so use "
                "letters, digits, - and _ only."
            )
    if len({name.casefold() for name in names}) < len(names):
        raise ValueError(f"two reviewers have the same name: {', '.join(names)}.")
    return tuple(names)


def sheet_paths(path: str | os.PathLike[str], reviewers: Sequence[str]) -> dict[str, Path]:
    """Return the file of each reviewer: ``sheet.anna.csv`` and so on."""
    place = Path(path)
    return {name: place.with_name(f"{place.stem}.{name}{place.suffix}") for name in reviewers}


def check_sheet_output(
    path: str | os.PathLike[str], reviewers: Sequence[str] = (), *, overwrite: bool = False
) -> None:
    """Refuse a sheet that cannot be written or read back, before any work is done."""
    place = Path(path)
    if place.suffix.lower() not in (".csv", ".tsv", ".xlsx"):
        raise ValueError(
            f"{place.name} must end in .csv, .tsv or .xlsx, which reviewers can fill in."
        )
    for each in sheet_paths(place, reviewers).values() if reviewers else [place]:
        check_output(each, overwrite=overwrite)
    check_new_file(design_path(place), overwrite=overwrite)


def write_sheet(sheet: Sheet, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a sheet as CSV or TSV, and beside it, in another file, how its rows were drawn.

    Text that a spreadsheet would compute gets an apostrophe.
    """
    check_sheet_output(path, overwrite=overwrite)
    write_design(sheet.design(), design_path(path))
    write_table(written_cells(sheet.shown()), path, overwrite=overwrite)


def write_shared(
    sheet: Sheet,
    shared: dict[str, Sheet],
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
) -> dict[str, Path]:
    """Write the sheets of several reviewers, and one design for all of them."""
    places = sheet_paths(path, list(shared))
    check_sheet_output(path, list(shared), overwrite=overwrite)
    write_design(replace(sheet, reviewers=tuple(shared)).design(), design_path(path))
    for name, place in places.items():
        write_table(written_cells(shared[name].shown()), place, overwrite=overwrite)
    return places
