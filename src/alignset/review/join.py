"""Add what reviewers found to the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from typing import Any

import numpy as np
import pandas as pd

from alignset.labels import is_missing
from alignset.review.earlier import check_not_own
from alignset.review.ids import (
    DESIGN,
    PROBABILITY,
    REMARKS,
    REVIEW_STATE,
    REVIEWED,
    REVIEWER,
    ROW,
    WAVE,
    id_key,
    id_text,
    row_ids,
)
from alignset.review.log import ANSWER_COLUMNS, current_answers, no_answers, settle
from alignset.review.problems import SheetProblem, refuse, shorten, suggest
from alignset.review.sheet import CANNOT_TELL, Reviews
from alignset.tables.files import check_columns
from alignset.tables.targets import read_labels


@dataclass(frozen=True, eq=False)
class Joined:
    """A table with its reviews, and how many there were.

    The table has the true label (missing where unknown), what came of the review
    (``review_state``), and the stratum, wave and probability of every row that was on a sheet.

    Examples
    --------
    >>> Joined(pd.DataFrame({"obs": [0, 1]}), n_reviewed=0, n_cannot_tell=0, n_open=0).n_open
    0
    """

    table: pd.DataFrame
    n_reviewed: int  # rows of the sheets with a true label
    n_cannot_tell: int  # looked at, but without one
    n_open: int  # without an answer
    n_disputed: int = 0  # with answers that differ
    n_new: int = 0  # answers that were not in the log
    log: pd.DataFrame = field(default_factory=no_answers)  # every answer so far, oldest first

    def frame(self) -> pd.DataFrame:
        """Return the table."""
        return self.table


def join(
    table: pd.DataFrame,
    reviews: Reviews | Sequence[Reviews],
    *,
    label: str,
    truth: str = REVIEWED,
    log: pd.DataFrame | None = None,
    replace: bool = False,
    adjudicated: bool = False,
) -> Joined:
    """Add what reviewers found to the table the sheet was drawn from.

    Parameters
    ----------
    table : DataFrame
        If it has the columns of earlier sheets, the new reviews are added to those.
    reviews : Reviews, or a sequence of them
        From :func:`alignset.review.reading.read_reviews`; half-filled sheets can be joined one
        after the other.
    label : str
        Column of the observed label; true labels are written with its values.
    truth : str, default="reviewed"
        Column for the true labels.
    log : DataFrame, optional
        Answers joined before, from :func:`alignset.review.log.read_answers`.
    replace : bool, default=False
        Whether an answer that differs from the same person's earlier one takes its place.
    adjudicated : bool, default=False
        Whether these answers settle what others disagreed on.

    Raises
    ------
    SheetError
        With every row that cannot be joined.

    Examples
    --------
    >>> table = pd.DataFrame({"obs": [0, 1, 1]})
    >>> rows = {"id": ["2"], "reviewed": ["0"], "probability": [0.5], "stratum": ["1"], "wave": [1]}
    >>> join(table, Reviews("row", pd.DataFrame(rows)), label="obs").frame()["reviewed"].tolist()
    [<NA>, <NA>, 0]
    """
    check_columns(table, [label])
    check_not_own(table, truth)
    sheets = [reviews] if isinstance(reviews, Reviews) else list(reviews)
    _check_answered(sheets)
    place = _Place.of(table, sheets, label, truth)
    before = no_answers() if log is None else _as_in_table(log, place)
    known = _known(before)
    sheets = _one_spelling([_with_design(sheet, place) for sheet in sheets], before)
    added: list[dict[str, str]] = []
    found: list[tuple[str, SheetProblem]] = []
    for sheet in sheets:
        wrong, answers = _look(sheet, place, known, replace=replace, adjudicated=adjudicated)
        found += [(sheet.name, one) for one in sorted([*sheet.problems, *wrong])]
        added += answers
    refuse(found)
    new = pd.DataFrame(added, columns=list(ANSWER_COLUMNS), dtype="str")
    whole = pd.concat([before, new], ignore_index=True) if len(before) else new
    return _write(table, sheets, place, whole, len(new))


def _as_in_table(log: pd.DataFrame, place: _Place) -> pd.DataFrame:
    """Write ids of a log as the table does; refuse answers that are none of its classes.

    A spreadsheet program may have saved 00049461 as 49461: it is the same row, and two people who
    differ about it must not pass for two rows. What is about no row of the table is kept.
    """
    ids = [
        place.ids[place.at[id_key(row)]] if id_key(row) in place.at else row for row in log["id"]
    ]
    for row, key, answer in zip(ids, map(id_key, ids), log["answer"], strict=True):
        if key in place.at and _text_of(answer, place) is None:
            raise ValueError(
                f"the log of answers has {shorten(answer)} for row {shorten(row)}, which is no "
                f"answer; write {', '.join(map(repr, place.texts))} or {CANNOT_TELL!r} there."
            )
    return log.assign(id=ids)


def _one_spelling(sheets: Sequence[Reviews], log: pd.DataFrame) -> list[Reviews]:
    """Write the name of a reviewer as it was written first: Anna is anna."""
    first: dict[str, str] = {}
    for name in log["reviewer"]:
        first.setdefault(name.casefold(), name)
    out = []
    for sheet in sheets:
        rows = sheet.rows
        if REVIEWER in rows:
            names = [first.setdefault(name.casefold(), name) for name in rows[REVIEWER]]
            rows = rows.assign(**{REVIEWER: names})
        out.append(replace_fields(sheet, rows=rows))
    return out


def _check_answered(sheets: Sequence[Reviews]) -> None:
    if all(sheet.n_open == len(sheet.rows) and not sheet.problems for sheet in sheets):
        n = sum(len(sheet.rows) for sheet in sheets)
        raise ValueError(
            f"none of the {n} rows of the sheet has an answer, so there is nothing to "
            f"add; write the true label or {CANNOT_TELL!r} in its column {REVIEWED!r}."
        )


@dataclass(frozen=True, eq=False)
class _Place:
    """Where the rows of a table are, what it knows about them, and what answers mean."""

    id_column: str
    ids: list[str]
    at: Mapping[str, int]  # key of an id -> position
    true: Any  # what the table has as the true label, None where nothing
    design: Mapping[str, Any]  # columns that earlier sheets added
    truth: str
    classes: Any
    texts: list[str]  # of the classes
    known: list[dict[str, Any]]

    @classmethod
    def of(cls, table: pd.DataFrame, sheets: Sequence[Reviews], label: str, truth: str) -> _Place:
        columns = {sheet.id_column for sheet in sheets}
        if len(columns) > 1:
            raise ValueError(f"the sheets identify rows by {' and '.join(sorted(columns))}.")
        id_column = columns.pop()
        ids = row_ids(table, None if id_column == ROW else id_column)
        texts = [id_text(value) for value in ids.tolist()]
        classes = read_labels(table, label).classes
        names = [id_text(value) for value in classes.tolist()]
        if CANNOT_TELL in (name.casefold() for name in names):
            raise ValueError(f"{CANNOT_TELL!r} is a class of the label; rename it in the table.")
        known = [_unambiguous(map(form, names), classes.tolist()) for form in _FORMS]
        at = {id_key(text): position for position, text in enumerate(texts)}
        design = {name: _objects(table, name) for name in DESIGN}
        true = _objects(table, truth)
        return cls(id_column, texts, at, true, design, truth, classes, names, known)

    def read(self, answer: str) -> Any:
        """Return an answer as a value of the label column; None if it is not one of them."""
        places = zip(self.known, _FORMS, strict=True)
        return next((of[form(answer)] for of, form in places if form(answer) in of), None)


_FORMS: tuple[Callable[[str], str], ...] = (str, id_key, lambda text: id_key(text).casefold())
"""How an answer may be written, the most exact first."""

_DTYPES: Mapping[str, Any] = {
    **dict(zip(DESIGN, ("string", "Int64", "Float64"), strict=True)),
    "b": "boolean",
    "i": "Int64",
    "u": "Int64",
}
"""Types of the columns a sheet adds, and of true labels by the kind of the observed ones."""


_Known = dict[str, dict[str, tuple[str, str]]]
"""Id -> whose -> the answer that counts, and the comment on it."""


def _known(log: pd.DataFrame) -> _Known:
    counted, known = current_answers(log), _Known()
    names = ("id", "reviewer", "adjudicated", "answer", "comment")
    for row, who, final, *said in zip(*(counted[name] for name in names), strict=True):
        known.setdefault(row, {})[_whose(who, adjudicated=final == "yes")] = (said[0], said[1])
    return known


def _whose(reviewer: str, *, adjudicated: bool) -> str:
    """Tell apart answers by different people, and those that settle them."""
    return "settled" if adjudicated else f"by {reviewer}"


def _with_design(sheet: Reviews, place: _Place) -> Reviews:
    """Take how rows were drawn from the table, where an earlier sheet said it and this does not."""
    unknown = sheet.rows[WAVE].isna().any()
    if sheet.sure and not unknown:
        return sheet
    rows = sheet.rows[sheet.rows["line"] > 0] if "line" in sheet.rows else sheet.rows
    at = rows["id"].map(id_key).map(place.at)
    known = at.dropna().astype(int)
    if any(place.design[WAVE][position] is None for position in known):
        if unknown:
            raise ValueError(sheet.missing)
        return sheet
    rows = rows.copy()
    for name in DESIGN:
        rows[name] = rows[name].astype(object)
        rows.loc[known.index, name] = place.design[name][known.to_numpy()]
    return replace_fields(sheet, rows=rows)


def _drawn_before(row: Mapping[str, Any], position: int, place: _Place, known: _Known) -> str:
    """Say if a row that has an answer was drawn before with another probability."""
    wave, chance = (place.design[name][position] for name in (WAVE, PROBABILITY))
    answered = place.ids[position] in known or place.true[position] is not None
    if wave is None or chance is None or not answered:
        return ""
    if int(wave) == int(row[WAVE]) and abs(chance - row[PROBABILITY]) <= 1e-9:
        return ""
    return (
        f"the table has it from wave {wave}, drawn with probability {chance:.6g}, and here it is "
        f"of wave {row[WAVE]}, with {row[PROBABILITY]:.6g}; name its own design with --design FILE"
    )


def _look(
    sheet: Reviews, place: _Place, known: _Known, *, replace: bool, adjudicated: bool
) -> tuple[list[SheetProblem], list[dict[str, str]]]:
    """Return what is wrong with the rows of a sheet, and what it adds to the log."""
    problems, added = [], []
    for row in _rows(sheet):
        position = place.at.get(id_key(row["id"]))
        if position is None:
            said = f"the table has no such {place.id_column}; join the sheet to the table it is of"
            problems.append(SheetProblem(row["line"], row["id"], said))
            continue
        if row["reviewed"] is None:
            continue
        if said := _drawn_before(row, position, place, known):
            problems.append(SheetProblem(row["line"], row["id"], said))
            continue
        answer = _text_of(row["reviewed"], place)
        if answer is None:
            problems.append(SheetProblem(row["line"], row["id"], _no_answer(row, place)))
            continue
        whose = _whose(row["reviewer"], adjudicated=adjudicated)
        old, where = _old(position, whose, place, known)
        if old not in (None, answer) and not replace:
            said = f"{shorten(answer)} differs from {where}, {shorten(str(old))}; {_PASS}"
            problems.append(SheetProblem(row["line"], row["id"], said))
            continue
        entry = _entry(row, place.ids[position], answer, sheet.name, adjudicated=adjudicated)
        said_before = known.setdefault(entry["id"], {})
        if old is not None and whose not in said_before and old != answer:
            # what the table said, and nobody knows who did: it is replaced, but not forgotten
            added.append({**entry, "answer": old, "time": "", "comment": "", "sheet": "(table)"})
        if said_before.get(whose) != (answer, entry["comment"]):
            added.append(entry)
        said_before[whose] = (answer, entry["comment"])
    return problems, added


_PASS = "keep one, or replace the old one with --replace"


def _no_answer(row: Mapping[str, Any], place: _Place) -> str:
    accepted = ", ".join(map(repr, place.texts))
    hint = suggest(row["reviewed"], [*place.texts, CANNOT_TELL])
    return (
        f"{shorten(row['reviewed'])} is no answer{hint or ';'} write {accepted} or "
        f"{CANNOT_TELL!r}, or leave it empty"
    )


def _rows(sheet: Reviews) -> Iterator[dict[str, Any]]:
    """Yield the rows of a sheet; what it does not say is empty."""
    blank: dict[str, Any] = {**dict.fromkeys(REMARKS, ""), "line": 0}
    for row in sheet.rows.to_dict("records"):
        answer = row["reviewed"]
        known = {str(name): value for name, value in row.items()}
        yield {**blank, **known, "reviewed": None if pd.isna(answer) else str(answer)}


def _entry(
    row: Mapping[str, Any], id: str, answer: str, sheet: str, *, adjudicated: bool
) -> dict[str, str]:
    return {
        "id": id,
        "reviewer": str(row["reviewer"]),
        "answer": answer,
        "time": str(row["time"]),
        "comment": str(row["comment"]),
        "sheet": sheet,
        "wave": str(int(row["wave"])),
        "adjudicated": "yes" if adjudicated else "",
    }


def _text_of(answer: str, place: _Place) -> str | None:
    if answer == CANNOT_TELL:
        return CANNOT_TELL
    value = place.read(answer)
    return None if value is None else id_text(value)


def _old(position: int, whose: str, place: _Place, known: _Known) -> tuple[str | None, str]:
    """Return the earlier answer that a new one has to agree with, and where it is."""
    said = known.get(place.ids[position], {})
    if whose in said:
        return said[whose][0], "the same reviewer's earlier answer"
    value = place.true[position]
    if value is None or said:
        return None, ""
    return _text_of(id_text(value), place) or id_text(value), f"the table's {place.truth!r}"


def _write(
    table: pd.DataFrame, sheets: Sequence[Reviews], place: _Place, log: pd.DataFrame, n_new: int
) -> Joined:
    """Write what came of all answers into a copy of the table."""
    out, true, state = table.copy(), place.true, _objects(table, REVIEW_STATE)
    rows = pd.concat([sheet.rows for sheet in sheets], ignore_index=True)
    at = rows["id"].map(id_key).map(place.at).to_numpy(np.int64)
    for name in DESIGN:
        place.design[name][at] = rows[name].to_numpy(object)
    for position in range(len(table)):
        if place.design[WAVE][position] is not None and state[position] is None:
            state[position] = "open" if true[position] is None else "agreed"
    for row, settled in settle(log).items():
        if id_key(row) in place.at:
            position = place.at[id_key(row)]
            state[position] = settled.state
            true[position] = None if settled.answer is None else place.read(settled.answer)
    # integers stay integers even if some are missing
    out[place.truth] = pd.array(true.tolist(), dtype=_DTYPES.get(place.classes.dtype.kind, object))
    for name, column in place.design.items():
        out[name] = pd.array(column.tolist(), dtype=_DTYPES[name])
    out[REVIEW_STATE] = pd.array(state.tolist(), dtype="string")
    count = Counter(state[np.unique(at)])
    return Joined(
        out, count["agreed"], count["cannot tell"], count["open"], count["disputed"], n_new, log
    )


def _unambiguous(names: Iterable[str], values: Sequence[Any]) -> dict[str, Any]:
    """Return the value of each name that belongs to only one."""
    listed = list(names)
    count = Counter(listed)
    return {name: v for name, v in zip(listed, values, strict=True) if count[name] == 1}


def _objects(table: pd.DataFrame, name: str) -> Any:
    """Return a column as objects, with None for missing entries or a missing column."""
    if name not in table:
        return np.full(len(table), None, dtype=object)
    values = table[name].to_numpy(object, copy=True)
    values[is_missing(values)] = None
    return values
