"""Cells of a sheet: text that a spreadsheet program would compute as a formula is escaped."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

_FORMULA = re.compile("'*[=+\\-@\\t\\r\\n\uff0b\uff0d\uff1d\uff20]")
_NUMBER = re.compile(r"[-+]?([0-9]+([.,][0-9]+)*|[.,][0-9]+)([eE][-+]?[0-9]+)?")


def write_cell(value: Any) -> Any:
    """Return a cell as it is written; text that begins like a formula gets an apostrophe.

    Examples
    --------
    >>> [write_cell(value) for value in ("=1+1", "-3.5", "-2E-3", "@home", "fine", -3)]
    ["'=1+1", '-3.5', '-2E-3', "'@home", 'fine', -3]
    """
    formula = isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value)
    return f"'{value}" if formula else value


def read_cell(value: Any) -> Any:
    """Return a cell as it was before :func:`write_cell`."""
    escaped = isinstance(value, str) and value.startswith("'") and _FORMULA.match(value)
    return value[1:] if escaped else value


def written_cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a sheet, its header included, as it is written to a file."""
    escaped = {
        write_cell(str(name)): rows[name].map(write_cell)
        if not pd.api.types.is_numeric_dtype(rows[name])
        else rows[name]
        for name in rows.columns
    }
    return pd.DataFrame(escaped)
