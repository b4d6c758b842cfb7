"""Sheets as Label Studio tasks: written for import, and read back from an export."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from alignset.review.ids import DESIGN, REVIEWED, id_text
from alignset.review.sheet import CANNOT_TELL, Sheet
from alignset.tables.atomic import new_file
from alignset.tables.files import check_new_file

LABEL_STUDIO_CONFIG = """\
<View>
  <Text name="row" value="$text"/>
  <Choices name="reviewed" toName="row" value="$choices" choice="single" required="true"/>
</View>
"""
"""Labelling interface for the tasks that :func:`write_label_studio` writes."""


def write_label_studio(
    sheet: Sheet, path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write a sheet as Label Studio tasks (JSON); import them with ``LABEL_STUDIO_CONFIG``.

    Tasks have the id of their row and what is shown, not how the row was drawn.
    """
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
    shown = [str(name) for name in sheet.shown().columns[1:-1]]
    choices = [{"value": name} for name in (*sheet.choices, CANNOT_TELL)]
    for row in sheet.rows.to_dict("records"):
        facts = [f"{name}: {'' if pd.isna(row[name]) else row[name]}" for name in shown]
        yield {
            "id_column": sheet.id_column,
            "row": id_text(row[sheet.id_column]),
            "text": "\n".join([f"{sheet.id_column}: {id_text(row[sheet.id_column])}", *facts]),
            "choices": choices,
        }


def read_tasks(path: Path) -> tuple[str, pd.DataFrame]:
    """Return the name of the id column, and one row per answer of a JSON or JSON-MIN export.

    Exports of earlier versions have the design in every task.
    """
    try:
        tasks = json.loads(path.read_bytes(), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}.") from None
    if not (isinstance(tasks, list) and tasks and all(isinstance(t, dict) for t in tasks)):
        raise ValueError(f"{path} is not a Label Studio export, which is a list of tasks.")
    rows, columns = [], set()
    for number, task in enumerate(tasks, 1):
        data = task.get("data", task)
        if not isinstance(data, dict) or not {"row", "id_column"} <= set(data):
            raise ValueError(
                f"{path} has a task that `alignset sample` did not write: row or id_column is "
                "missing."
            )
        own = [name for name in DESIGN if name in data]
        told = [data[name] for name in ("row", "id_column", *own)]
        if not all(isinstance(value, str | int | float) for value in told):
            raise ValueError(f"{path} has a task whose row is {data['row']!r}, not text.")
        columns.add(str(data["id_column"]))
        design = {name: data[name] for name in own}
        answers = _answers(path, task) or [{REVIEWED: None}]
        rows += [{"id": data["row"], "line": number, **one, **design} for one in answers]
    if len(columns) > 1:
        raise ValueError(f"{path} mixes rows identified by {' and '.join(sorted(columns))}.")
    return columns.pop(), pd.DataFrame(rows, dtype=object)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; refuse one that says the same thing twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} occurs twice in one object")
    return found


def _answers(path: Path, task: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every annotator's answer to a task, from a JSON or JSON-MIN export."""
    try:
        if "data" not in task:
            answer = task.get(REVIEWED)
            who, when = task.get("annotator"), task.get("created_at")
            found: list[Any] = [
                (answer["choices"] if isinstance(answer, dict) else answer, who, when)
            ]
        else:
            found = [
                (result["value"]["choices"], one.get("completed_by"), one.get("created_at"))
                for one in task.get("annotations") or ()
                if not one.get("was_cancelled")
                for result in one.get("result") or ()
                if result.get("from_name") == REVIEWED and result.get("value", {}).get("choices")
            ]
        chosen = [(one if isinstance(one, list) else [one], *rest) for one, *rest in found]
        if any(len(each) > 1 or not all(map(_is_plain, each)) for each, *_ in chosen):
            raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(
            f"{path} has a task whose answer is not one choice: {str(task)[:200]}."
        ) from None
    return [
        {REVIEWED: each[0], "reviewer": _person(who), "time": when if isinstance(when, str) else ""}
        for each, who, when in chosen
        if each
    ]


def _person(who: Any) -> str:
    """Name an annotator, whom an export gives by number, by address or not at all."""
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    return f"annotator {who}" if isinstance(who, int) else who if isinstance(who, str) else ""


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)
