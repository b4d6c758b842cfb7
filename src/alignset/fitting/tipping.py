"""How wrong the unreviewed labels would have to be for a conclusion to change.

Models are compared on reviewed rows, which represent the rest. Suppose that in one group the ratio
of wrong to right labels is f times as high among the rows nobody reviewed as the reviewed rows
suggest. A reviewed row i then counts as

    1 + (w_i - 1) c_g (f if its label is wrong else 1)

rows instead of w_i, where c_g keeps the group's total the same. By as much as these weights change
the difference between two models on the reviewed rows, their estimated difference and its interval
are moved, and the recommendation is made again:

    theta(f) = theta_hat + theta(y; A, w(f)) - theta(y; A, w(1))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from alignset.fitting.compare import DECIDING, choose
from alignset.fitting.judge import Judge, ModelScore, value_at
from alignset.model.evaluation import Evaluation
from alignset.tables.targets import Floats

FACTORS = (1.5, 2.0, 3.0, 5.0, 10.0)
"""How many times more, or fewer, wrong labels to try, smallest first."""
MAX_GROUPS = 6
"""How many of the largest groups to try; each takes one comparison per factor."""


@dataclass(frozen=True)
class Tipping:
    """What it takes to change the recommendation.

    ``groups`` has one row per group and direction ("more", "fewer" wrong labels): group, direction,
    now (noise rate of the unreviewed rows, estimated from the reviewed ones), tried (the most
    extreme rate tried), tips (the first rate that changes the recommendation, or NaN),
    recommended (the new recommendation, or "").
    """

    corrected: str  # recommendation as things are
    groups: pd.DataFrame


def tipping(kept: Evaluation, *, n_boot: int = 300, random_state: int) -> Tipping:
    """Find how much more, or less, noise in one group changes the recommended method."""
    again = _Again(Judge(kept, n_boot, random_state))
    corrected = again.recommended(kept.weight)
    sizes = np.bincount(kept.group, kept.weight, len(kept.groups))
    rows = []
    for g in sorted(np.argsort(-sizes, kind="stable")[:MAX_GROUPS].tolist()):
        rest = np.where(kept.group == g, np.maximum(kept.weight - 1, 0), 0.0)
        now = float(rest @ kept.wrong / rest.sum()) if rest.sum() > 0 else 0.0
        if not 0 < now < 1:
            continue
        for more in (True, False):
            found = _tip(again, g, now, more, corrected)
            rows.append((kept.groups[g], "more" if more else "fewer", now, *found))
    names = ["group", "direction", "now", "tried", "tips", "recommended"]
    return Tipping(corrected, pd.DataFrame(rows, columns=names))


@dataclass(frozen=True, eq=False)
class _Again:
    """Makes the recommendation again with other weights."""

    judge: Judge

    @cached_property
    def differences(self) -> Mapping[str, Mapping[str, ModelScore]]:
        """As they were estimated."""
        judge = self.judge
        return {name: judge.differences(name, list(DECIDING)) for name in judge.others}

    @cached_property
    def before(self) -> dict[str, dict[str, float]]:
        """Every model on the reviewed rows, weighted by the rows they stand for."""
        return self._values(self.judge.kept.weight)

    def recommended(self, weight: Floats) -> str:
        """Return the model to use if reviewed rows stood for these numbers of rows."""
        now, base, before = self._values(weight), self.judge.base, self.judge.losses
        moved: dict[str, dict[str, ModelScore]] = {}
        for name, found in self.differences.items():
            moved[name] = {}
            for measure, score in found.items():
                gaps = [v[base][measure] - v[name][measure] for v in (now, self.before)]
                shift = gaps[0] - gaps[1]
                moved[name][measure] = replace(
                    score, estimate=score.estimate + shift, low=score.low + shift,
                    high=score.high + shift,
                )  # fmt: skip
        losses = {
            name: before[name] + values["log_loss"] - self.before[name]["log_loss"]
            for name, values in now.items()
        }
        return choose(base, moved, losses)

    def _values(self, weight: Floats) -> dict[str, dict[str, float]]:
        kept = self.judge.kept
        return {
            name: {measure: value_at(kept, measure, name, weight) for measure in DECIDING}
            for name in kept.scores
        }


def _tip(again: _Again, g: int, now: float, more: bool, before: str) -> tuple[float, float, str]:
    """Return the most extreme rate tried, the rate that tips, and the recommendation there.

    The most extreme factor is tried first: if it changes nothing, the others are skipped.
    """
    kept = again.judge.kept
    factors = [f if more else 1 / f for f in FACTORS]
    rates = [f * now / (f * now + 1 - now) for f in factors]
    if again.recommended(_tilted(kept, g, factors[-1])) == before:
        return rates[-1], float("nan"), ""
    tried = ((again.recommended(_tilted(kept, g, f)), f) for f in factors)
    method, f = next((method, f) for method, f in tried if method != before)
    return rates[-1], rates[factors.index(f)], method


def _tilted(kept: Evaluation, g: int, f: float) -> Floats:
    member, rest = kept.group == g, np.maximum(kept.weight - 1, 0)
    tilted = rest * np.where(kept.wrong, f, 1.0)
    tilted *= rest[member].sum() / tilted[member].sum()
    return np.asarray(np.where(member, kept.weight - rest + tilted, kept.weight))


def level_rates(rates: pd.DataFrame) -> pd.DataFrame:
    """Return the noise rate of unreviewed rows that would make each group level with another.

    Parameters
    ----------
    rates : DataFrame
        group, rows, reviewed, wrong, rate.

    Returns
    -------
    DataFrame
        group, rate, now and needed (noise rate of the group's unreviewed rows: estimated, and to
        be level), level_with. The noisiest group is compared with the next, every other one with
        the noisiest. A needed rate outside [0, 1] is impossible. Empty for fewer than two groups.

    Examples
    --------
    >>> rates = {"group": ["f", "m"], "rows": [100, 100], "reviewed": [50, 50], "wrong": [5, 10]}
    >>> level_rates(pd.DataFrame({**rates, "rate": [0.1, 0.2]}))["needed"].round(2).tolist()
    [0.3, 0.0]
    """
    known = rates[rates["rate"].notna() & (rates["reviewed"] < rates["rows"])]
    ranked = known.sort_values("rate", ascending=False, kind="stable")
    rows = []
    for row in known.to_dict("records") if len(known) > 1 else []:
        other = ranked.iloc[1 if row["group"] == ranked.iloc[0]["group"] else 0]
        unseen = row["rows"] - row["reviewed"]
        now, needed = (
            (rate * row["rows"] - row["wrong"]) / unseen for rate in (row["rate"], other["rate"])
        )
        rows.append((row["group"], row["rate"], max(now, 0.0), needed, other["group"]))
    return pd.DataFrame(rows, columns=["group", "rate", "now", "needed", "level_with"])
