"""How good, how even."""

from alignset.evaluate.calibration import brier, calibration_error
from alignset.evaluate.curves import equalized_odds, group_curves
from alignset.evaluate.estimates import estimate, estimate_difference
from alignset.evaluate.inputs import EmptyCellWarning
from alignset.evaluate.intervals import Interval, bootstrap
from alignset.evaluate.metrics import (
    Summary,
    aueoc,
    aueoc_over_fpr,
    aueoc_released,
    auroc,
    summarize,
)
from alignset.evaluate.ranked import harmonic_mean
from alignset.evaluate.result import Estimate
from alignset.evaluate.thresholds import ThresholdChoice, choose_threshold

__all__ = [
    "EmptyCellWarning", "Estimate", "Interval", "Summary", "ThresholdChoice", "aueoc",
    "aueoc_over_fpr", "aueoc_released", "auroc", "bootstrap", "brier", "calibration_error",
    "choose_threshold", "equalized_odds", "estimate", "estimate_difference", "group_curves",
    "harmonic_mean", "summarize",
]  # fmt: skip
