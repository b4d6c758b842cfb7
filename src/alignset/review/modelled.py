"""From a log of answers and a table to soft true labels: what audit and fit have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.evaluate.noise_rate import ReviewDesign
from alignset.labels import UNREVIEWED
from alignset.review.answers import read_answer_log
from alignset.review.ids import id_key, id_text
from alignset.review.reviewers import ReviewerModel, fit_reviewers

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def model_answers(
    log: pd.DataFrame,
    table: pd.DataFrame,
    *,
    id: str | None,
    classes: NDArray[Any],
    observed: Codes,
    group: Codes,
    true: Codes,
    design: ReviewDesign,
    score: Floats | None = None,
    level: float = 0.95,
) -> ReviewerModel:
    """Match a log of answers to a table and model what reviewers get wrong.

    Parameters
    ----------
    log : DataFrame
        As `alignset join` writes it; see :func:`alignset.review.answers.read_answer_log`.
    table : DataFrame
    id : str, optional
        Column of ids; if it is not what the log uses, positions are tried.
    classes : array of shape (K,)
    observed, group, true : int arrays of shape (n,)
        ``true`` counts as settled in rows that the log says nothing about; -1 elsewhere.
    design : ReviewDesign
    score : float array, optional
        A score that labels will judge.
    """
    answers = read_answer_log(log, log_ids(log, table, id), classes)
    there = np.zeros(len(table), dtype=bool)
    there[answers.row] = True
    settled = np.where((answers.settled < 0) & ~there, true, answers.settled)
    answers = replace(answers, settled=settled)
    stratum = np.where(design.drawn, design.stratum, UNREVIEWED)
    return fit_reviewers(
        answers, observed, group, stratum=stratum, score=score, level=level, random_state=0
    )


def log_ids(log: pd.DataFrame, table: pd.DataFrame, id: str | None) -> NDArray[Any]:
    """Return what identifies rows: the column if the log's ids are in it, else the position."""
    place = np.arange(len(table))
    if id is None or id not in table or "id" not in log:
        return place
    values = table[id]
    if values.duplicated().any():
        return place
    known = {id_key(id_text(value)) for value in values.tolist()}
    return values.to_numpy(object) if log["id"].astype(str).map(id_key).isin(known).any() else place
