"""The columns of a table that columns of a matrix were made of, for learners that read them so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_LEVELS = 63
"""Levels that a category may have to be read as one column; one more is for unknown ones."""


@dataclass(frozen=True)
class RawColumns:
    """Columns of a matrix that say together what one column of a table said.

    A 0/1 column is on where it is positive: scaled columns have their zero between the two values.

    Parameters
    ----------
    categories : sequence of (first, end)
        Where the columns of each category's levels begin and end; at most one is on in a row.
    gaps : sequence of (column, indicator)
        Numbers whose missing values were filled, and the column that is on where they were.

    Examples
    --------
    >>> raw = RawColumns(categories=((1, 4),), gaps=((0, 4),))
    >>> raw.read(np.array([[60.0, 0, 0, 1, 0], [55.0, 0, 0, 0, 1]]))
    array([[ 2., 60.],
           [ 3., nan]])
    """

    categories: tuple[tuple[int, int], ...] = ()
    gaps: tuple[tuple[int, int], ...] = ()

    def with_levels(self, most: float) -> RawColumns:
        """Return it with the categories of at most so many levels; others stay 0/1 columns."""
        kept = tuple((first, end) for first, end in self.categories if end - first <= most)
        return RawColumns(kept, self.gaps)

    def others(self, width: int) -> list[int]:
        """Return which of ``width`` columns of the matrix are kept as they are, gaps put back."""
        used = {j for first, end in self.categories for j in range(first, end)}
        used |= {indicator for _, indicator in self.gaps}
        return [j for j in range(width) if j not in used]

    def read(self, features: Any) -> NDArray[np.float64]:
        """Return the level of each category, one beyond the last if none is on; then the others.

        Columns beyond those of the table, to the right of them, are kept.
        """
        X: NDArray[np.float64] = np.asarray(features, dtype=np.float64)
        if not self.categories and not self.gaps:
            return X
        kept = self.others(X.shape[1])
        found = np.empty((len(X), len(self.categories) + len(kept)))
        for at, (first, end) in enumerate(self.categories):
            level = X[:, first:end].argmax(axis=1)
            known = X[np.arange(len(X)), first + level] > 0
            found[:, at] = np.where(known, level, end - first)
        found[:, len(self.categories) :] = X[:, kept]
        for column, indicator in self.gaps:
            at = len(self.categories) + kept.index(column)
            found[X[:, indicator] > 0, at] = np.nan
        return found


AS_THEY_ARE = RawColumns()
"""For a matrix that was not made of a table."""
