"""Adult: 1994 census records, whether income is over 50 000 dollars, groups by sex."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.data import sources
from alignset.data.cache import read
from alignset.rows.table import Table

_COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "country"),
    "income",
]

_AGE_BANDS = (20, 30, 40, 50, 60, 70, 80)

_CATEGORIES: dict[str, str] = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov "
    "Without-pay Never-worked ?",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th "
    "12th Masters 1st-4th 10th Doctorate 5th-6th Preschool",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed "
    "Married-spouse-absent Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty "
    "Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving "
    "Priv-house-serv Protective-serv Armed-Forces ?",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "country": "United-States Cambodia England Puerto-Rico Canada Germany "
    "Outlying-US(Guam-USVI-etc) India Japan Greece South China Cuba Iran Honduras Philippines "
    "Italy Poland Jamaica Vietnam Mexico Portugal Ireland France Dominican-Republic Laos Ecuador "
    "Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador "
    "Trinadad&Tobago Peru Hong Holand-Netherlands ?",
}


def _names(column: str) -> tuple[str, ...]:
    return tuple(f"{column}_{value}" for value in _CATEGORIES[column].split())


ADULT_PAPER: tuple[str, ...] = (
    *(f"age_u{bound}" for bound in _AGE_BANDS),
    *_names("workclass"),
    *_names("education"),
    "education_num",
    *_names("marital-status"),
    *_names("occupation"),
    "sex_Female",
)
"""The paper's 56 features: age, work class, education, marital status, occupation, sex."""

ADULT_RELEASED: tuple[str, ...] = (*ADULT_PAPER, *_names("country")[:-1])
"""The 97 features of the authors' code: the paper's and 41 countries (all but "unknown")."""

ADULT_ALL: tuple[str, ...] = (
    *ADULT_PAPER[:-1],
    *chain.from_iterable(_names(column) for column in ("relationship", "race", "sex")),
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    *_names("country"),
)
"""All 113 features to choose from, in the order of the file that the paper started from."""


def load_adult(
    folder: str | os.PathLike[str] | None = None,
    *,
    features: Sequence[str] = ADULT_PAPER,
    download: bool = False,
) -> Table:
    """Load the Adult data set: 32 561 training and 16 281 official test rows.

    Parameters
    ----------
    folder : path, optional
        Folder that has ``adult.data`` and ``adult.test``; None means the cache.
    features : sequence of str, default=ADULT_PAPER
        Names from ``ADULT_ALL``; ``ADULT_PAPER`` (56) and ``ADULT_RELEASED`` (97) are ready-made.
    download : bool, default=False
        Fetch the files into the cache if they are not there.

    Returns
    -------
    Table
        ``X`` float32 in 0-1, ``y`` 1 = over 50K, ``group`` 0 = male, 1 = female, ``test`` the
        official test rows.

    Notes
    -----
    Every feature is scaled by its minimum and range over all 48 842 rows. Ages are in bands
    (``age_u30`` is 20 to 29); the 186 people over 79 are in none. The paper says 67.5 % male
    with positive rates 30.9 % and 11.3 %; the training file has 66.9 %, 30.6 % and 10.9 %. The
    rows without an unknown value have 67.5 % male, 31.2 % and 11.4 %: see ``docs/data/adult.md``.

    Examples
    --------
    >>> len(ADULT_PAPER), len(ADULT_RELEASED)
    (56, 97)
    >>> load_adult()  # doctest: +SKIP
    Table('adult', 48842 rows x 56 features, 2 classes, groups male, female)
    """
    unknown = [name for name in features if name not in ADULT_ALL]
    if unknown:
        raise ValueError(f"Adult has no feature {unknown[0]!r}; ADULT_ALL lists its features.")
    content = read(sources.ADULT, folder=folder, download=download)
    train, official = _parse(content["adult.data"], 0), _parse(content["adult.test"], 1)
    rows = pd.concat([train, official])
    return Table(
        X=_encode(rows, features),
        y=(rows["income"].str.rstrip(".") == ">50K").to_numpy().astype(np.int64),
        group=(rows["sex"] == "Female").to_numpy().astype(np.int64),
        name="adult",
        feature_names=tuple(features),
        class_names=("at most 50K", "over 50K"),
        group_names=("male", "female"),
        test=np.arange(len(rows)) >= len(train),
    )


def draw_train(table: Table, n_rows: int, *, random_state: int) -> Table:
    """Keep ``n_rows`` random training rows and every official test row (the paper keeps 1 000).

    Examples
    --------
    >>> X, code = np.eye(5), np.array([0, 1, 0, 1, 0])
    >>> test = np.array([False, False, False, False, True])
    >>> table = Table(X, code, code, "toy", tuple("abcde"), ("no", "yes"), ("a", "b"), test=test)
    >>> len(draw_train(table, 2, random_state=0))
    3
    """
    if table.test is None:
        raise ValueError(f"{table.name} has no official test rows; use split instead.")
    train = np.flatnonzero(~table.test)
    if not 1 <= n_rows <= len(train):
        raise ValueError(f"n_rows must lie in [1, {len(train)}], got {n_rows}.")
    drawn = np.random.default_rng(random_state).choice(train, size=n_rows, replace=False)
    rows = np.sort(np.concatenate([drawn, np.flatnonzero(table.test)]))
    fields = ("X", "y", "group", "observed", "individuals", "test")
    known = {name: getattr(table, name) for name in fields if getattr(table, name) is not None}
    return replace(table, **{name: values[rows] for name, values in known.items()})


def _parse(content: bytes, skip: int) -> pd.DataFrame:
    """Read a file; the first line of adult.test is not data."""
    return pd.read_csv(io.BytesIO(content), names=_COLUMNS, skiprows=skip, skipinitialspace=True)


def _encode(rows: pd.DataFrame, features: Sequence[str]) -> NDArray[np.float32]:
    values = np.column_stack([_column(rows, name) for name in features])
    spread = np.ptp(values, axis=0)
    scaled = (values - values.min(axis=0)) / np.where(spread > 0, spread, 1)
    return np.asarray(scaled, dtype=np.float32)


def _column(rows: pd.DataFrame, name: str) -> NDArray[np.float64]:
    if name.startswith("age_u"):
        age, bound = rows["age"].to_numpy(), int(name.removeprefix("age_u"))
        lower = 0 if bound == _AGE_BANDS[0] else bound - 10
        return np.asarray((age >= lower) & (age < bound), dtype=np.float64)
    if name in rows.columns:
        return rows[name].to_numpy(dtype=np.float64)
    column, value = name.split("_", maxsplit=1)
    return (rows[column] == value).to_numpy().astype(np.float64)
