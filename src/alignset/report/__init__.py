"""The model page: pictures and tables in one self-contained file. Trains nothing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from alignset._moved import forwarder
from alignset.report.displays import Axis, Display
from alignset.report.page import Page, Section

if TYPE_CHECKING:
    from alignset.report.estimator_displays import (
        CalibrationByGroupDisplay,
        CandidateDisplay,
        NoiseRateDisplay,
    )

__all__ = [
    "Axis", "CalibrationByGroupDisplay", "CandidateDisplay", "Display", "NoiseRateDisplay", "Page",
    "Section",
]  # fmt: skip

_LATER = ("CalibrationByGroupDisplay", "CandidateDisplay", "NoiseRateDisplay")
"""Imported when they are asked for: they load scikit-learn, and pages of results do not."""

_moved = forwarder(__name__)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module("alignset.report.estimator_displays"), name)
    return _moved(name)
