"""How good held-out predictions are, and how sure a difference between two models is.

* log loss: mean of -log of the probability of the true class; small is good
* AUROC and AUEOC: as in ``alignset.evaluate``
* found: share of the rows of one class, the rarest, whose probability of it reaches a threshold

All are estimated from reviewed rows, made more precise by the observed labels of the others
(``alignset.evaluate.estimate``); AUEOC of three or more classes from reviewed rows alone. It
compares groups: without two of them there is none.

A model is compared with several others, so intervals of differences are wider than 95 % by
Bonferroni's rule: all of one measure cover the truth together in 95 of 100 tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from alignset.evaluate import bootstrap
from alignset.evaluate.estimands import ESTIMANDS, ScoredRows
from alignset.model.decisions import rarest
from alignset.model.estimating import HeldOutRows
from alignset.model.evaluation import Evaluation
from alignset.tables.targets import Floats

MEASURES = ("log_loss", "auroc", "aueoc", "found")
BLEND = "blend"
"""Where a recommendation starts from, whichever model a folder holds."""
LEVEL = 0.95
"""Coverage of the interval of a score, and of those of all differences of a measure together."""
ONE_GROUP = (
    "AUEOC is left blank: it compares groups, and there were not two with enough reviewed rows of "
    "every class."
)
"""Said where AUEOC has nothing to compare."""


@dataclass(frozen=True)
class ModelScore:
    """A measure of a model, or a difference between two, with its interval; NaN: not known.

    Examples
    --------
    >>> print(ModelScore(0.8, 0.7, 0.9, worth=310.0))
    0.800 (0.700 to 0.900)
    """

    estimate: float
    low: float
    high: float
    worth: float  # how many reviewed rows alone would be as precise

    def __str__(self) -> str:
        if math.isnan(self.estimate):
            return ""
        return f"{self.estimate:.3f} ({self.low:.3f} to {self.high:.3f})"

    def less(self, other: ModelScore) -> float:
        """Return the difference of the two numbers as they are printed, to three decimals."""
        return round(self.estimate, 3) - round(other.estimate, 3)


NO_SCORE = ModelScore(*[math.nan] * 4)
"""A score where nothing can be said."""


@dataclass(frozen=True, eq=False)
class Judge:
    """Scores of models, and differences measured on the same rows.

    Parameters
    ----------
    kept : Evaluation
    n_boot : int
        Resamples for an interval, where there is no better one.
    random_state : int
    threshold : float, default 0.5
        Probability from which a row counts as found.
    """

    kept: Evaluation
    n_boot: int
    random_state: int
    threshold: float = 0.5

    @cached_property
    def rows(self) -> HeldOutRows:
        """All rows that were held out."""
        return HeldOutRows(self.kept)

    @cached_property
    def sought(self) -> int:
        """Code of the class that ``found`` is about: the rarest, the last of equals."""
        return rarest(self.kept)

    @property
    def base(self) -> str:
        """The model that is recommended unless another beats it: the blend, if it was compared."""
        return BLEND if BLEND in self.kept.scores else self.kept.asked

    @property
    def others(self) -> list[str]:
        """The models besides the base."""
        return [name for name in self.kept.scores if name != self.base]

    @cached_property
    def losses(self) -> dict[str, float]:
        """Log loss of every model."""
        return {name: found.estimate for name, found in self._losses.items()}

    @cached_property
    def _losses(self) -> dict[str, ModelScore]:
        return {name: self._estimate("log_loss", name) for name in self.kept.scores}

    @property
    def level(self) -> float:
        """Coverage of the interval of one difference, so that all of a measure have ``LEVEL``."""
        return 1 - (1 - LEVEL) / max(len(self.others), 1)

    def scores(self, name: str) -> dict[str, ModelScore]:
        """Return all four measures of a model."""
        return {"log_loss": self._losses[name]} | {
            measure: self._estimate(measure, name) for measure in MEASURES[1:]
        }

    def differences(
        self, other: str, measures: Sequence[str] = MEASURES, *, base: str | None = None
    ) -> dict[str, ModelScore]:
        """Return the base minus another model; ``base`` may be another than usual."""
        first = self.base if base is None else base
        return {measure: self._estimate(measure, first, other) for measure in measures}

    def _estimate(self, measure: str, name: str, against: str | None = None) -> ModelScore:
        if measure == "aueoc":
            return self._evenness(name, against)
        options: dict[str, Any] = {"against": against, "random_state": self.random_state}
        if against is not None:
            options["level"] = self.level
        if measure == "found":
            options |= {"of_class": self.sought, "threshold": self.threshold}
        found = self.rows.estimate("tpr" if measure == "found" else measure, name, **options)
        return ModelScore(found.estimate, found.low, found.high, found.worth)

    def _evenness(self, name: str, against: str | None) -> ModelScore:
        if len(self.kept.groups) < 2:
            return NO_SCORE
        if len(self.kept.classes) > 2:
            found = self._resampled(name, against)
        else:
            one = self.rows.estimate(
                "aueoc", name, groups=True, against=against, random_state=self.random_state
            )
            found = ModelScore(one.estimate, one.low, one.high, one.worth)
        return found if against is None else self._wider(found)

    def _wider(self, found: ModelScore) -> ModelScore:
        """Stretch a 95 % interval to the level of a difference, as that of a normal number.

        It is made of draws, of which too few lie in tails as far out as several models ask for.
        """
        by = float(ndtri((1 + self.level) / 2) / ndtri((1 + LEVEL) / 2))
        low, high = (
            found.estimate + by * (end - found.estimate) for end in (found.low, found.high)
        )
        return ModelScore(found.estimate, low, high, found.worth)

    def _resampled(self, name: str, against: str | None) -> ModelScore:
        kept, weighted = self.kept, bool(self.rows.design)
        found = bootstrap(
            kept.true, kept.score(against or name), kept.group,
            y_score_b=None if against is None else kept.score(name),
            sample_weight=kept.weight if weighted else None, metrics=["aueoc"],
            n_boot=self.n_boot, random_state=self.random_state,
        )["aueoc"]  # fmt: skip
        return ModelScore(found.estimate, found.low, found.high, float(len(kept)))


def value_at(kept: Evaluation, measure: str, name: str, weight: Floats) -> float:
    """Return log loss or AUROC of the reviewed rows alone, with other weights."""
    score, label = kept.scores[name], np.eye(len(kept.classes))[kept.true]
    rows = ScoredRows(score, kept.observed)
    return ESTIMANDS[measure].linearise(rows, label, weight).value
