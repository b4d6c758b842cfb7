"""Random search: draw configs, train them all, keep the best.

The only way networks are fitted and chosen: the estimator, the table workflow and the study
divide their rows with ``alignset.rows.divide`` and search with :func:`search`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.engine.ensemble import Ensemble, Ints
from alignset.engine.fits import Fits
from alignset.engine.trainer import Config, Trainer
from alignset.methods.base import Method
from alignset.methods.space import LISTS, Space, check_space
from alignset.progress import Progress, silent
from alignset.rows import Problem


def draw_configs(
    space: Space, n: int, random_state: int | None, *, limits: Mapping[str, str] | None = None
) -> list[dict[str, float]]:
    """Draw ``n`` configs; a longer draw starts with the same configs.

    Parameters
    ----------
    space : mapping
        Hyperparameter -> a scipy.stats distribution, or a list of values.
    n : int
    random_state : int, optional
    limits : mapping, optional
        Values that hyperparameters accept, ``method.all_limits()``; by default only those of the
        learning rate and L2.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> space = {"lr": loguniform(1e-4, 1e-2), "l2": [0.0, 0.1]}
    >>> draw_configs(space, 2, 0) == draw_configs(space, 3, 0)[:2]
    True
    """
    check_space(space, Method.all_limits() if limits is None else limits)
    rng = np.random.default_rng(random_state)

    def draw(name: str) -> float:
        values = space[name]
        listed = isinstance(values, LISTS)
        return float(rng.choice(values) if listed else values.rvs(random_state=rng))

    return [{name: draw(name) for name in sorted(space)} for _ in range(n)]


@dataclass(frozen=True)
class Variant:
    """A method, the configs it is trained with, and the whole numbers that shape it."""

    method: Method
    configs: Sequence[Config]
    shape: Mapping[str, int] = field(default_factory=dict)


def variants_of(method: Method, configs: Sequence[Config]) -> list[Variant]:
    """Group configs by the settings that cannot differ within one stack.

    A whole number (``n_parts``) shapes the algorithm, so configs that differ in one are trained as
    separate methods.

    Examples
    --------
    >>> from alignset.methods import Parts
    >>> drawn = [{"lr": 0.1, "n_parts": 3}, {"lr": 0.2, "n_parts": 2}, {"lr": 0.3, "n_parts": 3}]
    >>> [(v.method.n_parts, len(v.configs)) for v in variants_of(Parts(), drawn)]
    [(2, 1), (3, 2)]
    """
    known = {f.name for f in fields(method)}
    stackable = {name for config in configs for name in config} - (
        known - set(method.hyperparameters())
    )
    groups: dict[tuple[tuple[str, int], ...], list[Config]] = {}
    for config in configs:
        shape = tuple((k, int(v)) for k, v in sorted(config.items()) if k not in stackable)
        groups.setdefault(shape, []).append({k: v for k, v in config.items() if k in stackable})
    return [Variant(replace(method, **dict(s)), groups[s], dict(s)) for s in sorted(groups)]


@dataclass(frozen=True, eq=False)
class Tried:
    """Every config of every variant, trained on every problem."""

    variants: Sequence[Variant]
    fits: Sequence[Fits]

    def score_over(self, problems: Sequence[int]) -> NDArray[np.float32]:
        """Return the mean validation score of every config (C,); -inf if a problem has none."""
        own = [f.ranking()[list(problems)].mean(0) for f in self.fits]
        return np.concatenate(own).astype(np.float32)

    def best(self, problems: Sequence[int]) -> int:
        """Return the config with the best mean score; the first if several are equal."""
        return int(self.score_over(problems).argmax())

    def ensemble(self, problems: Sequence[int], configs: Sequence[int]) -> Ensemble:
        """Put configs side by side, each trained on every one of the problems."""
        home, place = (places[configs] for places in self._places())
        parts, of_fold = [], []
        for v in dict.fromkeys(home.tolist()):
            own = place[home == v]
            at = np.tile(problems, len(own)).tolist(), np.repeat(own, len(problems)).tolist()
            parts.append(self.fits[v].members(*at))
            of_fold.append(np.tile(np.arange(len(problems)), len(own)))
        return Ensemble(tuple(parts), tuple(of_fold))

    def method(self, config: int) -> Method:
        """Return the method with the hyperparameters of a config."""
        home, place = self._places()
        variant = self.variants[home[config]]
        method: Method = replace(variant.method, **variant.configs[place[config]])
        return method

    def _places(self) -> tuple[Ints, Ints]:
        """Return the variant of each config, and its place there."""
        sizes = [len(v.configs) for v in self.variants]
        place = np.concatenate([np.arange(size) for size in sizes])
        return np.repeat(np.arange(len(sizes)), sizes), place


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found for one problem.

    Attributes
    ----------
    ensemble : Ensemble
        The kept configs, trained on every fold.
    method : Method
        The method of the best config, with its hyperparameters.
    best : Fits
        Only the best config, its folds side by side.
    config : list of dict
        Every config that was tried.
    score : float array of shape (C,)
        Mean validation score of every config over the folds; -inf if a fold has none.
    epochs : int array of shape (C, stages)
        Epochs that every config trained, as the mean over folds.
    kept : int array
        The configs that make up the model, best first.
    """

    ensemble: Ensemble
    method: Method
    best: Fits
    config: list[Config]
    score: NDArray[np.float32]
    epochs: Ints
    kept: Ints

    def table(self) -> dict[str, Any]:
        """Return what is known about every config, as shown in ``search_results_``."""
        averaged = np.zeros(len(self.score), dtype=bool)
        averaged[self.kept] = True
        rank = (-self.score).argsort(kind="stable").argsort(kind="stable") + 1
        return {
            "config": self.config,
            "score": self.score,
            "epochs": self.epochs,
            "rank": rank,
            "averaged": averaged,
        }


def search(
    trainer: Trainer,
    variants: Sequence[Variant],
    cohort: Sequence[Sequence[Problem]],
    *,
    ensemble: int = 1,
    progress: Progress | None = None,
) -> list[Found]:
    """Train every config on every fold of every problem; keep each problem's best.

    Parameters
    ----------
    cohort : sequence of sequences of Problem
        The folds of each problem, as :func:`trainable` left them.
    ensemble : int, default 1
        Configs to keep. A config that diverged on some fold is left out, so there may be fewer;
        one is always kept.

    Examples
    --------
    >>> from alignset.data import make_synthetic
    >>> from alignset.methods import Standard
    >>> from alignset.rows import cross_fit, split
    >>> table = make_synthetic(300, random_state=0).table
    >>> folds = cross_fit(split(table, table.y, share=0.2, seed=0), 2)
    >>> variant = Variant(Standard(), [{}, {"lr": 0.1}])
    >>> (found,) = search(Trainer(hidden=4, max_epochs=2), [variant], [folds], ensemble=2)
    >>> len(found.ensemble), found.score.shape
    (4, (2,))
    """
    flat = [fold for folds in cohort for fold in folds]
    ends = np.cumsum([len(folds) for folds in cohort])
    tried = Tried(variants, [trainer.train(*job) for job in _jobs(variants, flat, progress)])
    return [
        _choose(tried, range(end - len(folds), end), ensemble)
        for folds, end in zip(cohort, ends.tolist(), strict=True)
    ]


def try_configs(
    trainer: Trainer,
    variants: Sequence[Variant],
    problems: Sequence[Problem],
    progress: Progress | None = None,
) -> Tried:
    """Train every config on every problem, and leave it to the caller what to keep."""
    return Tried(variants, [trainer.train(*job) for job in _jobs(variants, problems, progress)])


def trainable(method: Method, folds: Sequence[Problem]) -> list[Problem]:
    """Return the folds that leave the method something to learn from (a wrong label, say).

    If there is none, raise the method's error for the first fold.
    """
    fine, refusals = [], []
    for fold in folds:
        try:
            method.check(fold)
            fine.append(fold)
        except ValueError as error:
            refusals.append(error)
    if not fine:
        raise refusals[0]
    return fine


def _jobs(
    variants: Sequence[Variant], problems: Sequence[Problem], progress: Progress | None
) -> Iterator[tuple[Method, Sequence[Problem], Sequence[Config], Progress]]:
    """Yield what to train for each variant; its progress counts the variants before it."""
    total = len(problems) * sum(len(v.configs) for v in variants)
    before = 0
    for variant in variants:
        tell = partial(_tell, progress or silent, before, total)
        yield variant.method, problems, variant.configs, tell
        before += len(problems) * len(variant.configs)


def _tell(
    progress: Progress, before: float, total: float, what: str, done: float, _: float
) -> None:
    progress(what, before + done, total)


def _choose(tried: Tried, folds: range, size: int) -> Found:
    """Keep the configs with the best mean scores over the folds; earlier ones win ties."""
    score = tried.score_over(folds)
    order = (-score).argsort(kind="stable")[:size]
    finite = np.isfinite(score[order])
    kept = (order[finite] if finite.any() else order[:1]).tolist()
    epochs = [f.epochs[list(folds)].double().mean(0).round().long().numpy() for f in tried.fits]
    variants = tried.variants
    return Found(
        tried.ensemble(folds, kept),
        tried.method(kept[0]),
        tried.ensemble(folds, kept[:1]).parts[0],
        [{**variant.shape, **config} for variant in variants for config in variant.configs],
        score,
        np.concatenate(epochs),
        np.asarray(kept, dtype=np.int64),
    )
