"""A table, made again of the matrix that was made of it, for classifiers that name its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from alignset.learners.base import Floats
from alignset.learners.candidates import Blend
from alignset.learners.foreign import Foreign

ON = 0.01
"""A level is on from here: where none is, all are 0, but for what single precision rounds."""

DIGITS = 5
"""Digits of a standard deviation that are kept: the matrix was rounded to a little more."""

OTHER = "(other)"
"""What a rare level of a category is called: its own name was not kept."""


class AsTable(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """First step of a Pipeline whose next steps ask for columns of a table by name.

    Parameters
    ----------
    columns : list of dict
        For each column its ``name``, ``kind`` ("number", "date" or "category") and ``dtype``;
        ``first``, its first column in the matrix; of a category its ``levels``, one matrix column
        each; of others ``gap``, the matrix column that is on where it is missing, or None.
    centre, spread : list of float
        What was subtracted from each matrix column, and what it was then divided by.

    Examples
    --------
    >>> age = {"name": "age", "kind": "number", "dtype": "int64", "first": 0, "gap": None}
    >>> sex = {"name": "sex", "kind": "category", "dtype": "str", "first": 1, "levels": ["f", "m"]}
    >>> made = AsTable([age, sex], [60, 0.5, 0.5], [10, 0.5, 0.5])
    >>> made.transform(np.array([[0.5, 1.0, -1.0], [-2.0, -1.0, 1.0]]))
       age sex
    0   65   f
    1   40   m
    """

    def __init__(self, columns: Any, centre: Any, spread: Any) -> None:
        self.columns = columns
        self.centre = centre
        self.spread = spread

    def fit(self, X: Any, y: Any = None) -> AsTable:  # noqa: ARG002
        """Do nothing: there is nothing to learn."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Say that it can always be used."""
        return True

    def transform(self, X: Any) -> Any:
        """Return the table; columns to the right of those it was made of are called said_0, ..."""
        import pandas as pd

        width = len(self.centre)
        own = np.asarray(X)[:, :width] * self.spread + self.centre
        found = {c["name"]: self._column(c, own) for c in self.columns}
        more = np.asarray(X)[:, width:]
        return pd.DataFrame({**found, **{f"said_{j}": v for j, v in enumerate(more.T)}})

    def _column(self, c: dict[str, Any], own: Floats) -> Any:
        import pandas as pd

        if c["kind"] == "category":
            return pd.Series(_levels(c["levels"], own[:, c["first"] :]), dtype=c["dtype"])
        spread = max(self.spread[c["first"]], np.finfo(float).tiny)
        values = np.round(own[:, c["first"]], DIGITS - int(np.floor(np.log10(spread))))
        if c["gap"] is not None:
            values = np.where(own[:, c["gap"]] > 0.5, np.nan, values)
        if c["kind"] == "date":
            return pd.Timestamp(0) + pd.to_timedelta(values, unit="D").round("s")
        if np.dtype(c["dtype"]).kind == "f" or np.isnan(values).any():
            return pd.Series(values)
        return pd.Series(np.rint(values)).astype(c["dtype"])


def _levels(levels: Sequence[Any], on: Floats) -> Any:
    """Return the level that is on in each row, None if none is."""
    on = on[:, : len(levels)]
    place = on.argmax(axis=1)
    names = np.array([*levels, None], dtype=object)
    return names[np.where(on[np.arange(len(on)), place] > ON, place, len(levels))]


def asks_for_names(model: Any) -> bool:
    """Tell whether a ColumnTransformer in it chooses columns by name or by what they hold.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> by = ColumnTransformer([("all", "passthrough", ["age"])])
    >>> asks_for_names(Pipeline([("a", by), ("b", LogisticRegression())]))
    True
    """
    parts = [model, *model.get_params().values()]
    chosen = [c for p in parts if isinstance(p, ColumnTransformer) for _, _, c in p.transformers]
    return any(map(_by_name, chosen))


def _by_name(columns: Any) -> bool:
    if isinstance(columns, slice):
        columns = [columns.start, columns.stop]
    each = columns if isinstance(columns, list | tuple | np.ndarray) else [columns]
    return any(isinstance(one, str) or callable(one) for one in each)


def reading_table(blend: Blend, columns: Any, centre: Floats, spread: Floats) -> Blend:
    """Return the blend with a table for every classifier of the user's that asks for names."""
    step = AsTable(columns, centre.tolist(), spread.tolist())

    def with_table(learner: Any) -> Any:
        if not (isinstance(learner, Foreign) and asks_for_names(learner.model)):
            return learner
        model = learner.model
        steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
        return replace(learner, model=Pipeline([("as_table", step), *steps]))

    return replace(blend, learners=tuple(map(with_table, blend.learners)))
