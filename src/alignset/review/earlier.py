"""Tell the columns that an earlier join added from a user's own of the same names."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.labels import is_missing
from alignset.review.ids import DESIGN, PROBABILITY, REVIEW_STATE
from alignset.review.log import State
from alignset.review.sidecar import can_be_drawn

Mask = NDArray[np.bool_]


def check_not_own(table: pd.DataFrame, truth: str | None = None) -> None:
    """Refuse columns named as those of a join unless they say how rows were drawn for review.

    A join would write over them, and rows that seem to have been on a sheet are not drawn.

    Examples
    --------
    >>> check_not_own(pd.DataFrame({"obs": [0, 1], "wave": [1, 2]}))
    Traceback (most recent call last):
    ValueError: the table has a column 'wave' of its own, and `alignset join` writes how rows were \
drawn for review to one of that name; rename it, such as to 'own_wave'.
    """
    there = [name for name in (*DESIGN, REVIEW_STATE) if _filled(table, name).any()]
    if not there or _says_how_drawn(table, truth):
        return
    if len(there) == 1:
        said = f"a column {there[0]!r} of its own", "one of that name; rename it, such as to"
    else:
        names = f"{', '.join(map(repr, there[:-1]))} and {there[-1]!r}"
        said = f"columns {names} of its own", "some of these names; rename them, such as to"
    raise ValueError(
        f"the table has {said[0]}, and `alignset join` writes how rows were drawn for review to "
        f"{said[1]} {', '.join(repr(f'own_{name}') for name in there)}."
    )


def _says_how_drawn(table: pd.DataFrame, truth: str | None) -> bool:
    """Tell whether the columns are those of a join, or of reviews whose design was entered."""
    if PROBABILITY not in table:
        return False
    drawn, known = _filled(table, PROBABILITY), _filled(table, truth)
    # whether a wave is a number is checked, and told, where designs are read
    if not can_be_drawn(_numbers(table, PROBABILITY), np.ones(len(table)))[drawn].all():
        return False
    if any((_filled(table, name) & ~drawn).any() for name in DESIGN):
        return False
    if REVIEW_STATE in table:
        states = set(table[REVIEW_STATE][_filled(table, REVIEW_STATE)])
        return states <= set(get_args(State)) and bool(
            (_filled(table, REVIEW_STATE) <= drawn).all()
        )
    if set(DESIGN) <= set(table.columns) and not drawn.all():
        return True
    return bool(drawn.any() and (drawn <= known).all())


def _filled(table: pd.DataFrame, name: str | None) -> Mask:
    if name is None or name not in table:
        return np.zeros(len(table), dtype=bool)
    return np.asarray(~is_missing(table[name].to_numpy(object)), dtype=bool)


def _numbers(table: pd.DataFrame, name: str) -> Any:
    return pd.to_numeric(table[name], errors="coerce").to_numpy("float64", na_value=np.nan)
