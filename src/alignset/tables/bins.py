"""Groups from ranges of numbers, and the refusal of numbers as groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from alignset.tables.files import check_columns
from alignset.tables.kinds import as_levels, as_numbers

MANY_VALUES = 20
"""A column of numbers with more values than this does not name groups."""

Bins = Mapping[str, tuple[float, ...]]
"""Column -> where its ranges begin; none if each value is a group."""


def parse_bins(given: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Turn ``age=18,65`` into a column and where its ranges begin; ``site=each`` has none.

    Examples
    --------
    >>> parse_bins(["age=18,65", "site=each"])
    {'age': (18.0, 65.0), 'site': ()}
    """
    found = {}
    for text in given:
        name, _, edges = text.rpartition("=")
        try:
            cuts = () if edges.strip() == "each" else tuple(float(e) for e in edges.split(","))
        except ValueError:
            cuts = (np.nan,)
        if not name or not np.isfinite(cuts).all() or list(cuts) != sorted(set(cuts)):
            raise ValueError(
                f"--bin takes COLUMN=NUMBERS, rising, such as age=18,40,65, or COLUMN=each, got "
                f"{text!r}."
            )
        found[name] = cuts
    return found


def binned(name: str) -> str:
    """Return the name of the column that holds the range of a column's numbers."""
    return f"{name} (range)"


def add_bins(frame: pd.DataFrame, bins: Bins) -> pd.DataFrame:
    """Add a column with the range of each number; a gap stays one, and names become text.

    Examples
    --------
    >>> add_bins(pd.DataFrame({"age": [17, 18, 70]}), {"age": (18.0, 65.0)})["age (range)"].tolist()
    ['below 18', '18 to below 65', '65 or more']
    """
    check_columns(frame, bins)
    for name, edges in bins.items():
        if not edges:
            column, levels = name, as_levels(frame[name])
        else:
            column, numbers = binned(name), as_numbers(frame[name], "number", None)
            if column in frame:
                raise ValueError(f"the table already has a column {column!r}; rename it.")
            levels = np.array(_names(edges), dtype=object)[
                np.searchsorted(edges, numbers, side="right")
            ]
            levels[np.isnan(numbers)] = None
        frame = frame.assign(**{column: pd.Series(levels, index=frame.index, dtype=object)})
    return frame


def _names(edges: tuple[float, ...]) -> list[str]:
    between = [f"{low:g} to below {high:g}" for low, high in pairwise(edges)]
    return [f"below {edges[0]:g}", *between, f"{edges[-1]:g} or more"]


def refuse_numbers(values: pd.Series[Any]) -> None:
    """Refuse a column of many numbers or dates as a group, and suggest ranges."""
    kind = values.dtype.kind if isinstance(values.dtype, np.dtype) else ""
    if kind == "M" and values.nunique() > MANY_VALUES:
        raise ValueError(
            f"column {values.name!r} holds dates, which are no groups; add a column with the year "
            "or another period, and pass that."
        )
    if not pd.api.types.is_numeric_dtype(values) or kind == "b":
        return
    count = values.nunique()
    if count <= MANY_VALUES:
        return
    numbers = values.to_numpy("float64", na_value=np.nan)
    cuts = np.unique([float(f"{cut:.2g}") for cut in np.nanquantile(numbers, (0.25, 0.5, 0.75))])
    some = ",".join(f"{cut:g}" for cut in cuts)
    raise ValueError(
        f"column {values.name!r} holds {count} different numbers, too many to be groups; make "
        f"ranges of them with --bin {values.name}={some}, or pass --bin {values.name}=each if "
        "each number names a group, such as a site."
    )
