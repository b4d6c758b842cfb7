"""Cells as the table's file has them, on a sheet and in the joined table: 5.10 is not 5.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from alignset.review.ids import DESIGN, REVIEW_STATE, ROW, row_ids


def show_verbatim(rows: pd.DataFrame, table: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Return rows of a sheet, which their first column identifies, with the cells as written.

    ``cells`` has columns of the table, row by row.

    Examples
    --------
    >>> table = pd.DataFrame({"pid": ["a", "b"], "code": [5.1, 5.1]})
    >>> rows = pd.DataFrame({"pid": ["b"], "code": [5.1]})
    >>> show_verbatim(rows, table, pd.DataFrame({"code": ["5.1", "5.10"]}))["code"].tolist()
    ['5.10']
    """
    if not len(cells):
        return rows
    first = str(rows.columns[0])
    ids = row_ids(table, None if first == ROW else first)
    place = {value: at for at, value in enumerate(ids.tolist())}
    at = np.array([place[value] for value in rows[first].tolist()], dtype=np.int64)
    kept = {name: cells[name].to_numpy(object)[at] for name in cells if name in rows}
    return rows.assign(**{str(name): values for name, values in kept.items() if name != first})


def join_verbatim(
    cells: pd.DataFrame, joined: pd.DataFrame, *, label: str, truth: str
) -> pd.DataFrame:
    """Return a table's cells as written, with the columns that a join filled in.

    True labels are written as observed ones are: TRUE, if that is what the file says.

    Examples
    --------
    >>> cells = pd.DataFrame({"obs": ["TRUE", "FALSE"], "code": ["5.10", "NA"]})
    >>> joined = pd.DataFrame({"obs": [True, False], "code": [5.1, None], "true": [None, True]})
    >>> sheet = {"stratum": "1", "wave": 1, "probability": 1.0, "review_state": "agreed"}
    >>> made = join_verbatim(cells, joined.assign(**sheet), label="obs", truth="true")
    >>> made[["obs", "code", "true", "stratum"]].iloc[1].tolist()
    ['FALSE', 'NA', 'TRUE', '1']
    """
    spelling = _spelling(joined[label], cells[label])
    known = joined[truth].isna().tolist()
    true = [
        None if gap else spelling.get(value, value)
        for value, gap in zip(joined[truth].tolist(), known, strict=True)
    ]
    added = {name: joined[name].array for name in (*DESIGN, REVIEW_STATE)}
    return cells.assign(**{truth: pd.Series(true, index=cells.index, dtype=object), **added})


def _spelling(values: pd.Series[Any], texts: pd.Series[Any]) -> Mapping[Any, str]:
    """Return how most rows write each value."""
    pairs = pd.DataFrame({"value": values.astype(object), "text": texts.astype(object)})
    often = pairs.value_counts()  # the most frequent comes first, and is kept last
    return {value: text.strip() for value, text in reversed(often.index.tolist())}
