"""Tell what a table's column holds, and return its values as numbers or text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype, is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

from alignset.tables.codes import code_system
from alignset.tables.forms import (
    PLAIN,
    Form,
    date_form,
    date_text,
    read_cells_once,
    unclear_date,
    unit_form,
    unit_number,
)

Kind = Literal["number", "boolean", "date", "category", "codes", "text"]

MOSTLY_NUMBERS = 0.5
"""Text with at least this share of numbers is a numeric column with mistakes ..."""

MANY_NUMBERS = 20
"""... if it has more distinct numbers than this; otherwise they are codes."""

FINITE = "finite numbers, or nothing if the value is missing"
TRUE_OR_FALSE = "true or false, or nothing if the value is missing"
MAX_LEVELS = 40
"""Maximum columns per category; the rarest levels share one."""

MIN_COUNT = 5
"""Rows that a level needs to be kept by name: a rarer one may name a person."""

MOSTLY_LOST = 0.5
"""Text is refused as a category if at least this share of its rows would be "other"."""
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Holds:
    """What a column holds, and how its text is read.

    Examples
    --------
    >>> what_holds(pd.Series(["94.4%", "90%", "97.5%", "88%", "91.2%"])).form.unit
    '%'
    """

    kind: Kind
    form: Form = PLAIN  # of numbers and dates
    system: str = ""  # of codes


def kind_of(values: pd.Series[Any]) -> Kind:
    """Return what a column holds; dates written as text are dates.

    Examples
    --------
    >>> [kind_of(pd.Series(v)) for v in ([1, 2.5], [True, None], ["2020-01-31"], ["f", "m"])]
    ['number', 'boolean', 'date', 'category']
    """
    return what_holds(values).kind


def what_holds(values: pd.Series[Any]) -> Holds:
    """Return what a column holds: text may hold dates, numbers with units, or codes.

    Text is a category if its most frequent values say what most rows hold.

    Examples
    --------
    >>> what_holds(pd.Series(["31.01.2020", "02.12.2019"])).form.order
    'dmy'
    """
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "biuf":
        return Holds("boolean" if values.dtype.kind == "b" else "number")
    present = values.dropna()
    if isinstance(present.dtype, pd.CategoricalDtype):
        present = present.astype(present.cat.categories.dtype)
    natural = infer_dtype(present, skipna=True)
    if is_bool_dtype(present) or natural == "boolean":
        return Holds("boolean")
    if is_numeric_dtype(present) or natural == "decimal":
        return Holds("number")
    if is_datetime64_any_dtype(present) or natural in ("date", "datetime"):
        return Holds("date")
    if natural not in ("string", "empty"):
        first = present.iloc[0]
        raise ValueError(
            f"column {values.name!r} holds values of type {type(first).__name__}, such as "
            f"{first!r}; a column must hold numbers, text, booleans or dates."
        )
    return _text_holds(values, present)


def _text_holds(values: pd.Series[Any], present: pd.Series[Any]) -> Holds:
    counted = present.value_counts()
    cells, counts = counted.index.tolist(), counted.tolist()
    if not cells:
        return Holds("category")
    form = date_form(cells, counts, values.name)
    if form is not None:
        return Holds("date", form)
    system = code_system(cells, counts)
    if system is not None:
        return Holds("codes", system=system)
    form = unit_form(cells, counts)
    if form is not None:
        return Holds("number", form)
    _refuse_stray_text(values, present)
    frequent = sum(count for count in counts[: MAX_LEVELS - 1] if count >= MIN_COUNT)
    lost = 1 - frequent / len(present)
    return Holds("text" if len(cells) > MAX_LEVELS and lost >= MOSTLY_LOST else "category")


def _refuse_stray_text(values: pd.Series[Any], present: pd.Series[Any]) -> None:
    numbers = pd.to_numeric(present, errors="coerce")
    parsed = numbers.notna()
    if parsed.mean() >= MOSTLY_NUMBERS and numbers.nunique() > MANY_NUMBERS and not parsed.all():
        row = int(np.flatnonzero(values.isin(present[~parsed]))[0])
        raise ValueError(
            f"column {values.name!r} holds numbers in {parsed.sum()} of {len(parsed)} rows but "
            f"text in the others, first {values.iloc[row]!r} in data row {row + 1}; correct it, "
            f"leave unknown values empty, or pass --ignore {values.name}."
        )


def as_numbers(
    values: pd.Series[Any],
    kind: Kind,
    origin: str | None,
    first_row: int = 0,
    form: Form = PLAIN,
) -> NDArray[np.float64]:
    """Return a column as float64, NaN where missing; dates count days since ``origin``."""
    if kind == "date":
        dates = _as_dates(values, first_row, form) - np.datetime64(origin or "1970-01-01", "us")
        return np.asarray(dates / np.timedelta64(1, "D"))
    if form.unit is not None and not is_numeric_dtype(values):
        return _with_unit(values, form, first_row)
    if kind == "number" and isinstance(values.dtype, np.dtype) and values.dtype.kind in "iuf":
        numbers = values.to_numpy(np.float64, copy=True)  # as below, in a tenth of the time
        _refuse(values, np.isinf(numbers), first_row, FINITE)
        return numbers
    missing = np.asarray(values.isna(), dtype=bool)
    if kind == "boolean":
        text = values.astype("str").str.strip().str.lower()
        values = text.map(_TRUTH).astype("object").where(text.isin(list(_TRUTH)), values)
    plain = values if is_numeric_dtype(values) else values.astype("object")
    numbers = np.array(pd.to_numeric(plain, errors="coerce").to_numpy("float64", na_value=np.nan))
    numbers[missing] = np.nan
    wrong = (np.isnan(numbers) & ~missing) | np.isinf(numbers)
    if kind == "boolean":
        wrong |= ~missing & ~np.isin(numbers, (0.0, 1.0))
    _refuse(values, wrong, first_row, TRUE_OR_FALSE if kind == "boolean" else FINITE)
    return numbers


def _with_unit(values: pd.Series[Any], form: Form, first_row: int) -> NDArray[np.float64]:
    def read(cell: Any) -> float:
        return unit_number(cell, form) if isinstance(cell, str) else float(cell)

    numbers, missing = read_cells_once(values, read, np.nan, np.float64)
    if not form.lenient:
        accepted = f"numbers, with {form.unit!r} behind them or not" if form.unit else FINITE
        _refuse(values, np.isnan(numbers) & ~missing, first_row, accepted)
    _refuse(values, np.isinf(numbers), first_row, FINITE)
    return np.asarray(numbers, dtype=np.float64)


def _as_dates(
    values: pd.Series[Any], first_row: int = 0, form: Form = PLAIN
) -> NDArray[np.datetime64]:
    missing = np.asarray(values.isna(), dtype=bool)
    if is_datetime64_any_dtype(values):
        dates = values if values.dt.tz is not None else values.dt.tz_localize("UTC")
    else:
        _refuse_unclear(values, form, first_row)
        made, _ = read_cells_once(values, lambda v: date_text(str(v), form.order), None, object)
        text = pd.Series(made, index=values.index, dtype=object)
        dates = pd.to_datetime(text, errors="coerce", format="ISO8601", utc=True)
    wrong = np.asarray(dates.isna(), dtype=bool) & ~missing
    if not form.lenient:
        example = {"dmy": "31.01.2020", "mdy": "01/31/2020"}.get(form.order)
        more = f" or {example}" if example else ""
        accepted = f"dates such as 2020-01-31{more}, or nothing if the date is missing"
        _refuse(values, wrong, first_row, accepted)
    plain = dates.dt.tz_convert("UTC").dt.tz_localize(None)
    return np.asarray(plain.to_numpy().astype("datetime64[us]"))


def _refuse_unclear(values: pd.Series[Any], form: Form, first_row: int) -> None:
    """Refuse dates that another mark makes readable both ways, also where others may be gaps."""
    if not form.marks:
        return
    unclear, _ = read_cells_once(values, lambda v: unclear_date(str(v), form), False, bool)
    mark = form.marks[-1]
    example = mark.join(["31", "01", "2020"] if form.order == "dmy" else ["01", "31", "2020"])
    accepted = (
        f"dates such as {example} or 2020-01-31, and with another mark nothing says which number "
        "is the day"
    )
    _refuse(values, unclear, first_row, accepted)


def _refuse(
    values: pd.Series[Any], wrong: NDArray[np.bool_], first_row: int, accepted: str
) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        held = values.iloc[[row]].tolist()[0]
        raise ValueError(
            f"column {values.name!r} holds {held!r} in data row {first_row + row + 1}; "
            f"it takes {accepted}."
        )


def as_levels(values: pd.Series[Any]) -> NDArray[np.object_]:
    """Return a column as text, None where missing; 1.0 and 1 are the same level.

    Examples
    --------
    >>> as_levels(pd.Series([1.0, None, 2.0])).tolist()
    ['1', None, '2']
    """
    codes, levels = pd.factorize(values.astype("object"), use_na_sentinel=True)
    names = np.array([*map(_level, levels), None], dtype=object)
    return np.asarray(names[codes])


def _level(value: Any) -> str:
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def level_codes(levels: NDArray[np.object_], known: Sequence[str | None]) -> NDArray[np.int64]:
    """Return the place of every level among those known, ``len(known)`` for all others.

    Examples
    --------
    >>> level_codes(np.array(["m", None, "x"], object), ("f", "m", None)).tolist()
    [1, 2, 3]
    """
    place = {level: i for i, level in enumerate(known)}
    codes, distinct = pd.factorize(levels, use_na_sentinel=False)
    at = [place.get(None if pd.isna(v) else v, len(known)) for v in distinct]
    return np.asarray(np.array(at, dtype=np.int64)[codes])
