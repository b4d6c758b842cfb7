"""Train and measure one cohort, from recipes to records, wherever it is sent."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from alignset.engine import BlockMean, Fits, FixedLength, Patience, Stopping, Trainer
from alignset.engine.search import Found, search, trainable
from alignset.engine.train import Score
from alignset.evaluate import (
    aueoc_over_fpr,
    aueoc_released,
    brier,
    calibration_error,
    harmonic_mean,
    summarize,
)
from alignset.evaluate.ranked import odds_over_fpr, odds_over_threshold, predictive_values_over_fpr
from alignset.evaluate.validation import HarmonicMean, LogLikelihood
from alignset.extras import torch
from alignset.methods import Method
from alignset.progress import Counter
from alignset.rows import Part, Problem
from alignset.rows.divide import Division, distinct
from alignset.stack import MLP
from alignset.stack.wanted import check_wanted, spread
from alignset.study.methods import draw_variants
from alignset.study.problems import build_problem
from alignset.study.recipe import Recipe, TrainerSpec
from alignset.study.records import Cell, Record

_SCORES: dict[str, Score] = {
    "paper": HarmonicMean(odds_over_threshold),
    "fpr": HarmonicMean(odds_over_fpr),
    "released": HarmonicMean(predictive_values_over_fpr),
    "likelihood": LogLikelihood(),
}
_RULES: dict[str, Callable[..., Stopping]] = {
    "patience": Patience, "block_mean": BlockMean, "fixed_length": FixedLength,
}  # fmt: skip


def train_cohort(
    cells: Sequence[Cell], *, device: str, n_jobs: int | None, counter: Counter | None = None
) -> list[Record]:
    """Train cells of one kind together and return one record each, in their order.

    A cell that cannot be built (say, because the review is too small for a method) or that
    diverges is recorded as failed; the others continue.
    """
    start = time.perf_counter()
    counter = counter or Counter(None, "training", 0)
    before = counter.done
    folds: dict[str, list[Problem]] = {}
    tests: dict[str, Part] = {}
    failed: dict[str, str] = {}
    variants = draw_variants(cells[0].recipe)
    for cell in cells:
        try:
            folds[cell.key], tests[cell.key] = divide_cell(cell.recipe, variants[0].method)
        except ValueError as error:
            failed[cell.key] = str(error)
    trainer = build_trainer(cells[0].recipe.trainer, device, n_jobs)
    found: dict[str, Found] = {}
    if folds:
        searched = search(
            trainer, variants, list(folds.values()), ensemble=cells[0].recipe.fitting.ensemble,
            progress=lambda _, done, __: counter.add(before + int(done) - counter.done),
        )  # fmt: skip
        found = dict(zip(folds, searched, strict=True))
    counter.add(before + sum(cell.replicas for cell in cells) - counter.done)

    def record(cell: Cell) -> Record:
        check_wanted()
        torch.set_num_threads(1)
        key = cell.key
        if key in failed:
            return Record(cell, "failed", failed[key])
        return _record(cell, folds[key][0], tests[key], found[key], trainer)

    # metrics on many test rows are slow: compute them in threads, with one torch thread in each
    records = list(spread(record, cells, n_jobs or os.cpu_count() or 1))
    seconds = (time.perf_counter() - start) / len(cells)
    return [replace(record, seconds=seconds) for record in records]


def build_trainer(spec: TrainerSpec, device: str, n_jobs: int | None) -> Trainer:
    """Make the trainer that a recipe describes."""
    stopping = msgspec.to_builtins(spec.stopping)
    return Trainer(
        hidden=spec.hidden,
        backbone=MLP(spec.hidden, last_relu=spec.last_relu),
        score=_SCORES[spec.score],
        max_epochs=spec.max_epochs,
        n_batches=spec.n_batches,
        stopping=_RULES[stopping.pop("rule")](**stopping),
        device=device,
        n_jobs=n_jobs,
    )


def divide_cell(recipe: Recipe, method: Method) -> tuple[list[Problem], Part]:
    """Divide a cell's rows as the estimator would, and return them with its test rows."""
    whole, clean = build_problem(recipe), recipe.method.fully_reviewed
    rows = whole.train
    if clean:
        assert whole.truth is not None, "what split() made knows every true label"
        rows = replace(rows, y_seen=whole.truth)
    how, share = recipe.fitting, recipe.review.validation
    assert share is not None, "a cell says who validates"
    division = Division(None if how.folds == 1 else how.folds, share, how.review_weights)
    sizes = whole.n_classes, whole.n_groups
    problems = division.problems(distinct(rows), *sizes, seed=whole.seed, clean=clean)
    assert whole.test is not None, "a study always has test rows"
    return trainable(method, problems), whole.test


def _record(cell: Cell, problem: Problem, test: Part, found: Found, trainer: Trainer) -> Record:
    first = int(found.kept[0])
    told: dict[str, Any] = {
        "epochs": tuple(int(e) for e in found.epochs[first]),
        "config": found.config[first],
    }
    reason = _divergence(cell, problem, found, trainer) or _empty_cell(test, problem)
    if reason:
        return Record(cell, "failed", reason, **told)
    prob = found.ensemble.probability(test.X)
    if not np.isfinite(prob).all():
        return Record(cell, "failed", "diverged: NaN on the test rows", **told)
    score = float(found.score[first])
    return Record(cell, "done", metrics=measure(test, prob), score=score, **told)


def _empty_cell(test: Part, problem: Problem) -> str:
    """Say which group lacks which class among the test rows, which leaves AUEOC undefined."""
    for g in range(problem.n_groups):
        for k in range(problem.n_classes):
            if not ((test.group == g) & (test.y_true == k)).any():
                return f"no test row of group {g} has class {k}, so the metrics are not defined"
    return ""


def _divergence(cell: Cell, problem: Problem, found: Found, trainer: Trainer) -> str:
    """Say why a cell has no result, if that is so.

    Early stopping returns the untrained network if every epoch was NaN. A network that never
    improved also comes back untrained, so the training is repeated without stopping.
    """
    n, first = cell.recipe.search.configs, int(found.kept[0])
    if not np.isfinite(found.score[first]):
        return f"diverged: none of {n} configs has a finite validation score"
    if not _is_untrained(found.best, problem):
        return ""
    length = max(1, int(found.epochs[first][-1]))
    replay = replace(trainer, stopping=FixedLength(), max_epochs=length, n_jobs=1)
    again = replay.fit(found.method, [problem])
    if np.isfinite(again.probability(problem.validation.X)).all():
        return ""
    return f"diverged: of {n} configs none got better than untrained, the best one became NaN"


def _is_untrained(fits: Fits, problem: Problem) -> bool:
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
