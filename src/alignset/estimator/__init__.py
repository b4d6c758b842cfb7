"""The scikit-learn facade: one estimator for every method."""

from alignset.estimator.classifier import NoisyLabelClassifier
from alignset.estimator.sizes import ROWS_PER_BATCH
from alignset.labels import (
    LabelSwitchWarning,
    NoDisagreementWarning,
    NoReviewWarning,
    UnobservedClassWarning,
    UnreviewedGroupWarning,
    UnseenCellWarning,
)

__all__ = [
    "ROWS_PER_BATCH", "LabelSwitchWarning", "NoDisagreementWarning", "NoReviewWarning",
    "NoisyLabelClassifier", "UnobservedClassWarning", "UnreviewedGroupWarning", "UnseenCellWarning"
]  # fmt: skip
