"""A made-up NHANES file: people of whom a test says only what it needs."""

from __future__ import annotations

import io

import pandas as pd

from alignset.data import nhanes_columns as columns
from alignset.data.sources import NHANES

ZERO = 5.397605346934028e-79
"""How the file writes 0."""
PERSON = {
    columns.PERSON: 1,
    columns.AGE: 50,
    columns.GLYCOHAEMOGLOBIN: 5.0,
    columns.OBSERVED: "0",
    columns.INSULIN: 0,
    columns.PILLS: 0,
    columns.RACE: "Non-Hispanic White",
    columns.SEX: "Male",
}


def make_file(*people):
    """Return what the cache would: the file's name and its content."""
    names = dict.fromkeys((*columns.NUMERIC, *columns.CATEGORICAL, *columns.EXCLUDED))
    frame = pd.DataFrame([names | PERSON | person for person in people])
    text = io.StringIO()
    frame.to_csv(text, sep="\t", index=False)
    return {NHANES.files[0].name: text.getvalue().encode()}
