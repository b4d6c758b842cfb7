"""Learn from labels that are wrong in ways that depend on the person, with a reviewed subset.

Names are imported when they are first asked for: ``import alignset`` loads neither torch nor
scikit-learn.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from alignset.interrupts import in_one_piece

if TYPE_CHECKING:
    from alignset.data import load_adult, load_compas, load_mimic, load_nhanes
    from alignset.data.synthetic import make_synthetic, make_synthetic_released
    from alignset.engine import Trainer
    from alignset.estimator import NoisyLabelClassifier
    from alignset.evaluate import aueoc, auroc, harmonic_mean
    from alignset.methods import Alignment, JointAlignment, Standard
    from alignset.model.folder import load_model
    from alignset.noise import flip_by_features
    from alignset.rows import Problem, Table, draw_review

__version__ = "0.2.0"

__all__ = [
    "Alignment", "JointAlignment", "NoisyLabelClassifier", "Problem", "Standard", "Table",
    "Trainer", "__version__", "aueoc", "auroc", "draw_review", "flip_by_features",
    "harmonic_mean", "load_adult", "load_compas", "load_mimic", "load_model", "load_nhanes",
    "make_synthetic", "make_synthetic_released",
]  # fmt: skip

_HOME = {
    "data": "load_adult load_compas load_mimic load_nhanes make_synthetic make_synthetic_released",
    "engine": "Trainer",
    "estimator": "NoisyLabelClassifier",
    "evaluate": "aueoc auroc harmonic_mean",
    "methods": "Alignment JointAlignment Standard",
    "model.folder": "load_model",
    "noise": "flip_by_features",
    "rows": "Problem Table draw_review",
}
"""Module -> the public names that are in it."""


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names.split():
            home = f"alignset.{module}"
            with nullcontext() if home in sys.modules else in_one_piece():
                return getattr(import_module(home), name)
    raise AttributeError(f"module 'alignset' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
