"""Settings of the estimator that cannot be meant, refused before anything is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from alignset.extras import installed, torch
from alignset.rows.selection import HOW
from alignset.stack import Backbone, Module

if TYPE_CHECKING:
    from alignset.estimator.classifier import NoisyLabelClassifier


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_device(device: Any) -> None:
    """Refuse a device that torch does not know by that name."""
    if not (isinstance(device, str) and device.split(":")[0] in ("cpu", "cuda")):
        raise ValueError(
            f"device must be 'cpu', 'cuda' or 'cuda:N', got {device!r}; an NVIDIA GPU is 'cuda'."
        )
    if device != "cpu" and installed("torch") and not torch.cuda.is_available():
        raise ValueError(f"device is {device!r}, but torch finds no GPU here; use device='cpu'.")


def check_hidden(hidden: Any) -> None:
    """Refuse a width that is not a number, such as scikit-learn's tuple of layers."""
    if not is_whole(hidden) or hidden < 1:
        raise ValueError(
            f"hidden must be a whole number of at least 1, the width of both hidden layers "
            f"(hidden >= 1), got {hidden!r}; pass backbone= for another shape."
        )


def check_settings(clf: NoisyLabelClassifier, review_probability: Any) -> None:
    """Refuse settings of an estimator that cannot be meant."""
    check_device(clf.device)
    check_hidden(clf.hidden)
    for name in ("n_configs", "max_epochs", "patience"):
        value = getattr(clf, name)
        if not (is_whole(value) and value >= 1):
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    if not (clf.n_jobs is None or (is_whole(clf.n_jobs) and clf.n_jobs != 0)):
        raise ValueError(
            "n_jobs must be a whole number of cores, -1 for all, -2 for all but one, or None, got "
            f"{clf.n_jobs!r}."
        )
    if not (clf.space is None or isinstance(clf.space, Mapping)):
        raise ValueError(
            "space must map hyperparameters to distributions or lists of values, such as "
            f"{{'l2': [0.0, 0.1]}}, got {clf.space!r}."
        )
    as_backbone(clf.backbone)
    if clf.folds is not None and not (is_whole(clf.folds) and clf.folds >= 2):
        raise ValueError(
            "folds must be a whole number of at least 2, or None to hold out validation_share "
            f"once, got {clf.folds!r}."
        )
    if not (is_whole(clf.ensemble) and 1 <= clf.ensemble <= clf.n_configs):
        raise ValueError(
            f"ensemble must be a whole number from 1 to n_configs={clf.n_configs}, the number "
            f"of configs to choose from, got {clf.ensemble!r}."
        )
    if clf.review_weights is not None and clf.review_weights not in HOW:
        raise ValueError(
            f"review_weights must be {' or '.join(map(repr, HOW))} or None, got "
            f"{clf.review_weights!r}; pass known probabilities to fit(review_probability=...)."
        )
    if clf.review_weights is not None and review_probability is not None:
        raise ValueError(
            f"review_weights={clf.review_weights!r} estimates what review_probability gives; "
            "pass only one of the two."
        )


def as_backbone(backbone: Any) -> Any:
    """Return a backbone; a function that makes a torch module becomes one."""
    if backbone is None or isinstance(backbone, Backbone):
        return backbone
    if hasattr(backbone, "predict_proba"):
        raise ValueError(
            f"backbone must be a network, got the classifier {backbone!r}; pass it as estimator="
        )
    if hasattr(backbone, "forward") and not isinstance(backbone, type):
        raise ValueError(
            f"backbone must make a network for given sizes, got one network, "
            f"{type(backbone).__name__}; pass a function, such as lambda d, k: nn.Linear(d, k)."
        )
    if callable(backbone):
        return Module(backbone)
    raise ValueError(
        f"backbone must be a Backbone, or a function (inputs, outputs) -> nn.Module, got "
        f"{backbone!r}."
    )
