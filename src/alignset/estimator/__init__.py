"""The scikit-learn facade: one estimator for every method."""

from alignset.engine.sizes import ROWS_PER_BATCH
from alignset.estimator.classifier import NoisyLabelClassifier
from alignset.labels import (
    FewReviewedWarning,
    LabelSwitchWarning,
    NoDisagreementWarning,
    NoReviewWarning,
    SelectiveReviewWarning,
    UnobservedClassWarning,
    UnreviewedGroupWarning,
    UnseenCellWarning,
)

__all__ = [
    "ROWS_PER_BATCH", "FewReviewedWarning", "LabelSwitchWarning", "NoDisagreementWarning",
    "NoReviewWarning", "NoisyLabelClassifier", "SelectiveReviewWarning", "UnobservedClassWarning",
    "UnreviewedGroupWarning", "UnseenCellWarning",
]  # fmt: skip
