"""Tables for a page: what a cell shows, and the exact value behind it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

NOTHING = "\N{EN DASH}"
"""Shown where there is no value."""


@dataclass(frozen=True)
class TableCell:
    """What is shown, what is sorted and saved, and whether it is a number."""

    text: str
    value: str
    is_number: bool


@dataclass(frozen=True)
class TableView:
    """A table that a reader can sort, copy and save.

    Parameters
    ----------
    name : str
        Name of the element and of the saved file.
    caption : str
    columns : tuple of str
    rows : tuple of tuple of TableCell
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]

    @classmethod
    def of(cls, frame: pd.DataFrame, *, name: str, caption: str) -> TableView:
        """View a data frame, its index left out.

        Examples
        --------
        >>> TableView.of(pd.DataFrame({"p": [0.0001]}), name="t", caption="").rows[0][0].text
        '<0.001'
        """
        columns = tuple(map(str, frame.columns))
        rows = tuple(
            tuple(_cell(column, value) for column, value in zip(columns, row, strict=True))
            for row in frame.itertuples(index=False, name=None)
        )
        return cls(name, caption, columns, rows)


def slug(*parts: str) -> str:
    """Join names into one that can be an element's id and a file's name.

    Examples
    --------
    >>> slug("Noise rate", "as-written", "<b>")
    'noise-rate-as-written-b'
    """
    text = re.sub(r"[^a-z0-9]+", "-", " ".join(parts).lower())
    return text.strip("-") or "x"


def _cell(column: str, value: Any) -> TableCell:
    if isinstance(value, bool | str):
        return TableCell(str(value), str(value), is_number=False)
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return TableCell(NOTHING, "", is_number=True)
    if isinstance(value, int | np.integer):
        return TableCell(str(value), str(value), is_number=True)
    if isinstance(value, float | np.floating):
        return TableCell(_number(column, float(value)), repr(float(value)), is_number=True)
    return TableCell(str(value), str(value), is_number=False)


_POSITIONS: Mapping[str, str] = {"x": "g"}


def _number(column: str, value: float) -> str:
    if column.startswith("p ") or column == "p":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    if column in _POSITIONS:
        return format(value, _POSITIONS[column])
    signed = column in ("gap", "difference", "low", "high")
    return f"{value:+.3f}" if signed else f"{value:.3f}"
