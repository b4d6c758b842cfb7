"""One method, one file."""

from alignset.methods.alignment import Alignment, ablations
from alignset.methods.base import Batch, Facts, Method, Stage, Step
from alignset.methods.csidn import CSIDN
from alignset.methods.fair_gpl import FairGPL
from alignset.methods.gjs import GJS, Perturbation
from alignset.methods.parts import Parts
from alignset.methods.sln_filter import SLNFilter
from alignset.methods.space import Choice, LogUniform, Uniform
from alignset.methods.standard import AlignmentOnly, Standard, StandardPlus

__all__ = [
    "CSIDN",
    "GJS",
    "Alignment",
    "AlignmentOnly",
    "Batch",
    "Choice",
    "Facts",
    "FairGPL",
    "LogUniform",
    "Method",
    "Parts",
    "Perturbation",
    "SLNFilter",
    "Stage",
    "Standard",
    "StandardPlus",
    "Step",
    "Uniform",
    "ablations",
]
