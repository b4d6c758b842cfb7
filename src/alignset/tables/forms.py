"""How people write dates and numbers in a column of text, and how to read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

NEARLY_ALL = 0.95
"""Share of the cells that must be dates or numbers; the others are then gaps."""

MIN_CELLS = 5
"""Cells that a form is found out from."""

MAX_UNIT = 16
"""Characters of a unit, such as mmol/l."""

LOOK = 50
"""Different cells that are looked at first."""

_ISO = r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
ISO_DATE = re.compile(_ISO)
_DATE = re.compile(
    r"(?P<one>\d{1,2})(?P<mark>[./-])(?P<two>\d{1,2})(?P=mark)(?P<year>\d{4})"
    r"(?:[ T,]+(?P<time>\d{1,2}:\d{2}(?::\d{2})?))?"
)
_UNIT = re.compile(
    r"(?P<number>[-+]?\d[\d.,' \u00a0\u202f\u2019]*?)\s*(?P<unit>[^\W\d_]\S*|[%‰°€$£]\S*)?"
)
ORDERS = ("ymd", "dmy", "mdy")


@dataclass(frozen=True)
class Form:
    """How the text of a column is read as numbers.

    Examples
    --------
    >>> Form(unit="%").unit
    '%'
    """

    order: str = "ymd"  # of dates; dates such as 2020-01-31 are always read
    unit: str | None = None  # text after the numbers, which may be empty; None if there is no text
    decimal: str = "."
    lenient: bool = False  # whether cells that cannot be read are gaps, not errors
    marks: str = ""  # between day and month where the order of these is known; any if it is empty


PLAIN = Form()


def date_form(cells: Sequence[str], counts: Sequence[int], name: Any) -> Form | None:
    """Return how distinct cells are read as dates; None if they are something else."""
    look = cells[:LOOK]
    if sum(bool(ISO_DATE.fullmatch(c) or _DATE.fullmatch(c)) for c in look) < len(look) / 2:
        return None
    fits = {order: [date_text(cell, order) is not None for cell in cells] for order in ORDERS}
    total = sum(counts)
    rows = {order: int(np.dot(fits[order], counts)) for order in ORDERS}
    most = max(rows.values())
    if most < total and (most < NEARLY_ALL * total or total < MIN_CELLS):
        return None
    if rows["ymd"] == most:
        return Form("ymd", lenient=most < total)
    order = "dmy" if rows["dmy"] >= rows["mdy"] else "mdy"
    dates = [c for c, fit in zip(cells, fits[order], strict=True) if fit]
    return Form(order, lenient=most < total, marks=_known_marks(dates, order, name))


def _known_marks(dates: Sequence[str], order: str, name: Any) -> str:
    """Return the marks between day and month; refuse one whose dates can all be read both ways.

    With points the day comes first; with others, a day after the 12th tells.
    """
    firsts: dict[str, str] = {}
    known = {"."} if order == "dmy" else set()
    for cell in dates:
        found = _DATE.fullmatch(cell.strip())
        if found is not None:
            firsts.setdefault(found["mark"], cell)
            known |= {found["mark"]} if None in _both_ways(cell) else set()
    for mark, first in firsts.items():
        if mark not in known:
            raise ValueError(
                f"column {name!r} holds dates such as {first!r}, and nothing says which number is "
                "the day; write them as 2020-01-31, or leave the column out with --ignore "
                f"{name}."
            )
    return "".join(sorted(known))


def _both_ways(cell: str) -> set[str | None]:
    """Return what a date is with the day first, and with the month first."""
    return {date_text(cell, order) for order in ("dmy", "mdy")}


def unclear_date(cell: str, form: Form) -> bool:
    """Tell whether a date is written with a mark for which the order of its numbers is not known.

    Examples
    --------
    >>> german = Form("dmy", marks=".")
    >>> [unclear_date(cell, german) for cell in ("08.01.2023", "08/01/2023", "31/01/2023")]
    [False, True, False]
    """
    found = _DATE.fullmatch(cell.strip()) if form.marks else None
    if found is None or found["mark"] in form.marks:
        return False
    return len(_both_ways(cell) - {None}) == 2


def date_text(cell: str, order: str) -> str | None:
    """Return a date as ISO text; None if it is none, in the given order of day and month.

    Examples
    --------
    >>> date_text("31.01.2020", "dmy"), date_text("31.01.2020", "mdy")
    ('2020-01-31', None)
    """
    text = cell.strip()
    if ISO_DATE.fullmatch(text):
        return text if _is_date(text[:10]) else None
    found = _DATE.fullmatch(text)
    if found is None or order == "ymd":
        return None
    day, month = (found["one"], found["two"]) if order == "dmy" else (found["two"], found["one"])
    iso = f"{found['year']}-{month:0>2}-{day:0>2}"
    if not _is_date(iso):
        return None
    clock = found["time"]
    return iso if clock is None else f"{iso}T{clock.zfill(8 if clock.count(':') == 2 else 5)}"


def _is_date(iso: str) -> bool:
    try:
        return not np.isnat(np.datetime64(iso, "D"))
    except ValueError:
        return False


def unit_form(cells: Sequence[str], counts: Sequence[int]) -> Form | None:
    """Return how distinct cells are read as numbers with a unit; None if they are something else.

    Numbers without any text or decimal comma are not looked for: those are read as they are.
    """
    if not any(c[:1].isdigit() or c[:1] in "+-" for c in cells[:LOOK]):
        return None
    split = [_split(cell) for cell in cells]
    total = sum(counts)
    if total < MIN_CELLS:
        return None
    units: Counter[str] = Counter()
    for parts, count in zip(split, counts, strict=True):
        if parts is not None:
            units[parts[1]] += count
    named = [unit for unit, _ in units.most_common() if unit]
    best: tuple[int, Form] | None = None
    for unit in dict.fromkeys([*named[:1], ""]):
        for decimal in ".,":
            rows = _rows_read(split, counts, unit, decimal)
            if best is None or rows > best[0]:
                best = rows, Form(unit=unit, decimal=decimal)
    assert best is not None
    rows, form = best
    plain = form.unit == "" and form.decimal == "."
    if plain or rows < NEARLY_ALL * total or (form.unit and units[form.unit] < total / 2):
        return None
    return Form(unit=form.unit, decimal=form.decimal, lenient=rows < total)


def _split(cell: str) -> tuple[str, str] | None:
    found = _UNIT.fullmatch(cell.strip()) if len(cell) < 40 + MAX_UNIT else None
    if found is None or len(found["unit"] or "") > MAX_UNIT:
        return None
    return found["number"].strip(), found["unit"] or ""


def _rows_read(split: Iterable[Any], counts: Sequence[int], unit: str, decimal: str) -> int:
    form = number_pattern(decimal)
    return sum(
        count
        for parts, count in zip(split, counts, strict=True)
        if parts is not None and parts[1] in ("", unit) and form.fullmatch(parts[0])
    )


def number_pattern(decimal: str) -> re.Pattern[str]:
    """Return the pattern of a number with this decimal mark, thousands apart or not."""
    group = ("\\." if decimal == "," else ",") + " '\u00a0\u202f\u2019"
    return re.compile(rf"[-+]?(?:\d+|[1-9]\d{{0,2}}(?:[{group}]\d{{3}})+)(?:\{decimal}\d+)?")


def unit_number(cell: str, form: Form) -> float:
    """Return the number in a cell; NaN if there is none, or another unit.

    Examples
    --------
    >>> unit_number("1.234,5 kg", Form(unit="kg", decimal=",")), unit_number("2 g", Form(unit="kg"))
    (1234.5, nan)
    """
    parts = _split(cell)
    if parts is None or parts[1] not in ("", form.unit):
        return np.nan
    if not number_pattern(form.decimal).fullmatch(parts[0]):
        return np.nan
    other = "." if form.decimal == "," else ","
    bare = re.sub(rf"[ '\u00a0\u202f\u2019\{other}]", "", parts[0])
    return float(bare.replace(form.decimal, "."))


def read_cells_once(
    values: pd.Series[Any], read: Any, otherwise: Any, dtype: Any
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return what ``read`` makes of each distinct cell, and which cells are missing."""
    codes, cells = pd.factorize(values.astype("object"), use_na_sentinel=True)
    made = np.array([*(read(cell) for cell in cells), otherwise], dtype=dtype)
    return made[codes], codes < 0
