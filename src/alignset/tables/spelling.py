"""One spelling for each label and name, and one group for missing groups."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from alignset.rows.listing import first_few
from alignset.tables.dialect import NA_WORDS, Tell
from alignset.tables.files import check_plain
from alignset.tables.kinds import as_levels

SHOWN = 3
"""Spellings or cells that a note names."""


def unify_labels(
    frame: pd.DataFrame,
    label: str | None,
    truth: str | None = None,
    *,
    classes: Sequence[Any] = (),
    tell: Tell,
) -> pd.DataFrame:
    """Write labels that differ only in case and spaces alike, as most rows of ``label`` do.

    If the ``classes`` of a model are known, theirs is the spelling. Cells of spaces are gaps.

    Examples
    --------
    >>> frame = pd.DataFrame({"told": ["yes", "Yes", "yes ", "no", "yes"]})
    >>> unify_labels(frame, "told", tell=print)["told"].tolist()
    column 'told': 'Yes' (1 row), 'yes ' (1 row) are read as 'yes'.
    ['yes', 'yes', 'yes', 'no', 'yes']
    """
    spelling = {_bare(name): name for name in classes if isinstance(name, str)}
    for name in (label, truth):
        if name is None or name not in frame or not _is_text(frame[name]):
            continue
        check_plain(frame[name])
        counts = frame[name].value_counts()
        counts = counts[counts > 0]
        order = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
        for value, _ in order:
            if isinstance(value, str) and value.strip():
                spelling.setdefault(_bare(value), value.strip())
        frame = _respell(frame, name, dict(order), spelling, tell)
    return frame


def _respell(
    frame: pd.DataFrame,
    name: str,
    counts: Mapping[Any, int],
    spelling: Mapping[str, str],
    tell: Tell,
) -> pd.DataFrame:
    known: dict[Any, Any] = {}
    told: dict[str, list[str]] = {}
    for value, count in counts.items():
        known[value] = value
        if not isinstance(value, str):
            continue
        known[value] = spelling.get(_bare(value)) if value.strip() else None
        if known[value] != value:
            rows = f"{count} row" if count == 1 else f"{count} rows"
            how = "empty" if known[value] is None else repr(known[value])
            told.setdefault(how, []).append(f"{value!r} ({rows})")
    if not told:
        return frame
    for how, others in told.items():
        some = first_few(others, SHOWN)
        tell(f"column {name!r}: {some} {'is' if len(others) == 1 else 'are'} read as {how}.")
    values = frame[name].astype(object)
    return frame.assign(**{name: values.map(known).where(values.notna(), None)})


def _bare(text: str) -> str:
    return " ".join(text.split()).casefold()


def _is_text(values: pd.Series[Any]) -> bool:
    return not (isinstance(values.dtype, np.dtype) and values.dtype.kind in "biufMm")


def fill_groups(frame: pd.DataFrame, groups: Sequence[str], name: str, tell: Tell) -> pd.DataFrame:
    """Give rows without a group one of their own, called ``name``.

    Examples
    --------
    >>> frame = pd.DataFrame({"site": [1.0, None, 2.0]})
    >>> fill_groups(frame, ["site"], "unknown", print)["site"].tolist()
    column 'site' is missing in 1 of 3 rows, which are the group 'unknown'.
    ['1', 'unknown', '2']
    """
    for column in groups:
        if column not in frame:
            continue
        check_plain(frame[column])
        missing = frame[column].isna().to_numpy(bool)
        levels = as_levels(frame[column])
        if name in levels:
            raise ValueError(
                f"column {column!r} has a group {name!r}; give --missing-group another name."
            )
        levels[missing] = name
        frame = frame.assign(**{column: pd.Series(levels, index=frame.index, dtype=object)})
        if missing.any():
            rows = f"{missing.sum()} of {len(frame)} rows, which are the group {name!r}"
            tell(f"column {column!r} is missing in {rows}.")
    return frame


def read_names(
    frame: pd.DataFrame, names: Sequence[str], *, keep_na: Collection[str] = ()
) -> pd.DataFrame:
    """Return columns that were read as text with gaps where they say NA, and no spaces around.

    Examples
    --------
    >>> frame = pd.DataFrame({"ops": ["5.10", " 5.1", "NA", ""]})
    >>> read_names(frame, ["ops"])["ops"].tolist()
    ['5.10', '5.1', None, None]
    """
    for name in names:
        if name not in frame:
            continue
        gaps = {"", *(() if name in keep_na else NA_WORDS)}
        bare = [cell.strip() if isinstance(cell, str) else "" for cell in frame[name].tolist()]
        cells = [None if cell in gaps else cell for cell in bare]
        frame = frame.assign(**{name: pd.Series(cells, index=frame.index, dtype=object)})
    return frame


def as_known(
    frame: pd.DataFrame, column: str, known: Collection[str | None], tell: Tell
) -> pd.DataFrame:
    """Write names as a model knows them where only decimals of a whole number differ.

    A program that saves numbers beside gaps writes 1.0 where there was 1.

    Examples
    --------
    >>> frame = pd.DataFrame({"site": ["1.0", "2.0", "5.10"]})
    >>> as_known(frame, "site", ["1", "2", "5.1"], print)["site"].tolist()
    column 'site': '1.0', '2.0' are read as '1', '2'.
    ['1', '2', '5.10']
    """
    bare: dict[str, list[str]] = {}
    for level in known:
        if level is not None:
            bare.setdefault(_whole(level), []).append(level)
    held = [cell for cell in frame[column].dropna().unique().tolist() if cell not in known]
    found = {cell: bare[_whole(cell)][0] for cell in held if len(bare.get(_whole(cell), ())) == 1}
    if not found:
        return frame
    verb = "is" if len(found) == 1 else "are"
    said = [first_few([repr(text) for text in texts], SHOWN) for texts in (found, found.values())]
    tell(f"column {column!r}: {said[0]} {verb} read as {said[1]}.")
    return frame.assign(**{column: frame[column].map(lambda cell: found.get(cell, cell))})


def _whole(text: str) -> str:
    return re.sub(r"(?<=\d)\.0+$", "", text)
