"""Predictions by models that were not trained on the rows they predict.

Every row is dealt a fold, reviewed or not, and scored by models trained without that fold: they saw
neither its true nor its observed label, nor any row of the same person. If rows nobody reviewed
stayed in training, a model that follows observed labels would follow theirs, and score them unlike
reviewed rows; ``alignset.evaluate.estimate``, which compares the two, would be biased by it.

The blend holds rows out of its candidates and of their weights as it is fitted, and the plain
models are among its candidates: it needs no further fit to be judged (:func:`held_out_by_blend`),
unless whole sites or years are held out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.estimator import NoisyLabelClassifier
from alignset.estimator.soft import expand_soft
from alignset.estimator.unseen import WHOLE
from alignset.extras import torch
from alignset.fitting.holdout import Holdout, trained_rows
from alignset.fitting.judge import BLEND
from alignset.fitting.plain import PLAIN, plain_models
from alignset.labels import Codes, EncodedLabels
from alignset.learners.base import to_probability
from alignset.rows import Part
from alignset.rows.folds import assign_folds
from alignset.rows.raw import RawColumns
from alignset.tables.kinds import Holds
from alignset.tables.preprocess import fit_preprocessing
from alignset.tables.targets import Floats, Targets

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Settings:
    """How models are trained and compared."""

    n_configs: int = 20  # random configs to try for each model
    folds: int = 3  # parts of the rows, each scored by models without it; a blend has its own
    seed: int = 0
    device: str = "cpu"
    n_jobs: int | None = None
    hidden: int = 100
    max_epochs: int = 200
    n_boot: int = 1000  # resamples for an interval
    ensemble: int = 1  # how many of the best configs each model averages
    threshold: float = 0.5  # probability from which a row of the rarest class counts as found

    def __post_init__(self) -> None:
        if self.device == "cuda" and not torch.cuda.is_available():
            raise ValueError("there is no CUDA device; pass --device cpu.")
        if self.folds < 2:
            raise ValueError(f"folds must be at least 2, got {self.folds}.")
        if not 0 < self.threshold < 1:
            raise ValueError(f"threshold must lie in (0, 1), got {self.threshold}.")

    def estimator(self, method: str) -> NoisyLabelClassifier:
        """Return an unfitted estimator for a method; features are already scaled."""
        return NoisyLabelClassifier(
            method, n_configs=self.n_configs, hidden=self.hidden,
            max_epochs=self.max_epochs, ensemble=self.ensemble, standardize=False,
            device=self.device, n_jobs=self.n_jobs, random_state=self.seed,
        )  # fmt: skip


def fit_estimator(
    clf: NoisyLabelClassifier, X: Any, targets: Targets, rows: Mask | None = None, **options: Any
) -> NoisyLabelClassifier:
    """Fit an estimator to rows of a table, by default all, using their review design.

    ``options`` are ``raw``, ``keep_unseen`` and ``progress`` of its ``fit_encoded``.
    """
    keep = np.ones(len(targets.group), dtype=bool) if rows is None else rows
    labels = targets.labels
    return clf.fit_encoded(
        X,
        EncodedLabels(labels.classes, labels.y_seen[keep], labels.y_true[keep]),
        targets.group[keep],
        targets.group_names,
        review_probability=targets.probability[keep] if targets.by_design else None,
        unit=targets.unit[keep],
        soft=None if targets.soft is None else targets.soft[keep],
        **options,
    )


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions by models that were not trained on the rows they predict.

    ``more_doubt`` is how much more the method doubts the labels of a group's unreviewed rows than
    those of its reviewed rows, on average, all held out; NaN if there are none of either.
    """

    scores: dict[str, Floats]  # model -> (n, K) probabilities, NaN in rows never held out
    more_doubt: Floats  # (G,)

    def of(self, holdout: Holdout | None) -> HeldOut:
        """Return what was said of the rows of a holdout alone."""
        if holdout is None:
            return self
        rows = holdout.fold >= 0
        said = {name: score[rows] for name, score in self.scores.items()}
        return HeldOut(said, self.more_doubt)


def score_held_out(
    frame: pd.DataFrame,
    targets: Targets,
    kinds: Mapping[str, Holds],
    method: str,
    settings: Settings,
    advance: Callable[[str], None],
    holdout: Holdout | None = None,
) -> HeldOut:
    """Score rows with a method and plain models that saw neither them nor their units.

    All rows, unless a holdout says which.
    """
    fold = holdout.fold if holdout else deal_rows(targets, settings.folds, settings.seed)
    size = (len(frame), len(targets.labels.classes))
    scores = {name: np.full(size, np.nan) for name in (method, *PLAIN)}
    parts = int(fold.max()) + 1
    more_doubt = np.full((parts, len(targets.group_names)), np.nan)
    for part in range(parts):
        held, train = fold == part, trained_rows(targets, fold, part)
        prep = fit_preprocessing(frame[train], kinds)
        X, X_held = prep.transform(frame[train]), prep.transform(frame[held])
        step = _named(advance, f"part {part + 1} of {parts}: fitting ")
        step(method)
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            clf = settings.estimator(method)  # what it warns of is told at the end
            fit_estimator(clf, X, targets, train, raw=prep.raw)
        doubt = np.full(len(held), np.nan)
        doubt[held] = 1 - clf.confidence_encoded(X_held, targets.labels.y_seen[held])
        more_doubt[part] = _more_doubt(doubt, targets)
        said = _plain_scores((X, X_held), prep.raw, targets, train, settings, step)
        groups = targets.group_names[targets.group[held]]
        for name, score in {**said, method: clf.predict_proba(X_held, groups)}.items():
            scores[name][held] = score
    known = ~np.isnan(more_doubt)
    mean = np.where(known, more_doubt, 0).sum(0) / np.where(known.any(0), known.sum(0), np.nan)
    return HeldOut(scores, mean)


def held_out_by_blend(clf: NoisyLabelClassifier, targets: Targets) -> HeldOut:
    """Return what a blend fitted to all rows, and the plain models in it, said of those unseen."""
    found = clf.unseen_
    if found is None:
        raise ValueError("a blend keeps what it said of unseen rows only if keep_unseen is set.")
    names = {WHOLE: BLEND}
    names |= {(one.strategy.name, one.learner.name): name for name, one in PLAIN.items()}
    scores = {}
    for own, name in names.items():
        if own in found.scores:
            scores[name] = np.full((len(targets.group), len(clf.classes_)), np.nan)
            scores[name][found.at] = found.scores[own]
    doubt = np.full(len(targets.group), np.nan)
    doubt[found.at] = 1 - found.confidence
    return HeldOut(scores, _more_doubt(doubt, targets))


def _named(advance: Callable[[str], None], start: str) -> Callable[[str], None]:
    """Return a function that reports what it is told with these words before it."""
    return lambda what: advance(start + what)


def _plain_scores(
    X: tuple[Any, Any],
    raw: RawColumns,
    targets: Targets,
    train: Mask,
    settings: Settings,
    advance: Callable[[str], None],
) -> dict[str, Floats]:
    """Return what plain models trained on some rows, the first of ``X``, say of others, (m, K)."""
    labels, chance = targets.labels, targets.probability[train]
    known = np.where(np.isnan(chance), 1.0, chance) if targets.by_design else None
    rows = Part(
        X[0], labels.y_seen[train], labels.y_true[train], targets.group[train], probability=known
    )
    rows = expand_soft(rows, None if targets.soft is None else targets.soft[train])
    sizes = len(labels.classes), len(targets.group_names)
    models = plain_models(rows, *sizes, seed=settings.seed, raw=raw, advance=advance)
    return {name: to_probability(model.log_odds(X[1])) for name, model in models.items()}


def deal_rows(targets: Targets, folds: int, seed: int) -> Codes:
    """Return the fold of every row (n,): first of reviewed people, then of all others.

    Where hardly anyone is left to deal, the others are not dealt, -1, and stay in training.
    """
    fold = assign_folds(targets.strata, folds, seed, targets.unit)
    rest = np.flatnonzero(fold < 0)
    people, first = np.unique(targets.unit[rest], return_index=True)
    if len(people) < 2 * folds:
        return fold
    order = np.random.default_rng((seed, 42)).permutation(len(people))
    at = rest[first[order]]
    cell = targets.group[at] * len(targets.labels.classes) + targets.labels.y_seen[at]
    order = order[np.argsort(cell, kind="stable")]
    own = np.empty(len(people), dtype=np.int64)
    own[order] = np.arange(len(people)) % folds
    fold[rest] = own[np.searchsorted(people, targets.unit[rest])]
    return fold


def _more_doubt(doubt: Floats, targets: Targets) -> Floats:
    """Return how much more the unreviewed rows of each group are doubted than reviewed ones.

    ``doubt`` (n,) is NaN in rows that were not held out.
    """
    held = ~np.isnan(doubt)
    others, reviewed = held & ~targets.reviewed, held & targets.reviewed
    return _means(doubt, others, targets) - _means(doubt, reviewed, targets)


def _means(values: Floats, rows: Mask, targets: Targets) -> Floats:
    """Return the mean of each group (G,), weighted by design if reviewed; NaN if it has no rows."""
    chance = np.where(np.isnan(targets.probability), 1.0, targets.probability)
    n, group, weight = len(targets.group_names), targets.group[rows], 1 / chance[rows]
    size = np.bincount(group, weight, n)
    total = np.bincount(group, weight * values[rows], n)
    return np.asarray(total / np.where(size > 0, size, np.nan))
