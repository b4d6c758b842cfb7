"""Is the method worth the trouble? Compare models on reviewed rows they were not trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from alignset.evaluate import Interval, bootstrap
from alignset.fitting.expectation import Expectation, expect
from alignset.fitting.held_out import Settings
from alignset.methods.registry import SIMPLE, describe
from alignset.model.evaluation import Evaluation
from alignset.tables.targets import Floats, Targets

MIN_REVIEWED = 20
"""Minimum reviewed rows for a comparison."""

Gain = Callable[[str, str], Interval]
"""``gain(over, name)``: harmonic mean of one method minus that of another."""


@dataclass(frozen=True)
class Comparison:
    """How models did on held-out reviewed rows, and which one to use.

    The recommended method is the simplest that no more elaborate one beats beyond its interval. If
    these rows cannot decide, but the method asked for was nearly always better on data with noise
    like this, it is that method.
    """

    scores: Mapping[str, Mapping[str, Interval]]  # method -> auroc, aueoc, hm (harmonic mean)
    differences: Mapping[str, Interval]  # hm of the method asked for minus that of another
    asked: str
    recommended: str
    sentence: str
    n_rows: int  # held-out reviewed rows that were scored
    groups_left_out: tuple[Any, ...]  # those with too few reviewed rows of some class


def can_compare(targets: Targets, folds: int) -> str | None:
    """Say why models cannot be compared on these reviewed rows; None if they can."""
    true = targets.labels.y_true[targets.reviewed]
    counts = np.bincount(true, minlength=len(targets.labels.classes))
    if len(true) < MIN_REVIEWED:
        return (
            f"only {len(true)} rows are reviewed, too few to compare models (at least "
            f"{MIN_REVIEWED}); see `alignset plan`."
        )
    if counts.min() < max(folds, 2):
        rare = targets.labels.classes[counts.argmin()]
        return (
            f"only {counts.min()} reviewed rows have the true label {rare!r}, too few to compare "
            f"models (at least {max(folds, 2)}); see `alignset plan`."
        )
    return None


def compare(
    kept: Evaluation,
    *,
    settings: Settings,
    expected: Expectation | None = None,
    groups_left_out: Sequence[Any] = (),
) -> Comparison:
    """Compare models' predictions for held-out rows, and recommend the simplest good method.

    If selection probabilities are known, each row is weighted by the rows it represents.
    """
    options: dict[str, Any] = {"n_boot": settings.n_boot, "random_state": settings.seed}
    weight = kept.weight if kept.by_design else None
    scores = {
        name: bootstrap(kept.true, kept.score(name), kept.group, sample_weight=weight, **options)
        for name in kept.scores
    }
    gain = gains(kept, weight, **options)
    recommended = recommend(kept, gain, clear=expected is not None and expected.clear)
    others = [name for name in _simplest_first(kept) if name != kept.asked]
    differences = {name: gain(name, kept.asked) for name in others}
    left_out = tuple(groups_left_out)
    found = Comparison(scores, differences, kept.asked, recommended, "", len(kept), left_out)
    return replace(found, sentence=_sentence(found, gain, expected))


def gains(kept: Evaluation, weight: Floats | None, *, n_boot: int, random_state: int) -> Gain:
    """Return a function that compares two methods on the same resamples of the weighted rows."""

    @cache
    def gain(over: str, name: str) -> Interval:
        return bootstrap(
            kept.true, kept.score(over), kept.group, y_score_b=kept.score(name),
            sample_weight=weight, metrics=["hm"], n_boot=n_boot, random_state=random_state,
        )["hm"]  # fmt: skip

    return gain


def expected_of(method: str, targets: Targets) -> Expectation | None:
    """Return what to expect of a method, given the errors found by review."""
    wrong = (targets.labels.y_seen != targets.labels.y_true) & targets.reviewed
    return expect(method, int(wrong.sum()), int(targets.reviewed.sum()))


def recommend(kept: Evaluation, gain: Gain, *, clear: bool = False) -> str:
    """Return the simplest method that neither the one asked for nor a more elaborate one beats.

    ``clear`` means that the one asked for is expected to be ahead: it stays unless one beats it.
    """
    asked, order = kept.asked, _simplest_first(kept)
    if clear and not any(gain(asked, name).low > 0 for name in order if name != asked):
        return asked
    level = [name for name in order if name == asked or not gain(name, asked).low > 0]
    for i, name in enumerate(level):
        if not any(gain(name, later).low > 0 for later in level[i + 1 :]):
            return name
    return asked


def _simplest_first(kept: Evaluation) -> list[str]:
    return list(dict.fromkeys(name for name in (*SIMPLE, kept.asked) if name in kept.scores))


def _sentence(found: Comparison, gain: Gain, expected: Expectation | None) -> str:
    title = {name: describe(name).title for name in found.scores}
    asked, other = found.asked, found.recommended
    where = f"on {found.n_rows} held-out reviewed rows"
    hm = {name: scores["hm"].estimate for name, scores in found.scores.items()}
    told = "" if expected is None else " " + expected.sentence(title[asked])
    if other == asked and asked in SIMPLE:
        return f"No other model beats {title[asked]} beyond its interval {where}, so keep it."
    if other == asked:
        others = [name for name in hm if name != asked]
        level = [name for name in others if not gain(name, asked).low > 0]
        other = max(level or others, key=lambda name: hm[name])
        verdict, advice = "is better than", ", and than the other simpler models, so keep it."
        if level:
            verdict, advice = "is not better than", f", but keep it:{told}"
    elif [*SIMPLE, asked].index(other) < [*SIMPLE, asked].index(asked):
        verdict, advice = "is not better than", f", so use the simpler model: --method {other}."
        if expected is not None and not expected.clear:
            advice += f"{told} That is not clear enough to decide."
    else:
        verdict, advice = "is behind", f", so use --method {other}."
    difference = gain(other, asked)
    return (
        f"{title[asked]} {verdict} {title[other]} beyond its interval {where} (harmonic mean of "
        f"AUROC and AUEOC {hm[asked]:.3f} against {hm[other]:.3f}, difference "
        f"{difference.estimate:+.3f}, 95 % interval {difference.low:+.3f} to "
        f"{difference.high:+.3f}){advice}"
    )
