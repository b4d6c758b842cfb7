"""The parts of a model's report about labels: noise, doubtful rows, tipping points."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from alignset.model.evaluation import why_none
from alignset.report.displays import Axis
from alignset.report.model_displays import INTERVAL, Dots
from alignset.report.model_facts import Measured, ModelFacts, percent, sentence
from alignset.report.page import DataTable, FactList, Gallery, Prose, Section

if TYPE_CHECKING:
    from alignset.review.verdict import ReviewVerdict

RATE = (
    "The noise rate of a group is the share of its observed labels that are wrong, as far as the "
    "reviewers can tell."
)
NOT_COVERED = (
    "None of this covers mistakes by reviewers, rows that differ from reviewed ones in more than "
    "how often their label is wrong, or people unlike those in the table."
)


def labels(facts: ModelFacts) -> Section:
    """Say what was learned about the labels."""
    checked = [] if facts.verdict is None else [_reviewed_rows(facts.verdict, facts.cautions)]
    parts = [_noise(facts), *checked, _doubtful(facts)]
    return Section("What was learned about the labels", (), parts)


def _noise(facts: ModelFacts) -> Section:
    rates, table_name = facts.rates, ("noise", "Noise rate by group")
    if rates["rate"].isna().all():
        said = "No reviewed rows are known, so noise rates are only the model's guess: no interval."
        shown = rates[["group", "model_rate"]].rename(columns={"model_rate": "model's guess"})
        return Section("Noise rates", [Prose([said]), DataTable(shown, *table_name)])
    how = (
        "Reviewed rows are weighted by the inverse of their probability of being reviewed."
        if facts.weighted
        else "Selection probabilities are unknown, so reviewed rows are treated as drawn at random."
    )
    guess = (
        "The model's own rate uses its confidence in rows nobody reviewed; if it is outside the "
        "interval, trust the interval."
    )
    names = {"rate": "noise rate", **INTERVAL, "model_rate": "model's own rate"}
    table = DataTable(rates.rename(columns=names).dropna(axis=1, how="all"), *table_name)
    picture = Dots(
        rates.rename(columns={"group": "label", "rate": "estimate"}),
        Axis("share of observed labels that are wrong", is_share=True),
        name="noise-rates", title="Noise rate by group",
        alt="Noise rate of each group with its interval.",
    )  # fmt: skip
    told = Prose([f"{RATE} {how} Intervals are 95 %. {guess}"])
    return Section("Noise rates", [told, Gallery([picture]), table])


def _reviewed_rows(found: ReviewVerdict, cautions: Sequence[str]) -> Section:
    said = f"Verdict on the reviewed rows: {found.colour}. What helps most: {found.action}"
    reasons = [(reason.colour, sentence(reason.text)) for reason in found.reasons]
    listed = [FactList(reasons)] if reasons else []
    notes = Prose([f"Note: {caution}." for caution in cautions])
    title = "Can the reviewed rows be trusted to stand for the rest?"
    return Section(title, [Prose([said]), *listed, notes])


def _doubtful(facts: ModelFacts) -> Section:
    title = "Most doubtful labels"
    if facts.doubtful is None:
        said = "Pass the table with --table TABLE to list the rows whose label is most doubtful."
        return Section(title, [Prose([said])])
    said = (
        "Rows nobody reviewed, with the confidence that the observed label is right: an order to "
        "check them in, not a verdict on any person. Ids may identify people, so keep this page "
        "only where you may keep the table."
    )
    table = DataTable(facts.doubtful, "doubtful", "Most doubtful labels")
    return Section(title, [Prose([said]), table])


def tipping_points(facts: ModelFacts) -> Section:
    """Say what would change the conclusion."""
    title, parts = "What would change the conclusion", []
    apart = [row for row in facts.level.to_dict("records") if _are_apart(facts, row)]
    if apart:
        how = "Here only the rows nobody reviewed change; the reviewed ones stay as they are."
        said = FactList([_level_sentence(row) for row in apart])
        parts.append(Section("Which group has the noisier labels", [Prose([how]), said]))
    if facts.measured is not None and facts.comparison is not None and _is_clear(facts.comparison):
        parts.append(_recommendation(facts, facts.measured, facts.comparison["recommended"]))
    if not parts:
        return Section(title, [Prose([*_nothing_to_tip(facts), NOT_COVERED])])
    return Section(title, [Prose([NOT_COVERED])], parts)


def _nothing_to_tip(facts: ModelFacts) -> Iterator[str]:
    """Say why no group and no model would change its place."""
    known = facts.rates[facts.rates["rate"].notna()]
    if len(facts.rates) < 2:
        yield "There is one group, so none has the noisier labels."
    elif len(known) < 2:
        yield "Fewer than two groups have reviewed rows, so none is known to have noisier labels."
    else:
        yield "The intervals of the noise rates of groups overlap, so there is no order to tip."
    if facts.left_out:
        yield (
            "What would change the recommended model is worked out from held-out predictions, "
            "which --no-evaluation kept out of the folder."
        )
    elif facts.comparison is None:
        yield f"The folder does not say how other models compare: {why_none(facts.manifest)}."
    else:
        yield "No model is clearly better or worse than another, so there is nothing to tip."


def _are_apart(facts: ModelFacts, row: Mapping[Any, Any]) -> bool:
    """Tell whether the intervals of two groups' noise rates do not overlap."""
    ends = facts.rates.set_index("group")[["low", "high"]]
    (low, high), (low_b, high_b) = (ends.loc[row[name]] for name in ("group", "level_with"))
    return bool(low > high_b or low_b > high)


def _is_clear(comparison: Mapping[str, Any]) -> bool:
    """Tell whether some model is clearly better or worse than the one differences are from."""
    gaps = [
        gap
        for found in comparison["differences"].values()
        for gap in ([found] if "estimate" in found else found.values())
    ]
    known = [(gap["low"], gap["high"]) for gap in gaps if gap["low"] is not None]
    return any(low > 0 or high < 0 for low, high in known)


def _level_sentence(row: Mapping[Any, Any]) -> tuple[str, str]:
    now, needed, other = row["now"], row["needed"], row["level_with"]
    told = f"An estimated {percent(now)} of the labels nobody reviewed are wrong. "
    if 0 <= needed <= 1:
        times = f", {needed / now:.1f} times as many" if now > 0 and needed != now else ""
        told += f"At {percent(needed)}{times}, the group would be level with {other!r}."
    else:
        bound = "all" if needed > 1 else "none"
        told += f"Even if {bound} of them were wrong, it would not be level with {other!r}."
    return str(row["group"]), told


def _recommendation(facts: ModelFacts, found: Measured, recommended: str) -> Section:
    how = (
        "Models are compared again as if, in one group at a time, wrong labels were more or less "
        "common among the rows nobody reviewed than the reviewed rows suggest, by a factor of up "
        "to ten in the ratio of wrong to right. Wrong reviewed rows then count for more, or less, "
        "and the estimated differences between models move by as much as theirs."
    )
    start = f"As things are, {facts.title(recommended)} is recommended."
    groups = found.tipping.groupby("group", sort=False) if len(found.tipping) else ()
    tips = [(str(group), _tips(facts, rows.to_dict("records"))) for group, rows in groups]
    none = Prose(["No group has both wrong and right reviewed labels."])
    blocks = [Prose([how, start]), FactList(tips) if tips else none]
    return Section("Which model is recommended", blocks)


def _tips(facts: ModelFacts, rows: Sequence[Mapping[Any, Any]]) -> str:
    told = [f"An estimated {percent(rows[0]['now'])} of the labels nobody reviewed are wrong."]
    for row in rows:
        more = row["direction"] == "more"
        if math.isnan(row["tips"]):
            bound = f"as {'many' if more else 'few'} as {percent(row['tried'])}"
            told.append(f"The recommendation would be the same if {bound} of them were.")
        else:
            bound = f"{percent(row['tips'])} or {'more' if more else 'fewer'}"
            method = facts.title(row["recommended"])
            told.append(f"If about {bound} of them were, {method} would be recommended.")
    return " ".join(told)
