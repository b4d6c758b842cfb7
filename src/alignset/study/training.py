"""Train one cohort and measure it: from recipes to records, wherever the cohort is sent."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from alignset.engine import BlockMean, Fits, FixedLength, Patience, Stopping, Trainer
from alignset.engine.train import Score
from alignset.evaluate import (
    aueoc_over_fpr,
    aueoc_released,
    brier,
    calibration_error,
    harmonic_mean,
    summarize,
)
from alignset.evaluate.ranked import (
    odds_over_fpr,
    odds_over_threshold,
    predictive_values_over_fpr,
)
from alignset.evaluate.validation import HarmonicMean, LogLikelihood
from alignset.methods import Method
from alignset.progress import Progress
from alignset.rows import Part, Problem, cross_fit
from alignset.stack import MLP
from alignset.study.methods import Variant, draw_variants
from alignset.study.problems import build_problem
from alignset.study.records import Cell, Record, fitting_of

Advance = Callable[[int], None]
"""Called with a number of replicas that have just been trained."""

_SCORES: dict[str, Score] = {
    "paper": HarmonicMean(odds_over_threshold),
    "fpr": HarmonicMean(odds_over_fpr),
    "released": HarmonicMean(predictive_values_over_fpr),
    "likelihood": LogLikelihood(),
}
_RULES: dict[str, Callable[..., Stopping]] = {
    "patience": Patience,
    "block_mean": BlockMean,
    "fixed_length": FixedLength,
}


@dataclass(frozen=True)
class Kept:
    """A config that was kept: its models, one per fold, side by side."""

    fits: Fits
    config: Mapping[str, float]
    score: float
    epochs: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """The best configs of a problem, best first; their predictions are averaged."""

    kept: tuple[Kept, ...]

    @property
    def best(self) -> Kept:
        """The config with the best validation score."""
        return self.kept[0]

    def probability(self, X: Any) -> np.ndarray[Any, Any]:
        """Class probabilities (n, K): the mean over configs and folds."""
        return np.asarray(np.mean([k.fits.probability(X).mean(0) for k in self.kept], axis=0))


def train_cohort(
    cells: Sequence[Cell], *, device: str, n_jobs: int | None, advance: Advance | None = None
) -> list[Record]:
    """Train cells of one kind together and return one record each, in their order.

    A cell that cannot be built (a review too small for a method, say) or that diverges is
    recorded as failed; the others go on.
    """
    start = time.perf_counter()
    problems: dict[str, list[Problem]] = {}
    failed: dict[str, str] = {}
    variants = draw_variants(cells[0].recipe)
    for cell in cells:
        try:
            problems[cell.key] = _folds(cell.recipe, variants[0].method)
        except ValueError as error:
            failed[cell.key] = str(error)
    trainer = build_trainer(cells[0].recipe["trainer"], device, n_jobs)
    size = fitting_of(cells[0].recipe)["ensemble"]
    choices = _train(trainer, variants, list(problems.values()), size, advance)
    chosen = dict(zip(problems, choices, strict=True))
    if advance is not None:
        advance(sum(cell.replicas for cell in cells if cell.key in failed))

    def record(cell: Cell) -> Record:
        if cell.key in failed:
            return Record(cell, "failed", failed[cell.key])
        return _record(cell, problems[cell.key][0], chosen[cell.key], trainer)

    # the metrics of many test rows take their time; each thread is one of torch's own
    with ThreadPoolExecutor(n_jobs, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        records = list(pool.map(record, cells))
    seconds = (time.perf_counter() - start) / len(cells)
    return [replace(record, seconds=seconds) for record in records]


def build_trainer(plain: Mapping[str, Any], device: str, n_jobs: int | None) -> Trainer:
    """Make a trainer of a recipe's plain data."""
    stopping = dict(plain["stopping"])
    return Trainer(
        hidden=plain["hidden"],
        backbone=MLP(plain["hidden"], last_relu=plain["last_relu"]),
        score=_SCORES[plain["score"]],
        max_epochs=plain["max_epochs"],
        n_batches=plain["n_batches"],
        stopping=_RULES[stopping.pop("rule")](**stopping),
        device=device,
        n_jobs=n_jobs,
    )


def _folds(recipe: Mapping[str, Any], method: Method) -> list[Problem]:
    """Build a cell's problem, or the problems it is cross-fitted on."""
    problem = build_problem(recipe)
    n_folds = fitting_of(recipe)["folds"]
    folds = [problem] if n_folds == 1 else cross_fit(problem, n_folds)
    for fold in folds:
        method.check(fold)
    return folds


def _train(
    trainer: Trainer,
    variants: Sequence[Variant],
    problems: Sequence[Sequence[Problem]],
    size: int,
    advance: Advance | None,
) -> list[Choice]:
    """Train every variant on all folds of every problem; return each problem's best configs."""
    if not problems:
        return []
    choices = [Choice(()) for _ in problems]
    n_folds = len(problems[0])
    flat = [fold for folds in problems for fold in folds]
    for variant in variants:
        fits = trainer.fit(variant.method, flat, variant.configs, _steps(advance))
        score = fits.ranking().reshape(len(problems), n_folds, -1).mean(1)
        for p, choice in enumerate(choices):
            best = (-score[p]).argsort(kind="stable")[:size]  # the first of equals
            folds = range(p * n_folds, (p + 1) * n_folds)
            own = [_keep(fits, variant, folds, c, float(score[p, c])) for c in best]
            kept = sorted((*choice.kept, *own), key=lambda k: -k.score)  # stable, NaN never comes
            choices[p] = Choice(tuple(kept[:size]))
    return choices


def _keep(fits: Fits, variant: Variant, folds: Sequence[int], config: int, score: float) -> Kept:
    own = fits.members(folds, [config] * len(folds))
    epochs = own.epochs[0].double().mean(0).round()
    settings = {**variant.shape, **variant.configs[config]}
    return Kept(own, settings, score, tuple(int(e) for e in epochs))


def _steps(advance: Advance | None) -> Progress | None:
    """Turn the trainer's running total into steps."""
    if advance is None:
        return None
    before = 0

    def report(what: str, done: float, total: float) -> None:
        nonlocal before
        del what, total
        advance(int(done) - before)
        before = int(done)

    return report


def _record(cell: Cell, problem: Problem, choice: Choice, trainer: Trainer) -> Record:
    best = choice.best
    told: dict[str, Any] = {"epochs": best.epochs, "config": best.config}
    reason = _divergence(cell, problem, best, trainer)
    if reason:
        return Record(cell, "failed", reason, **told)
    assert problem.test is not None, "an experiment always has test rows"
    reason = _empty_cell(problem.test, problem)
    if reason:
        return Record(cell, "failed", reason, **told)
    prob = choice.probability(problem.test.X)
    if not np.isfinite(prob).all():
        return Record(cell, "failed", "diverged: NaN on the test rows", **told)
    return Record(cell, "done", metrics=measure(problem.test, prob), score=best.score, **told)


def _empty_cell(test: Part, problem: Problem) -> str:
    """Say which group lacks which class among the test rows, for then no AUEOC is defined."""
    for g in range(problem.n_groups):
        for k in range(problem.n_classes):
            if not ((test.group == g) & (test.y_true == k)).any():
                return f"no test row of group {g} has class {k}, so the metrics are not defined"
    return ""


def _divergence(cell: Cell, problem: Problem, choice: Kept, trainer: Trainer) -> str:
    """Say why a cell has no result, if it has none.

    Early stopping returns the untrained network if every epoch was NaN. A network that really
    never got better comes back untrained too, so the training is repeated without stopping.
    """
    n = cell.recipe["search"]["configs"]
    if not np.isfinite(choice.score):
        return f"diverged: none of {n} configs has a finite validation score"
    if not _is_untrained(choice, problem):
        return ""
    length = max(1, choice.epochs[-1])
    replay = replace(trainer, stopping=FixedLength(), max_epochs=length, n_jobs=1)
    stackable = choice.fits.method.hyperparameters()
    config = {k: v for k, v in choice.config.items() if k in stackable}
    again = replay.fit(choice.fits.method, [problem], [config])
    if np.isfinite(again.probability(problem.validation.X)).all():
        return ""
    return f"diverged: of {n} configs none got better than untrained, the best one became NaN"


def _is_untrained(choice: Kept, problem: Problem) -> bool:
    fits = choice.fits
    shape = fits.method.networks(fits.kind.n_features, fits.kind.n_classes)["theta"]
    start = fits.backbone.init(shape, torch.tensor([problem.seed]), "theta")
    own = {k: v[:, :1].cpu() for k, v in fits.weights["theta"].items()}
    return all(torch.equal(own[k], v.expand_as(own[k])) for k, v in start.items())


def measure(test: Part, prob: np.ndarray[Any, Any]) -> dict[str, float]:
    """Measure class probabilities (n, K) on test rows; see ``METRICS``."""
    score = prob[:, 1] if prob.shape[1] == 2 else prob
    y, group = test.y_true, test.group
    summary = summarize(y, score, group)
    released = aueoc_released(y, score, group)
    by_group = [summary.auroc_by_group[g] for g in sorted(summary.auroc_by_group)]
    return {
        "auroc": summary.auroc,
        "aueoc": summary.aueoc,
        "hm": summary.hm,
        "aueoc_fpr": aueoc_over_fpr(y, score, group),
        "aueoc_released": released,
        "hm_released": harmonic_mean(summary.auroc, released),
        "worst_group_auroc": summary.worst_group_auroc,
        "auroc_majority": by_group[0],
        "auroc_minority": by_group[-1],
        "brier": brier(y, prob),
        "calibration_error": calibration_error(y, prob),
    }
