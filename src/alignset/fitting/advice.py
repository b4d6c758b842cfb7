"""What to do with a model: use it, use it with care, or do not use it; for what, and why.

One set of rules, for the last lines of ``alignset fit`` and the first of the report:

* to rank rows: not if another model beats it (see ``alignset.fitting.compare``), nor if its order
  cannot be told from chance; with care if that holds within a group, or a group's order is clearly
  worse than that of all rows
* for its probabilities: not if another model beats it, nor if they are clearly ``OFF`` on average;
  with care if they are within a group
* to find wrong labels: not if its doubt cannot tell wrong labels from right ones; with care if
  another model beats it, or hardly any reviewed label is wrong

and everything with care if few rows are reviewed, groups were left out, or review was selective.

Other models that do something better, though not so that this one is not to be used, are named in
sentences of their own (``alignset.fitting.rivals``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from alignset.estimator.names import title_of
from alignset.evaluate import bootstrap
from alignset.evaluate.result import Estimate
from alignset.fitting.compare import DECIDING
from alignset.fitting.holdout import AT_RANDOM
from alignset.fitting.judge import ModelScore
from alignset.fitting.rivals import Rival, find_rivals, tell_rivals
from alignset.model.decisions import rarest
from alignset.model.estimating import HeldOutRows, is_selective
from alignset.model.evaluation import Evaluation
from alignset.model.measures import measure_auroc
from alignset.review.verdict import Reason
from alignset.rows.listing import first_few
from alignset.tables.files import in_thousands

OFF = 0.05
"""Mean prediction minus share from which probabilities are not to be used."""
FEW_REVIEWED = 100
"""Reviewed rows below which everything is to be used with care."""
FEW_WRONG = 10
"""Wrong reviewed labels below which little is known of how well wrong labels are found."""
SHOWN = 3
"""Reasons that a caveat names."""

AdviceLevel = Literal["use", "care", "no"]
HEADS: Mapping[AdviceLevel, str] = {
    "use": "Use it",
    "care": "Use it with care",
    "no": "Do not use it",
}
"""Level -> what a reader is told first."""
ORDER: tuple[AdviceLevel, ...] = ("no", "care", "use")


@dataclass(frozen=True)
class Purpose:
    """Something to use a model for, how far it can be, and why not further."""

    name: str  # "rank", "probabilities" or "labels"
    text: str  # such as "to find wrong labels"
    level: AdviceLevel
    reasons: tuple[str, ...]  # clauses, the weightiest first


@dataclass(frozen=True)
class Advice:
    """What to do with a model: a conclusion, the evidence for it, and a caveat.

    The conclusion is one sentence, and one for each thing that another model does better.
    """

    level: AdviceLevel
    conclusion: str
    evidence: str
    caveat: str
    purposes: tuple[Purpose, ...] = ()

    def level_of(self, name: str) -> AdviceLevel:
        """Return how far the model can be used for a purpose."""
        return next((p.level for p in self.purposes if p.name == name), self.level)


@dataclass(frozen=True, eq=False)
class ModelEvidence:
    """What held-out rows say about the model of a folder."""

    n_rows: int
    positive: str  # the class that rows are ranked by
    n_classes: int
    auroc: Estimate  # with groups, if there are several
    gap: Estimate  # mean prediction minus share of the positive class
    doubt: ModelScore | None  # AUROC of telling wrong reviewed labels; None without any
    n_wrong: int
    asked: str
    recommended: str
    left_out: tuple[str, ...]
    selective: bool
    rivals: tuple[Rival, ...] = ()
    threshold: float = 0.5  # from which a row counts as found


def gather_evidence(
    kept: Evaluation,
    recommended: str,
    left_out: Sequence[Any] = (),
    *,
    threshold: float = 0.5,
    decided: bool = False,
    n_boot: int = 300,
    random_state: int = 0,
) -> ModelEvidence:
    """Measure what the advice depends on, for the model ``kept.asked``.

    ``threshold`` is that of the comparison; if the folder has one of its own (``decided``), what is
    found at that of the comparison is of no interest.
    """
    rows, several, of = HeldOutRows(kept), len(kept.groups) > 1, rarest(kept)
    auroc = measure_auroc(kept, random_state=random_state)
    gap = rows.estimate(
        "calibration", kept.asked, groups=several, of_class=of, random_state=random_state
    )
    wrong = kept.wrong
    doubt = None
    if 0 < wrong.sum() < len(kept):
        said = 1 - kept.scores[kept.asked][np.arange(len(kept)), kept.observed]
        one = bootstrap(
            wrong.astype(np.int64), said, np.zeros_like(kept.group), sample_weight=kept.weight,
            metrics=["auroc"], n_boot=n_boot, random_state=random_state,
        )["auroc"]  # fmt: skip
        doubt = ModelScore(one.estimate, one.low, one.high, float(len(kept)))
    rivals = find_rivals(kept, threshold=threshold, n_boot=n_boot, random_state=random_state)
    return ModelEvidence(
        len(kept), kept.classes[of], len(kept.classes), auroc, gap, doubt, int(wrong.sum()),
        kept.asked, recommended, tuple(map(str, left_out)),
        not kept.by_design and is_selective(kept),
        tuple(one for one in rivals if not (decided and one.measure == "found")), threshold,
    )  # fmt: skip


def advise(
    found: ModelEvidence | None,
    *,
    why_not: str = "",
    held_out: str = AT_RANDOM,
    review: Sequence[Reason] = (),
) -> Advice:
    """Say what to do with a model.

    Parameters
    ----------
    found : ModelEvidence or None
        None if models could not be compared.
    why_not : str
        Why not, then.
    held_out : str
        How rows were held out.
    review : sequence of Reason
        What an audit finds wanting in the reviewed rows; red ones ask for care.

    Examples
    --------
    >>> advise(None, why_not="only 5 rows are reviewed").conclusion
    'Do not use it yet except to choose labels to review: only 5 rows are reviewed.'
    """
    if found is None:
        return Advice(
            "no",
            f"Do not use it yet except to choose labels to review: {why_not.rstrip('.')}.",
            "No model was judged on reviewed rows that it was not trained on.",
            "Nothing is known of how good it is, overall or in any group.",
        )
    common = tuple(_common(found, review))
    purposes = (_rank(found, common), _probabilities(found, common), _labels(found, common))
    levels = {purpose.level for purpose in purposes}
    level: AdviceLevel = "care"
    if purposes[0].level == "no" or levels == {"no"}:
        level = "no"
    elif levels == {"use"}:
        level = "use"
    conclusion, said = _conclude(level, purposes, _fine(found))
    conclusion = " ".join([conclusion, *_told_rivals(found)])
    return Advice(level, conclusion, _evidence(found), _caveat(purposes, said, held_out), purposes)


def _told_rivals(found: ModelEvidence) -> Iterator[str]:
    """Say what others do better; the model to use instead has been named already."""
    rivals = found.rivals
    if found.recommended != found.asked:
        rivals = tuple(one for one in rivals if one.measure not in DECIDING)
    return tell_rivals(
        rivals, sought=found.positive, threshold=found.threshold, two_classes=found.n_classes == 2
    )


def _fine(found: ModelEvidence) -> str:
    """Say why there is nothing against a model."""
    off = "not clearly off"
    if abs(found.gap.estimate) < OFF:
        off = f"less than {100 * OFF:g} percentage points off"
    rivalled = any(one.measure in DECIDING for one in found.rivals)
    better = "better by enough to change" if rivalled else "clearly better"
    return (
        f"it is better than chance, its probabilities are {off} on average, and no model compared "
        f"is {better}"
    )


def _common(found: ModelEvidence, review: Sequence[Reason]) -> Iterator[str]:
    """Name what asks for care whatever the model is used for."""
    if found.n_rows < FEW_REVIEWED:
        yield f"only {found.n_rows} reviewed rows could judge it"
    if found.left_out:
        groups = first_few([repr(name) for name in found.left_out], SHOWN)
        yield f"too few rows are reviewed to say anything about {groups}"
    if found.selective:
        yield (
            "some groups or labels were reviewed more often than others, for reasons the table "
            "does not tell"
        )
    yield from (reason.text for reason in review if reason.colour == "red")


def _rank(found: ModelEvidence, common: tuple[str, ...]) -> Purpose:
    whole, parts = found.auroc, found.auroc.by_group
    text = f"to rank rows by their chance of {found.positive!r}"
    if found.n_classes > 2:
        text = "to rank rows by their chance of a class"
    bad = [*_beaten(found)]
    if not whole.low > 0.5:
        bad.append(f"its order of rows cannot be told from chance ({_auroc(whole)})")
    doubtful = []
    for name, one in parts.items():
        if math.isnan(one.estimate):
            doubtful.append(f"nothing can be said of its order within {str(name)!r}")
        elif one.high < whole.low:
            doubtful.append(f"it ranks rows of {str(name)!r} clearly worse ({_auroc(one)})")
        elif not one.low > 0.5 and whole.low > 0.5:
            doubtful.append(
                f"within {str(name)!r} its order cannot be told from chance ({_auroc(one)})"
            )
    return _purpose("rank", text, bad, [*doubtful, *common])


def _probabilities(found: ModelEvidence, common: tuple[str, ...]) -> Purpose:
    bad = [*_beaten(found)]
    if _is_off(found.gap):
        bad.append(f"they are on average {_points(found.gap.estimate)}")
    doubtful = [
        f"in {str(name)!r} its probabilities are on average {_points(one.estimate)}"
        for name, one in found.gap.by_group.items()
        if _is_off(one)
    ]
    return _purpose("probabilities", "to give probabilities", bad, [*doubtful, *common])


def _labels(found: ModelEvidence, common: tuple[str, ...]) -> Purpose:
    bad, doubtful = [], [*_beaten(found)]
    if found.doubt is not None and found.n_wrong >= FEW_WRONG and not found.doubt.low > 0.5:
        bad.append("its doubt does not tell wrong labels from right ones")
    if found.n_wrong < FEW_WRONG:
        few = "no reviewed label is" if not found.n_wrong else f"only {found.n_wrong} are"
        doubtful.append(f"{few} wrong, so hardly anything is known of how it finds wrong labels")
    return _purpose("labels", "to find wrong labels", bad, [*doubtful, *common])


def _purpose(name: str, text: str, bad: Sequence[str], doubtful: Sequence[str]) -> Purpose:
    level: AdviceLevel = "no" if bad else "care" if doubtful else "use"
    return Purpose(name, text, level, (*bad, *doubtful))


def _beaten(found: ModelEvidence) -> Iterator[str]:
    if found.recommended != found.asked:
        yield f"{title_of(found.recommended)} does better on the same rows"


def _is_off(gap: Estimate) -> bool:
    return (gap.low > 0 or gap.high < 0) and abs(gap.estimate) >= OFF


def _points(gap: float) -> str:
    return f"{100 * abs(gap):.1f} percentage points too {'high' if gap > 0 else 'low'}"


def _auroc(one: Estimate) -> str:
    return f"AUROC {one.estimate:.2f}, {one.low:.2f} to {one.high:.2f}"


def _conclude(level: AdviceLevel, purposes: Sequence[Purpose], fine: str) -> tuple[str, str]:
    """Return the conclusion, and the reason that it gives."""
    of: dict[AdviceLevel, list[str]] = {one: [] for one in ORDER}
    for purpose in purposes:
        of[purpose.level].append(purpose.text)
    worst = next(one for one in ORDER if of[one])
    decided_by = next(p for p in purposes if p.level == worst)
    why = decided_by.reasons[0] if decided_by.reasons else ""
    if len(of[level]) == len(purposes):
        told = f"{HEADS[level]} {_listed(of[level], 'or' if level == 'no' else 'and')}"
    elif level == "no":
        rest = [*of["use"], *of["care"]]
        told = f"{HEADS[level]} {_listed(of['no'], 'or')}; at most with care {_listed(rest)}"
    else:
        parts = [f"good enough {_listed(of['use'])}"] if of["use"] else []
        parts += [f"with care {_listed(of['care'])}"] if of["care"] else []
        parts += [f"not {_listed(of['no'], 'or')}"] if of["no"] else []
        told = f"{HEADS[level]}: {'; '.join(parts)}"
    return f"{told}, because {why or fine}.", why


def _listed(texts: Sequence[str], last: str = "and") -> str:
    *first, end = texts
    return f"{', '.join(first)} {last} {end}" if first else end


def _evidence(found: ModelEvidence) -> str:
    pair = f"a row that is {found.positive!r} above one that is not"
    if found.n_classes > 2:
        pair = "a row of a class above one of another"
    worth = ""
    if found.auroc.worth > found.n_rows:
        worth = f", worth {in_thousands(found.auroc.worth)} with the observed labels of others"
    gap = found.gap
    sure = "" if gap.low > 0 or gap.high < 0 else ", which may be chance"
    told = (
        f"On {in_thousands(found.n_rows)} reviewed rows that it was not trained on{worth}, it "
        f"ranks {pair} in {_share(found.auroc)} of pairs, and its probabilities of "
        f"{found.positive!r} are on average {_points(gap.estimate)}{sure}"
    )
    if found.doubt is not None:
        told += f"; it doubts a wrong label more than a right one in {_share(found.doubt)} of pairs"
    return f"{told}."


def _share(one: Estimate | ModelScore) -> str:
    ends = f"{100 * one.low:.0f} to {100 * one.high:.0f} %"
    return f"{100 * one.estimate:.0f} % (95 % interval {ends})"


def _caveat(purposes: Sequence[Purpose], said: str, held_out: str) -> str:
    """Name the reasons that the conclusion did not, or what is never covered."""
    every = dict.fromkeys(reason for purpose in purposes for reason in purpose.reasons)
    left = [reason for reason in every if reason != said][:SHOWN]
    if left:
        text = "; ".join(left)
        return f"{text[:1].upper()}{text[1:]}."
    return (
        f"This holds for rows like those of the table (held out: {held_out}), as far as the "
        "reviewers are right."
    )


def read_advice(data: Mapping[str, Any]) -> Advice:
    """Read what a model folder says, from plain data."""
    purposes = [
        Purpose(p["name"], p["text"], p["level"], tuple(p["reasons"])) for p in data["purposes"]
    ]
    told = {name: data[name] for name in ("level", "conclusion", "evidence", "caveat")}
    return Advice(**told, purposes=tuple(purposes))
