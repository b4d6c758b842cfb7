"""Is the method worth the trouble? Compare it with plain models on rows none was trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alignset.estimator.names import title_of
from alignset.fitting.held_out import Settings
from alignset.fitting.judge import Judge, ModelScore
from alignset.model.evaluation import Evaluation
from alignset.tables.files import in_thousands
from alignset.tables.targets import Targets

MIN_REVIEWED = 20
"""Minimum reviewed rows for a comparison."""

DECIDING = {"log_loss": "log loss", "auroc": "AUROC"}
"""The measures that decide: are the probabilities right, and is the order?"""


@dataclass(frozen=True)
class Comparison:
    """How models did on held-out rows, and which one to use.

    Measured against the true labels of ``n_rows`` reviewed rows; with the observed labels of
    ``n_others`` more, they are ``worth`` that many (for the AUROC of the method asked for).

    The method asked for is recommended unless a plain model beats it beyond the interval of their
    difference, in log loss or in AUROC, and is not beaten by it in the other.
    """

    scores: Mapping[str, Mapping[str, ModelScore]]  # model -> log_loss, auroc, aueoc, found
    differences: Mapping[str, Mapping[str, ModelScore]]  # method asked for minus a plain model
    asked: str
    recommended: str
    sentence: str
    n_rows: int  # held-out reviewed rows that were scored
    groups_left_out: tuple[Any, ...]  # those with too few reviewed rows of some class
    sought: str  # the class that ``found`` is about
    threshold: float
    n_others: int = 0  # rows nobody reviewed that made it more precise
    worth: float = math.nan


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
    kept: Evaluation, *, settings: Settings, groups_left_out: Sequence[Any] = ()
) -> Comparison:
    """Compare models' predictions for held-out rows, and recommend one.

    If selection probabilities are known, each row is weighted by the rows it represents; how
    reviewed rows count otherwise is said in ``alignset.model.estimating``.
    """
    judge = Judge(kept, settings.n_boot, settings.seed, settings.threshold)
    differences = {name: judge.differences(name) for name in judge.others}
    recommended = choose(kept.asked, differences, judge.losses)
    scores = {name: judge.scores(name) for name in kept.scores}
    worth = scores[kept.asked]["auroc"].worth
    return Comparison(
        scores,
        differences,
        kept.asked,
        recommended,
        tell(judge, differences, recommended, worth),
        len(kept),
        tuple(groups_left_out),
        kept.classes[judge.sought],
        settings.threshold,
        0 if kept.unreviewed is None else len(kept.unreviewed.group),
        worth,
    )


def choose(
    asked: str, differences: Mapping[str, Mapping[str, ModelScore]], losses: Mapping[str, float]
) -> str:
    """Keep the method asked for unless a plain model beats it; of several, the best log loss."""
    beating = []
    for name, difference in differences.items():
        found = set(standings(difference).values())
        if "behind" in found and "ahead of" not in found:
            beating.append(name)
    return min(beating, key=lambda name: losses[name], default=asked)


def standings(difference: Mapping[str, ModelScore]) -> dict[str, str]:
    """Say, for each measure that decides, where the method asked for stands.

    Examples
    --------
    >>> worse = ModelScore(0.02, 0.01, 0.03, worth=100.0)
    >>> standings({"log_loss": worse, "auroc": worse})
    {'log_loss': 'behind', 'auroc': 'ahead of'}
    """
    found = {}
    for measure in DECIDING:
        interval = difference[measure]
        low, high = interval.low, interval.high
        if measure == "log_loss":  # where less is better
            low, high = -high, -low
        found[measure] = "ahead of" if low > 0 else "behind" if high < 0 else "level with"
    return found


def tell(
    judge: Judge,
    differences: Mapping[str, Mapping[str, ModelScore]],
    recommended: str,
    worth: float = math.nan,
) -> str:
    """Say in one sentence which model to use and why."""
    kept, asked = judge.kept, title_of(judge.kept.asked)
    where = f"on {len(kept)} held-out reviewed rows"
    if kept.unreviewed is not None and math.isfinite(worth):
        where += f", worth {in_thousands(worth)},"
    if not differences:
        return f"Keep {asked}: there is no plain model to compare it with {where}."
    best = min(differences, key=lambda name: judge.losses[name])
    if recommended == kept.asked:
        # a model that beats it in one measure and loses in the other must not go unmentioned
        beaten = [name for name, d in differences.items() if "behind" in standings(d).values()]
        other = min(beaten or [best], key=lambda name: judge.losses[name])
        which = ", the plain model with the best log loss," if other == best else ""
        start, whom = f"Keep {asked}: {where} it", title_of(other) + which
    else:
        other, whom = recommended, "it"
        start = f"Use {title_of(other)} instead (--method {other}): {where} {asked}"
    place, difference = standings(differences[other]), differences[other]
    losses = f"{judge.losses[kept.asked]:.3f} against {judge.losses[other]:.3f}"
    first = f"{place['log_loss']} {whom} in log loss ({losses}, {_apart(difference['log_loss'])})"
    last = f"in AUROC ({_apart(difference['auroc'])})"
    if place["auroc"] != place["log_loss"]:
        last = f"{place['auroc']} it {last}"
    return f"{start} is {first} and {last}."


def _apart(found: ModelScore) -> str:
    return f"difference {found.estimate:+.3f}, 95 % interval {found.low:+.3f} to {found.high:+.3f}"
