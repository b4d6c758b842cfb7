"""What other models do better than the one in the folder, measure by measure.

Four things are looked at: log loss, AUROC, how even groups are (AUEOC), and how many of those
sought are found at the threshold. A model that is better in one of the last two is worth a
sentence, and no reason against the one in the folder: what is found is a matter of the threshold,
and evenness has a price. So is one that is only slightly ahead in the first two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from alignset.estimator.names import title_of
from alignset.fitting.compare import DECIDING, MARGIN
from alignset.fitting.judge import Judge, ModelScore
from alignset.model.evaluation import Evaluation

MARGINS = {"aueoc": 0.01, "found": 0.05}
"""Difference from which a model that is clearly more even, or finds clearly more, is named."""


@dataclass(frozen=True)
class Rival:
    """A model that is clearly better than the one in the folder in one measure."""

    measure: str
    name: str
    own: Mapping[str, float]  # measure -> the model in the folder
    theirs: Mapping[str, float]

    def against(self, *measures: str) -> str:
        """Return numbers of both, such as "AUROC 0.700 against 0.650"."""
        titles = {**DECIDING, "aueoc": "AUEOC"}
        return ", ".join(
            f"{titles[one]} {self.theirs[one]:.3f} against {self.own[one]:.3f}" for one in measures
        )


def find_rivals(
    kept: Evaluation, *, threshold: float, n_boot: int, random_state: int
) -> tuple[Rival, ...]:
    """Name, for each measure, one model that is clearly better than ``kept.asked``.

    Of several, the one with the best log loss or, of those that find more, the one that finds most.
    """
    judge = Judge(kept, n_boot, random_state, threshold)
    scores = {name: judge.scores(name) for name in kept.scores}
    own = scores[kept.asked]
    found = []
    for measure in (*DECIDING, *MARGINS):
        better = [
            name
            for name in kept.scores
            if name != kept.asked and _is_better(measure, judge, name, scores[name], own)
        ]
        if better:
            place = "found" if measure == "found" else "log_loss"
            sign = -1 if measure == "found" else 1
            best = min(better, key=lambda name: sign * scores[name][place].estimate)
            found.append(Rival(measure, best, _estimates(own), _estimates(scores[best])))
    return tuple(found)


def _is_better(
    measure: str,
    judge: Judge,
    other: str,
    theirs: Mapping[str, ModelScore],
    own: Mapping[str, ModelScore],
) -> bool:
    """Tell whether another model is better beyond chance and, of the last two, by enough."""
    sign = -1 if measure == "log_loss" else 1
    apart = sign * theirs[measure].less(own[measure])
    if not apart >= MARGINS.get(measure, 0.0):  # intervals take time
        return False
    gap = judge.differences(other, [measure], base=judge.kept.asked)[measure]
    return gap.low > 0 if measure == "log_loss" else gap.high < 0


def _estimates(scores: Mapping[str, ModelScore]) -> dict[str, float]:
    return {measure: score.estimate for measure, score in scores.items()}


def tell_rivals(
    rivals: tuple[Rival, ...], *, sought: str, threshold: float, two_classes: bool
) -> Iterator[str]:
    """Say in a sentence each what other models do better, and what to do about it."""
    ahead = [one for one in rivals if one.measure in DECIDING]
    for name in dict.fromkeys(one.name for one in ahead):
        mine = [one for one in ahead if one.name == name]
        by = mine[0].against(*(one.measure for one in mine))
        small = all(abs(one.theirs[one.measure] - one.own[one.measure]) < MARGIN for one in mine)
        told = f", by less than {MARGIN}: no reason to change" if small else ""
        yield f"{title_of(name)} is {'slightly ' if small else ''}ahead ({by}){told}."
    for one in rivals:
        if one.measure == "found":
            how = "choose a threshold with `alignset threshold MODEL --target tpr=0.8`"
            how = how if two_classes else "decide by its probabilities, with a lower threshold"
            yield (
                f"At a probability of {threshold:g} it finds {one.own['found']:.3f} of the rows "
                f"that are {sought!r} and {title_of(one.name)} {one.theirs['found']:.3f}; what is "
                f"found depends on the threshold, so {how}."
            )
        elif one.measure == "aueoc":
            yield (
                f"{title_of(one.name)} is clearly more even between groups ({one.against('aueoc')};"
                f" {one.against('log_loss', 'auroc')}): fit it with --method {one.name} if that "
                "matters more."
            )
