"""Made-up test files in FIDDLE's format, full size, with a learnable outcome."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.data.mimic import RACE_COLUMN, FiddleFiles, fiddle_layout
from alignset.data.mimic_check import N_FIXED, N_HOURS, SIZES

N_PLANTED = 40
DENSITY = 0.019
_PERSISTS = 0.8  # share of the four hours that a feature is on, if it occurs in a stay
_STAYS_PER_SUBJECT = 1.2
_SIGNAL = 2.5  # standard deviation of the planted log odds
_MARK = "FAKE_DATA.txt"


_N_STAYS = max(size.rows for size in SIZES.values())

_FIXED_BLOCKS = {
    "ADMISSION_LOCATION": 6, "ADMISSION_TYPE": 3, "AGE": 5, "ETHNICITY": 24, "FIRST_CAREUNIT": 5,
    "GENDER": 1, "HEIGHT": 5, "INSURANCE": 5, "LANGUAGE": 21, "MARITAL_STATUS": 7, "RELIGION": 11,
    "WEIGHT": 5,
}  # fmt: skip
"""Time-invariant variable -> its number of values; each is a feature."""


def write_fake_mimic(
    folder: str | os.PathLike[str],
    *,
    task: Literal["ARF", "shock"],
    n_rows: int | None = None,
    random_state: int = 0,
) -> None:
    """Write made-up FIDDLE files for a MIMIC-III task; they describe no real patient.

    X has density 0.019 and s 0.114, like the real files; the outcome depends on 40 features, and is
    exactly as frequent in each group as the paper says.

    Parameters
    ----------
    folder : path
        Where to write; a folder that already has files for this task is refused.
    task : {"ARF", "shock"}
    n_rows : int, optional
        Number of stays, 20 to 19 342; None means the real number. All features are written.
    random_state : int, default=0

    Raises
    ------
    FileExistsError
        If a file would be overwritten, because it may be real.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_fake_mimic(folder, task="shock", n_rows=20, random_state=0)
    ...     sorted(path.name for path in Path(folder).glob("p*/*"))
    ['Shock_4.0h.csv', 'icustays_MV.csv']
    """
    if task not in SIZES:
        raise ValueError(f"task must be 'ARF' or 'shock', got {task!r}.")
    size = SIZES[task]
    n = size.rows if n_rows is None else n_rows
    if not 20 <= n <= _N_STAYS:
        raise ValueError(f"n_rows must lie in [20, {_N_STAYS}], got {n}.")
    files = fiddle_layout(Path(folder), task)
    _claim(Path(folder), files)
    rng = np.random.default_rng([random_state, len(task)])
    fixed = _draw_fixed(n, rng)
    timed, log_odds = _draw_timed(n, size.features, rng)
    label = _draw_outcome(log_odds, _is_white(fixed, n), size.rates, rng)
    _save_coo(files.features / "s.npz", fixed, (n, N_FIXED))
    _save_coo(files.features / "X.npz", timed, (n, N_HOURS, size.features))
    timed_names = [f"{220000 + index // 5}_value:bin{index % 5}" for index in range(size.features)]
    for which, names in (("s", _fixed_names()), ("X", timed_names)):
        path = files.features / f"{which}.feature_names.json"
        path.write_text(json.dumps(names), encoding="utf-8")
    _save_tables(files, label, rng, random_state)


def _claim(folder: Path, files: FiddleFiles) -> None:
    """Make the folders and mark them as fake; refuse if anything is already there."""
    ours = (folder / _MARK).is_file()
    targets = [files.features / "X.npz", files.features / "s.npz", files.population]
    if not ours:
        targets.append(files.stays)
    for path in targets:
        if path.exists():
            raise FileExistsError(f"{path} exists and may be real; name an empty folder.")
    for path in (files.features, files.population.parent, files.stays.parent):
        path.mkdir(parents=True, exist_ok=True)
    text = "Made up by `alignset data fake-mimic`. No patient is in these files.\n"
    (folder / _MARK).write_text(text, encoding="utf-8")


def _fixed_names() -> list[str]:
    blocks = _FIXED_BLOCKS.items()
    names = [f"{block}_value:{index}" for block, n in blocks for index in range(n)]
    names[RACE_COLUMN] = "ETHNICITY_value:WHITE"
    return names


def _draw_fixed(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a value of each variable for nearly every stay; return coordinates of ones, (2, nnz)."""
    coords, start = [], 0
    for block, width in _FIXED_BLOCKS.items():
        share = 1 / np.arange(2, width + 2)
        if block == "ETHNICITY":  # 70 % white, as the paper says
            share[RACE_COLUMN - start] = 0
            share *= 0.3 / share.sum()
            share[RACE_COLUMN - start] = 0.7
        value = rng.choice(width, size=n, p=share / share.sum())
        known = rng.random(n) < (0.44 if width == 1 else 0.98)
        coords.append(np.stack([np.flatnonzero(known), start + value[known]]))
        start += width
    return _in_order(np.concatenate(coords, axis=1))


def _draw_timed(
    n: int, n_features: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Draw which features are on in which hours, (3, nnz), and the log odds that follow from it."""
    prevalence = np.clip(rng.lognormal(np.log(0.006), 1.6, n_features), 0.001, 0.6)
    for _ in range(20):  # clipping shifts the mean, so approach it
        scale = DENSITY / _PERSISTS / prevalence.mean()
        prevalence = np.clip(prevalence * scale, 0.001, 0.6)
    common = np.flatnonzero((prevalence > 0.05) & (prevalence < 0.6))
    chosen = rng.choice(common, N_PLANTED, replace=False)
    weights = rng.choice([-1.0, 1.0], N_PLANTED) * rng.uniform(0.5, 1.5, N_PLANTED)
    planted = dict(zip(chosen, weights, strict=True))
    log_odds, coords = np.zeros(n), []
    for feature, share in enumerate(prevalence):
        stays = rng.choice(n, size=rng.binomial(n, share), replace=False)
        on = rng.random((len(stays), N_HOURS)) < _PERSISTS
        which, hour = np.nonzero(on)
        coords.append(np.stack([stays[which], hour, np.full(len(which), feature)]))
        log_odds[stays] += planted.get(feature, 0.0) * on.mean(axis=1)
    return _in_order(np.concatenate(coords, axis=1)), log_odds


def _is_white(fixed: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
    white = np.zeros(n, dtype=bool)
    white[fixed[0, fixed[1] == RACE_COLUMN]] = True
    return white


def _draw_outcome(
    log_odds: NDArray[np.float64],
    white: NDArray[np.bool_],
    rates: tuple[float, float],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw labels with the planted log odds, the share of each group that ``rates`` says."""
    scaled = _SIGNAL * (log_odds - log_odds.mean()) / log_odds.std()
    tendency = scaled + rng.logistic(size=len(scaled))
    label = np.zeros(len(scaled), dtype=np.int64)
    for group, rate in ((white, rates[0]), (~white, rates[1])):
        rows = np.flatnonzero(group)
        label[rows[np.argsort(-tendency[rows])[: round(rate * len(rows))]]] = 1
    return label


def _in_order(coords: NDArray[np.int64]) -> NDArray[np.int64]:
    return coords[:, np.lexsort(coords[::-1])]


def _save_coo(path: Path, coords: NDArray[np.int64], shape: tuple[int, ...]) -> None:
    ones = np.ones(coords.shape[1], dtype=np.int64)
    np.savez_compressed(path, coords=coords, data=ones, shape=np.array(shape), fill_value=0)


def _save_tables(
    files: FiddleFiles, label: NDArray[np.int64], rng: np.random.Generator, random_state: int
) -> None:
    """Write the stays and their outcomes; both tasks in a folder share one list of stays."""
    stay = 200_000 + np.arange(_N_STAYS)
    subject = np.random.default_rng(random_state).integers(
        10_000, 10_000 + int(_N_STAYS / _STAYS_PER_SUBJECT), size=_N_STAYS
    )
    if not files.stays.exists():
        stays = pd.DataFrame({"SUBJECT_ID": subject, "HADM_ID": stay - 50_000, "ICUSTAY_ID": stay})
        stays.to_csv(files.stays, index=False)
    onset = np.where(label == 1, rng.uniform(4, 48, len(label)).round(2), np.nan)
    who, hour = np.sort(rng.choice(stay, len(label), replace=False)), "ONSET_HOUR"
    population = pd.DataFrame(
        {"ID": who, files.label.replace("LABEL", hour): onset, files.label: label}
    )
    population.to_csv(files.population, index=False)
