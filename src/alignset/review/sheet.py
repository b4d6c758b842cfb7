"""The sheet reviewers fill in: written as a table or Label Studio tasks, and read back."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alignset.tables.atomic import new_file
from alignset.tables.files import check_columns, write_table

ROW, STRATUM, WAVE, PROBABILITY, REVIEWED = "row", "stratum", "wave", "probability", "reviewed"
DESIGN = (STRATUM, WAVE, PROBABILITY)
"""Columns that say how a row came to be on a sheet."""
CANNOT_TELL = "cannot tell"
"""What a reviewer writes who looked and could not decide."""

LABEL_STUDIO_CONFIG = """\
<View>
  <Text name="row" value="$text"/>
  <Choices name="reviewed" toName="row" value="$choices" choice="single" required="true"/>
</View>
"""
"""Labelling interface for the tasks :func:`write_label_studio` writes."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Rows drawn for review, in the order they are to be looked at.

    Parameters
    ----------
    rows : DataFrame
        Columns: the row id, stratum, wave, probability, what is shown to the reviewer, and an
        empty ``reviewed``. Strata have numbers instead of names, so that they do not tell the
        observed label.
    choices : tuple of str
        The labels a reviewer chooses from.

    Examples
    --------
    >>> rows = pd.DataFrame({"row": [7], "stratum": ["1"], "wave": [1], "probability": [0.5]})
    >>> Sheet(rows.assign(reviewed=""), ("no", "yes")).frame().columns.tolist()
    ['row', 'stratum', 'wave', 'probability', 'reviewed']
    """

    rows: pd.DataFrame
    choices: tuple[str, ...]

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

    Parameters
    ----------
    id_column : str
        What the ids are: a column of the table, or ``"row"`` for the position in it.
    rows : DataFrame
        Columns id, reviewed, probability, stratum, wave; ``reviewed`` is text, ``"cannot tell"``
        or None where nobody answered.

    Examples
    --------
    >>> rows = pd.DataFrame({"id": ["1", "2"], "reviewed": ["yes", CANNOT_TELL]})
    >>> Reviews("row", rows).n_cannot_tell
    1
    """

    id_column: str
    rows: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """One row per row of the sheet."""
        return self.rows

    @property
    def n_cannot_tell(self) -> int:
        """Rows somebody looked at and could not decide."""
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
    """Lay out rows of a table as a sheet; ``positions`` decide which, and in which order."""
    ids = pd.Series(np.arange(len(table)), name=ROW) if id is None else row_ids(table, id)
    own = [REVIEWED, *DESIGN, ids.name]
    for name in show:
        if name in own:
            raise ValueError(f"cannot show column {name!r}: a sheet has a column of that name.")
    columns: dict[str, Any] = {
        str(ids.name): ids.to_numpy()[positions],
        STRATUM: stratum,
        WAVE: wave,
        PROBABILITY: probability,
        **{name: table[name].to_numpy(object)[positions] for name in show},
        REVIEWED: "",
    }
    return Sheet(pd.DataFrame(columns), tuple(str(choice) for choice in choices))


def row_ids(table: pd.DataFrame, id: str) -> pd.Series[Any]:
    """Return the column that identifies rows; refuse missing and repeated ids."""
    check_columns([id], [str(name) for name in table.columns], "the table")
    ids = table[id]
    if ids.isna().any():
        raise ValueError(f"column {id!r} is missing in {ids.isna().sum()} rows; an id is needed.")
    if ids.duplicated().any():
        twice = ids[ids.duplicated()].tolist()[0]
        raise ValueError(
            f"column {id!r} holds {twice!r} more than once; an id names one row. Leave it out to "
            "use the position in the table."
        )
    if id in (REVIEWED, *DESIGN):
        raise ValueError(f"the id column cannot be {id!r}: a sheet has a column of that name.")
    return ids


def write_sheet(sheet: Sheet, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a sheet as a table, in the format of its suffix; whole or not at all."""
    write_table(sheet.rows, path, overwrite=overwrite)


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
    """Refuse a JSON file that cannot be written, before any work is done for it."""
    if path.suffix.lower() != ".json":
        raise ValueError(f"{path.name} must end in .json: Label Studio tasks are JSON.")
    if path.exists() and not overwrite:
        raise ValueError(f"{path} exists; name another file, or pass --overwrite.")
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {path.parent} to write {path.name} to.")


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
    """Write an id the same way whatever program last saved it: 7, 7.0 and "7.0" are "7".

    Examples
    --------
    >>> id_text(7.0), id_text(" 7.0 "), id_text("A-1")
    ('7', '7', 'A-1')
    """
    text = str(value).strip()
    whole, dot, rest = text.partition(".")
    return whole if dot and not rest.strip("0") and whole.lstrip("-").isdigit() else text


def read_reviews(path: str | os.PathLike[str]) -> Reviews:
    r"""Read a sheet back: CSV or TSV as written, or Label Studio's JSON or JSON-MIN export.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv`` or ``.json``. A CSV saved with semicolons, a byte-order mark or decimal
        commas is understood too.

    Returns
    -------
    Reviews

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
        raise ValueError(f"{place.name} is no review sheet; sheets end in .csv, .tsv or .json.")
    try:
        text = place.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{place} is not UTF-8; save it as CSV UTF-8.") from None
    if not text.strip():
        raise ValueError(f"{place} is empty.")
    found = _from_json(place, text) if place.suffix.lower() == ".json" else _from_csv(place, text)
    id_column, rows = found
    rows = [{**row, "reviewed": _answer(row["reviewed"])} for row in rows]
    frame = pd.DataFrame(
        _one_answer_each(place, rows), columns=["id", "reviewed", PROBABILITY, STRATUM, WAVE]
    )
    frame["reviewed"] = frame["reviewed"].astype(object).where(frame["reviewed"].notna(), None)
    return Reviews(id_column, frame)


_Found = tuple[str, list[dict[str, Any]]]


def _from_csv(path: Path, text: str) -> _Found:
    header = text.splitlines()[0]
    separator = max((",", ";", "\t"), key=header.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
    names = list(reader.fieldnames or ())
    check_columns((*DESIGN, REVIEWED), names, str(path))
    rows = [
        _checked(path, row[names[0]], row[REVIEWED], {key: row[key] for key in DESIGN})
        for row in reader
    ]
    if not rows:
        raise ValueError(f"{path} has columns but no rows.")
    return names[0], rows


def _from_json(path: Path, text: str) -> _Found:
    try:
        tasks = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}.") from None
    if not (isinstance(tasks, list) and tasks and all(isinstance(t, dict) for t in tasks)):
        raise ValueError(f"{path} is no Label Studio export; that is a list of tasks.")
    rows, columns = [], set()
    for task in tasks:
        data = task.get("data", task)
        if not isinstance(data, dict) or not {"row", "id_column", *DESIGN} <= set(data):
            raise ValueError(
                f"{path} holds a task that `alignset sample` did not write; it has no row, "
                "id_column, stratum, wave or probability."
            )
        columns.add(str(data["id_column"]))
        answers = _answers(task) or [None]
        rows += [_checked(path, data["row"], answer, data) for answer in answers]
    if len(columns) > 1:
        raise ValueError(f"{path} mixes rows identified by {' and '.join(sorted(columns))}.")
    return columns.pop(), rows


def _answers(task: Mapping[str, Any]) -> list[Any]:
    """Answers of every annotator of a task, from the JSON or the JSON-MIN export."""
    if "data" not in task:
        answer = task.get(REVIEWED)
        chosen = answer.get("choices") if isinstance(answer, dict) else answer
        return [chosen[0] if isinstance(chosen, list) and chosen else chosen]
    return [
        result["value"]["choices"][0]
        for annotation in task.get("annotations") or ()
        if not annotation.get("was_cancelled")
        for result in annotation.get("result") or ()
        if result.get("from_name") == REVIEWED and result.get("value", {}).get("choices")
    ]


def _checked(path: Path, row: Any, answer: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """One line of a sheet, with its probability and wave as numbers."""
    try:
        chance = float(str(data[PROBABILITY]).replace(",", "."))
        wave = int(float(str(data[WAVE])))
    except ValueError:
        chance, wave = float("nan"), 0
    if not (0 < chance <= 1 and wave >= 1):
        raise ValueError(
            f"{path} has probability {data[PROBABILITY]!r} and wave {data[WAVE]!r} for row "
            f"{id_text(row)!r}; leave those columns as `alignset sample` wrote them."
        )
    design = {PROBABILITY: chance, STRATUM: str(data[STRATUM]), WAVE: wave}
    return {"id": id_text(row), "reviewed": answer, **design}


def _answer(value: Any) -> str | None:
    text = "" if value is None else str(value).strip()
    if not text:
        return None
    return CANNOT_TELL if " ".join(text.casefold().split()) == CANNOT_TELL else text


def _one_answer_each(path: Path, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    kept: dict[str, dict[str, Any]] = {}
    for row in rows:
        before = kept.setdefault(row["id"], row)
        if before["reviewed"] is None:
            kept[row["id"]] = row
        elif row["reviewed"] not in (None, before["reviewed"]):
            raise ValueError(
                f"{path} has two answers for row {row['id']!r}, {before['reviewed']!r} and "
                f"{row['reviewed']!r}; settle on one."
            )
    return list(kept.values())
