"""Read what reviewers filled in: a sheet, the export of the review page, or of Label Studio."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from alignset.review.cells import read_cell
from alignset.review.ids import (
    DESIGN,
    PROBABILITY,
    REMARKS,
    REVIEWED,
    REVIEWER,
    STRATUM,
    WAVE,
    id_key,
    id_text,
)
from alignset.review.label_studio import read_tasks
from alignset.review.problems import SheetProblem, shorten, suggest
from alignset.review.sheet import CANNOT_TELL, Reviews
from alignset.review.sidecar import (
    SheetDesign,
    can_be_drawn,
    find_designs,
    named_designs,
    read_sheet_design,
)
from alignset.tables.dialect import Tell
from alignset.tables.files import column_names, read_table

FILLED = "-filled"
"""At the end of the name of a file that the review page exports."""


def read_reviews(
    path: str | os.PathLike[str],
    *,
    design: str | os.PathLike[str] | None = None,
    beside: Sequence[Path] = (),
    reviewer: str | None = None,
) -> Reviews:
    r"""Read a sheet back: CSV or TSV as written, or Label Studio's JSON or JSON-MIN export.

    Parameters
    ----------
    path : path
        A CSV or TSV file can be in any form that ``read_table`` accepts.
    design : path, optional
        The file that says how the rows were drawn; by default it is looked for in the folder of
        the sheet, and of the files in ``beside``. Sheets of earlier versions have it themselves.
    beside : sequence of path
    reviewer : str, optional
        Who reviewed; by default what the sheet says in a column ``reviewer``, or its file's name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "sheet.csv"
    ...     _ = file.write_text("row,stratum,wave,probability,reviewed\n7,1,1,0.5,yes\n")
    ...     read_reviews(file).frame()["reviewed"].tolist()
    ['yes']
    """
    place = _sheet_file(path)
    known = None if design is None else read_sheet_design(design)
    is_table = place.suffix.lower() != ".json"
    named = named_designs(place, beside) if known is None else []
    hint = read_sheet_design(named[0]) if named else known
    notes: list[str] = []
    id_column, rows = _from_table(place, hint, notes.append) if is_table else read_tasks(place)
    rows = _in_words(rows, place, reviewer)
    missing, sure = "", known is not None
    if known is None:
        found = find_designs(place, rows["id"], beside=beside)
        missing = _why_not(place, [path for path, _ in found])
        known = found[0][1] if len(found) == 1 else None
        sure = known is not None and found[0][0] in named
    if known is None and set(DESIGN) <= set(rows.columns):
        rows = _own_design(place, rows)
        notes.append(
            f"{place.name} shows its reviewers how rows were drawn, as sheets of earlier versions "
            "do; newer ones keep that in a file beside them"
        )
    if known is None:  # rows that were joined before have their design in the table
        rows = rows.assign(**{name: None for name in DESIGN if name not in rows})
        return _one_each(Reviews(id_column, rows, place.name, (), tuple(notes), missing=missing))
    if id_column != known.id_column:
        raise ValueError(
            f"{place} identifies rows by {id_column!r}, its design by {known.id_column!r}; name "
            "the design of this sheet with --design FILE."
        )
    rows, problems = _add_design(rows, known)
    return _one_each(Reviews(id_column, rows, place.name, problems, tuple(notes), known, sure))


def _sheet_file(path: str | os.PathLike[str]) -> Path:
    place = Path(path)
    if not place.is_file():
        raise FileNotFoundError(f"there is no file {place}.")
    if place.suffix.lower() not in (".csv", ".tsv", ".xlsx", ".json"):
        raise ValueError(
            f"{place.name} is not a review sheet; sheets end in .csv, .tsv, .xlsx or .json."
        )
    return place


def _why_not(place: Path, found: Sequence[Path]) -> str:
    """Say what to do about a sheet whose design is not known."""
    if len(found) > 1:
        known = " and ".join(map(str, found))
        return f"{place} may belong to {known}; say which with --design FILE."
    return (
        f"there is no file that says how the rows of {place.name} were drawn; put the file that "
        "`alignset sample` wrote with the sheet, NAME.design.json, beside it or beside the table, "
        "or name it with --design FILE."
    )


def reviewer_of(path: Path) -> str:
    """Return whose sheet a file is, by its name.

    Examples
    --------
    >>> [reviewer_of(Path(name)) for name in ("sheet.anna.csv", "sheet.ben-filled.csv", "eve.csv")]
    ['anna', 'ben', 'eve']
    """
    return path.stem.removesuffix(FILLED).rpartition(".")[2]


def check_header(path: Path, names: Sequence[str]) -> None:
    """Refuse a sheet with two columns for the same thing, or a name changed a little."""
    own = (*DESIGN, REVIEWED, *REMARKS)
    for name in names:
        bare = name.strip().casefold()
        if name not in own and bare in own:
            raise ValueError(
                f"{path} has a column {name!r}, which may be {bare!r}; leave the names as "
                "`alignset sample` wrote them, and delete any other column of that name."
            )


def _from_table(path: Path, design: SheetDesign | None, tell: Tell) -> tuple[str, pd.DataFrame]:
    """Return the name of the id column, and the sheet as text."""
    names = column_names(path)
    check_header(path, names)
    own = (*DESIGN, REVIEWED, *REMARKS)
    people = {name: who for name in names if (who := _whose_column(name))}
    first = next((name for name in names if name not in (*own, *people) and name.strip()), "")
    if design is not None:
        first = next((name for name in names if read_cell(name) == design.id_column), first)
    there = [name for name in own if name in names]
    answers = [REVIEWED] if REVIEWED in names or not people else []
    wanted = [*([first] if first else []), *dict.fromkeys([*there, *answers]), *people]
    frame = read_table(path, columns=wanted, as_text=True, tell=tell)
    if not first:
        raise ValueError(f"{path} has no column that says which row of the table a row is.")
    frame = frame.rename(columns={first: "id"}).map(read_cell)
    frame = frame.assign(line=range(2, len(frame) + 2))
    return read_cell(first), _one_answer_each(frame, answers, people)


def _whose_column(name: str) -> str:
    """Return whose answers a column has, such as "reviewed.anna" or "reviewed anna"."""
    found = re.fullmatch(rf"{REVIEWED}[ ._:-]+(\S.*)", name.strip())
    return found[1] if found else ""


def _one_answer_each(
    frame: pd.DataFrame, answers: Sequence[str], people: Mapping[str, str]
) -> pd.DataFrame:
    """Put columns of several reviewers one below the other."""
    if not people:
        return frame
    rest = frame.drop(columns=[*people])
    parts = [rest] if answers else []
    parts += [rest.assign(reviewed=frame[name], reviewer=who) for name, who in people.items()]
    # an empty cell does not say that the row was this person's; one for each row is enough
    stacked = pd.concat(parts, ignore_index=True)
    empty = stacked[REVIEWED].str.strip() == ""
    return stacked[~empty | ~stacked.duplicated("id")].reset_index(drop=True)


def _in_words(rows: pd.DataFrame, path: Path, reviewer: str | None) -> pd.DataFrame:
    """Return ids, answers and remarks as text; every row gets a reviewer."""
    for name in REMARKS:
        given = rows[name] if name in rows else pd.Series("", index=rows.index)
        rows[name] = given.map(lambda value: "" if pd.isna(value) else str(value).strip())
    if reviewer is not None:
        rows[REVIEWER] = reviewer
    rows[REVIEWER] = rows[REVIEWER].mask(rows[REVIEWER] == "", reviewer_of(path))
    return rows.assign(id=rows["id"].map(id_text), reviewed=rows[REVIEWED].map(_answer))


def _answer(value: Any) -> str | None:
    text = "" if pd.isna(value) else str(value).strip()
    if not text:
        return None
    return CANNOT_TELL if " ".join(text.casefold().split()) == CANNOT_TELL else text


def _numbers(values: pd.Series[Any]) -> pd.Series[Any]:
    return pd.to_numeric(values.astype("str").str.replace(",", "."), errors="coerce")


def _own_design(path: Path, rows: pd.DataFrame) -> pd.DataFrame:
    """Read the design that a sheet of an earlier version has in its columns."""
    chance, wave = _numbers(rows[PROBABILITY]), _numbers(rows[WAVE])
    fine = can_be_drawn(chance, wave)
    if not fine.all():
        at = fine.argmin()
        raise ValueError(
            f"{path} has probability {rows[PROBABILITY].tolist()[at]!r} and wave "
            f"{rows[WAVE].tolist()[at]!r} for row {rows['id'].tolist()[at]!r}; leave those columns "
            "as `alignset sample` wrote them."
        )
    words = rows[STRATUM].map(lambda value: "" if pd.isna(value) else str(value))
    return rows.assign(**{PROBABILITY: chance, STRATUM: words, WAVE: wave.astype(int)})


def _add_design(
    rows: pd.DataFrame, design: SheetDesign
) -> tuple[pd.DataFrame, tuple[SheetProblem, ...]]:
    """Take the design from its file; the sheet may have it, too, but not another one.

    Rows that somebody deleted from the sheet were drawn, and have no answer.
    """
    by_key = design.rows.assign(key=design.rows["id"].map(id_key)).set_index("key")
    keys, problems = rows["id"].map(id_key), []
    ids = design.rows["id"].tolist()
    for line, row in rows.loc[~keys.isin(by_key.index), ["line", "id"]].itertuples(index=False):
        said = f"it was not drawn for this sheet{suggest(row, ids)}"
        problems.append(SheetProblem(int(line), row, said))
    rows, keys = rows[keys.isin(by_key.index)], keys[keys.isin(by_key.index)]
    right = by_key.loc[keys].set_index(rows.index)
    for name in (name for name in DESIGN if name in rows):
        is_text = name == STRATUM
        own = rows[name].astype("str") if is_text else _numbers(rows[name])
        same = own == right[name] if is_text else (own - right[name]).abs() <= 1e-9 * right[name]
        for at in rows.index[~same & rows[name].notna()]:
            said = (
                f"{name} {shorten(str(rows.loc[at, name]))} is not what it was drawn with, "
                f"{right.loc[at, name]}; leave that column as it was, or delete it"
            )
            problems.append(SheetProblem(int(rows.loc[at, "line"]), rows.loc[at, "id"], said))
    rows = rows.assign(**{name: right[name] for name in DESIGN})
    gone = by_key[~by_key.index.isin(keys)].reset_index(drop=True)
    if len(gone):
        remarks = dict.fromkeys(REMARKS, "")
        rows = pd.concat([rows, gone.assign(reviewed=None, line=0, **remarks)], ignore_index=True)
    return rows, tuple(sorted(problems))


def _one_each(reviews: Reviews) -> Reviews:
    """Return one row per id and reviewer; rows with two answers, or two ids alike, are problems."""
    rows, problems = reviews.rows, list(reviews.problems)
    rows = rows.assign(key=rows["id"].map(id_key))
    for (_, who), of in rows[rows.duplicated(["key", REVIEWER], keep=False)].groupby(
        ["key", REVIEWER], sort=False
    ):
        said = of["reviewed"].dropna().unique().tolist()
        line, row = int(of["line"].iloc[-1]), of["id"].iloc[-1]
        if of["id"].nunique() > 1:
            one, other = of["id"].unique()[:2]
            text = (
                f"{shorten(one)} and {shorten(other)} may be the same; leave the ids as they were"
            )
            problems.append(SheetProblem(line, row, text))
        elif len(said) > 1:
            text = f"it has two answers, {shorten(said[0])} and {shorten(said[1])}; keep one"
            if who:
                text += ", or say who gave which in a column 'reviewer'"
            problems.append(SheetProblem(line, row, text))
    answered = rows["reviewed"].notna()
    order = rows.assign(open=~answered).sort_values("open", kind="stable").index
    first = rows.loc[order].drop_duplicates(["key", REVIEWER]).sort_index()
    first["reviewed"] = first["reviewed"].astype(object).where(first["reviewed"].notna(), None)
    columns = ["id", "reviewed", PROBABILITY, STRATUM, WAVE, *REMARKS, "line"]
    first = first[columns].reset_index(drop=True)
    return replace(reviews, rows=first, problems=tuple(sorted(problems)))
