"""Every answer that reviewers gave, kept beside the table: who, when, on which sheet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd

from alignset.review.cells import read_cell, written_cells
from alignset.review.sheet import CANNOT_TELL
from alignset.tables.atomic import new_file
from alignset.tables.files import check_names, read_table, write_table
from alignset.tables.written import TextForm

ANSWER_COLUMNS = (
    "id", "reviewer", "answer", "time", "comment", "sheet", "wave", "adjudicated",
)  # fmt: skip
"""Columns of a log, all of them text; ``adjudicated`` is "yes" or empty."""

NEEDED = ("id", "reviewer", "answer", "adjudicated")
"""Columns that a log must have; the others are for people to read."""

State = Literal["agreed", "disputed", "cannot tell", "open"]


def answers_path(table: str | os.PathLike[str]) -> Path:
    """Return where the answers that went into a table are kept.

    Examples
    --------
    >>> [answers_path(name).name for name in ("reviewed.csv", "t.csv.gz", "t.parquet")]
    ['reviewed.answers.csv', 't.answers.csv', 't.answers.csv']
    """
    place = Path(table)
    bare = place.name.removesuffix(".gz")
    return place.with_name(Path(bare).stem + ".answers.csv")


def no_answers() -> pd.DataFrame:
    """Return a log without an entry."""
    return pd.DataFrame({name: pd.Series(dtype="str") for name in ANSWER_COLUMNS})


def read_answers(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Read a log of answers, oldest first, as text.

    Of several answers that a person gave to a row, the last one counts
    (:func:`current_answers`); the others are what it replaced.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = no_answers()
    ...     log.loc[0] = ["7", "anna", "yes", "", "=sure", "sheet.csv", "1", ""]
    ...     write_answers(log, Path(folder) / "t.answers.csv")
    ...     read_answers(Path(folder) / "t.answers.csv")["comment"].tolist()
    ['=sure']
    """
    frame = read_table(path, as_text=True)
    check_names(NEEDED, [str(name) for name in frame.columns], str(path))
    told = {name: frame.get(name, "") for name in ANSWER_COLUMNS}
    log = pd.DataFrame(told, index=frame.index).map(read_cell)
    # a spreadsheet program may have had it: one spelling for what is compared
    for name in ("id", "reviewer", "answer", "adjudicated"):
        log[name] = [str(value).strip() for value in log[name].tolist()]
    log["answer"] = log["answer"].map(_one_cannot_tell)
    log["adjudicated"] = log["adjudicated"].str.casefold()
    _check_log(log, Path(path))
    return log


def _one_cannot_tell(answer: str) -> str:
    return CANNOT_TELL if " ".join(answer.casefold().split()) == CANNOT_TELL else answer


def _check_log(log: pd.DataFrame, path: Path) -> None:
    """Refuse entries that nobody can have made, rather than to leave them out."""
    final = ~log["adjudicated"].isin(["yes", ""])
    if final.any():
        raise ValueError(
            f"{path} has {log.loc[final, 'adjudicated'].iloc[0][:60]!r} in column 'adjudicated', "
            f"line {int(final.argmax()) + 2}; write yes, or leave it empty."
        )
    for name in ("id", "answer"):
        empty = log[name] == ""
        if empty.any():
            raise ValueError(
                f"{path} has nothing in column {name!r}, line {int(empty.argmax()) + 2}; put back "
                "what was there, or delete that line."
            )


def write_answers(log: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a log, completely or not at all."""
    write_table(written_cells(log[list(ANSWER_COLUMNS)]), path, overwrite=True)


def write_with_answers(
    table: pd.DataFrame,
    log: pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    form: TextForm | None = None,
) -> None:
    """Write a table, as text in the ``form`` asked for, and the answers in it.

    The table is complete on the disk before the log is put in its place, and takes its own place
    right after it. If the process is killed between the two, the log is ahead, and joining the
    same sheet again completes the table.
    """
    place = Path(path)
    with new_file(place) as part:
        write_table(table, part, overwrite=overwrite, form=form)
        if len(log):
            write_answers(log, answers_path(place))


def current_answers(log: pd.DataFrame) -> pd.DataFrame:
    """Return the answers that count: the last of each person to a row, and the last adjudicated.

    Examples
    --------
    >>> log = no_answers()
    >>> log.loc[0] = ["7", "anna", "yes", "", "", "", "1", ""]
    >>> log.loc[1] = ["7", "anna", "no", "", "", "", "1", ""]
    >>> current_answers(log)["answer"].tolist()
    ['no']
    """
    final = log["adjudicated"] == "yes"
    whose = log["reviewer"].where(~final, "")  # of several adjudications only one counts
    last = ~pd.DataFrame({"id": log["id"], "who": whose, "final": final}).duplicated(keep="last")
    return log[last]


class Settled(NamedTuple):
    """What came of the answers to one row; ``answer`` is None unless they agree.

    Examples
    --------
    >>> Settled("agreed", "yes").answer
    'yes'
    """

    state: State
    answer: str | None = None


def settle(log: pd.DataFrame) -> dict[str, Settled]:
    """Say what came of the answers to each row: unanimous, or adjudicated, or disputed.

    Examples
    --------
    >>> log = no_answers()
    >>> log.loc[0] = ["7", "anna", "yes", "", "", "", "1", ""]
    >>> log.loc[1] = ["7", "ben", "no", "", "", "", "1", ""]
    >>> settle(log)["7"].state
    'disputed'
    """
    counted = current_answers(log)
    final = counted["adjudicated"] == "yes"
    answers: dict[str, list[str]] = {}
    for row, answer in zip(counted["id"], counted["answer"], strict=True):
        answers.setdefault(row, []).append(answer)
    decided: Mapping[Any, Any] = dict(
        zip(counted.loc[final, "id"], counted.loc[final, "answer"], strict=True)
    )
    return {row: _settle(decided.get(row), said) for row, said in answers.items()}


def _settle(decided: str | None, said: list[str]) -> Settled:
    told = {decided} if decided is not None else set(said)
    if told == {CANNOT_TELL}:
        return Settled("cannot tell")
    return Settled("disputed") if len(told) > 1 else Settled("agreed", told.pop())
