"""The sheet that reviewers fill in: written as a table or Label Studio tasks, and read back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from alignset.review.cells import read_cell, written_cells
from alignset.review.ids import DESIGN as DESIGN
from alignset.review.ids import PROBABILITY as PROBABILITY
from alignset.review.ids import REVIEWED as REVIEWED
from alignset.review.ids import ROW as ROW
from alignset.review.ids import STRATUM as STRATUM
from alignset.review.ids import WAVE as WAVE
from alignset.review.ids import id_key, id_text
from alignset.review.ids import row_ids as row_ids
from alignset.tables.atomic import new_file
from alignset.tables.files import check_new_file, column_names, read_table, write_table

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


def write_sheet(sheet: Sheet, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a sheet as CSV or TSV; text that a spreadsheet would compute gets an apostrophe."""
    write_table(written_cells(sheet.rows), path, overwrite=overwrite)


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
    if place.suffix.lower() not in (".csv", ".tsv", ".xlsx", ".json"):
        raise ValueError(
            f"{place.name} is not a review sheet; sheets end in .csv, .tsv, .xlsx or .json."
        )
    id_column, rows = (_from_json if place.suffix.lower() == ".json" else _from_table)(place)
    return Reviews(id_column, _one_each(place, _checked(place, rows)))


def _one_each(place: Path, rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per id; refuse ids that differ only in how they are written."""
    told = rows.dropna(subset="reviewed").drop_duplicates(["id", "reviewed"])
    twice = told[told["id"].duplicated(keep=False)]
    if len(twice):
        row, (one, other, *_) = next((row, of["reviewed"]) for row, of in twice.groupby("id"))
        raise ValueError(
            f"{place} has two answers for row {row!r}, {one!r} and {other!r}; keep one."
        )
    ids = rows["id"].drop_duplicates()
    alike = ids[ids.map(id_key).duplicated(keep=False)].tolist()
    if alike:
        one, other = [text for text in alike if id_key(text) == id_key(alike[0])][:2]
        raise ValueError(
            f"{place} has rows {one!r} and {other!r}, which may be the same; leave the ids as "
            "`alignset sample` wrote them."
        )
    # of several annotators, keep the first who answered
    rows = rows.groupby("id", sort=False, as_index=False).first()
    rows["reviewed"] = rows["reviewed"].astype(object).where(rows["reviewed"].notna(), None)
    return rows


_COLUMNS = ("id", "reviewed", PROBABILITY, STRATUM, WAVE)


def _from_table(path: Path) -> tuple[str, pd.DataFrame]:
    """Return the name of the id column, and the sheet as text with the columns ``_COLUMNS``."""
    names = column_names(path)
    own = (*DESIGN, REVIEWED)
    for name in names:
        bare = name.strip().casefold()
        if name not in own and bare in own:
            raise ValueError(
                f"{path} has a column {name!r}, which may be {bare!r}; leave the names as "
                "`alignset sample` wrote them, and delete any other column of that name."
            )
    first = next((name for name in names if name not in own and name.strip()), "")
    frame = read_table(path, columns=[*([first] if first else []), *own], as_text=True)
    if not first:
        raise ValueError(f"{path} has no column that says which row of the table a row is.")
    frame = frame.rename(columns={first: "id"})[list(_COLUMNS)]
    return read_cell(first), frame.map(read_cell)


def _from_json(path: Path) -> tuple[str, pd.DataFrame]:
    try:
        tasks = json.loads(path.read_bytes(), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
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
        told = [data[name] for name in ("row", PROBABILITY, STRATUM, WAVE, "id_column")]
        if not all(isinstance(value, str | int | float) for value in told):
            raise ValueError(f"{path} has a task whose row is {data['row']!r}, not text.")
        columns.add(str(data["id_column"]))
        row, *design = told[:-1]
        rows += [(row, answer, *design) for answer in _answers(path, task) or [None]]
    if len(columns) > 1:
        raise ValueError(f"{path} mixes rows identified by {' and '.join(sorted(columns))}.")
    return columns.pop(), pd.DataFrame(rows, columns=list(_COLUMNS), dtype=object)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; refuse one that says the same thing twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} occurs twice in one object")
    return found


def _answers(path: Path, task: Mapping[str, Any]) -> list[Any]:
    """Return every annotator's answer to a task, from a JSON or JSON-MIN export."""
    try:
        if "data" not in task:
            answer = task.get(REVIEWED)
            found = [answer["choices"] if isinstance(answer, dict) else answer]
        else:
            found = [
                result["value"]["choices"]
                for annotation in task.get("annotations") or ()
                if not annotation.get("was_cancelled")
                for result in annotation.get("result") or ()
                if result.get("from_name") == REVIEWED and result.get("value", {}).get("choices")
            ]
        chosen = [one if isinstance(one, list) else [one] for one in found]
        if any(len(each) > 1 or not all(map(_is_plain, each)) for each in chosen):
            raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(
            f"{path} has a task whose answer is not one choice: {str(task)[:200]}."
        ) from None
    return [each[0] for each in chosen if each]


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


MAX_WAVE = 1_000_000
"""Number of a sheet that nobody will reach."""


def _checked(path: Path, rows: pd.DataFrame) -> pd.DataFrame:
    """Return ids and answers as text, and probabilities and waves as numbers."""
    text = {name: rows[name].astype("str").str.replace(",", ".") for name in (PROBABILITY, WAVE)}
    chance, wave = (pd.to_numeric(values, errors="coerce") for values in text.values())
    ids = rows["id"].map(id_text)
    fine = (chance > 0) & (chance <= 1) & wave.between(1, MAX_WAVE) & (wave % 1 == 0)
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
