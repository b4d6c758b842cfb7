"""Read how each row of a table came to be reviewed: its probability, wave and stratum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.evaluate.noise_rate import ReviewDesign
from alignset.review.sheet import MAX_WAVE, PROBABILITY, STRATUM, WAVE
from alignset.tables.columns import Columns

Floats = NDArray[np.float64]


def read_design(table: pd.DataFrame, *, probability: str = PROBABILITY) -> ReviewDesign:
    """Read a table's columns probability, wave and stratum, as far as it has them.

    A row without a ``wave`` belongs to the first; without ``stratum``, a wave is one stratum.
    """
    n = len(table)
    if probability not in table:
        return ReviewDesign.unknown(n)
    chance = _numbers(table[probability])
    drawn = ~np.isnan(chance)
    if not ((chance[drawn] > 0) & (chance[drawn] <= 1)).all():
        raise ValueError(
            f"column {probability!r} must hold selection probabilities in (0, 1], and be empty in "
            "rows that were not on a sheet; rename it if it is something else."
        )
    wave = np.nan_to_num(_numbers(table[WAVE]), nan=1.0) if WAVE in table else np.ones(n)
    _check_waves(wave[drawn])
    stratum = np.zeros(n, dtype=np.int64)
    if STRATUM in table:
        stratum = pd.factorize(table[STRATUM].astype(str))[0].astype(np.int64)
    waves = np.where(drawn, wave, -1).astype(np.int64)
    return ReviewDesign(chance, waves, np.where(drawn, stratum, -1))


def read_waves(table: pd.DataFrame) -> Floats:
    """Return the numbers of the sheets that rows of a table were on."""
    wave = _numbers(table[WAVE].dropna()) if WAVE in table else np.zeros(0)
    _check_waves(wave)
    return wave


def _check_waves(wave: Floats) -> None:
    if not ((wave == np.floor(wave)) & (wave >= 1) & (wave <= MAX_WAVE)).all():
        raise ValueError(
            f"column {WAVE!r} must hold the numbers of review sheets, 1, 2, ..., {MAX_WAVE}; leave "
            "it as `alignset join` wrote it."
        )


def design_of(table: pd.DataFrame, columns: Columns) -> ReviewDesign:
    """Read a table's review design from its probability column.

    If none was named, that is ``probability``, unless it is a feature.
    """
    name = PROBABILITY if columns.probability is None else columns.probability
    if name in columns.features:
        return ReviewDesign.unknown(len(table))
    return read_design(table, probability=name)


def _numbers(values: pd.Series[Any]) -> Floats:
    """Return a column as numbers: NaN where missing, -1 where not a number."""
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(float, na_value=np.nan)
    return np.asarray(np.where(np.isnan(numbers) & values.notna().to_numpy(), -1.0, numbers))
