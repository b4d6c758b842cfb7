"""The columns of the table that a fit was given, for classifiers that ask for them by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from alignset.estimator.inputs import is_frame
from alignset.learners import Blend
from alignset.learners.as_table import OTHER, asks_for_names, reading_table
from alignset.learners.foreign import Foreign
from alignset.rows.features import Scale


def name_columns(blend: Blend, dtypes: dict[str, str] | None, encoder: Any, scale: Scale) -> Blend:
    """Return the blend for features that were made of a table.

    ``dtypes`` of its columns is None where there was none; ``encoder`` where all were numbers.
    """
    asking = [e for e in blend.learners if isinstance(e, Foreign) and asks_for_names(e.model)]
    if dtypes is None or not asking:
        return blend
    if encoder is None:
        columns = [_number(name, dtype, j) for j, (name, dtype) in enumerate(dtypes.items())]
    else:
        columns = _columns(dtypes, encoder)
    columns.sort(key=lambda c: list(dtypes).index(c["name"]))
    return reading_table(blend, columns, scale.centre, scale.spread)


def _columns(dtypes: dict[str, str], encoder: Any) -> list[dict[str, Any]]:
    if encoder.several:
        name = encoder.several[0].name
        raise ValueError(
            f"estimator asks for columns by name, but {name!r} holds codes, several in a cell; "
            f"drop it with X.drop(columns={name!r}), or encode it as numbers first."
        )
    gaps = dict(encoder.raw.gaps)
    found = [
        _number(c.name, dtypes[c.name], j, gaps.get(j), c.kind)
        for j, c in enumerate(encoder.numbers)
    ]
    for c, (first, _) in zip(encoder.categories, encoder.raw.categories, strict=True):
        levels = [*c.levels, OTHER] if c.other else list(c.levels)
        dtype = dtypes[c.name]
        dtype = dtype if dtype in ("category", "str", "string") else "object"
        found.append(
            {"name": c.name, "kind": "category", "dtype": dtype, "first": first, "levels": levels}
        )
    return found


def _number(
    name: str, dtype: str, first: int, gap: int | None = None, kind: str = "number"
) -> dict[str, Any]:
    plain = dtype if dtype in np.sctypeDict and np.dtype(dtype).kind in "biuf" else "float64"
    kind = "date" if kind == "date" else "number"
    return {"name": name, "kind": kind, "dtype": plain, "first": first, "gap": gap}


def dtypes_of(X: Any) -> dict[str, str] | None:
    """Return what the columns of a pandas table hold, by name; None for other features."""
    return {str(name): str(dtype) for name, dtype in X.dtypes.items()} if is_frame(X) else None
