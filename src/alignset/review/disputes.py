"""Where reviewers differ: how far they agree, how often each errs, and what to adjudicate first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.review.agreement import Agreement, measure_agreement
from alignset.review.answers import Answers, read_answer_log
from alignset.review.ids import REVIEWED, ROW
from alignset.review.modelled import log_ids
from alignset.review.nonresponse import review_states
from alignset.review.reviewers import ReviewerModel, fit_reviewers
from alignset.review.sheet import CANNOT_TELL
from alignset.review.waves import read_design
from alignset.tables.files import check_columns
from alignset.tables.targets import read_groups, read_labels

ANSWERS = "answers"
"""Column of the queue that says which answers there are, not whose."""


@dataclass(frozen=True, eq=False)
class Disputes:
    """Rows to adjudicate, the ones that matter most first, and what is known of reviewers.

    ``queue`` has the row id, the columns to show, the answers so far, and an empty ``reviewed``.
    """

    queue: pd.DataFrame
    agreement: tuple[Agreement, ...]
    reviewers: ReviewerModel
    n_settled: int  # adjudicated before

    def frame(self) -> pd.DataFrame:
        """One row per row to adjudicate."""
        return self.queue

    def __len__(self) -> int:
        return len(self.queue)


def find_disputes(
    log: pd.DataFrame,
    table: pd.DataFrame | None = None,
    *,
    label: str | None = None,
    group: Sequence[str] = (),
    id: str | None = None,
    show: Sequence[str] = (),
    level: float = 0.95,
) -> Disputes:
    """Find the rows that reviewers differ about, and order them by how much they matter.

    A row matters by how many rows it stands for (1 / probability, if the table says it) times how
    uncertain its true label is, given who said what: the sum of q (1 - q) over classes.

    Parameters
    ----------
    log : DataFrame
        As `alignset join` wrote it: id, reviewer, answer, adjudicated.
    table : DataFrame, optional
        The table that was joined: for groups, observed labels, and columns to show.
    label, id : str, optional
        Columns of observed labels, and of ids; by default the classes are those in the log, and
        ids are positions.
    group, show : sequence of str
        Columns that make groups, and that the adjudicator sees.

    Examples
    --------
    >>> log = pd.DataFrame({"id": list("aabbcc"), "reviewer": ["x", "y"] * 3,
    ...                     "answer": ["no", "no", "no", "yes", "yes", "yes"], "adjudicated": ""})
    >>> find_disputes(log).frame().to_dict("records")
    [{'id': 'b', 'answers': 'no, yes', 'reviewed': ''}]
    """
    if table is None:
        for name, value in (("label", label), ("group", group), ("id", id), ("show", show)):
            if value:
                raise ValueError(f"{name} is a column of the table; pass the table, too.")
        table = pd.DataFrame({"id": log["id"].drop_duplicates().tolist()}) if "id" in log else log
        id = "id"
    check_columns(table, [*group, *show, *([] if label is None else [label])])
    classes, observed = _labels(log, table, label)
    answers = read_answer_log(log, log_ids(log, table, id), classes)
    names, code = read_groups(table, group)
    weight = np.nan_to_num(1 / read_design(table).probability, nan=1.0)
    model = fit_reviewers(answers, observed, code, level=level)
    found = measure_agreement(answers, names[code] if group else None, level=level)
    queue = _queue(answers, model, weight, table, id, show)
    return Disputes(queue, tuple(found), model, int((answers.settled >= 0).sum()))


def _labels(
    log: pd.DataFrame, table: pd.DataFrame, label: str | None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes, and the observed class of each row; without a label all are alike."""
    if label is not None:
        found = read_labels(table, label)
        return found.classes, found.y_seen
    check_columns(log, ["answer"])
    said = log["answer"].fillna("").astype(str).str.strip()
    classes = np.unique(said[(said != "") & (said.str.casefold() != CANNOT_TELL)].to_numpy(str))
    if len(classes) < 2:
        raise ValueError(
            f"all answers are {', '.join(map(repr, classes.tolist())) or 'empty'}, so nobody "
            "differs; name the column of observed labels with --label to see error rates."
        )
    return classes, np.zeros(len(table), dtype=np.int64)


def _queue(
    answers: Answers,
    model: ReviewerModel,
    weight: NDArray[np.float64],
    table: pd.DataFrame,
    id: str | None,
    show: Sequence[str],
) -> pd.DataFrame:
    said = (review_states(table) == "disputed") & (answers.settled < 0)
    open_rows = answers.disputed | said
    q = np.nan_to_num(model.shares)
    if not model.identified:  # shares know nothing of errors, but two answers are two answers
        q = np.where(open_rows[:, None], 1 / len(answers.classes), q)
    matters = weight * (q * (1 - q)).sum(1)
    rows = np.flatnonzero(open_rows)
    rows = rows[np.argsort(-matters[rows], kind="stable")]
    names = [str(value) for value in answers.classes.tolist()]
    ids = table[id].to_numpy(object) if id is not None and id in table else np.arange(len(table))
    columns: dict[str, Any] = {
        ROW if id is None or id not in table else id: ids[rows],
        **{name: table[name].to_numpy(object)[rows] for name in show},
        ANSWERS: [_said(answers, row, names) for row in rows.tolist()],
        REVIEWED: "",
    }
    return pd.DataFrame(columns)


def _said(answers: Answers, row: int, names: list[str]) -> str:
    """Return the answers to a row in order of classes: their order says nothing about people."""
    codes = np.sort(answers.answer[answers.row == row]).tolist()
    return ", ".join([names[k] for k in codes if k >= 0] + [CANNOT_TELL for k in codes if k < 0])
