"""A blend, and what it would be if it leaned otherwise, or gave its candidates no credit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from alignset.learners import blend, stacking
from alignset.learners.credit import Credit


@contextmanager
def keep_combined() -> Iterator[list[Any]]:
    """Keep what a fit of the default combines; the last is that of the whole fit."""
    combine, kept = blend._combine, []

    def keep(*given: Any) -> Any:
        kept.append(given)
        return combine(*given)

    with patch.object(blend, "_combine", keep):
        yield kept


def combined(kept: list[Any], lean: float) -> Any:
    """Return the model that the fit would have been with this L."""
    with patch.object(stacking, "LEAN", lean):
        model, _ = blend._combine(*kept[-1])
    return model


def without_credit(kept: list[Any]) -> Any:
    """Return the model that the fit would have been if nothing spoke for models of errors."""

    def nothing(odds: Any, *_: Any, **__: Any) -> Credit:
        return Credit(np.ones(len(odds)), np.zeros(odds.shape[:2]))

    with patch.object(blend, "read_credit", nothing):
        model, _ = blend._combine(*kept[-1])
    return model
