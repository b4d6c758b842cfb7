"""Read one column of the NHANES file: codes that are no answers, the file's zero, odd endings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from alignset.data.nhanes_columns import NOT_ANSWERS


def read_number(rows: pd.DataFrame, name: str) -> pd.Series[float]:
    """Return a column as numbers, with NaN for "refused" and "don't know".

    Examples
    --------
    >>> rows = pd.DataFrame({"CurrentSelfreportedWeightPounds": [180.0, 7777.0, 9999.0]})
    >>> read_number(rows, "CurrentSelfreportedWeightPounds").tolist()
    [180.0, nan, nan]
    """
    values: pd.Series[Any] = rows[name]
    if not pd.api.types.is_numeric_dtype(values):  # "7 or more people in the Household", "1.0"
        values = values.str.extract(r"^(\d+)", expand=False)
    number = values.astype("float64")
    for code, meaning in NOT_ANSWERS.get(name, {}).items():
        number = number.mask(number == code, np.nan if meaning is None else meaning)
    return number.mask(number.abs() < 1e-70, 0.0)  # the transport file's zero


def read_answer(rows: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Strip what the questionnaire left at the end of an answer ("Fair or", "Poor?")."""
    answer = rows[name].astype("object").str.replace(r"(\?| or|;)$", "", regex=True)
    return answer.mask(answer.str.lower() == "don't know", np.nan)
