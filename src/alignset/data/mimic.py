"""MIMIC-III from FIDDLE's files: respiratory failure and shock at four hours, groups by race."""

from __future__ import annotations

import json
import os
import re
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix, hstack

from alignset.rows.table import Table

RACE_COLUMN = 34
"""Time-invariant feature that the authors' code takes as the indicator of white race."""

_RACE_NAME = re.compile(r"ETHNICITY(_value)?[:_] ?WHITE", re.IGNORECASE)
_FIDDLE_NAMES = {"ARF": "ARF", "shock": "Shock"}


class RaceByPositionWarning(UserWarning):
    """The race column was chosen by position, because FIDDLE's feature names are missing."""


class NoSubjectsWarning(UserWarning):
    """Stays of one subject cannot be kept together, because the list of ICU stays is missing."""


@dataclass(frozen=True)
class FiddleFiles:
    """Paths of one task's files, in FIDDLE's own layout or that of its PhysioNet release."""

    features: Path  # folder of X.npz, s.npz and the feature names
    population: Path  # table of stays and labels
    stays: Path  # table of each stay's subject; may be missing
    label: str  # name of the label column


def fiddle_layout(folder: Path, task: str, *, released: bool = False) -> FiddleFiles:
    """Return where FIDDLE's pipeline, or its release, puts a task's files at four hours."""
    name = _FIDDLE_NAMES[task]
    place = f"{name}_4h" if released else f"outcome={name},T=4.0,dt=1.0"
    return FiddleFiles(
        features=folder / "features" / place,
        population=folder / "population" / f"{name}_{'4' if released else '4.0'}h.csv",
        stays=folder / "prep" / "icustays_MV.csv",
        label=f"{name}_LABEL",
    )


def load_mimic(folder: str | os.PathLike[str], *, task: Literal["ARF", "shock"]) -> Table:
    """Load a MIMIC-III task from FIDDLE's files, always sparse.

    Parameters
    ----------
    folder : path
        Holds ``features/outcome=ARF,T=4.0,dt=1.0/`` with ``X.npz`` (N x 4 x D, time-dependent),
        ``s.npz`` (N x d, time-invariant) and ``X.feature_names.json``, ``s.feature_names.json``;
        ``population/ARF_4.0h.csv`` with ``ID`` and ``ARF_LABEL``; and, to keep a subject's stays
        together, ``prep/icustays_MV.csv``. The names of the PhysioNet release
        (``features/ARF_4h/``, ``population/ARF_4h.csv``) are also accepted.
    task : {"ARF", "shock"}
        Acute respiratory failure or shock, predicted at four hours.

    Returns
    -------
    Table
        ``X`` a float32 CSR matrix of s and the four hours of X side by side (the paper: 15 873 x
        16 278 and 19 342 x 18 186), ``group`` 0 = white, 1 = non-white, ``individuals`` the
        subjects.

    Warns
    -----
    RaceByPositionWarning
        If ``s.feature_names.json`` is missing; column 34 is then used, as in the authors' code.
    NoSubjectsWarning
        If ``prep/icustays_MV.csv`` is missing; ``individuals`` is then None.

    Examples
    --------
    >>> import tempfile
    >>> from alignset.data.fake_mimic import write_fake_mimic
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_fake_mimic(folder, task="ARF", n_rows=50, random_state=0)
    ...     load_mimic(folder, task="ARF")
    Table('mimic-ARF', 50 rows x 16278 features, 2 classes, groups white, non-white)
    """
    if task not in _FIDDLE_NAMES:
        raise ValueError(f"task must be 'ARF' or 'shock', got {task!r}.")
    files = find_files(Path(folder), task)
    (s, width), (timed, n_hours, timed_width) = _read(files, "s", 2), _read(files, "X", 3)
    names = _names(files.features, "s", width)
    timed_names = _names(files.features, "X", timed_width) or _numbered("X", timed_width)
    population = _read_population(files, s.shape[0], timed.shape[0])
    return Table(
        X=hstack([s, timed], format="csr", dtype=np.float32),
        y=population[files.label].to_numpy().astype(np.int64),
        group=_non_white(s, names, files.features),
        name=f"mimic-{task}",
        feature_names=(
            *(names or _numbered("s", width)),
            *(f"{name} @ hour {hour}" for hour in range(n_hours) for name in timed_names),
        ),
        class_names=(f"no {task}", task),
        group_names=("white", "non-white"),
        individuals=_subjects(files, population),
    )


def find_files(folder: Path, task: str) -> FiddleFiles:
    """Return the paths of a task's files, in whichever layout is there."""
    own, released = (fiddle_layout(folder, task, released=known) for known in (False, True))
    for files in (own, released):
        if files.features.is_dir():
            return files
    raise FileNotFoundError(
        f"no FIDDLE features for {task} in {folder}: neither {own.features.name} nor "
        f"{released.features.name} is in its folder features. They need a PhysioNet account "
        f"(mimic-eicu-fiddle-feature 1.0.0); `alignset data fake-mimic --out DIR` writes a "
        f"stand-in of the same format."
    )


def _read(files: FiddleFiles, which: str, n_axes: int) -> tuple[Any, ...]:
    """Read a sparse array stored by the ``sparse`` package: (matrix, *lengths of other axes).

    Hours are placed side by side: (N, T, D) becomes (N, T * D).
    """
    path = files.features / f"{which}.npz"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; FIDDLE writes X.npz and s.npz together.")
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            coords, data, shape = stored["coords"], stored["data"], stored["shape"]
            fill = float(stored["fill_value"]) if "fill_value" in stored else 0.0
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError) as error:
        raise ValueError(
            f"{path} is not a complete sparse array with coords, data and shape ({error}); copy it "
            "again."
        ) from error
    lengths = tuple(map(int, shape))
    if len(shape) != n_axes or coords.shape != (n_axes, len(data)) or fill != 0:
        raise ValueError(
            f"{path} should hold {n_axes} axes and fill value 0, but has shape {lengths}, coords "
            f"{coords.shape} and fill {fill}."
        )
    if len(data) and ((coords.max(axis=1) >= shape).any() or coords.min() < 0):
        raise ValueError(f"{path} has coordinates outside its shape; copy it again.")
    column = np.ravel_multi_index(tuple(coords[1:]), lengths[1:]).astype(np.int32)
    place = (coords[0].astype(np.int32), column)
    shape = (lengths[0], int(np.prod(lengths[1:])))
    return coo_matrix((data.astype(np.float32), place), shape=shape).tocsr(), *lengths[1:]


def names_file(features: Path, which: str) -> Path | None:
    """Return the file of feature names: JSON in the release, a name per line in older FIDDLE."""
    places = (features / f"{which}.feature_names.{ending}" for ending in ("json", "txt"))
    return next((path for path in places if path.is_file()), None)


def _names(features: Path, which: str, expected: int) -> list[str] | None:
    path = names_file(features, which)
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    names = [str(n) for n in (json.loads(text) if path.suffix == ".json" else text.splitlines())]
    if len(names) != expected:
        raise ValueError(
            f"{path} names {len(names)} features but {which}.npz has {expected}; "
            f"they are from different runs of FIDDLE."
        )
    return names


def _numbered(which: str, n: int) -> list[str]:
    return [f"{which}{index}" for index in range(n)]


def _read_population(files: FiddleFiles, *n_rows: int) -> pd.DataFrame:
    if not files.population.is_file():
        raise FileNotFoundError(f"{files.population} is missing; it holds the labels.")
    population = pd.read_csv(files.population).rename(columns={"ICUSTAY_ID": "ID"})
    missing = [name for name in ("ID", files.label) if name not in population]
    if missing:
        there = ", ".join(map(str, population))
        raise ValueError(f"{files.population} has no column {missing[0]}; it has {there}.")
    if set(n_rows) != {len(population)}:
        raise ValueError(
            f"{files.population} has {len(population)} rows but s.npz has {n_rows[0]} and X.npz "
            f"{n_rows[1]}; they are from different runs of FIDDLE."
        )
    return population


def _non_white(s: csr_matrix, names: list[str] | None, features: Path) -> NDArray[np.int64]:
    if names is None:
        column = RACE_COLUMN
        said = f"white race is taken from column {column} of s, unchecked."
        warnings.warn(
            f"{features} has no s.feature_names.json: {said}", RaceByPositionWarning, stacklevel=3
        )
    else:
        column = _race_column(names, features)
    white = np.asarray(s[:, [column]].toarray()).ravel()
    if not np.isin(white, (0, 1)).all():
        raise ValueError(f"column {column} of s should say who is white, but is not all 0 and 1.")
    return np.asarray(white == 0, dtype=np.int64)


def _race_column(names: list[str], features: Path) -> int:
    found = [index for index, name in enumerate(names) if _RACE_NAME.fullmatch(name)]
    if len(found) != 1:
        near = [name for name in names if name.upper().startswith("ETHNICITY")]
        raise ValueError(
            f"s.feature_names.json in {features} should have one feature ETHNICITY_value:WHITE, "
            f"but has {len(found)}; its ethnicities are {', '.join(near) or 'none'}."
        )
    return found[0]


def _subjects(files: FiddleFiles, population: pd.DataFrame) -> NDArray[Any] | None:
    if not files.stays.is_file():
        said = "stays of one subject may end up in different parts of a split."
        warnings.warn(f"{files.stays} is missing: {said}", NoSubjectsWarning, stacklevel=3)
        return None
    stays = pd.read_csv(files.stays, usecols=["SUBJECT_ID", "ICUSTAY_ID"])
    subject = population["ID"].map(stays.drop_duplicates().set_index("ICUSTAY_ID")["SUBJECT_ID"])
    if subject.isna().any():
        stranger = population["ID"][subject.isna()].iloc[0]
        raise ValueError(
            f"{files.stays} lacks stay {stranger} of {files.population.name}, and "
            f"{int(subject.isna().sum()) - 1} others."
        )
    return subject.to_numpy().astype(np.int64)
