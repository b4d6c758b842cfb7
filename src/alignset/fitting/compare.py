"""Is the method worth its trouble: models compared on reviewed rows none of them was trained on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from alignset.estimator import NoisyLabelClassifier
from alignset.evaluate import Interval, bootstrap
from alignset.fitting.expectation import Expectation, expect
from alignset.methods.registry import describe, get_method
from alignset.rows.folds import assign_folds
from alignset.tables.kinds import Kind
from alignset.tables.preprocess import fit_preprocessing
from alignset.tables.targets import Targets

SIMPLE = ("standard", "alignment_only", "standard_plus")
"""What every method is compared with, simplest first."""

METRICS = ("auroc", "aueoc", "hm")
MIN_REVIEWED, MIN_CELL = 20, 5
"""Reviewed rows to compare at all, and in every class of a group that is compared."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """How models are trained and compared.

    Parameters
    ----------
    n_configs : int, default 20
        Size of the random search of every model.
    folds : int, default 3
        Parts the reviewed rows are cut into; each is scored by models trained without it.
    seed : int, default 0
    device : str, default "cpu"
    n_jobs : int, optional
    hidden, max_epochs : int, default 100 and 200
    n_boot : int, default 1000
        Resamples of an interval.
    ensemble : int, default 1
        Best configs of the search that every model averages.

    Examples
    --------
    >>> Settings(n_configs=4).folds
    3
    """

    n_configs: int = 20
    folds: int = 3
    seed: int = 0
    device: str = "cpu"
    n_jobs: int | None = None
    hidden: int = 100
    max_epochs: int = 200
    n_boot: int = 1000
    ensemble: int = 1

    def __post_init__(self) -> None:
        if self.device == "cuda" and not torch.cuda.is_available():
            raise ValueError("there is no CUDA device; pass --device cpu.")
        if self.folds < 2:
            raise ValueError(f"folds must be at least 2, got {self.folds}.")

    def estimator(self, method: str) -> NoisyLabelClassifier:
        """Return the estimator of a method, not yet fitted; features come already scaled."""
        return NoisyLabelClassifier(
            get_method(method)(),
            n_configs=self.n_configs,
            hidden=self.hidden,
            max_epochs=self.max_epochs,
            ensemble=self.ensemble,
            standardize=False,
            device=self.device,
            n_jobs=self.n_jobs,
            random_state=self.seed,
        )


@dataclass(frozen=True)
class Comparison:
    """How models did on held-out reviewed rows, and which one to use.

    Parameters
    ----------
    scores : mapping from method name to metric to Interval
        AUROC, AUEOC and their harmonic mean (hm).
    differences : mapping from method name to Interval
        Harmonic mean of the method that was asked for minus that of another.
    asked, recommended : str
        The simplest method that no more elaborate one beats beyond its interval; where these rows
        cannot tell, but such noise made the asked one better practically always elsewhere, that.
    sentence : str
        The recommendation.
    n_rows : int
        Held-out reviewed rows that were scored.
    groups_left_out : tuple
        Groups with too few reviewed rows of some class.
    """

    scores: Mapping[str, Mapping[str, Interval]]
    differences: Mapping[str, Interval]
    asked: str
    recommended: str
    sentence: str
    n_rows: int
    groups_left_out: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class CrossFit:
    """What models say of reviewed rows they were not trained on.

    Parameters
    ----------
    scores : dict from method name to (n, K) probabilities
        NaN on rows that are not reviewed.
    more_doubt : float array of shape (G,)
        How much more the last method doubts the labels of a group's unreviewed rows than those of
        its held-out reviewed rows, on average; NaN where either has none. Of rows a model was
        trained on it would be too large: their labels were shown to be right or wrong.
    """

    scores: dict[str, Floats]
    more_doubt: Floats


def cross_fit(
    frame: pd.DataFrame,
    targets: Targets,
    kinds: Mapping[str, Kind],
    methods: Sequence[str],
    settings: Settings,
    advance: Callable[[str], None],
) -> CrossFit:
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
            clf = settings.estimator(name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the final fit says it once
                clf.fit(
                    X, targets.y[train], y_true=targets.y_true[train], groups=targets.group[train]
                )
            at = np.searchsorted(targets.labels.classes, clf.classes_)
            scores[name][held] = 0.0
            scores[name][np.ix_(held, at)] = clf.predict_proba(X_held)
        pool = train & ~targets.reviewed
        doubt = np.full(len(frame), np.nan)
        doubt[held] = 1 - clf.label_confidence(X_held, targets.y[held])
        if pool.any():
            doubt[pool] = 1 - clf.label_confidence(X[pool[train]], targets.y[pool])
        more_doubt[part] = _means(doubt, pool, targets) - _means(doubt, held, targets)
    known = ~np.isnan(more_doubt)
    mean = np.where(known, more_doubt, 0).sum(0) / np.where(known.any(0), known.sum(0), np.nan)
    return CrossFit(scores, mean)


def _means(values: Floats, rows: NDArray[np.bool_], targets: Targets) -> Floats:
    """Mean of each group's rows (G,), NaN where it has none."""
    size = np.bincount(targets.group[rows], minlength=len(targets.group_names))
    total = np.bincount(targets.group[rows], values[rows], len(targets.group_names))
    return np.asarray(total / np.where(size > 0, size, np.nan))


def can_compare(targets: Targets, folds: int) -> str | None:
    """Say why models cannot be compared on these reviewed rows; None if they can."""
    true = targets.labels.y_true[targets.reviewed]
    counts = np.bincount(true, minlength=len(targets.labels.classes))
    if len(true) < MIN_REVIEWED:
        return (
            f"only {len(true)} rows are reviewed, too few to compare models (at least "
            f"{MIN_REVIEWED}); see `alignset plan`."
        )
    if counts.min() < max(folds, 2):
        rare = targets.labels.classes[counts.argmin()]
        return (
            f"only {counts.min()} reviewed rows have the true label {rare!r}, too few to compare "
            f"models (at least {max(folds, 2)}); see `alignset plan`."
        )
    return None


def compare(
    targets: Targets, scores: Mapping[str, Floats], asked: str, *, settings: Settings
) -> Comparison:
    """Compare cross-fitted scores on the reviewed rows, and recommend the simplest good method."""
    rows, group, left_out = _comparable(targets)
    y = targets.labels.y_true[rows]
    if len(targets.labels.classes) == 2:
        of = {name: s[rows, 1] for name, s in scores.items()}
    else:
        of = {name: s[rows] for name, s in scores.items()}
    options: dict[str, Any] = {"n_boot": settings.n_boot, "random_state": settings.seed}
    each = {name: bootstrap(y, s, group, metrics=METRICS, **options) for name, s in of.items()}

    @cache
    def gain(over: str, name: str) -> Interval:
        return bootstrap(y, of[over], group, y_score_b=of[name], metrics=["hm"], **options)["hm"]

    order = list(dict.fromkeys(name for name in (*SIMPLE, asked) if name in of))
    expected = expected_of(asked, targets)
    recommended = recommend(order, asked, gain, clear=expected is not None and expected.clear)
    differences = {name: gain(name, asked) for name in order if name != asked}
    found = Comparison(
        each, differences, asked, recommended, "", int(rows.sum()),
        tuple(targets.group_names[left_out].tolist()),
    )  # fmt: skip
    sentence = _sentence(found, gain, expected)
    return replace(found, sentence=sentence)


def expected_of(method: str, targets: Targets) -> Expectation | None:
    """Return what the reviewed rows' errors let expect of a method."""
    wrong = (targets.labels.y_seen != targets.labels.y_true) & targets.reviewed
    return expect(method, int(wrong.sum()), int(targets.reviewed.sum()))


def _comparable(
    targets: Targets,
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Rows of groups with enough reviewed rows of every class, their groups, and groups left out.

    Where no group has enough, all rows count as one group: evenness cannot be judged then.
    """
    shape = (len(targets.group_names), len(targets.labels.classes))
    count = np.zeros(shape, dtype=np.int64)
    reviewed = targets.reviewed
    np.add.at(count, (targets.group[reviewed], targets.labels.y_true[reviewed]), 1)
    enough = np.asarray(count.min(axis=1) >= MIN_CELL)
    if not enough.any():
        return reviewed, np.zeros(reviewed.sum(), dtype=np.int64), np.flatnonzero(~enough)
    rows = reviewed & enough[targets.group]
    return rows, targets.group[rows], np.flatnonzero(~enough)


def recommend(
    order: list[str], asked: str, gain: Callable[[str, str], Interval], *, clear: bool = False
) -> str:
    """Return the simplest of those that ``asked`` does not beat, unless one of them beats it.

    ``clear`` says that ``asked`` is to be expected ahead: it stays unless one beats it.
    """
    if clear and not any(gain(asked, name).low > 0 for name in order if name != asked):
        return asked
    level = [name for name in order if name == asked or not gain(name, asked).low > 0]
    for i, name in enumerate(level):
        if not any(gain(name, later).low > 0 for later in level[i + 1 :]):
            return name
    return asked


def _sentence(
    found: Comparison, gain: Callable[[str, str], Interval], expected: Expectation | None
) -> str:
    title = {name: describe(name).title for name in found.scores}
    asked, other = found.asked, found.recommended
    where = f"on {found.n_rows} held-out reviewed rows"
    hm = {name: scores["hm"].estimate for name, scores in found.scores.items()}
    told = "" if expected is None else " " + expected.sentence(title[asked])
    if other == asked and asked in SIMPLE:
        return f"No other model beats {title[asked]} beyond its interval {where}, so keep it."
    if other == asked:
        others = [name for name in hm if name != asked]
        level = [name for name in others if not gain(name, asked).low > 0]
        other = max(level or others, key=lambda name: hm[name])
        verdict, advice = "is better than", ", and than the other simpler models, so keep it."
        if level:
            verdict, advice = "is not better than", f", but keep it:{told}"
    elif _rank(other) < _rank(asked):
        verdict, advice = "is not better than", f", so use the simpler model: --method {other}."
        if expected is not None and not expected.clear:
            advice += f"{told} That is not clear enough to decide."
    else:
        verdict, advice = "is behind", f", so use --method {other}."
    difference = gain(other, asked)
    return (
        f"{title[asked]} {verdict} {title[other]} beyond its interval {where} (harmonic mean of "
        f"AUROC and AUEOC {hm[asked]:.3f} against {hm[other]:.3f}, difference "
        f"{difference.estimate:+.3f}, 95 % interval {difference.low:+.3f} to "
        f"{difference.high:+.3f}){advice}"
    )


def _rank(name: str) -> int:
    return SIMPLE.index(name) if name in SIMPLE else len(SIMPLE)
