"""What deciding by a threshold does, on held-out rows: rates by group, and net benefit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from alignset.evaluate import ThresholdChoice
from alignset.evaluate.estimands import ScoredRows
from alignset.evaluate.estimate_rows import EstimateRows, check_rows
from alignset.evaluate.estimates import estimate_within
from alignset.evaluate.thresholds import rates_at
from alignset.model.estimating import HeldOutRows
from alignset.model.evaluation import Evaluation
from alignset.model.thresholds import against_rest

PRICES = np.round(np.arange(0.02, 0.901, 0.02), 2)
"""Threshold probabilities of a decision curve."""
LEVEL = 0.95


def at_threshold(
    kept: Evaluation, chosen: ThresholdChoice | None, *, random_state: int = 0
) -> ThresholdChoice:
    """Estimate sensitivity, specificity, PPV, NPV and share flagged of a model of two classes.

    Without a choice, for the threshold 0.5: the more probable class. What was chosen on the rows of
    another table keeps the rates that were found there.
    """
    if chosen is not None and chosen.rates:
        return chosen
    found = chosen or ThresholdChoice("more probable class", 0.5, 0.5, of_class=rarest(kept))
    rows = _rows(kept, found.of_class, random_state)
    score = rows.scored[0].score[:, 1]
    cut = found.of(HeldOutRows(kept).names)
    return replace(found, rates=rates_at(rows, score >= cut, LEVEL))


def rarest(kept: Evaluation) -> int:
    """Return the code of the class that fewest rows have, the last of equals: what is sought."""
    count = np.bincount(kept.true, kept.weight, len(kept.classes))
    return int(len(count) - 1 - np.argmin(count[::-1]))


def decision_curve(
    kept: Evaluation, *, of_class: int | None = None, random_state: int = 0
) -> pd.DataFrame:
    """Estimate the net benefit of a model of two classes, of flagging everybody, and nobody.

    What is sought is ``of_class``, by default the rarest.

    Returns
    -------
    DataFrame
        line ("model", "flag everybody", "flag nobody"), threshold, benefit, low, high.
    """
    rows = _rows(kept, rarest(kept) if of_class is None else of_class, random_state)
    table, observed = rows.scored[0].score, rows.scored[0].observed
    whole, found = np.ones(len(table), dtype=bool), []
    for line, flagged in (("model", None), ("flag everybody", whole), ("flag nobody", ~whole)):
        for price in PRICES.tolist():
            marked = table[:, 1] >= price if flagged is None else flagged
            one = replace(rows, scored=(ScoredRows(table, observed, marked, price),))
            gain = estimate_within(
                "net_benefit", one, whole, "all", LEVEL, finite=False, power=None
            )
            found.append((line, price, gain.estimate, gain.low, gain.high))
    return pd.DataFrame(found, columns=["line", "threshold", "benefit", "low", "high"])


def _rows(kept: Evaluation, of_class: int, random_state: int) -> EstimateRows:
    held = HeldOutRows(kept)
    options: dict[str, Any] = {"review_probability": None, "sample_weight": None, **held.design}
    return check_rows(
        "tpr", [held.score(kept.asked)[:, of_class]],
        **against_rest(held.observed, held.true, of_class),
        groups=held.names if len(kept.groups) > 1 else None, threshold=0.5, flagged=None, X=None,
        given_soft=None, rng=np.random.default_rng(random_state), **options,
    )  # fmt: skip
