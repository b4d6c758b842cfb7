"""The design of a sheet, in a file beside it: reviewers do not see it, and `join` checks it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alignset.review.ids import DESIGN, PROBABILITY, REMARKS, REVIEWED, STRATUM, WAVE, id_key
from alignset.tables.atomic import new_file

SUFFIX = ".design.json"
MAX_WAVE = 1_000_000
"""Number of a sheet that nobody will reach."""
_KIND, _VERSION = "design of a review sheet", 1
_OTHER_SHAPES = (
    ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError,
)  # fmt: skip
"""What reading JSON raises that is not a design."""
_KEPT = "put the file back as `alignset sample` wrote it, or draw the sheet again with its --seed"


@dataclass(frozen=True, eq=False)
class SheetDesign:
    """How the rows of a sheet were drawn, and what its reviewers choose from.

    Examples
    --------
    >>> rows = pd.DataFrame({"id": ["7"], "stratum": ["1"], "wave": [1], "probability": [0.5]})
    >>> SheetDesign("row", rows, choices=("no", "yes")).checksum()[:8]
    'e84e7083'
    """

    id_column: str
    rows: pd.DataFrame  # id, stratum, wave, probability; ids are text
    choices: tuple[str, ...] = ()
    label: str | None = None  # column of the observed label
    groups: tuple[str, ...] = ()  # group columns
    reviewers: tuple[str, ...] = ()  # who got a sheet; empty if there is one for all

    def content(self) -> dict[str, Any]:
        """Everything but the checksum, as JSON has it."""
        values = (self.rows[name].tolist() for name in ("id", *DESIGN))
        return {
            "alignset": _KIND,
            "version": _VERSION,
            "id_column": self.id_column,
            "label": self.label,
            "groups": list(self.groups),
            "choices": list(self.choices),
            "reviewers": list(self.reviewers),
            "columns": ["id", *DESIGN],
            "rows": [list(row) for row in zip(*values, strict=True)],
        }

    def checksum(self) -> str:
        """SHA-256 of the ids and the design: it finds changes, by accident or by hand."""
        text = json.dumps(self.content(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def keys(self) -> set[str]:
        """Ids of the rows, as spreadsheet programs may save them."""
        return {id_key(text) for text in self.rows["id"]}


def design_path(sheet: str | os.PathLike[str]) -> Path:
    """Return where the design of a sheet is kept.

    Examples
    --------
    >>> design_path("reviews/sheet.csv").name
    'sheet.design.json'
    """
    place = Path(sheet)
    return place.with_name(place.stem + SUFFIX)


def write_design(design: SheetDesign, path: Path) -> None:
    """Write a design with its checksum, one row a line."""
    content = design.content()
    rows = content.pop("rows")
    head = json.dumps(content, indent=1, ensure_ascii=False)[:-2]
    lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    with new_file(path) as part:
        part.write_text(
            f'{head},\n "rows": [\n  {lines}\n ],\n "checksum": "{design.checksum()}"\n}}\n',
            encoding="utf-8",
        )


def read_sheet_design(path: str | os.PathLike[str]) -> SheetDesign:
    """Read the design of a sheet; refuse one that was changed."""
    place = Path(path)
    if not place.is_file():
        raise FileNotFoundError(f"there is no file {place}.")
    try:
        content = json.loads(place.read_bytes())
        design = _from_content(content)
        right = content["checksum"] == design.checksum()
    except _OTHER_SHAPES as error:
        raise ValueError(
            f"{place} is not the design of a review sheet ({error!r:.200}); {_KEPT}."
        ) from None
    if not right:
        raise ValueError(
            f"{place} was changed after it was written: ids, strata, waves and probabilities do "
            f"not fit its checksum; {_KEPT}."
        )
    return design


def _from_content(content: Any) -> SheetDesign:
    if content["alignset"] != _KIND or content["version"] != _VERSION:
        raise ValueError(f"version {content['version']!r}")
    names = ["id", *DESIGN]
    if any(not isinstance(row, list) or len(row) != len(names) for row in content["rows"]):
        raise ValueError(f"rows that are not {', '.join(names)}")
    rows = pd.DataFrame(content["rows"], columns=names)
    rows["id"], rows[STRATUM] = rows["id"].map(_text), rows[STRATUM].map(_text)
    listed = {name: tuple(map(_text, content[name])) for name in ("choices", "groups", "reviewers")}
    label = content["label"] if content["label"] is None else _text(content["label"])
    design = SheetDesign(_text(content["id_column"]), rows, label=label, **listed)
    if design.id_column in (REVIEWED, *DESIGN, *REMARKS):
        raise ValueError(f"ids in column {design.id_column!r}")
    chance, wave = (
        np.array([_number(v) for v in rows[name].tolist()]) for name in (PROBABILITY, WAVE)
    )
    if not len(rows) or not np.all(can_be_drawn(chance, wave)) or len(design.keys) < len(rows):
        raise ValueError("rows that cannot be")
    return design


def can_be_drawn(chance: Any, wave: Any) -> Any:
    """Tell which rows have a probability, and the number of a sheet, that there can be."""
    with np.errstate(invalid="ignore"):  # infinity has no remainder
        whole = wave % 1 == 0
    return (chance > 0) & (chance <= 1) & (wave >= 1) & (wave <= MAX_WAVE) & whole


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def find_designs(
    sheet: Path, ids: Iterable[str], *, beside: Sequence[Path] = ()
) -> list[tuple[Path, SheetDesign]]:
    """Find the design of a sheet, which may have been moved or given another name.

    That is the file of the same name, else every one that knows all the ids, in the folder of the
    sheet or of the files in ``beside`` (the table, which a download is joined to).
    """
    keys = {id_key(text) for text in ids}
    for place in named_designs(sheet, beside):
        if keys & (design := read_sheet_design(place)).keys:
            return [(place, design)]
    folders = _folders(sheet, beside)
    found: dict[str, tuple[Path, SheetDesign]] = {}
    for place in (p for folder in folders for p in sorted(folder.glob("*" + SUFFIX))):
        try:
            design = read_sheet_design(place)
        except (ValueError, OSError):
            continue  # it may belong to another sheet
        if keys <= design.keys:
            found.setdefault(design.checksum(), (place, design))
    return list(found.values())


def named_designs(sheet: Path, beside: Sequence[Path] = ()) -> list[Path]:
    """Return the files that are designs of a sheet by name: of sheet.csv, or sheet.anna.csv."""
    names = dict.fromkeys([design_path(sheet).name, Path(sheet.stem).stem + SUFFIX])
    places = [folder / name for name in names for folder in _folders(sheet, beside)]
    return [place for place in places if place.is_file()]


def _folders(sheet: Path, beside: Sequence[Path]) -> list[Path]:
    return list(dict.fromkeys(path.absolute().parent for path in (sheet, *beside)))
