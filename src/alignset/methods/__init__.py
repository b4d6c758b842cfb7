"""One method, one file."""

from alignset.methods.alignment import Alignment, ablations
from alignset.methods.base import Batch, Facts, Method, Stage, Step
from alignset.methods.space import Choice, LogUniform, Uniform
from alignset.methods.standard import AlignmentOnly, Standard, StandardPlus

__all__ = [
    "Alignment",
    "AlignmentOnly",
    "Batch",
    "Choice",
    "Facts",
    "LogUniform",
    "Method",
    "Stage",
    "Standard",
    "StandardPlus",
    "Step",
    "Uniform",
    "ablations",
]
