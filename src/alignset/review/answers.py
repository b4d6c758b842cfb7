"""Reviewers' answers as the audit log of `alignset join` keeps them, matched to a table's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.labels import UNREVIEWED
from alignset.review.ids import id_key, id_text
from alignset.review.log import NEEDED
from alignset.review.sheet import CANNOT_TELL
from alignset.tables.files import check_columns

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

NO_REVIEWER = "(no name)"
"""Who gave an answer that nobody signed."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Every answer of every reviewer, as codes.

    Parameters
    ----------
    row, reviewer, answer : int arrays of shape (m,)
        Position in the table, number of the reviewer, class code; -1 for "cannot tell".
    settled : int array of shape (n,)
        Class code where a row was adjudicated; -1 elsewhere.
    names : tuple of str
        Reviewers.
    classes : array of shape (K,)
    """

    row: Codes
    reviewer: Codes
    answer: Codes
    settled: Codes
    names: tuple[str, ...]
    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.row)

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.settled)

    @property
    def told(self) -> Mask:
        """Which answers name a class, (m,)."""
        return np.asarray(self.answer != UNREVIEWED)

    @property
    def n_told(self) -> Codes:
        """How many reviewers named a class, for every row (n,)."""
        return np.bincount(self.row[self.told], minlength=self.n_rows)

    @property
    def disputed(self) -> Mask:
        """Rows whose reviewers named different classes, and nobody adjudicated."""
        told, k = self.told, len(self.classes)
        pairs = np.unique(self.row[told] * k + self.answer[told]) // k
        return np.asarray((np.bincount(pairs, minlength=self.n_rows) > 1) & (self.settled < 0))

    def ratings(self) -> Codes:
        """Return answers as a matrix (n, R): class codes, -1 where there is none."""
        found = np.full((self.n_rows, len(self.names)), UNREVIEWED, dtype=np.int64)
        found[self.row, self.reviewer] = self.answer
        return found

    def take(self, rows: Mask) -> Answers:
        """Return the answers about some of the rows, which are numbered anew."""
        place = np.cumsum(rows) - 1
        kept = rows[self.row]
        return Answers(
            place[self.row[kept]], self.reviewer[kept], self.answer[kept], self.settled[rows],
            self.names, self.classes,
        )  # fmt: skip


def read_answer_log(
    log: pd.DataFrame, ids: Sequence[Any] | NDArray[Any], classes: Sequence[Any] | NDArray[Any]
) -> Answers:
    """Match the log of answers to a table's rows and classes; of one reviewer, the last counts.

    Parameters
    ----------
    log : DataFrame
        Text columns id, reviewer, answer (a class or "cannot tell") and adjudicated ("yes" or
        empty), in the order the answers were given.
    ids : sequence of length n
        What identifies each row of the table.
    classes : sequence of length K
        Labels, sorted.

    Examples
    --------
    >>> log = pd.DataFrame({"id": ["7", "7", "8"], "reviewer": ["an", "bo", "an"],
    ...                     "answer": ["yes", "no", "cannot tell"], "adjudicated": ""})
    >>> read_answer_log(log, [6, 7, 8], ["no", "yes"]).ratings().tolist()
    [[-1, -1], [1, 0], [-1, -1]]
    """
    check_columns(log, NEEDED)
    names = np.asarray(classes)
    frame = pd.DataFrame({name: log[name].fillna("").astype(str) for name in NEEDED})
    place = {id_key(id_text(value)): at for at, value in enumerate(np.asarray(ids).tolist())}
    if len(place) < len(ids):
        raise ValueError(
            "the table has ids that a spreadsheet program saves as the same, such as 1 and 1.0, so "
            "nobody knows whose an answer is; give those rows other ids."
        )
    row = _look_up(frame["id"].map(id_key), place, frame["id"], "row", "join it to that table")
    known = {_plain(id_text(value)): code for code, value in enumerate(names.tolist())}
    known[CANNOT_TELL] = UNREVIEWED
    said = frame["answer"].map(_plain)
    accepted = "answers are " + ", ".join(repr(name) for name in known)
    answer = _look_up(said, known, frame["answer"], "answer", accepted)
    final = frame["adjudicated"].str.strip().str.casefold().eq("yes").to_numpy()
    settled = np.full(len(place), UNREVIEWED, dtype=np.int64)
    settled[row[final]] = answer[final]
    who = frame["reviewer"].str.strip().where(lambda name: name != "", NO_REVIEWER)[~final]
    row, answer = row[~final], answer[~final]
    reviewers, code = np.unique(who.to_numpy(str), return_inverse=True)
    # someone who answers again has changed their mind
    last = ~pd.DataFrame({"r": row, "w": code}).duplicated(keep="last").to_numpy(bool)
    return Answers(
        row[last], code.astype(np.int64)[last], answer[last], settled,
        tuple(reviewers.tolist()), names,
    )  # fmt: skip


def _plain(text: str) -> str:
    return id_key(text).casefold()


def _look_up(
    keys: pd.Series[Any], known: dict[str, int], shown: pd.Series[Any], what: str, advice: str
) -> Codes:
    strange = ~keys.isin(list(known)).to_numpy()
    if strange.any():
        raise ValueError(
            f"the log of answers holds {what} {shown.iloc[int(strange.argmax())]!r}, which the "
            f"table does not have; {advice}."
        )
    return np.asarray(keys.map(known), dtype=np.int64)
