"""Train one cohort and measure it: from recipes to records, wherever the cohort is sent."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from alignset.engine import BlockMean, Fits, FixedLength, Patience, Stopping, Trainer
from alignset.evaluate import aueoc_over_fpr, aueoc_released, harmonic_mean, summarize
from alignset.evaluate.ranked import (
    odds_over_fpr,
    odds_over_threshold,
    predictive_values_over_fpr,
)
from alignset.evaluate.validation import HarmonicMean
from alignset.experiment.methods import Variant, draw_variants
from alignset.experiment.problems import build_problem
from alignset.experiment.records import Cell, Record
from alignset.methods import Method
from alignset.split import Part, Problem
from alignset.stack import MLP

Advance = Callable[[int], None]
"""Called with a number of replicas that have just been trained."""

_SCORES = {
    "paper": odds_over_threshold,
    "fpr": odds_over_fpr,
    "released": predictive_values_over_fpr,
}
_RULES: dict[str, Callable[..., Stopping]] = {
    "patience": Patience,
    "block_mean": BlockMean,
    "fixed_length": FixedLength,
}


@dataclass(frozen=True)
class Choice:
    """The best replica of a problem among all configs."""

    fits: Fits
    problem: int
    config: Mapping[str, float]
    score: float
    epochs: tuple[int, ...]


def train_cohort(
    cells: Sequence[Cell], *, device: str, n_jobs: int | None, advance: Advance | None = None
) -> list[Record]:
    """Train cells of one kind together and return one record each, in their order.

    A cell that cannot be built (a review too small for a method, say) or that diverges is
    recorded as failed; the others go on.
    """
    start = time.perf_counter()
    problems: dict[str, Problem] = {}
    failed: dict[str, str] = {}
    variants = draw_variants(cells[0].recipe)
    for cell in cells:
        try:
            problems[cell.key] = _checked(build_problem(cell.recipe), variants[0].method)
        except ValueError as error:
            failed[cell.key] = str(error)
    trainer = build_trainer(cells[0].recipe["trainer"], device, n_jobs)
    choices = _train(trainer, variants, list(problems.values()), advance)
    chosen = dict(zip(problems, choices, strict=True))
    if advance is not None:
        advance(sum(cell.replicas for cell in cells if cell.key in failed))
    records = [
        Record(cell, "failed", failed[cell.key])
        if cell.key in failed
        else _record(cell, problems[cell.key], chosen[cell.key], trainer)
        for cell in cells
    ]
    seconds = (time.perf_counter() - start) / len(cells)
    return [replace(record, seconds=seconds) for record in records]


def build_trainer(plain: Mapping[str, Any], device: str, n_jobs: int | None) -> Trainer:
    """Make a trainer of a recipe's plain data."""
    stopping = dict(plain["stopping"])
    return Trainer(
        hidden=plain["hidden"],
        backbone=MLP(plain["hidden"], last_relu=plain["last_relu"]),
        score=HarmonicMean(_SCORES[plain["score"]]),
        max_epochs=plain["max_epochs"],
        n_batches=plain["n_batches"],
        stopping=_RULES[stopping.pop("rule")](**stopping),
        device=device,
        n_jobs=n_jobs,
    )


def _checked(problem: Problem, method: Method) -> Problem:
    method.check(problem)
    return problem


def _train(
    trainer: Trainer,
    variants: Sequence[Variant],
    problems: Sequence[Problem],
    advance: Advance | None,
) -> list[Choice]:
    """Train every variant on every problem; return each problem's best, the first of equals."""
    if not problems:
        return []
    best: list[Choice | None] = [None] * len(problems)
    for variant in variants:
        fits = trainer.fit(variant.method, problems, variant.configs, _steps(advance))
        winners = fits.best()
        chosen = fits.only(winners.tolist())
        for p, c in enumerate(winners):
            score, before = float(fits.score[p, c]), best[p]
            if before is None or not before.score >= score:
                own = {**variant.shape, **variant.configs[c]}
                epochs = tuple(int(e) for e in fits.epochs[p, c])
                best[p] = Choice(chosen, p, own, score, epochs)
    return [choice for choice in best if choice is not None]


def _steps(advance: Advance | None) -> Callable[[int, int], None] | None:
    """Turn the trainer's running total into steps."""
    if advance is None:
        return None
    before = 0

    def report(done: int, total: int) -> None:
        nonlocal before
        del total
        advance(done - before)
        before = done

    return report


def _record(cell: Cell, problem: Problem, choice: Choice, trainer: Trainer) -> Record:
    reason = _divergence(cell, problem, choice, trainer)
    if reason:
        return Record(cell, "failed", reason, epochs=choice.epochs, config=choice.config)
    assert problem.test is not None, "an experiment always has test rows"
    reason = _empty_cell(problem.test, problem)
    if reason:
        return Record(cell, "failed", reason, epochs=choice.epochs, config=choice.config)
    prob = choice.fits.probability(problem.test.X, choice.problem)[0]
    if not np.isfinite(prob).all():
        return Record(cell, "failed", "diverged: NaN on the test rows", config=choice.config)
    return Record(
        cell,
        "done",
        metrics=measure(problem.test, prob),
        config=choice.config,
        score=choice.score,
        epochs=choice.epochs,
    )


def _empty_cell(test: Part, problem: Problem) -> str:
    """Say which group lacks which class among the test rows, for then no AUEOC is defined."""
    for g in range(problem.n_groups):
        for k in range(problem.n_classes):
            if not ((test.group == g) & (test.y_true == k)).any():
                return f"no test row of group {g} has class {k}, so the metrics are not defined"
    return ""


def _divergence(cell: Cell, problem: Problem, choice: Choice, trainer: Trainer) -> str:
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


def _is_untrained(choice: Choice, problem: Problem) -> bool:
    fits = choice.fits
    shape = fits.method.networks(fits.kind.n_features, fits.kind.n_classes)["theta"]
    start = fits.backbone.init(shape, torch.tensor([problem.seed]), "theta")
    own = {k: v[[choice.problem]].cpu() for k, v in fits.weights["theta"].items()}
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
    }
