"""How good held-out predictions are, and how sure a difference between two models is.

* log loss: mean of -log of the probability of the true class; small is good
* AUROC and AUEOC: as in ``alignset.evaluate``
* found: share of the rows of one class, the rarest, whose probability of it reaches a threshold
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from alignset.evaluate import Interval, bootstrap
from alignset.evaluate.intervals import bootstrap_mean
from alignset.model.evaluation import DIGITS, Evaluation
from alignset.tables.targets import Floats

MEASURES = ("log_loss", "auroc", "aueoc", "found")
RANKED = ("auroc", "aueoc")
LEAST = 10.0**-DIGITS
"""The smallest probability that counts: no smaller one is told from zero in what is kept."""


@dataclass(frozen=True, eq=False)
class Judge:
    """Scores of models, and differences measured on the same resamples of the same rows.

    Parameters
    ----------
    kept : Evaluation
    weight : float array of shape (n,), optional
        How many rows each stands for.
    threshold : float, default 0.5
        Probability from which a row counts as found.
    """

    kept: Evaluation
    weight: Floats | None
    n_boot: int
    random_state: int
    threshold: float = 0.5

    @cached_property
    def sought(self) -> int:
        """Code of the class that ``found`` is about: the rarest, the last of equals."""
        count = np.bincount(self.kept.true, self.weight, len(self.kept.classes))
        return int(len(count) - 1 - np.argmin(count[::-1]))

    @property
    def others(self) -> list[str]:
        """The models besides the one asked for."""
        return [name for name in self.kept.scores if name != self.kept.asked]

    def mean_log_loss(self, name: str) -> float:
        """Return the log loss of a model."""
        return float(np.average(self._log_loss(name), weights=self.weight))

    def scores(self, name: str) -> dict[str, Interval]:
        """Return all four measures of a model."""
        kept = self.kept
        ranked = bootstrap(
            kept.true, kept.score(name), kept.group, sample_weight=self.weight, metrics=RANKED,
            **self._options,
        )  # fmt: skip
        loss = self._mean(self._log_loss(name))
        return {"log_loss": loss, **ranked, "found": self._mean_found(self._hits(name))}

    def differences(self, other: str, measures: Sequence[str] = MEASURES) -> dict[str, Interval]:
        """Return the model asked for minus another one."""
        kept, found = self.kept, {}
        ranked = [name for name in measures if name in RANKED]
        if "log_loss" in measures:
            gap = self._log_loss(kept.asked) - self._log_loss(other)
            found["log_loss"] = self._mean(gap)
        if ranked:
            found |= bootstrap(
                kept.true, kept.score(other), kept.group, y_score_b=kept.score(kept.asked),
                sample_weight=self.weight, metrics=ranked, **self._options,
            )  # fmt: skip
        if "found" in measures:
            found["found"] = self._mean_found(self._hits(kept.asked) - self._hits(other))
        return found

    @property
    def _options(self) -> dict[str, Any]:
        return {"n_boot": self.n_boot, "random_state": self.random_state}

    def _log_loss(self, name: str) -> Floats:
        own = self.kept.scores[name][np.arange(len(self.kept)), self.kept.true]
        return np.asarray(-np.log(np.maximum(own, LEAST)))

    def _hits(self, name: str) -> Floats:
        said = self.kept.scores[name][:, self.sought]
        return np.asarray((said >= self.threshold).astype(np.float64))

    def _mean(self, values: Floats) -> Interval:
        options = {"sample_weight": self.weight, **self._options}
        return bootstrap_mean(values, self.kept.group, **options)[0]

    def _mean_found(self, hits: Floats) -> Interval:
        rows = self.kept.true == self.sought
        weight = None if self.weight is None else self.weight[rows]
        group = self.kept.group[rows]
        return bootstrap_mean(hits[rows], group, sample_weight=weight, **self._options)[0]
