"""Cells of a page's tables: what is shown, and the exact value behind it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

NOTHING = "\N{EN DASH}"
"""Shown where there is no value."""

SIGNED = ("gap", "difference", "low", "high")
"""Columns whose numbers show their sign."""


class TableCell(NamedTuple):
    """What is shown, what is sorted and saved, and whether it is a number."""

    text: str
    value: str
    is_number: bool


def make_cell(column: str, value: Any) -> TableCell:
    """Write a value as its column's name asks for.

    Examples
    --------
    >>> make_cell("p", 0.0001)
    TableCell(text='<0.001', value='0.0001', is_number=True)
    """
    if isinstance(value, float | np.floating):
        if np.isnan(value):
            return TableCell(NOTHING, "", is_number=True)
        return TableCell(_number(column, float(value)), repr(float(value)), is_number=True)
    if value is None:
        return TableCell(NOTHING, "", is_number=True)
    is_number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return TableCell(str(value), str(value), is_number)


def _number(column: str, value: float) -> str:
    if column.startswith("p ") or column == "p":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    if column == "x":
        return f"{value:g}"
    return f"{value:+.3f}" if column in SIGNED else f"{value:.3f}"


def slug(*parts: str) -> str:
    """Join names into one that can be an element's id and a file's name.

    Examples
    --------
    >>> slug("Noise rate", "as-written", "<b>")
    'noise-rate-as-written-b'
    """
    text = re.sub(r"[^a-z0-9]+", "-", " ".join(parts).lower())
    return text.strip("-") or "x"
