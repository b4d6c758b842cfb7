"""Choose a threshold, or one for each group, by rates estimated from a review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alignset.evaluate.estimands import ScoredRows
from alignset.evaluate.estimate_rows import EstimateRows, check_rows
from alignset.evaluate.estimates import estimate_with_groups
from alignset.evaluate.inputs import Weights
from alignset.evaluate.result import Estimate
from alignset.evaluate.threshold_curves import RateCurves, candidate_cuts, rate_curves
from alignset.labels import encode_groups

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

TARGETS = {
    "tpr": "find at least this share of the positive rows, and flag as few as that takes",
    "fpr": "flag at most this share of the negative rows, and find as many as that allows",
    "flagged": "flag at most this share of all rows",
    "equalized_odds": "TPR and FPR of groups at most this far apart, and TPR - FPR as large as can "
    "be",
    "net_benefit": "the largest net benefit where this threshold probability is the price of a "
    "false alarm",
}
"""What a threshold can be chosen for -> what its number means."""

RATES = ("tpr", "fpr", "ppv", "npv", "flagged")
_CELLS = 240  # thresholds of all groups together that are tried for equalized odds


@dataclass(frozen=True)
class ThresholdChoice:
    """A threshold, or one for each group, and what it does.

    Parameters
    ----------
    target, value : str, float
        What it was chosen for; see ``TARGETS``.
    threshold : float
        A row is flagged if its score reaches it; for groups without one of their own.
    by_group : mapping from group to float
        Thresholds of groups; empty if there is one for all.
    rates : mapping from str to Estimate
        TPR, FPR, PPV, NPV and share flagged at the threshold, overall and by group.
    notes : tuple of str
    of_class : int
        Code of the class that is predicted from the threshold, 0 or 1.

    Examples
    --------
    >>> chosen = ThresholdChoice("tpr", 0.9, 0.3, {"f": 0.25})
    >>> chosen.of(["f", "m"])
    array([0.25, 0.3 ])
    """

    target: str
    value: float
    threshold: float
    by_group: Mapping[Any, float] = field(default_factory=dict)
    rates: Mapping[str, Estimate] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    of_class: int = 1

    def of(self, groups: Any) -> Floats:
        """Return the threshold of each row (n,), given the group of each."""
        known = {str(name): t for name, t in self.by_group.items()}
        return np.array([known.get(str(name), self.threshold) for name in groups], dtype=np.float64)

    def to_frame(self) -> pd.DataFrame:
        """Return a table of rates, a row for all and one for each group."""
        import pandas as pd

        rows = []
        for name in ("all", *next(iter(self.rates.values())).by_group) if self.rates else ():
            own = self.by_group.get(name, self.threshold)
            row: dict[str, Any] = {"group": name, "threshold": own}
            if name == "all" and self.by_group:
                row["threshold"] = np.nan
            for metric, found in self.rates.items():
                one = found if name == "all" else found.by_group[name]
                row |= {metric: one.estimate, f"{metric}_low": one.low, f"{metric}_high": one.high}
            rows.append(row)
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        named = {"all": self.threshold} if not self.by_group else self.by_group
        told = ", ".join(f"{name}: {t:.4g}" for name, t in named.items())
        lines = [f"threshold for {self.target}={self.value:g}: {told}"]
        return "\n".join([*lines, *(repr(found) for found in self.rates.values())])


def choose_threshold(
    target: str,
    value: float,
    y_score: ArrayLike,
    y: ArrayLike,
    y_true: ArrayLike,
    *,
    groups: Any = None,
    per_group: bool = False,
    review_probability: ArrayLike | None = None,
    sample_weight: Weights = None,
    units: ArrayLike | None = None,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> ThresholdChoice:
    """Choose the threshold of a score of two classes for a target.

    Parameters
    ----------
    target : {"tpr", "fpr", "flagged", "equalized_odds", "net_benefit"}
    value : float
        tpr: share of positive rows to find at least. fpr: share of negative rows to flag at most.
        flagged: share of all rows to flag at most. equalized_odds: how far apart the TPR, and the
        FPR, of groups may be; TPR - FPR is then made as large as possible. net_benefit: the
        probability at which flagging and not flagging are equally good, which sets the price of a
        false alarm.
    y_score, y, y_true, review_probability, sample_weight, units, random_state
        As for :func:`alignset.evaluate.estimate`. The score must not come from a model that was
        fitted to these rows.
    groups : array-like of shape (n,) or (n, m), optional
        Rates are told for each, too.
    per_group : bool, default=False
        Choose a threshold for every group instead of one for all.
    level : float, default=0.95
        Coverage of the intervals.

    Returns
    -------
    ThresholdChoice

    Notes
    -----
    The target is met by what is estimated; by how much the truth may miss it is what the interval
    of ``rates[target]`` says.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true = rng.integers(0, 2, 2000)
    >>> score = np.clip(0.3 * true + 0.7 * rng.random(2000), 0, 1)
    >>> observed = np.where(rng.random(2000) < 0.05, 1 - true, true)
    >>> reviewed = np.where(rng.random(2000) < 0.1, true, np.nan)
    >>> chosen = choose_threshold("tpr", 0.9, score, observed, reviewed, random_state=0)
    >>> round(chosen.threshold, 2), chosen.rates["tpr"]
    (0.36, tpr 0.900 (0.875 to 0.930); reviewed 215, worth 1009)
    """
    check_target(target, value, groups, per_group)
    rng = np.random.default_rng(random_state)
    if groups is not None:
        names, codes = encode_groups(groups, len(np.asarray(y, dtype=object)))
        groups = names[codes]
    rows = check_rows(
        "tpr", [y_score], y, y_true, groups=groups, review_probability=review_probability,
        threshold=0.5, flagged=None, X=None, sample_weight=sample_weight, given_soft=None, rng=rng,
        units=units,
    )  # fmt: skip
    score = rows.scored[0].score[:, 1]
    if target == "net_benefit" and not (score.min() >= 0 and score.max() <= 1):
        raise ValueError("net_benefit needs scores that are probabilities, in [0, 1].")
    overall, by_group, notes = _choose(rows, score, target, value, per_group=per_group)
    own = np.full(len(score), overall)
    for name, cut in by_group.items():
        own[rows.cells[name]] = cut
    rates = rates_at(rows, score >= own, level)
    if target == "equalized_odds":  # curves are smoothed: what they promise may not be there
        gain = rates["tpr"].estimate - rates["fpr"].estimate
        _check_gain(gain, value, per_group=per_group)
    notes += _flags_nobody(target, value) if not (score >= own).any() else ()
    return ThresholdChoice(target, float(value), overall, by_group, rates, tuple(notes))


def _flags_nobody(target: str, value: float) -> list[str]:
    """Say that no row reaches the threshold, and what to ask for instead."""
    why = f"ask for a larger {target} than {value:g}."
    if target == "net_benefit":
        why = f"no row is worth an alarm if a risk of {value:g} is the price of one."
    return [f"no row reaches this threshold, so nobody is flagged: {why}"]


def rates_at(rows: EstimateRows, flagged: NDArray[np.bool_], level: float) -> dict[str, Estimate]:
    """Estimate TPR, FPR, PPV, NPV and share flagged, overall and in each group."""
    scored = rows.scored[0]
    marked = ScoredRows(scored.score, scored.observed, flagged)
    rows = replace(rows, scored=(marked,))
    return {
        metric: estimate_with_groups(metric, rows, level, finite=False, power=None)
        for metric in RATES
    }


def check_target(target: str, value: float, groups: Any, per_group: bool) -> None:
    """Refuse a target that is none, a value out of range, and groups that are not given."""
    if target not in TARGETS:
        raise ValueError(f"there is no target {target!r}; use one of {', '.join(TARGETS)}.")
    if not 0 < value < 1:
        raise ValueError(f"{target} must lie in (0, 1), got {value}; write 0.9 for 90 %.")
    if (per_group or target == "equalized_odds") and groups is None:
        raise ValueError("to choose thresholds for groups, or between them, pass groups.")


def _choose(
    rows: EstimateRows, score: Floats, target: str, value: float, *, per_group: bool
) -> tuple[float, dict[Any, float], list[str]]:
    """Return the threshold for all, those of groups, and what could not be done."""
    whole = np.ones(len(score), dtype=bool)
    curves = _curves(rows, score, whole)
    if curves is None:
        raise ValueError(
            "no reviewed row is of one of the two classes, so no rate can be estimated; review "
            "more rows."
        )
    parts = {name: _curves(rows, score, member) for name, member in rows.cells.items()}
    notes = [
        f"group {name!r} lacks reviewed rows of a class; it gets the threshold for all."
        for name, one in parts.items()
        if one is None and (per_group or target == "equalized_odds")
    ]
    known = {name: one for name, one in parts.items() if one is not None}
    if target == "equalized_odds":
        return (*_even(rows, score, curves, known, value, per_group=per_group), notes)
    overall = _single(curves, target, value)
    own = {name: _single(one, target, value) for name, one in known.items()} if per_group else {}
    return overall, own, notes


def _curves(rows: EstimateRows, score: Floats, member: NDArray[np.bool_]) -> RateCurves | None:
    """Rates within some rows at thresholds made of their scores; None if a class is missing."""
    seen = rows.true[member & rows.reviewed]
    if not ((seen == 0).any() and (seen == 1).any()):
        return None
    own = score[member]
    return rate_curves(rows.sample(member), own, candidate_cuts(own))


def _single(curves: RateCurves, target: str, value: float) -> float:
    """Return the threshold that meets a target; rates fall as it rises."""
    if target == "net_benefit":
        gain = curves.net_benefit(value)
        best = np.flatnonzero(gain >= gain.max() - 1e-12)
        # of equals the nearest to the price: with calibrated scores it is the right one
        return float(curves.cuts[best[np.abs(curves.cuts[best] - value).argmin()]])
    if target == "tpr":
        return float(curves.cuts[np.flatnonzero(curves.tpr >= value)[-1]])
    rate = curves.fpr if target == "fpr" else curves.flagged
    return float(curves.cuts[np.flatnonzero(rate <= value)[0]])


def _even(
    rows: EstimateRows,
    score: Floats,
    curves: RateCurves,
    known: dict[Any, RateCurves],
    epsilon: float,
    *,
    per_group: bool,
) -> tuple[float, dict[Any, float]]:
    """Make TPR - FPR as large as can be where no two groups are further apart than epsilon."""
    if len(known) < 2:
        raise ValueError("equalized_odds compares groups; fewer than two have reviewed rows.")
    best = float(curves.cuts[np.argmax(curves.tpr - curves.fpr)])
    if per_group:
        few = max(_CELLS // len(known), 8)
        cuts = _nearest([one.some(few) for one in known.values()], epsilon)
        return best, dict(zip(known, cuts, strict=True))
    at = curves.some(_CELLS).cuts
    same = [rate_curves(rows.sample(rows.cells[name]), score[rows.cells[name]], at)
            for name in known]  # fmt: skip
    gap = np.maximum(*(np.ptp([getattr(c, r) for c in same], axis=0) for r in ("tpr", "fpr")))
    whole = rate_curves(rows.sample(np.ones(len(score), dtype=bool)), score, at)
    gain = np.where(gap <= epsilon, whole.tpr - whole.fpr, -1.0)
    _check_gain(float(gain.max()), epsilon, per_group=False)
    return float(at[gain.argmax()]), {}


def _nearest(parts: list[RateCurves], epsilon: float) -> list[float]:
    """Return a threshold for each group: of all windows [a, a + eps] x [b, b + eps], the best.

    The best window begins at the TPR of some group and at the FPR of some group. In a window,
    every group takes the threshold that is best for it.
    """
    lows = np.unique(np.concatenate([part.tpr for part in parts]))
    starts = np.unique(np.concatenate([part.fpr for part in parts]))
    best, chosen = -1.0, [float(part.cuts[-1]) for part in parts]
    for a in lows:
        total, places = np.zeros(len(starts)), []
        for part in parts:
            inside = (part.tpr >= a - 1e-12) & (part.tpr <= a + epsilon)
            fpr = np.where(inside, part.fpr, np.nan)
            fits = (fpr >= starts[:, None] - 1e-12) & (fpr <= starts[:, None] + epsilon)
            gain = np.where(fits, part.tpr - part.fpr, -np.inf)  # (starts, cuts)
            places.append(gain.argmax(1))
            total += gain.max(1) / len(parts)
        top = int(total.argmax())
        if total[top] > best + 1e-12:
            best = float(total[top])
            chosen = [float(p.cuts[at[top]]) for p, at in zip(parts, places, strict=True)]
    _check_gain(best, epsilon, per_group=True)
    return chosen


def _check_gain(gain: float, epsilon: float, *, per_group: bool) -> None:
    if not gain > 0.01:
        own = "" if per_group else "choose a threshold for each group (--per-group), "
        raise ValueError(
            f"groups are within {epsilon:g} of each other only where the model is of no use (TPR - "
            f"FPR is {max(gain, 0.0):.3f}, so it finds next to nobody); {own}allow a larger gap, "
            "or compare fewer, larger groups."
        )
