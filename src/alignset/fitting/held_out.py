"""Predictions for reviewed rows by models that were not trained on them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from alignset.estimator import NoisyLabelClassifier
from alignset.labels import EncodedLabels
from alignset.methods.registry import get_method
from alignset.rows.folds import assign_folds
from alignset.tables.kinds import Kind
from alignset.tables.preprocess import fit_preprocessing
from alignset.tables.targets import Floats, Targets

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Settings:
    """How models are trained and compared."""

    n_configs: int = 20  # random configs to try for each model
    folds: int = 3  # folds of the reviewed rows; each is scored by models trained without it
    seed: int = 0
    device: str = "cpu"
    n_jobs: int | None = None
    hidden: int = 100
    max_epochs: int = 200
    n_boot: int = 1000  # resamples for an interval
    ensemble: int = 1  # how many of the best configs each model averages

    def __post_init__(self) -> None:
        if self.device == "cuda" and not torch.cuda.is_available():
            raise ValueError("there is no CUDA device; pass --device cpu.")
        if self.folds < 2:
            raise ValueError(f"folds must be at least 2, got {self.folds}.")

    def estimator(self, method: str) -> NoisyLabelClassifier:
        """Return an unfitted estimator for a method; features are already scaled."""
        return NoisyLabelClassifier(
            get_method(method)(), n_configs=self.n_configs, hidden=self.hidden,
            max_epochs=self.max_epochs, ensemble=self.ensemble, standardize=False,
            device=self.device, n_jobs=self.n_jobs, random_state=self.seed,
        )  # fmt: skip


def fit_estimator(
    clf: NoisyLabelClassifier, X: Any, targets: Targets, rows: Mask | None = None
) -> NoisyLabelClassifier:
    """Fit an estimator to rows of a table, by default all, using their review design."""
    keep = np.ones(len(targets.group), dtype=bool) if rows is None else rows
    labels = targets.labels
    return clf.fit_encoded(
        X,
        EncodedLabels(labels.classes, labels.y_seen[keep], labels.y_true[keep]),
        targets.group[keep],
        targets.group_names,
        review_probability=targets.probability[keep] if targets.by_design else None,
        unit=targets.unit[keep],
    )


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for reviewed rows by models that were not trained on them.

    ``more_doubt`` is how much more the last method doubts the labels of a group's unreviewed rows
    than those of its held-out reviewed rows, on average; NaN if there are none of either. Training
    rows would make it too large, because the model has seen whether their labels are right.
    """

    scores: dict[str, Floats]  # method -> (n, K) probabilities, NaN in rows not reviewed
    more_doubt: Floats  # (G,)


def score_held_out(
    frame: pd.DataFrame,
    targets: Targets,
    kinds: Mapping[str, Kind],
    methods: Sequence[str],
    settings: Settings,
    advance: Callable[[str], None],
) -> HeldOut:
    """Score every reviewed row with models that saw neither it nor its unit."""
    fold = assign_folds(targets.strata, settings.folds, settings.seed, targets.unit)
    size = (len(frame), len(targets.labels.classes))
    scores = {name: np.full(size, np.nan) for name in methods}
    more_doubt = np.full((settings.folds, len(targets.group_names)), np.nan)
    for part in range(settings.folds):
        held, train = (fold == part) & targets.reviewed, fold != part
        prep = fit_preprocessing(frame[train], kinds)
        X, X_held = prep.transform(frame[train]), prep.transform(frame[held])
        for name in methods:
            advance(f"comparing {name}, part {part + 1} of {settings.folds}")
            with warnings.catch_warnings(action="ignore", category=UserWarning):
                clf = fit_estimator(settings.estimator(name), X, targets, train)  # told at the end
            scores[name][held] = clf.predict_proba(X_held)
        pool = train & ~targets.reviewed
        doubt = np.full(len(frame), np.nan)
        seen = targets.labels.y_seen
        doubt[held] = 1 - clf.confidence_encoded(X_held, seen[held])
        if pool.any():
            doubt[pool] = 1 - clf.confidence_encoded(X[pool[train]], seen[pool])
        more_doubt[part] = _means(doubt, pool, targets) - _means(doubt, held, targets)
    known = ~np.isnan(more_doubt)
    mean = np.where(known, more_doubt, 0).sum(0) / np.where(known.any(0), known.sum(0), np.nan)
    return HeldOut(scores, mean)


def _means(values: Floats, rows: Mask, targets: Targets) -> Floats:
    """Return the mean of each group (G,), weighted by design if reviewed; NaN if it has no rows."""
    chance = np.where(np.isnan(targets.probability), 1.0, targets.probability)
    n, group, weight = len(targets.group_names), targets.group[rows], 1 / chance[rows]
    size = np.bincount(group, weight, n)
    total = np.bincount(group, weight * values[rows], n)
    return np.asarray(total / np.where(size > 0, size, np.nan))
