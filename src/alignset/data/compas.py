"""COMPAS: whether Broward County defendants were charged again in two years, groups by race."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.data import sources
from alignset.data.cache import read
from alignset.rows.table import Table

_INDICATORS: dict[str, tuple[str, str]] = {
    "Age_Above_FourtyFive": ("age_cat", "Greater than 45"),
    "Age_Below_TwentyFive": ("age_cat", "Less than 25"),
    "African_American": ("race", "African-American"),
    "Asian": ("race", "Asian"),
    "Hispanic": ("race", "Hispanic"),
    "Native_American": ("race", "Native American"),
    "Other": ("race", "Other"),
    "White": ("race", "Caucasian"),
    "Female": ("sex", "Female"),
    "Misdemeanor": ("c_charge_degree", "M"),
    "Age_TwentyFive_To_FourtyFive": ("age_cat", "25 - 45"),
}

COMPAS_PAPER: tuple[str, ...] = ("Number_of_Priors", *list(_INDICATORS)[:10])
"""The paper's 11 features: ProPublica's ten, without the risk score, plus ``White``."""

COMPAS_RELEASED: tuple[str, ...] = ("Number_of_Priors", *_INDICATORS)
"""The 12 features of the authors' code, which adds the middle age band."""


def load_compas(
    folder: str | os.PathLike[str] | None = None,
    *,
    features: Sequence[str] = COMPAS_PAPER,
    download: bool = False,
) -> Table:
    """Load the COMPAS data set: the 6 172 people that ProPublica's own filters keep.

    Parameters
    ----------
    folder : path, optional
        Folder that has ``compas-scores-two-years.csv``; None means the cache.
    features : sequence of str, default=COMPAS_PAPER
        Names from ``COMPAS_RELEASED``.
    download : bool, default=False
        Fetch the file into the cache if it is not there.

    Returns
    -------
    Table
        ``X`` float32 in 0-1, ``y`` 1 = charged again within two years, ``group`` 0 = white,
        1 = non-white.

    Notes
    -----
    The paper counts 11 features; ProPublica's regression file has ten once the risk score is left
    out. The eleventh is ``White``, the complement of the five race indicators and the column that
    the authors' code uses as the sensitive attribute; that code adds a twelfth, the middle age
    band. The paper says that white people are the majority, with 65.8 %. That is the non-white
    share (65.9 %): 34.1 % are white, with a positive rate of 39.1 %; for non-white it is 48.8 %.

    Examples
    --------
    >>> len(COMPAS_PAPER), len(COMPAS_RELEASED)
    (11, 12)
    >>> load_compas()  # doctest: +SKIP
    Table('compas', 6172 rows x 11 features, 2 classes, groups white, non-white)
    """
    unknown = [name for name in features if name not in COMPAS_RELEASED]
    if unknown:
        raise ValueError(
            f"COMPAS has no feature {unknown[0]!r}; it has {', '.join(COMPAS_RELEASED)}."
        )
    content = read(sources.COMPAS, folder=folder, download=download)
    rows = _filter(pd.read_csv(io.BytesIO(content["compas-scores-two-years.csv"])))
    return Table(
        X=np.column_stack([_column(rows, name) for name in features]).astype(np.float32),
        y=rows["two_year_recid"].to_numpy(dtype=np.int64),
        group=(rows["race"] != "Caucasian").to_numpy().astype(np.int64),
        name="compas",
        feature_names=tuple(features),
        class_names=("not charged again", "charged again"),
        group_names=("white", "non-white"),
        individuals=rows["id"].to_numpy(),
    )


def _filter(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep what ProPublica kept: an offence near the screening, a known outcome and a score."""
    near = rows["days_b_screening_arrest"].between(-30, 30)
    known = (rows["is_recid"] != -1) & (rows["c_charge_degree"] != "O") & rows["score_text"].notna()
    return rows[near & known]


def _column(rows: pd.DataFrame, name: str) -> NDArray[np.float64]:
    if name == "Number_of_Priors":
        priors = rows["priors_count"].to_numpy(dtype=np.float64)
        return np.asarray((priors - priors.min()) / (priors.max() - priors.min()))
    column, value = _INDICATORS[name]
    return (rows[column] == value).to_numpy().astype(np.float64)
