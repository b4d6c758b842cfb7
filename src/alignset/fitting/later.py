"""What a table that came after training says about a model, and what was said then.

Both sides are measured alike: "then" on the held-out rows that the model folder keeps, "now" on the
later table, of which the model has seen nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.evaluate import Estimate, estimate
from alignset.evaluate.proportion import wilson
from alignset.labels import Codes, encode_known
from alignset.model.decisions import rarest
from alignset.model.estimating import HeldOutRows
from alignset.model.fitted import Model
from alignset.model.thresholds import against_rest
from alignset.review.waves import read_design
from alignset.tables.targets import read_groups

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LaterRows:
    """Rows that a model has not seen, with its predictions for them."""

    model: Model
    observed: Codes  # (n,), codes of the model's classes
    true: Floats  # (n,), NaN where nobody looked
    groups: NDArray[Any] | None  # (n,), None if the table has none of the model's, or only one
    chance: Floats | None  # probability of review, if known
    score: Floats  # (n, K)
    sought: int  # code of the class that is flagged
    threshold: float
    level: float

    @property
    def reviewed(self) -> int:
        """Number of rows with a true label."""
        return int((~np.isnan(self.true)).sum())

    @property
    def _two(self) -> bool:
        return len(self.model.classes) == 2

    def measures(self, *, enough: bool) -> list[str]:
        """Name what can be told; without ``enough`` reviewed rows, only how many are flagged."""
        found = ["flagged"] if self._two else []
        if not enough:
            return found
        return [*found, "wrong", "log_loss", "auroc", *(("tpr", "fpr", "ppv") if self._two else ())]

    def now(self, metric: str, groups: Any) -> Estimate:
        """Estimate a measure from these rows, overall and within groups."""
        options = {"groups": groups}
        if self.chance is not None and metric != "flagged":
            options["review_probability"] = self.chance
        return self._estimate(metric, self.observed, self.true, self.score, options)

    def then(self, metric: str) -> Estimate | None:
        """Estimate a measure from rows held out in training; None if the folder keeps none."""
        kept = self.model.evaluation
        if kept is None:
            return None
        rows = HeldOutRows(kept)
        options: dict[str, Any] = {"groups": rows.names if len(kept.groups) > 1 else None}
        options |= {} if metric == "flagged" else rows.design
        return self._estimate(metric, rows.observed, rows.true, rows.score(kept.asked), options)

    def _estimate(
        self, metric: str, seen: Codes, true: Floats, score: Floats, options: dict[str, Any]
    ) -> Estimate:
        if metric == "flagged":  # known for every row
            return _share(score[:, self.sought] >= self.threshold, options["groups"], self.level)
        options = {**options, "level": self.level, "random_state": 0}
        if not self._two:
            return estimate(metric, score, seen, true, **options)
        told = against_rest(seen, true, self.sought)
        if metric not in ("wrong", "log_loss", "auroc"):
            options["threshold"] = self.threshold
        return estimate(metric, score[:, self.sought], told["y"], told["y_true"], **options)


def read_later(
    model: Model, frame: pd.DataFrame, threshold: float | None, level: float
) -> LaterRows:
    """Read a table's labels, groups and review design, as far as it has them, and predict."""
    names, n = model.columns, len(frame)
    observed = encode_known(frame[names.label], model.classes, column=names.label)
    true = np.full(n, np.nan)
    if names.truth is not None and names.truth in frame:
        codes = encode_known(frame[names.truth], model.classes, column=names.truth, gaps=True)
        true = np.where(codes < 0, np.nan, codes)
    design = read_design(frame, probability=names.probability or "probability")
    known = ~np.isnan(true)
    chance = design.probability if known.any() and design.drawn[known].all() else None
    own = model.groups_of(frame)
    groups, codes = read_groups(frame, names.groups if own is not None else ())
    chosen, kept = model.thresholds, model.evaluation
    sought = chosen.of_class if chosen is not None else 1 if kept is None else rarest(kept)
    cut = threshold if threshold is not None else 0.5 if chosen is None else chosen.threshold
    return LaterRows(
        model, observed, true, groups[codes] if len(groups) > 1 else None, chance,
        model.predict_proba(frame, own), sought, cut, level,
    )  # fmt: skip


def _share(hit: NDArray[np.bool_], groups: Any, level: float) -> Estimate:
    """Return a share that is known for every row, with the interval of what they are drawn from."""

    def one(name: Any, of: NDArray[np.bool_]) -> Estimate:
        n, found = len(of), float(of.mean())
        low, high = (float(v) for v in wilson(found, n, level=level))
        return Estimate("flagged", name, found, low, high, n, 0, float(n), level=level)

    names = [] if groups is None else list(dict.fromkeys(groups))
    return one("all", hit).with_groups({name: one(name, hit[groups == name]) for name in names})
