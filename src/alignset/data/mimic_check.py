"""Compare a folder of FIDDLE's files with the two tasks that the paper describes."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from alignset.data.mimic import (
    NoSubjectsWarning,
    RaceByPositionWarning,
    find_files,
    load_mimic,
    names_file,
)
from alignset.rows.table import Table

N_HOURS = 4
N_FIXED = 98


class TaskSize(NamedTuple):
    """The paper's table for one task: stays, time-dependent features, positives by group."""

    rows: int
    features: int
    rates: tuple[float, float]  # white, non-white

    @property
    def width(self) -> int:
        """Columns once the hours are side by side, next to the time-invariant ones."""
        return N_FIXED + N_HOURS * self.features


SIZES = {
    "ARF": TaskSize(15_873, 4_045, (0.045, 0.044)),
    "shock": TaskSize(19_342, 4_522, (0.041, 0.037)),
}
"""Sizes that FIDDLE reports and the paper repeats: 98 + 4 D is 16 278 and 18 186."""

WHITE = 0.70
WHITE_SLACK = 0.05
"""The paper says "about 70 %"."""

RATE_SLACK = 0.001
"""Positive rates are printed in per cent to one decimal; this is twice the rounding."""


@dataclass(frozen=True)
class FolderFinding:
    """One thing that was compared.

    Examples
    --------
    >>> print(FolderFinding("rows", "15,870", "15,873", "use the cohort of T = 4 h", fine=False))
    WRONG rows: 15,870, the paper has 15,873; use the cohort of T = 4 h
    """

    what: str
    found: str
    expected: str
    advice: str = ""
    fine: bool = True

    def __str__(self) -> str:
        if self.fine:
            return f"fine  {self.what}: {self.found}"
        said = f", the paper has {self.expected}" if self.expected else ""
        return f"WRONG {self.what}: {self.found}{said}; {self.advice}"


def check_mimic(
    folder: str | os.PathLike[str], *, task: Literal["ARF", "shock"]
) -> list[FolderFinding]:
    """Compare a task's files with the paper: rows, features, groups, positives, subjects.

    Parameters
    ----------
    folder : path
        As for :func:`load_mimic`.
    task : {"ARF", "shock"}

    Returns
    -------
    list of FolderFinding
        A file that is missing or damaged is the only finding.

    Examples
    --------
    >>> import tempfile
    >>> from alignset.data.fake_mimic import write_fake_mimic
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_fake_mimic(folder, task="ARF", n_rows=500, random_state=0)
    ...     found = check_mimic(folder, task="ARF")
    >>> found[0].what, found[0].found, found[0].expected, found[0].fine
    ('stays', '500', '15,873', False)
    """
    if task not in SIZES:
        raise ValueError(f"task must be 'ARF' or 'shock', got {task!r}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (RaceByPositionWarning, NoSubjectsWarning))
            table = load_mimic(folder, task=task)
    except (FileNotFoundError, ValueError) as error:
        return [FolderFinding("files", str(error), "", "nothing else was looked at", fine=False)]
    size = SIZES[task]
    return [*_shape(table, size), *_shares(table, size), *_names(Path(folder), table, task)]


def _shape(table: Table, size: TaskSize) -> list[FolderFinding]:
    rows, width = table.X.shape
    seen = (width - N_FIXED) / N_HOURS
    whole = f"{seen:,.0f}" if seen == int(seen) else f"{seen:,.2f}"
    return [
        FolderFinding(
            "stays", f"{rows:,}", f"{size.rows:,}",
            "the cohort is another: PhysioNet's mimic-eicu-fiddle-feature 1.0.0, or FIDDLE's "
            "population notebooks on MIMIC-III 1.4 with T = 4 h", rows == size.rows,
        ),
        FolderFinding(
            "features", f"{width:,} ({N_FIXED} + {N_HOURS} x {whole})",
            f"{size.width:,} ({N_FIXED} + {N_HOURS} x {size.features:,})",
            "FIDDLE ran with other thresholds (theta_1 = theta_2 = 0.001, theta_freq = 1, "
            "dt = 1 h), with another version, or without discretizing", width == size.width,
        ),
    ]  # fmt: skip


def _shares(table: Table, size: TaskSize) -> list[FolderFinding]:
    white = float((table.group == 0).mean())
    found = [
        FolderFinding(
            "white", f"{100 * white:.1f} %", f"about {100 * WHITE:.0f} %",
            "the column taken as race is another: look at s.feature_names.json",
            abs(white - WHITE) <= WHITE_SLACK,
        ),
    ]  # fmt: skip
    for group, rate in enumerate(size.rates):
        own = table.y[table.group == group]
        share = float(own.mean()) if len(own) else float("nan")
        found.append(
            FolderFinding(
                f"positive, {table.group_names[group]}", f"{100 * share:.2f} %",
                f"{100 * rate:.1f} %",
                "the labels are of another prediction time or cohort, or the race column is "
                "another", abs(share - rate) <= RATE_SLACK,
            )
        )  # fmt: skip
    return found


def _names(folder: Path, table: Table, task: str) -> list[FolderFinding]:
    features = find_files(folder, task).features
    named = names_file(features, "s") is not None
    values = table.X.data
    binary = bool(np.isin(values, (0.0, 1.0)).all())
    several = table.individuals is not None
    subjects = "not known"
    if table.individuals is not None:
        subjects = f"{len(np.unique(table.individuals)):,}"
    return [
        FolderFinding(
            "race column", "found by name" if named else "column 34 of s, unchecked", "",
            f"put s.feature_names.json into {features}", named,
        ),
        FolderFinding(
            "subjects", subjects, "",
            "put FIDDLE's prep/icustays_MV.csv there, or stays of one subject may train and test",
            several,
        ),
        FolderFinding(
            "values", "all 0 or 1" if binary else f"{values.min():g} to {values.max():g}", "",
            "FIDDLE ran with discretize = no; the paper's features are binary", binary,
        ),
    ]  # fmt: skip
