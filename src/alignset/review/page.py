"""The review page: one HTML file, without a server, on which a reviewer fills in a sheet."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from alignset.review.cells import read_cell
from alignset.review.ids import DESIGN, REMARKS, REVIEWED, REVIEWER, id_key
from alignset.review.reading import check_header, reviewer_of
from alignset.review.sheet import CANNOT_TELL
from alignset.review.sidecar import SheetDesign, find_designs, read_sheet_design
from alignset.tables.dialect import Tell, warn
from alignset.tables.files import check_names, column_names, read_table

MARK = '<meta name="generator" content="alignset review">'
"""In every review page."""


@dataclass(frozen=True)
class ReviewPage:
    """A sheet as a page; what is on it can be seen by whoever gets the file.

    Examples
    --------
    >>> page = ReviewPage("sheet", "row", ("7",), ("age",), (("61",),), ("no", "yes"))
    >>> "Content-Security-Policy" in page.html()
    True
    """

    stem: str  # of the sheet's file
    id_column: str
    ids: tuple[str, ...]
    columns: tuple[str, ...]  # shown
    cells: tuple[tuple[str, ...], ...]  # text of each row in each column
    choices: tuple[str, ...]
    groups: tuple[str, ...] = ()  # columns whose progress is told apart
    reviewer: str = ""  # whom the sheet is for
    filled: tuple[dict[str, str] | None, ...] = ()  # answers that the sheet has
    title: str = ""

    @property
    def digest(self) -> str:
        """Tells sheets apart in the storage of a browser."""
        parts = [self.id_column, self.ids, self.columns, self.cells, self.choices]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def html(self) -> str:
        """Return the page; the same sheet gives the same bytes."""
        script, style = _asset("review.js"), _asset("review.css")
        parts = {
            "title": escape(self.title or f"Review: {self.stem}"),
            "script-digest": _digest(script),
            "style-digest": _digest(style),
            "script": script,
            "style": style,
            "data": _as_data(self._content()),
        }
        # in pieces, so that a mark in the data is not taken for one of the template
        pieces = _asset("review.html").split("@")
        return "".join(parts.get(p, p) if i % 2 else p for i, p in enumerate(pieces))

    def _content(self) -> dict[str, Any]:
        return {
            "digest": self.digest,
            "stem": self.stem,
            "idColumn": self.id_column,
            "ids": self.ids,
            "columns": self.columns,
            "cells": self.cells,
            "choices": self.choices,
            "cannotTell": CANNOT_TELL,
            "groups": [self.columns.index(name) for name in self.groups],
            "reviewer": self.reviewer,
            "filled": self.filled or [None] * len(self.ids),
        }


def review_page(
    path: str | os.PathLike[str],
    *,
    show: Sequence[str] | None = None,
    choices: Sequence[str] = (),
    design: str | os.PathLike[str] | None = None,
    reviewer: str = "",
    title: str = "",
    tell: Tell = warn,
) -> ReviewPage:
    """Make the page of a sheet.

    Parameters
    ----------
    path : path
        The sheet, as CSV or TSV; it may be half filled in.
    show : sequence of str, optional
        Columns to show; by default all of the sheet. How rows were drawn is never shown.
    choices : sequence of str
        Answers to choose from; by default the classes of the label, from the design.
    design : path, optional
        The file that `alignset sample` wrote with the sheet; by default it is looked for beside it.
    reviewer : str
        Whom the page is for, where the sheet does not say it.
    title : str
    tell : callable, optional
        Called with a sentence for everything that was left out; by default a warning.
    """
    place = Path(path)
    if place.suffix.lower() == ".json":
        raise ValueError(f"{place.name} is for Label Studio; make the page from the sheet.")
    names = column_names(place) if place.is_file() else []
    frame = read_table(place, as_text=True, tell=tell).map(read_cell)
    check_header(place, names)
    frame.columns = [read_cell(str(name)) for name in frame.columns]
    own = (*DESIGN, REVIEWED, *REMARKS)
    free = [name for name in frame.columns if name not in own]
    known = _design_of(place, frame[free[0]].tolist() if free else [], design)
    id_column = known.id_column if known is not None else next(iter(free), "")
    check_names([id_column, REVIEWED], frame.columns.tolist(), str(place))
    ids = frame[id_column].tolist()
    if len({id_key(text) for text in ids}) < len(ids):
        raise ValueError(f"{place} has a row twice; a page needs a sheet with one line per row.")
    shown = _shown(place, show, [name for name in free if name != id_column], own)
    answers = tuple(choices) or (known.choices if known is not None else ())
    _check_choices(place, answers)
    groups = () if known is None else tuple(name for name in known.groups if name in shown)
    cells = tuple(zip(*(frame[name].tolist() for name in shown), strict=True)) if shown else ()
    return ReviewPage(
        place.stem, id_column, tuple(ids), tuple(shown), cells or ((),) * len(ids), answers, groups,
        reviewer or _reviewer(place, frame, known), _filled(frame, answers), title,
    )  # fmt: skip


def _design_of(
    place: Path, ids: Sequence[str], design: str | os.PathLike[str] | None
) -> SheetDesign | None:
    if design is not None:
        return read_sheet_design(design)
    found = find_designs(place, ids)
    if len(found) > 1:
        known = " and ".join(str(path) for path, _ in found)
        raise ValueError(f"{place} may belong to {known}; say which with --design FILE.")
    return found[0][1] if found else None


def _shown(
    place: Path, show: Sequence[str] | None, free: Sequence[str], own: Sequence[str]
) -> list[str]:
    """Choose the columns to show; refuse those that would tell what reviewers must not know."""
    if show is None:
        return [name for name in free if name.strip()]
    for name in show:
        if name in own:
            raise ValueError(f"cannot show column {name!r}: it is not for reviewers.")
    check_names(show, free, str(place))
    return list(dict.fromkeys(show))


def _check_choices(place: Path, choices: Sequence[str]) -> None:
    if not choices:
        raise ValueError(
            f"there is no file beside {place} that says which answers there are; name the file "
            "that `alignset sample` wrote with --design, or the answers with --choice."
        )
    if len({name.casefold() for name in (*choices, CANNOT_TELL)}) <= len(choices):
        raise ValueError(f"answers must differ from each other and from {CANNOT_TELL!r}.")


def _reviewer(place: Path, frame: Any, design: SheetDesign | None) -> str:
    """Return whom a sheet is for: as it says, or by its name if it is one of several."""
    said = set(frame[REVIEWER]) - {""} if REVIEWER in frame else set()
    if len(said) == 1:
        return str(said.pop())
    name = reviewer_of(place)
    return name if design is not None and name in design.reviewers else ""


def _filled(frame: Any, choices: Sequence[str]) -> tuple[dict[str, str] | None, ...]:
    """Return the answers that a half-filled sheet has; what is no answer is left open."""
    known = {id_key(name).casefold(): name for name in (*choices, CANNOT_TELL)}
    remarks = {name: frame[name] if name in frame else [""] * len(frame) for name in REMARKS[1:]}
    rows = zip(frame[REVIEWED], *remarks.values(), strict=True)
    found = []
    for said, time, comment in rows:
        answer = said if said in choices else known.get(id_key(said).casefold(), "")
        some = bool(answer or comment)
        found.append({"answer": answer, "time": time, "comment": comment} if some else None)
    return tuple(found)


def _as_data(content: Any) -> str:
    """Return JSON that nothing can end early, and no parser of HTML or scripts takes for code."""
    text = json.dumps(content, separators=(",", ":"))  # ASCII only
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return files("alignset.review").joinpath("templates", name).read_text(encoding="utf-8")
