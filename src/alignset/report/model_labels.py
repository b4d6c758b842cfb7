"""The parts of a model's report that are about labels: noise, doubtful rows, tipping points."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from alignset.report.model_displays import Dots
from alignset.report.model_facts import ModelFacts, percent, records
from alignset.report.page import Block, DataTable, Facts, Gallery, Prose, Section

RATE = (
    "The noise rate of a group is the share of its observed labels that are wrong, as far as the "
    "reviewers can tell."
)
NOT_COVERED = (
    "None of this covers reviewers who err, rows that differ from reviewed ones in other ways than "
    "in how often their label is wrong, or people unlike those in the table."
)


def labels(facts: ModelFacts) -> Section:
    """Say what was learned about the labels."""
    parts = [_noise(facts)]
    if facts.audit is not None:
        parts.append(_reviewed_rows(facts))
    parts.append(_doubtful(facts))
    return Section("What was learned about the labels", (), parts)


def _noise(facts: ModelFacts) -> Section:
    rates = facts.rates
    if rates["rate"].isna().all():
        said = "No reviewed row is known, so noise rates are the model's own guess: no interval."
        shown = rates[["group", "model_rate"]].rename(columns={"model_rate": "model's guess"})
        return Section("Noise rates", [Prose([said]), _rate_table(shown)])
    how = (
        "Reviewed rows are weighted by the inverse of their probability of being reviewed."
        if facts.weighted
        else "Selection probabilities are not known, so reviewed rows count as drawn at random."
    )
    guess = (
        "The model's own rate uses its confidence in rows nobody reviewed; where it leaves the "
        "interval, trust the interval."
    )
    dots = rates.rename(columns={"group": "label", "rate": "estimate", "low": "from", "high": "to"})
    dots = dots.assign(series="")[["label", "series", "estimate", "from", "to"]]
    names = {"rate": "noise rate", "low": "from", "high": "to", "model_rate": "model's own rate"}
    table = rates.rename(columns=names).dropna(axis=1, how="all")
    picture = Dots(
        dots, "noise-rates", "Noise rate by group", "share of observed labels that are wrong",
        alt="Noise rate of each group with its interval.", is_share=True,
    )  # fmt: skip
    return Section(
        "Noise rates",
        [Prose([f"{RATE} {how} Intervals are of 95 %. {guess}"]), Gallery([picture]),
         _rate_table(table)],
    )  # fmt: skip


def _rate_table(frame: pd.DataFrame) -> DataTable:
    return DataTable(frame, "noise", "Noise rate by group")


def _reviewed_rows(facts: ModelFacts) -> Section:
    found = facts.audit
    assert found is not None
    said = f"Verdict on the reviewed rows: {found.colour}. What helps most: {found.action}"
    reasons = [(colour, f"{text[:1].upper()}{text[1:]}.") for colour, text in found.reasons]
    blocks: list[Block] = [Prose([said])]
    if reasons:
        blocks.append(Facts(reasons))
    blocks.append(Prose([f"Note: {note}." for note in found.notes]))
    return Section("Can the reviewed rows be trusted to stand for the rest?", blocks)


def _doubtful(facts: ModelFacts) -> Section:
    title = "Most doubtful labels"
    if facts.doubtful is None:
        said = "Pass the table with --table TABLE to list the rows whose label is most doubtful."
        return Section(title, [Prose([said])])
    said = (
        "Rows nobody reviewed, with the confidence that the observed label is right: an order in "
        "which to look, not a verdict on any person. Ids may identify people, so keep this page "
        "where the table may be kept."
    )
    table = DataTable(facts.doubtful, "doubtful", "Most doubtful labels")
    return Section(title, [Prose([said]), table])


def tipping_points(facts: ModelFacts) -> Section:
    """Say what would change the conclusion."""
    parts = []
    if len(facts.level):
        parts.append(_level(facts))
    if facts.measured is not None and facts.comparison is not None:
        parts.append(_recommendation(facts))
    if not parts:
        said = "Too few rows are reviewed, or there is one group, so there is nothing to tip."
        return Section("What would change the conclusion", [Prose([said, NOT_COVERED])])
    return Section("What would change the conclusion", [Prose([NOT_COVERED])], parts)


def _level(facts: ModelFacts) -> Section:
    said = [_level_sentence(row) for row in records(facts.level)]
    how = "Here only the rows nobody reviewed change; the reviewed ones are what they are."
    return Section("Which group has the noisier labels", [Prose([how]), Facts(said)])


def _level_sentence(row: dict[str, Any]) -> tuple[str, str]:
    now, needed, other = row["now"], row["needed"], row["level_with"]
    told = f"Of the labels nobody reviewed, an estimated {percent(now)} are wrong. "
    if 0 <= needed <= 1:
        times = f", {needed / now:.1f} times as many" if now > 0 and needed != now else ""
        told += f"At {percent(needed)}{times}, the group would be level with {other!r}."
    else:
        bound = "all" if needed > 1 else "none"
        told += f"Even if {bound} of them were wrong, it would not be level with {other!r}."
    return str(row["group"]), told


def _recommendation(facts: ModelFacts) -> Section:
    found, compared = facts.measured, facts.comparison
    assert found is not None
    assert compared is not None
    how = (
        "Models are compared again as if, in one group at a time, wrong labels were more or less "
        "common among the rows nobody reviewed than reviewed rows say, up to ten times by the "
        "ratio of wrong to right ones. Reviewed rows that were wrong then count for more, or less."
    )
    blocks: list[Block] = [Prose([how, _start(facts, compared["recommended"])])]
    rows = records(found.tipping)
    if rows:
        groups = dict.fromkeys(row["group"] for row in rows)
        blocks.append(Facts([(g, _tips(facts, [r for r in rows if r["group"] == g]))
                             for g in groups]))  # fmt: skip
    else:
        blocks.append(Prose(["No group has both wrong and right reviewed labels to weigh."]))
    return Section("Which model is recommended", blocks)


def _start(facts: ModelFacts, recommended: str) -> str:
    assert facts.measured is not None
    corrected = facts.measured.corrected_method
    if corrected == recommended:
        return f"With every row counting as many as it stands for, it is {facts.title(corrected)}."
    return (
        f"The recommendation is not firm: with every row counting as many as it stands for it is "
        f"{facts.title(corrected)}, not {facts.title(recommended)}."
    )


def _tips(facts: ModelFacts, rows: list[dict[str, Any]]) -> str:
    told = [f"Of the labels nobody reviewed, an estimated {percent(rows[0]['now'])} are wrong."]
    for row in rows:
        more = row["direction"] == "more"
        if math.isnan(row["tips"]):
            bound = f"as {'many' if more else 'few'} as {percent(row['tried'])}"
            told.append(f"The recommendation would be the same if {bound} were.")
        else:
            bound = f"{percent(row['tips'])} or {'more' if more else 'fewer'}"
            method = facts.title(row["recommended"])
            told.append(f"If about {bound} were, {method} would be recommended.")
    return " ".join(told)
