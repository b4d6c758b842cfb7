"""Learn from labels that are wrong in ways that depend on the person, with a reviewed subset.

Names are imported when they are first asked for: ``import alignset`` loads neither torch nor
scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "NoisyLabelClassifier": "alignset.estimator",
    "load_model": "alignset.model.folder",
    "Trainer": "alignset.engine",
    "Problem": "alignset.rows",
    "Table": "alignset.rows",
    "load_adult": "alignset.data",
    "load_compas": "alignset.data",
    "load_mimic": "alignset.data",
    "load_nhanes": "alignset.data",
    "make_synthetic": "alignset.data",
    "make_synthetic_released": "alignset.data",
    "flip_by_features": "alignset.noise",
    "draw_review": "alignset.rows",
    "auroc": "alignset.evaluate",
    "aueoc": "alignset.evaluate",
    "harmonic_mean": "alignset.evaluate",
    "Alignment": "alignset.methods",
    "JointAlignment": "alignset.methods",
    "Standard": "alignset.methods",
}
"""Public name -> the module it is imported from when first asked for."""

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'alignset' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from alignset.data import load_adult as load_adult
    from alignset.data import load_compas as load_compas
    from alignset.data import load_mimic as load_mimic
    from alignset.data import load_nhanes as load_nhanes
    from alignset.data import make_synthetic as make_synthetic
    from alignset.data import make_synthetic_released as make_synthetic_released
    from alignset.engine import Trainer as Trainer
    from alignset.estimator import NoisyLabelClassifier as NoisyLabelClassifier
    from alignset.evaluate import aueoc as aueoc
    from alignset.evaluate import auroc as auroc
    from alignset.evaluate import harmonic_mean as harmonic_mean
    from alignset.methods import Alignment as Alignment
    from alignset.methods import JointAlignment as JointAlignment
    from alignset.methods import Standard as Standard
    from alignset.model.folder import load_model as load_model
    from alignset.noise import flip_by_features as flip_by_features
    from alignset.rows import Problem as Problem
    from alignset.rows import Table as Table
    from alignset.rows import draw_review as draw_review
