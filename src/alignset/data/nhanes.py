"""NHANES 2017-2018: what people were told or said, and what was measured; the noise is real."""

from __future__ import annotations

import io
import os
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from alignset.data import nhanes_columns as columns
from alignset.data import sources
from alignset.data.cache import read
from alignset.data.nhanes_tasks import DEFAULT, NhanesTask, TaskName, find_task
from alignset.data.nhanes_values import read_answer, read_number
from alignset.rows.table import Table

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer

_RACES = (
    "Non-Hispanic White", "Non-Hispanic Black", "Mexican American", "Other Hispanic",
    "Non-Hispanic Asian", "Other Race - Including Multi-Racial",
)  # fmt: skip
_GROUPS = {"race": (columns.RACE, _RACES), "sex": (columns.SEX, ("Male", "Female"))}


def load_nhanes(
    folder: str | os.PathLike[str] | None = None,
    *,
    task: TaskName = DEFAULT,
    group: Literal["race", "sex"] = "race",
    download: bool = False,
) -> Table:
    """Load NHANES: adults with an observed label and a measured one.

    Parameters
    ----------
    folder : path, optional
        Folder that has ``NHANES_data_2017-2018.tsv``; None means the cache.
    task : str, default="diabetes"
        Which label; the observed one comes first here, then the true one. "diabetes": a doctor
        told them, their blood or treatment shows it. "prediabetes": the same, of people without
        diabetes. "blood_pressure": high on the first reading, on the mean of the next two.
        "fat": above 35 % of energy on one day, on two. "overweight" and "obesity_class_2": body
        mass index of at least 25 and 35, by the weight and height they told, as measured.
    group : {"race", "sex"}, default="race"
        What defines the groups: race and ethnicity (six) or sex (two). Both remain features.
    download : bool, default=False
        Fetch the file into the cache if it is not there.

    Returns
    -------
    Table
        ``X`` a DataFrame with mixed types and missing values (see :func:`nhanes_pipeline`),
        ``observed`` and ``y`` the two labels of the task.

    Notes
    -----
    Rows are adults aged 20 or over who have both labels: 4 855 with diabetes as the task, without
    159 who were told "borderline" and 4 without an answer. Columns that are, or leak, a label are
    left out, each with its reason in ``alignset.data.nhanes_columns.EXCLUDED`` (of every task) and
    ``alignset.data.nhanes_tasks.TASKS`` (of one).

    Examples
    --------
    >>> load_nhanes(group="age")
    Traceback (most recent call last):
        ...
    ValueError: group must be 'race' or 'sex', got 'age'.
    """
    if group not in _GROUPS:
        raise ValueError(f"group must be 'race' or 'sex', got {group!r}.")
    chosen = find_task(task)
    content = read(sources.NHANES, folder=folder, download=download)
    rows = _parse(content["NHANES_data_2017-2018.tsv"], chosen)
    column, names = _GROUPS[group]
    codes = {name: code for code, name in enumerate(names)}
    X = _features(rows, chosen)
    return Table(
        X=X,
        y=chosen.true(rows).to_numpy().astype(np.int64),
        group=rows[column].map(codes).to_numpy().astype(np.int64),
        name="nhanes" if task == DEFAULT else f"nhanes_{task}",
        feature_names=tuple(X.columns),
        class_names=chosen.class_names,
        group_names=names,
        observed=chosen.observed(rows).to_numpy().astype(np.int64),
        individuals=rows[columns.PERSON].to_numpy().astype(np.int64),
    )


def nhanes_pipeline(whole: pd.DataFrame | None = None) -> ColumnTransformer:
    """Return the unfitted preprocessing that turns the NHANES table into numbers.

    Numbers: median imputation with an indicator for missing values, then standard scaling.
    Answers: one column each; a missing answer counts as an answer. Fit it on training rows
    only. A task that has fewer features gets fewer columns.

    Parameters
    ----------
    whole : DataFrame, optional
        All rows; the result then has the same width whichever of them it is fitted on.

    Examples
    --------
    >>> numbers = dict.fromkeys(columns.NUMERIC, [1.0, np.nan, 3.0])
    >>> answers = dict.fromkeys(columns.CATEGORICAL, ["Good", "Poor", None])
    >>> rows = pd.DataFrame(numbers | answers)
    >>> nhanes_pipeline().fit_transform(rows).shape
    (3, 147)
    >>> nhanes_pipeline(rows).fit(rows[:1]).transform(rows).shape
    (3, 147)
    """
    # imported here: scikit-learn takes a second to import, and only this function needs it
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = SimpleImputer(
        strategy="median", add_indicator=whole is None, keep_empty_features=True
    )
    answers = OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float64)
    steps: list[tuple[str, Any, Any]] = [
        ("numbers", make_pipeline(numbers, StandardScaler()), partial(_among, columns.NUMERIC)),
        ("answers", answers, partial(_among, columns.CATEGORICAL)),
    ]
    if whole is not None:
        gaps = [name for name in _among(columns.NUMERIC, whole) if whole[name].isna().any()]
        indicator = make_pipeline(MissingIndicator(features="all"), StandardScaler())
        steps.insert(1, ("gaps", indicator, gaps))
        answers.set_params(
            categories=answers.fit(whole[_among(columns.CATEGORICAL, whole)]).categories_
        )
    return ColumnTransformer(steps)


def undiagnosed_by_group(table: Table) -> pd.DataFrame:
    """Count, for each group, people who have the disease but were not told, and the reverse.

    Parameters
    ----------
    table : Table
        A data set with two classes and its own observed labels.

    Returns
    -------
    DataFrame
        One row per group and one for all: people, those with the disease, those of them not told
        and their share, and those told without having it.

    Examples
    --------
    >>> y, observed, group = np.array([[1, 1, 1, 0], [1, 0, 1, 0], [0, 0, 1, 1]])
    >>> toy = Table(np.eye(4), y, group, "toy", (*"abcd",), ("no", "yes"), ("a", "b"), observed)
    >>> undiagnosed_by_group(toy)[["true", "not_told", "share_not_told"]]
         true  not_told  share_not_told
    a       2         1        0.500000
    b       1         0        0.000000
    all     3         1        0.333333
    """
    if table.observed is None or table.n_classes != 2:
        raise ValueError(
            f"{table.name} needs two classes and observed labels of its own; NHANES has them."
        )
    true, told = table.y == 1, table.observed == 1
    people = {"people": 1, "true": true, "not_told": true & ~told, "told_without": told & ~true}
    rows = pd.DataFrame(people, index=table.group).astype(int)
    counts = rows.groupby(level=0).sum().reindex(range(table.n_groups), fill_value=0)
    counts = counts.set_axis(list(table.group_names))
    counts.loc["all"] = rows.sum()
    counts.insert(3, "share_not_told", counts["not_told"] / counts["true"])
    return counts


def _parse(content: bytes, task: NhanesTask) -> pd.DataFrame:
    """Read the file and keep adults with both labels."""
    text = (columns.OBSERVED, "ServedActiveDutyInUsArmedForces")  # mix numbers and words
    rows = pd.read_csv(io.BytesIO(content), sep="\t", dtype=dict.fromkeys(text, "str"))
    return rows[task.keeps(rows)].reset_index(drop=True)


def _features(rows: pd.DataFrame, task: NhanesTask) -> pd.DataFrame:
    numbers = {name: read_number(rows, name) for name in task.numeric}
    answers = {name: read_answer(rows, name) for name in task.categorical}
    return pd.DataFrame(numbers | answers)


def _among(names: tuple[str, ...], X: pd.DataFrame) -> list[str]:
    return [name for name in names if name in X.columns]
