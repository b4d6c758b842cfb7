"""A network as a candidate: any Method, searched once, cross-fitted and averaged over folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alignset.engine import Trainer
from alignset.engine.ensemble import Ensemble
from alignset.engine.search import search, trainable, variants_of
from alignset.engine.trainer import Config
from alignset.learners.base import Floats, Ints, Predictor, log_odds
from alignset.methods import Method
from alignset.progress import Progress
from alignset.rows import Part, Problem

CONFIGS, FINALISTS = 8, 2
"""Configs that a blend tries on one fold, and how many of them it trains on every fold."""

MOST_ROWS = 20_000
"""Unreviewed rows that a network of a blend trains on."""


@dataclass(frozen=True, eq=False)
class NetworkPredictor(Predictor):
    """Trained networks that answer with the mean of their probabilities."""

    ensemble: Ensemble
    method: Method

    def log_odds(self, X: Any) -> Floats:
        """Return centred log-odds (n, K)."""
        return log_odds(self.ensemble.probability(X))


@dataclass(frozen=True, eq=False)
class NetworkSearch:
    """How to train a network: the method, the configs to try, and a trainer for given problems."""

    method: Method
    configs: Sequence[Config]
    trainer: Callable[[Method, list[Problem]], Trainer]

    def cross_fit(
        self, rows: Part, fold: Ints, n_classes: int, n_groups: int, seed: int, progress: Progress
    ) -> tuple[Floats, NetworkPredictor]:
        """Return log-odds of the dealt rows, each by a network that did not see it, and a model.

        ``fold`` is -1 for rows that are not dealt. A network is stopped by the next fold: the one
        it is judged on must not choose its epoch. The model is the mean of networks that train on
        all folds but the one that stops them.
        """
        n_folds = int(fold.max()) + 1

        def problem(out: int | None, stop: int) -> Problem:
            stopping = (fold == stop) & rows.reviewed
            away = (fold == stop) if out is None else (fold == stop) | (fold == out)
            return Problem(rows.take(~away), rows.take(stopping), None, n_classes, n_groups, seed)

        judged = [problem(f, (f + 1) % n_folds) for f in range(n_folds)]
        final = trainable(self.method, [problem(None, f) for f in range(n_folds)])
        for each in judged:
            self.method.check(each)
        configs = self._finalists(judged[0], progress)
        trainer = self.trainer(self.method, [*judged, *final])
        variants = variants_of(self.method, configs)
        *found, last = search(trainer, variants, [*([p] for p in judged), final], progress=progress)
        odds = np.zeros((len(rows), n_classes))
        for f, model in enumerate(found):
            odds[fold == f] = log_odds(model.ensemble.probability(rows.X[fold == f]))
        return odds, NetworkPredictor(last.ensemble, last.method)

    def _finalists(self, problem: Problem, progress: Progress) -> list[Config]:
        """Train every config on one fold only, and keep the best."""
        if len(self.configs) <= FINALISTS:
            return list(self.configs)
        variants = variants_of(self.method, self.configs[:CONFIGS])
        trainer = self.trainer(self.method, [problem])
        (found,) = search(trainer, variants, [[problem]], ensemble=FINALISTS, progress=progress)
        return [found.config[i] for i in found.kept]


def thinned(rows: Part, most: int, seed: int) -> Ints:
    """Return positions of all reviewed rows and of at most ``most`` others."""
    others = np.flatnonzero(~rows.reviewed)
    if len(others) > most:
        others = np.random.default_rng((seed, 26)).permutation(others)[:most]
    return np.sort(np.concatenate([np.flatnonzero(rows.reviewed), others]))
