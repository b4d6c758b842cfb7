"""Is the method worth the trouble? Compare it with plain models on rows none was trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alignset.estimator.names import title_of
from alignset.fitting.held_out import Settings
from alignset.fitting.judge import BLEND, Judge, ModelScore
from alignset.model.evaluation import Evaluation
from alignset.tables.files import in_thousands
from alignset.tables.targets import Targets

MIN_REVIEWED = 20
"""Minimum reviewed rows for a comparison."""

DECIDING = {"log_loss": "log loss", "auroc": "AUROC"}
"""The measures that decide: are the probabilities right, and is the order?"""

AUTO = "auto"
"""Asks for whatever is recommended."""

NO_BLEND = "The blend was not among them; --method auto compares it, too."


@dataclass(frozen=True)
class Comparison:
    """How models did on held-out rows, and which one to use.

    Measured against the true labels of ``n_rows`` reviewed rows; with the observed labels of
    ``n_others`` more, they are ``worth`` that many (for the AUROC of the model in the folder).

    The base, which is the blend or, if that was not compared, the method asked for, is recommended
    unless another model beats it beyond the interval of their difference, in log loss or in AUROC,
    and is not beaten by it in the other. Which model the folder holds does not matter.
    """

    scores: Mapping[str, Mapping[str, ModelScore]]  # model -> log_loss, auroc, aueoc, found
    differences: Mapping[str, Mapping[str, ModelScore]]  # base minus another model
    asked: str  # the model in the folder
    recommended: str
    sentence: str
    n_rows: int  # held-out reviewed rows that were scored
    groups_left_out: tuple[Any, ...]  # those with too few reviewed rows of some class
    sought: str  # the class that ``found`` is about
    threshold: float
    n_others: int = 0  # rows nobody reviewed that made it more precise
    worth: float = math.nan
    base: str = ""  # the model that differences are taken from


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
    groups_left_out: Sequence[Any] = (),
    auto: bool = False,
) -> Comparison:
    """Compare models' predictions for held-out rows, and recommend one.

    The folder holds ``kept.asked`` or, if that is chosen here (``auto``), what is recommended.
    If selection probabilities are known, each row is weighted by the rows it represents; how
    reviewed rows count otherwise is said in ``alignset.model.estimating``.
    """
    judge = Judge(kept, settings.n_boot, settings.seed, settings.threshold)
    differences = {name: judge.differences(name) for name in judge.others}
    recommended = choose(judge.base, differences, judge.losses)
    asked = recommended if auto else kept.asked
    scores = {name: judge.scores(name) for name in kept.scores}
    worth = scores[asked]["auroc"].worth
    return Comparison(
        scores,
        differences,
        asked,
        recommended,
        tell(judge, differences, recommended, asked, worth),
        len(kept),
        tuple(groups_left_out),
        kept.classes[judge.sought],
        settings.threshold,
        0 if kept.unreviewed is None else len(kept.unreviewed.group),
        worth,
        judge.base,
    )


def choose(
    base: str, differences: Mapping[str, Mapping[str, ModelScore]], losses: Mapping[str, float]
) -> str:
    """Recommend the base unless another model beats it; of several, the best log loss."""
    beating = []
    for name, difference in differences.items():
        found = set(standings(difference).values())
        if "behind" in found and "ahead of" not in found:
            beating.append(name)
    return min(beating, key=lambda name: losses[name], default=base)


def standings(difference: Mapping[str, ModelScore]) -> dict[str, str]:
    """Say, for each measure that decides, where the base stands.

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
    asked: str,
    worth: float = math.nan,
) -> str:
    """Say which model to use and why; ``asked`` is the one in the folder."""
    where = f"on {len(judge.kept)} held-out reviewed rows"
    if judge.kept.unreviewed is not None and math.isfinite(worth):
        where += f", worth {in_thousands(worth)},"
    base = title_of(judge.base)
    if not differences:
        return f"Keep {base}: there is no plain model to compare it with {where}."
    best = min(differences, key=lambda name: judge.losses[name])
    if recommended == judge.base:
        # a model that beats it in one measure and loses in the other must not go unmentioned
        beaten = [name for name, d in differences.items() if "behind" in standings(d).values()]
        other = min(beaten or [best], key=lambda name: judge.losses[name])
        which = ", the plain model with the best log loss," if other == best else ""
        start, whom = f"{_use(recommended, asked)}: {where} it", title_of(other) + which
    else:
        other, whom = recommended, "it"
        start = f"{_use(recommended, asked)}: {where} {base}"
    place, difference = standings(differences[other]), differences[other]
    losses = f"{judge.losses[judge.base]:.3f} against {judge.losses[other]:.3f}"
    first = f"{place['log_loss']} {whom} in log loss ({losses}, {_apart(difference['log_loss'])})"
    last = f"in AUROC ({_apart(difference['auroc'])})"
    if place["auroc"] != place["log_loss"]:
        last = f"{place['auroc']} it {last}"
    more = "" if judge.base == BLEND else f" {NO_BLEND}"
    return f"{start} is {first} and {last}.{more}"


def _use(recommended: str, asked: str) -> str:
    if recommended == asked:
        return f"Keep {title_of(asked)}"
    return f"Use {title_of(recommended)} instead (--method {recommended})"


def _apart(found: ModelScore) -> str:
    return f"difference {found.estimate:+.3f}, 95 % interval {found.low:+.3f} to {found.high:+.3f}"
