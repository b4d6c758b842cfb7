"""What identifies a row, on a sheet and in its table: ids are text, however they are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from alignset.labels import check_complete, is_missing
from alignset.tables.columns import REVIEW_STATE as REVIEW_STATE
from alignset.tables.files import check_columns

ROW, STRATUM, WAVE, PROBABILITY, REVIEWED = "row", "stratum", "wave", "probability", "reviewed"
DESIGN = (STRATUM, WAVE, PROBABILITY)
"""Columns that say how a row came to be on a sheet."""
REVIEWER, TIME, COMMENT = "reviewer", "time", "comment"
REMARKS = (REVIEWER, TIME, COMMENT)
"""Columns that a sheet may have beside the answers."""


def row_ids(table: pd.DataFrame, id: str | None) -> pd.Series[Any]:
    """Return the column that identifies rows, by default their position; refuse repeated ids."""
    if id is None:
        return pd.Series(np.arange(len(table)), name=ROW)
    check_columns(table, [id])
    ids = table[id]
    check_complete(is_missing(ids), "ids", "every row needs an id", column=id)
    if ids.duplicated().any():
        twice = ids[ids.duplicated()].tolist()[0]
        raise ValueError(
            f"column {id!r} holds {twice!r} more than once; an id must identify one row: leave it "
            "out to use the position in the table."
        )
    if id in (ROW, REVIEWED, *DESIGN, *REMARKS):
        raise ValueError(f"the id column cannot be {id!r}: the sheet has its own.")
    _check_apart(ids, id)
    return ids


def _check_apart(ids: pd.Series[Any], name: str) -> None:
    """Refuse ids that a spreadsheet program would save as the same."""
    texts = [id_text(value) for value in ids.tolist()]
    keys = pd.Series([id_key(text) for text in texts])
    if keys.duplicated().any():
        same = keys == keys[keys.duplicated()].iloc[0]
        one, other = (texts[at] for at in np.flatnonzero(same)[:2])
        raise ValueError(
            f"column {name!r} holds {one!r} and {other!r}, which a spreadsheet program saves as "
            "the same id; give those rows other ids, or leave the id column out to use the "
            "position in the table."
        )


def id_text(value: Any) -> str:
    """Write an id as text: as it is, or a whole number without decimals."""
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def id_key(text: str) -> str:
    """Return what ids have in common that a spreadsheet program saves alike.

    Examples
    --------
    >>> [id_key(text) for text in ("00049461", "49461.0", " 49461", "A01")]
    ['49461', '49461', '49461', 'A01']
    """
    bare = " ".join(text.split())
    sign, digits = ("-", bare[1:]) if bare.startswith("-") else ("", bare.removeprefix("+"))
    whole, dot, rest = digits.replace(",", ".").partition(".")
    if whole.isascii() and whole.isdigit() and not rest.strip("0") and (rest or not dot):
        return sign + (whole.lstrip("0") or "0")
    return bare
