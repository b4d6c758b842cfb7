"""The sheet that reviewers fill in: written as a table or Label Studio tasks, and read back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alignset.labels import check_complete, is_missing
from alignset.tables.atomic import new_file
from alignset.tables.delimited import find_layout
from alignset.tables.files import check_columns, check_new_file, read_table

ROW, STRATUM, WAVE, PROBABILITY, REVIEWED = "row", "stratum", "wave", "probability", "reviewed"
DESIGN = (STRATUM, WAVE, PROBABILITY)
"""Columns that say how a row came to be on a sheet."""
CANNOT_TELL = "cannot tell"
"""What reviewers write if they looked but could not decide."""

LABEL_STUDIO_CONFIG = """\
<View>
  <Text name="row" value="$text"/>
  <Choices name="reviewed" toName="row" value="$choices" choice="single" required="true"/>
</View>
"""
"""Labelling interface for the tasks that :func:`write_label_studio` writes."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Rows drawn for review, in the order to review them.

    ``rows`` has the row id, stratum, wave, probability, the columns shown to the reviewer, and an
    empty ``reviewed``. Strata have numbers instead of names, which would reveal the observed label.

    Examples
    --------
    >>> rows = pd.DataFrame({"row": [7], "stratum": ["1"], "wave": [1], "probability": [0.5]})
    >>> Sheet(rows.assign(reviewed=""), ("no", "yes")).frame().columns.tolist()
    ['row', 'stratum', 'wave', 'probability', 'reviewed']
    """

    rows: pd.DataFrame
    choices: tuple[str, ...]  # the labels a reviewer chooses from

    def frame(self) -> pd.DataFrame:
        """One row per row to review."""
        return self.rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def id_column(self) -> str:
        """Name of the column that identifies a row."""
        return str(self.rows.columns[0])


@dataclass(frozen=True, eq=False)
class Reviews:
    """What came back from reviewers.

    ``rows`` has the columns id, reviewed, probability, stratum, wave; ``reviewed`` is text,
    ``"cannot tell"``, or None where nobody answered.

    Examples
    --------
    >>> rows = pd.DataFrame({"id": ["1", "2"], "reviewed": ["yes", CANNOT_TELL]})
    >>> Reviews("row", rows).n_cannot_tell
    1
    """

    id_column: str  # a column of the table, or "row" for the position in it
    rows: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """One row per row of the sheet."""
        return self.rows

    @property
    def n_cannot_tell(self) -> int:
        """Rows that somebody looked at but could not decide."""
        return int((self.rows["reviewed"] == CANNOT_TELL).sum())

    @property
    def n_open(self) -> int:
        """Rows without an answer."""
        return int(self.rows["reviewed"].isna().sum())


def make_sheet(
    table: pd.DataFrame,
    positions: Any,
    *,
    probability: Any,
    stratum: Any,
    wave: int,
    id: str | None,
    show: Sequence[str],
    choices: Sequence[Any],
) -> Sheet:
    """Make a sheet from rows of a table; ``positions`` says which rows, in which order."""
    ids = row_ids(table, id)
    for name in show:
        if name in (REVIEWED, *DESIGN, ids.name):
            raise ValueError(f"cannot show column {name!r}: the sheet has its own.")
    columns: dict[str, Any] = {
        str(ids.name): ids.to_numpy()[positions],
        STRATUM: stratum,
        WAVE: wave,
        PROBABILITY: probability,
        **{name: table[name].to_numpy(object)[positions] for name in show},
        REVIEWED: "",
    }
    return Sheet(pd.DataFrame(columns), tuple(str(choice) for choice in choices))


def row_ids(table: pd.DataFrame, id: str | None) -> pd.Series[Any]:
    """Return the column that identifies rows, by default their position; refuse repeated ids."""
    if id is None:
        return pd.Series(np.arange(len(table)), name=ROW)
    check_columns(table, [id])
    ids = table[id]
    check_complete(is_missing(ids), "ids", "every row needs an id", column=id)
    if ids.duplicated().any():
        twice = ids[ids.duplicated()].tolist()[0]
        raise ValueError(
            f"column {id!r} holds {twice!r} more than once; an id must identify one row: leave it "
            "out to use the position in the table."
        )
    if id in (REVIEWED, *DESIGN):
        raise ValueError(f"the id column cannot be {id!r}: the sheet has its own.")
    return ids


def write_label_studio(
    sheet: Sheet, path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write a sheet as Label Studio tasks (JSON); import them with ``LABEL_STUDIO_CONFIG``."""
    place = Path(path)
    check_json_output(place, overwrite=overwrite)
    tasks = [{"data": data} for data in _tasks(sheet)]
    with new_file(place) as part:
        part.write_text(json.dumps(tasks, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def check_json_output(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a JSON file that cannot be written, before any work is done."""
    if path.suffix.lower() != ".json":
        raise ValueError(f"{path.name} must end in .json: Label Studio tasks are JSON.")
    check_new_file(path, overwrite=overwrite)


def _tasks(sheet: Sheet) -> Iterator[dict[str, Any]]:
    known = (sheet.id_column, *DESIGN, REVIEWED)
    shown = [str(name) for name in sheet.rows.columns if name not in known]
    choices = [{"value": name} for name in (*sheet.choices, CANNOT_TELL)]
    for row in sheet.rows.to_dict("records"):
        facts = [f"{name}: {'' if pd.isna(row[name]) else row[name]}" for name in shown]
        yield {
            "id_column": sheet.id_column,
            "row": id_text(row[sheet.id_column]),
            STRATUM: str(row[STRATUM]),
            WAVE: int(row[WAVE]),
            PROBABILITY: float(row[PROBABILITY]),
            "text": "\n".join([f"{sheet.id_column}: {id_text(row[sheet.id_column])}", *facts]),
            "choices": choices,
        }


def id_text(value: Any) -> str:
    """Write an id the same way whichever program last saved it: 7, 7.0 and "7.0" are "7"."""
    text = str(value).strip()
    whole, dot, rest = text.partition(".")
    return whole if dot and not rest.strip("0") and whole.lstrip("-").isdigit() else text


def read_reviews(path: str | os.PathLike[str]) -> Reviews:
    r"""Read a sheet back: CSV or TSV as written, or Label Studio's JSON or JSON-MIN export.

    A CSV or TSV file can be in any form that ``read_table`` accepts.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "sheet.csv"
    ...     _ = file.write_text("row,stratum,wave,probability,reviewed\n7,1,1,0.5,yes\n")
    ...     read_reviews(file).frame()["reviewed"].tolist()
    ['yes']
    """
    place = Path(path)
    if not place.is_file():
        raise FileNotFoundError(f"there is no file {place}.")
    if place.suffix.lower() not in (".csv", ".tsv", ".json"):
        raise ValueError(f"{place.name} is not a review sheet; sheets end in .csv, .tsv or .json.")
    id_column, rows = (_from_json if place.suffix.lower() == ".json" else _from_table)(place)
    rows = _checked(place, rows)
    told = rows.dropna(subset="reviewed").drop_duplicates(["id", "reviewed"])
    twice = told[told["id"].duplicated(keep=False)]
    if len(twice):
        row, (one, other, *_) = next((row, of["reviewed"]) for row, of in twice.groupby("id"))
        raise ValueError(
            f"{place} has two answers for row {row!r}, {one!r} and {other!r}; keep one."
        )
    # of several annotators, keep the first who answered
    rows = rows.groupby("id", sort=False, as_index=False).first()
    rows["reviewed"] = rows["reviewed"].astype(object).where(rows["reviewed"].notna(), None)
    return Reviews(id_column, rows)


_COLUMNS = ("id", "reviewed", PROBABILITY, STRATUM, WAVE)


def _from_table(path: Path) -> tuple[str, pd.DataFrame]:
    """Return the name of the id column, and the sheet as text with the columns ``_COLUMNS``."""
    first = find_layout(path, ",").names[:1]
    frame = read_table(path, columns=[*first, *DESIGN, REVIEWED], as_text=True)
    return first[0], frame.rename(columns={first[0]: "id"})[list(_COLUMNS)]


def _from_json(path: Path) -> tuple[str, pd.DataFrame]:
    try:
        tasks = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}.") from None
    if not (isinstance(tasks, list) and tasks and all(isinstance(t, dict) for t in tasks)):
        raise ValueError(f"{path} is not a Label Studio export, which is a list of tasks.")
    rows, columns = [], set()
    for task in tasks:
        data = task.get("data", task)
        if not isinstance(data, dict) or not {"row", "id_column", *DESIGN} <= set(data):
            raise ValueError(
                f"{path} has a task that `alignset sample` did not write: row, id_column, stratum, "
                "wave or probability is missing."
            )
        columns.add(str(data["id_column"]))
        design = data[PROBABILITY], data[STRATUM], data[WAVE]
        rows += [(data["row"], answer, *design) for answer in _answers(task) or [None]]
    if len(columns) > 1:
        raise ValueError(f"{path} mixes rows identified by {' and '.join(sorted(columns))}.")
    return columns.pop(), pd.DataFrame(rows, columns=list(_COLUMNS), dtype=object)


def _answers(task: Mapping[str, Any]) -> list[Any]:
    """Return every annotator's answer to a task, from a JSON or JSON-MIN export."""
    if "data" not in task:
        answer = task.get(REVIEWED)
        chosen = answer.get("choices") if isinstance(answer, dict) else answer
        return chosen[:1] if isinstance(chosen, list) else [chosen]
    return [
        result["value"]["choices"][0]
        for annotation in task.get("annotations") or ()
        if not annotation.get("was_cancelled")
        for result in annotation.get("result") or ()
        if result.get("from_name") == REVIEWED and result.get("value", {}).get("choices")
    ]


def _checked(path: Path, rows: pd.DataFrame) -> pd.DataFrame:
    """Return ids and answers as text, and probabilities and waves as numbers."""
    text = {name: rows[name].astype("str").str.replace(",", ".") for name in (PROBABILITY, WAVE)}
    chance, wave = (pd.to_numeric(values, errors="coerce") for values in text.values())
    ids, fine = rows["id"].map(id_text), (chance > 0) & (chance <= 1) & (wave >= 1)
    if not fine.all():
        at = fine.argmin()
        raise ValueError(
            f"{path} has probability {rows[PROBABILITY].tolist()[at]!r} and wave "
            f"{rows[WAVE].tolist()[at]!r} for row {ids.tolist()[at]!r}; leave those columns as "
            "`alignset sample` wrote them."
        )
    return rows.assign(
        id=ids,
        reviewed=rows["reviewed"].map(_answer),
        **{PROBABILITY: chance, STRATUM: rows[STRATUM].astype("str"), WAVE: wave.astype(int)},
    )


def _answer(value: Any) -> str | None:
    text = "" if pd.isna(value) else str(value).strip()
    if not text:
        return None
    return CANNOT_TELL if " ".join(text.casefold().split()) == CANNOT_TELL else text
