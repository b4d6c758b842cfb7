"""The part of a model's report on deciding by a threshold."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from alignset.report.model_displays import Bands
from alignset.report.model_facts import Decisions, ModelFacts
from alignset.report.page import NOTHING, DataTable, Gallery, Prose, Section
from alignset.tables.files import in_thousands

WANTED = {
    "tpr": "to find at least {share} of the rows that are {what}",
    "fpr": "to flag at most {share} of the rows that are not {what}",
    "flagged": "to flag at most {share} of all rows",
    "equalized_odds": "to keep true and false positive rates of groups within {value:g} of each "
    "other",
    "net_benefit": "for the largest net benefit where a risk of {share} is worth an alarm",
}
"""What a threshold was chosen for -> what the reader is told."""
COLUMNS = {
    "tpr": "sensitivity", "specificity": "specificity", "ppv": "PPV", "npv": "NPV",
    "flagged": "alerts per 100",
}  # fmt: skip


def decisions(facts: ModelFacts) -> Section | None:
    """Say what the threshold does in each group, and whom deciding by it would help."""
    found = facts.decisions
    if found is None:
        return None
    table = DataTable(_table(found), "threshold", "At the threshold, by group")
    said = [_which(found), _worth(found), *map(str, found.notes)]
    return Section("What its decisions would be", [Prose(said), table, Gallery([_curve(found)])])


def threshold_card(facts: ModelFacts) -> str:
    """Say in a model card what decides."""
    known = facts.manifest.get("thresholds")
    if not known:
        return "The model folder sets none: the more probable class is predicted."
    cuts = ", ".join(f"{cut:.4g} in {name!r}" for name, cut in known["by_group"].items())
    told = cuts or f"{known['threshold']:.4g} for all groups"
    what = repr(facts.classes[known["of_class"]])
    return f"{what} from {told}; chosen for {known['target']} {known['value']:g}."


def _which(found: Decisions) -> str:
    what = repr(found.positive)
    if found.target not in WANTED:
        return (
            f"No threshold was chosen (`alignset threshold`), so a row is predicted to be {what} "
            f"from a probability of {found.threshold:g}."
        )
    share = f"{100 * found.value:g} %"
    why = WANTED[found.target].format(share=share, what=what, value=found.value)
    where = f"from a probability of {found.threshold:.3g}"
    if found.by_group:
        where = "from the probability that the table gives for its group"
    return f"A row is predicted to be {what} {where}. This was chosen {why}."


def _worth(found: Decisions) -> str:
    first = found.rows[0]
    return (
        "Estimated for the whole table, with 95 % intervals: an interval is what the reviewed rows "
        f"leave open, the target is met by the estimate alone. Reviewed "
        f"{in_thousands(first['reviewed'])}, worth {in_thousands(first['worth'])} for sensitivity. "
        "Sensitivity: of those who have it, how many are flagged. Specificity: of those who do "
        "not, how many are not. PPV: of those flagged, how many have it. NPV: of the others, how "
        "many do not."
    )


def _table(found: Decisions) -> pd.DataFrame:
    rows = []
    for one in found.rows:
        row: dict[str, Any] = {"group": one["group"]}
        if found.by_group:
            row["threshold"] = one["threshold"]
        row["reviewed"] = one["reviewed"]
        for name, title in COLUMNS.items():
            row[title] = _told(one[name], 1 if name == "flagged" else 2)
        rows.append(row)
    return pd.DataFrame(rows)


def _told(numbers: tuple[float, float, float], digits: int) -> str:
    if math.isnan(numbers[0]):
        return NOTHING
    return "{} ({} to {})".format(*(f"{n:.{digits}f}" for n in numbers))


def _curve(found: Decisions) -> Bands:
    lines = {"model": "the model", "flag everybody": "flag everybody", "flag nobody": "flag nobody"}
    values = found.curve.assign(line=found.curve["line"].map(lines))
    values = values.rename(columns={"threshold": "x", "benefit": "y"})
    return Bands(
        values, f"threshold probability of {found.positive!r}", "net benefit",
        name="decision-curve", title="Decision curve",
        caption="Net benefit: true alarms per row less false ones, which count by the odds of the "
        "threshold. A model is worth using at a threshold where its line is above both others; "
        "bands are 95 % intervals.",
        alt="Net benefit of the model, of flagging everybody and of flagging nobody, by threshold.",
    )  # fmt: skip
