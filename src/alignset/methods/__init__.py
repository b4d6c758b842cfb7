"""One method, one file."""

from alignset.methods.alignment import Alignment, ablations
from alignset.methods.base import Batch, Facts, Method, Stage, Step
from alignset.methods.confident import ConfidentLearning
from alignset.methods.corrections import Backward, Forward
from alignset.methods.coteaching import CoTeaching
from alignset.methods.csidn import CSIDN
from alignset.methods.elr import ELR
from alignset.methods.fair_gpl import FairGPL
from alignset.methods.gjs import GJS, Perturbation
from alignset.methods.glc import GLC
from alignset.methods.irbl import IRBL
from alignset.methods.joint import JointAlignment
from alignset.methods.l2rw import LearningToReweight
from alignset.methods.mwnet import MetaWeightNet
from alignset.methods.parts import Parts
from alignset.methods.sln_filter import SLNFilter
from alignset.methods.space import Choice, LogUniform, Uniform
from alignset.methods.standard import AlignmentOnly, Standard, StandardPlus

__all__ = [
    "CSIDN",
    "ELR",
    "GJS",
    "GLC",
    "IRBL",
    "Alignment",
    "AlignmentOnly",
    "Backward",
    "Batch",
    "Choice",
    "CoTeaching",
    "ConfidentLearning",
    "Facts",
    "FairGPL",
    "Forward",
    "JointAlignment",
    "LearningToReweight",
    "LogUniform",
    "MetaWeightNet",
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
