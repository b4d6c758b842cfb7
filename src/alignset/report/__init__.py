"""What the results show: displays, claims, one self-contained page. Trains nothing."""

from alignset.report.claims import Claim, Verdict
from alignset.report.displays import Axis, Bars, Curves, Display, Panels
from alignset.report.page import Page, Section
from alignset.report.publication import FigureSpec, Publication
from alignset.report.reproduction import Reproduction

__all__ = [
    "Axis",
    "Bars",
    "Claim",
    "Curves",
    "Display",
    "FigureSpec",
    "Page",
    "Panels",
    "Publication",
    "Reproduction",
    "Section",
    "Verdict",
]
