"""One method, one file: every method that a file in this folder defines is public here."""

from typing import TYPE_CHECKING

from alignset._moved import old_range
from alignset.methods.alignment import ablations
from alignset.methods.base import Batch, Facts, Method, Stage, Step
from alignset.methods.gjs import Perturbation
from alignset.methods.registry import METHODS

_FOUND = {method.__name__: method for method in METHODS.values()}
globals().update(_FOUND)

__all__ = [
    "Batch", "Facts", "Method", "Perturbation", "Stage", "Step", "ablations", *sorted(_FOUND)
]  # fmt: skip

__getattr__ = old_range

if TYPE_CHECKING:  # types for the editor; a method that is not listed here works as well
    from alignset.methods.alignment import Alignment as Alignment
    from alignset.methods.confident import ConfidentLearning as ConfidentLearning
    from alignset.methods.corrections import Backward as Backward
    from alignset.methods.corrections import Forward as Forward
    from alignset.methods.coteaching import CoTeaching as CoTeaching
    from alignset.methods.csidn import CSIDN as CSIDN
    from alignset.methods.elr import ELR as ELR
    from alignset.methods.fair_gpl import FairGPL as FairGPL
    from alignset.methods.gjs import GJS as GJS
    from alignset.methods.gjs import JS as JS
    from alignset.methods.glc import GLC as GLC
    from alignset.methods.irbl import IRBL as IRBL
    from alignset.methods.joint import JointAlignment as JointAlignment
    from alignset.methods.l2rw import LearningToReweight as LearningToReweight
    from alignset.methods.mwnet import MetaWeightNet as MetaWeightNet
    from alignset.methods.parts import Parts as Parts
    from alignset.methods.sln_filter import SLNFilter as SLNFilter
    from alignset.methods.standard import AlignmentOnly as AlignmentOnly
    from alignset.methods.standard import Standard as Standard
    from alignset.methods.standard import StandardPlus as StandardPlus
