"""A network as a candidate: any Method, searched once, cross-fitted and averaged over folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alignset.engine import Trainer
from alignset.engine.ensemble import Ensemble
from alignset.engine.search import search, trainable, try_configs, variants_of
from alignset.engine.trainer import Config
from alignset.learners.base import Floats, Ints, Predictor, log_odds
from alignset.methods import Method
from alignset.progress import Progress
from alignset.rows import Part, Problem

CONFIGS, FINALISTS = 8, 4
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
    ) -> tuple[Floats, NetworkPredictor] | None:
        """Return log-odds of the dealt rows, each by a network that did not see it, and a model.

        None if networks would have nothing to learn from without some folds.

        ``fold`` is -1 for rows that are not dealt. Two networks judge a fold, stopped by the next
        fold and by the one after it: the fold must choose neither their epoch nor their config.
        The model is the mean of networks that train on all folds but the one that stops them.
        """
        n_folds = int(fold.max()) + 1
        pairs = [(f, (f + k) % n_folds) for k in (1, 2) for f in range(n_folds)]

        def problem(out: int, stop: int) -> Problem:
            train, stopping = (fold != stop) & (fold != out), (fold == stop) & rows.reviewed
            return Problem(rows.take(train), rows.take(stopping), None, n_classes, n_groups, seed)

        whole = [(f, f) for f in range(n_folds)]
        problems = [problem(*pair) for pair in (*pairs, *whole)]
        if not self._enough(problems):
            return None
        variants = variants_of(self.method, self._finalists(problems[0], progress))
        tried = try_configs(self.trainer(self.method, problems), variants, problems, progress)
        odds = np.zeros((len(rows), n_classes))
        for f in range(n_folds):
            config = tried.best([i for i, (_, stop) in enumerate(pairs) if stop != f])
            two = tried.ensemble([i for i, (out, _) in enumerate(pairs) if out == f], [config])
            odds[fold == f] = log_odds(two.probability(rows.X[fold == f]))
        last = range(len(pairs), len(problems))
        config = tried.best(last)
        return odds, NetworkPredictor(tried.ensemble(last, [config]), tried.method(config))

    def _enough(self, problems: list[Problem]) -> bool:
        """Tell whether every problem has rows to learn from: reviews of two people are too few."""
        try:
            return len(trainable(self.method, problems)) == len(problems)
        except ValueError:
            return False

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
