"""The model page: pictures and tables in one self-contained file. Trains nothing."""

from alignset._moved import forwarder
from alignset.report.displays import Axis, Display
from alignset.report.page import Page, Section

__all__ = ["Axis", "Display", "Page", "Section"]

__getattr__ = forwarder(__name__)
