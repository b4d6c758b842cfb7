"""A blend, and what it would be for another L: how far it leans on models of both labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from alignset.learners import blend, stacking


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
