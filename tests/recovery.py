"""Logistic data with noise by class alone, on which corrections must come back to the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from alignset.engine import Patience, Trainer
from alignset.engine.rows import FactTable, Rows
from alignset.engine.train import sizes_of
from alignset.evaluate import auroc
from alignset.evaluate.validation import HarmonicMean
from alignset.labels import UNREVIEWED
from alignset.methods import Standard
from alignset.rows import Part, Problem

RATES = np.array([0.45, 0.15])
"""P(observed label wrong | true class): 30 % in all."""

TRAINER = Trainer(
    hidden=16, max_epochs=60, stopping=Patience(10), score=HarmonicMean(), n_jobs=1, n_batches=3
)
CONFIGS = [{"lr": 1e-2, "l2": 1e-3}]


def logistic_problem(n=1200, *, seed=0, reviewed=0.25, n_features=5):
    """Rows whose label follows a logistic model; the noise looks at the label and nothing else."""
    rng = np.random.default_rng(seed)
    slope = rng.normal(size=n_features) * 2

    def part(size, share):
        X = rng.normal(size=(size, n_features)).astype(np.float32)
        y = (rng.random(size) < 1 / (1 + np.exp(-X @ slope))).astype(np.int64)
        y_seen = np.where(rng.random(size) < RATES[y], 1 - y, y)
        looked = np.arange(size) < share * size
        group = np.arange(size) % 2
        return Part(X, y_seen, np.where(looked, y, UNREVIEWED), group), y

    train, truth = part(n, reviewed)
    return Problem(train, part(400, 1.0)[0], part(1500, 1.0)[0], 2, 2, seed, truth=truth)


def scores(method, problem):
    """P(class 1) of the test rows."""
    return TRAINER.fit(method, [problem], CONFIGS).probability(problem.test.X)[0][:, 1]


def distance_to_clean(method, problem):
    """How much AUROC a method loses against training on the truth."""
    clean, mine = scores(Standard(), problem.fully_reviewed()), scores(method, problem)
    return auroc(problem.test.y_true, clean) - auroc(problem.test.y_true, mine)


def bias(method, problem):
    """Mean predicted probability less the share of positives, on the test rows."""
    return scores(method, problem).mean() - problem.test.y_true.mean()


def whole_batch(problem):
    """All training rows as one batch, and which of the unreviewed ones are wrong."""
    rows = Rows.of([problem.train], multiple=1, kind=sizes_of(problem), device="cpu")
    batch = rows.everything(torch.zeros(1, dtype=torch.int64), FactTable())
    wrong = problem.train.y_seen != problem.truth
    outside = ~problem.train.reviewed
    return batch, torch.from_numpy(wrong & outside), torch.from_numpy(~wrong & outside)


def with_facts(batch, **facts):
    """The same batch with these facts."""
    return replace(batch, facts=facts)
