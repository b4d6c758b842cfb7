"""Is the method worth the trouble? Compare it with plain models on rows none was trained on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alignset.estimator.names import title_of
from alignset.fitting.held_out import Settings
from alignset.fitting.judge import BLEND, LEVEL, Judge, ModelScore
from alignset.model.evaluation import Evaluation
from alignset.review.aim import AimRows
from alignset.tables.files import in_thousands
from alignset.tables.targets import Targets

MIN_REVIEWED = 20
"""Minimum reviewed rows for a comparison."""

DECIDING = {"log_loss": "log loss", "auroc": "AUROC"}
"""The measures that decide: are the probabilities right, and is the order?"""

MARGIN = 0.005
"""Difference in log loss or AUROC below which a model is only slightly behind another."""

WIDE = 0.05
"""How far the interval of a difference may reach for two models to be called level."""

AUTO = "auto"
"""Asks for whatever is recommended."""

NO_BLEND = "The blend was not among them; --method auto compares it, too."


@dataclass(frozen=True)
class Comparison:
    """How models did on held-out rows, and which one to use.

    Measured against the true labels of ``n_rows`` reviewed rows; with the observed labels of
    ``n_others`` more, they are ``worth`` that many (for the AUROC of the model in the folder).

    The base, which is the blend or, if that was not compared, the method asked for, is recommended
    unless another model beats it beyond the interval of their difference and by ``MARGIN`` or more,
    in log loss or in AUROC, and is not beaten by it so in the other. Of several that do, the one
    with the best log loss is named. Which model the folder holds does not matter.
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
    level: float = LEVEL  # coverage of the interval of one difference
    by_design: bool = False  # whether rows are weighted by their probability of being reviewed


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
    if not targets.by_design and AimRows.of(targets).picked:
        wrong = int((targets.labels.y_seen[targets.reviewed] != true).sum())
        return (
            f"{wrong} of {len(true)} reviewed labels are wrong, so rows seem to have been "
            "reviewed because theirs was, and cannot judge a model; review some rows drawn at "
            "random as well, with `alignset sample`."
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
    return Comparison(
        scores,
        differences,
        asked,
        recommended,
        _Telling(judge, scores, differences, asked).sentence(recommended),
        len(kept),
        tuple(groups_left_out),
        kept.classes[judge.sought],
        settings.threshold,
        0 if kept.unreviewed is None else len(kept.unreviewed.group),
        scores[asked]["auroc"].worth,
        judge.base,
        judge.level,
        bool(kept.by_design),
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


UNKNOWN = "not known against"
"""Where the base stands if the rows cannot tell it."""


def standings(difference: Mapping[str, ModelScore]) -> dict[str, str]:
    """Say, for each measure that decides, where the base stands.

    Ahead or behind is what leaves zero out of its interval, only slightly if by less than
    ``MARGIN``. Two models are level if their interval reaches no further than ``WIDE``; beyond
    that nobody can tell.

    Examples
    --------
    >>> worse = ModelScore(0.02, 0.01, 0.03, worth=100.0)
    >>> standings({"log_loss": worse, "auroc": worse})
    {'log_loss': 'behind', 'auroc': 'ahead of'}
    >>> standings({"log_loss": ModelScore(0.002, 0.001, 0.003, 100.0),
    ...            "auroc": ModelScore(0.02, -0.1, 0.14, 100.0)})
    {'log_loss': 'slightly behind', 'auroc': 'not known against'}
    """
    return {measure: _standing(measure, difference[measure]) for measure in DECIDING}


def _standing(measure: str, found: ModelScore) -> str:
    low, high = found.low, found.high
    if measure == "log_loss":  # where less is better
        low, high = -high, -low
    if low > 0 or high < 0:
        slightly = "slightly " if abs(found.estimate) < MARGIN else ""
        return slightly + ("ahead of" if low > 0 else "behind")
    return "level with" if -low <= WIDE and high <= WIDE else UNKNOWN


@dataclass(frozen=True, eq=False)
class _Telling:
    """Says which model to use and why."""

    judge: Judge
    scores: Mapping[str, Mapping[str, ModelScore]]
    differences: Mapping[str, Mapping[str, ModelScore]]
    asked: str  # the model in the folder

    def sentence(self, recommended: str) -> str:
        """Return the recommendation, what it rests on, and how sure that is."""
        judge, worth = self.judge, self.scores[self.asked]["auroc"].worth
        rows = f"{len(judge.kept)} held-out reviewed rows"
        if judge.kept.unreviewed is not None and math.isfinite(worth):
            rows += f", worth {in_thousands(worth)},"
        base = title_of(judge.base)
        if not self.differences:
            return f"Keep {base}: there is no plain model to compare it with on {rows}."
        other, best = self._opponent(recommended), self._best(self.differences)
        use, of, whom = _use(recommended, self.asked), base, "it"
        if recommended == judge.base:
            which = ", the plain model with the best log loss," if other == best else ""
            of, whom = "it", title_of(other) + which
        said = [f"{use}: {self._apart(other, of, whom, rows)}.", *self._more(other, best)]
        return " ".join(said)

    def _best(self, names: Iterable[str]) -> str:
        return min(names, key=lambda name: self.judge.losses[name])

    def _opponent(self, recommended: str) -> str:
        """Return the model to speak of: one that does better in anything must be mentioned."""
        if recommended != self.judge.base:
            return recommended
        beaten = [
            name
            for name, found in self.differences.items()
            if {"behind", "slightly behind"} & set(standings(found).values())
        ]
        return self._best(beaten or self.differences)

    def _apart(self, other: str, of: str, whom: str, rows: str) -> str:
        """Say where the base stands, measure by measure, with the numbers of both."""
        place = standings(self.differences[other])
        first, second = place.values()
        loss, area = (self._numbers(other, measure) for measure in DECIDING)
        if first == UNKNOWN:
            told = f"the {rows} cannot tell whether {of} is better than {whom} {loss}"
            return f"{told} or {area}" if second == first else f"{told}; {of} is {second} it {area}"
        told = f"on {rows} {of} is {first} {whom} {loss}"
        if second == UNKNOWN:
            return f"{told}; they cannot tell which is better {area}"
        return f"{told} and {'' if second == first else f'{second} it '}{area}"

    def _numbers(self, other: str, measure: str) -> str:
        own, theirs = (self.scores[name][measure] for name in (self.judge.base, other))
        gap = self.differences[other][measure]
        return (
            f"in {DECIDING[measure]} ({own.estimate:.3f} against {theirs.estimate:.3f}, difference "
            f"{own.less(theirs):+.3f}, interval {gap.low:+.3f} to {gap.high:+.3f})"
        )

    def _more(self, other: str, best: str) -> Iterator[str]:
        """Say how the intervals are meant, and what could be misunderstood."""
        n, place = len(self.differences), standings(self.differences[other])
        if n > 1:
            every = "both comparisons" if n == 2 else f"all {n} comparisons"
            yield f"Intervals are 95 % for {every} together."
        if UNKNOWN in place.values():
            yield "More reviewed rows would tell."
        where = standings(self.differences[best])["log_loss"]
        if other != best and where in ("level with", UNKNOWN):
            loss = self.judge.losses[best]
            yield (
                f"{title_of(best)} has the best log loss of the plain models, {loss:.3f}, but is "
                f"not clearly ahead of {title_of(self.judge.base)}."
            )
        if self.judge.base != BLEND:
            yield NO_BLEND


def _use(recommended: str, asked: str) -> str:
    if recommended == asked:
        return f"Keep {title_of(asked)}"
    return f"Use {title_of(recommended)} instead (--method {recommended})"
