"""What "not reviewed" is: encode observed and true labels, and check them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

UNREVIEWED = -1
"""Internal code of a true label nobody looked at; class codes start at 0, so it never collides."""

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class EncodedLabels:
    """Labels as class codes ``0..K-1``."""

    classes: NDArray[Any]
    y_seen: Codes
    y_true: Codes

    @property
    def reviewed(self) -> NDArray[np.bool_]:
        """Which rows have a true label."""
        return self.y_true != UNREVIEWED


def is_missing(values: Any) -> NDArray[np.bool_]:
    """Tell which entries are missing: NaN, None, ``pd.NA``, ``NaT`` or masked.

    Examples
    --------
    >>> is_missing(["yes", None, float("nan"), "no"])
    array([False,  True,  True, False])
    """
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.getmaskarray(values) | is_missing(values.data)
    return np.asarray(pd.isna(np.asarray(values, dtype=object)), dtype=bool)
