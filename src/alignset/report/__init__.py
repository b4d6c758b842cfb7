"""The model page: pictures and tables in one self-contained file. Trains nothing.

Names are imported when they are first used: displays load scikit-learn, pages of results do not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from alignset._moved import forwarder
from alignset.extras import need

if TYPE_CHECKING:
    from alignset.report.displays import Axis, Display
    from alignset.report.estimator_displays import (
        CalibrationByGroupDisplay,
        CandidateDisplay,
        NoiseRateDisplay,
    )
    from alignset.report.page import Page, Section

__all__ = [
    "Axis", "CalibrationByGroupDisplay", "CandidateDisplay", "Display", "NoiseRateDisplay", "Page",
    "Section",
]  # fmt: skip

_HOME = {
    "displays": "Axis Display",
    "estimator_displays": "CalibrationByGroupDisplay CandidateDisplay NoiseRateDisplay",
    "page": "Page Section",
}
"""Module -> its public names."""

_moved = forwarder(__name__)

need("drawing or writing a report", "matplotlib", "jinja2")


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names.split():
            return getattr(import_module(f"alignset.report.{module}"), name)
    return _moved(name)
