"""The page about one model, for a clinician and a statistician."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from alignset.report.model_card import card, provenance
from alignset.report.model_decisions import decisions
from alignset.report.model_facts import Measured, ModelFacts, percent
from alignset.report.model_labels import labels, tipping_points
from alignset.report.model_quality import comparison, made_of, quality
from alignset.report.page import (
    NOTHING,
    Conclusion,
    DataTable,
    FactList,
    Page,
    Prose,
    Section,
    Tiles,
)
from alignset.report.tripod import checklist

WORDS = (
    ("observed label", "The label in the table, which may be wrong."),
    ("true label", "What a reviewer found; known for reviewed rows only."),
    ("noise rate", "The share of observed labels that are wrong."),
    ("AUROC", "How often a row with the label is ranked above one without it: 0.5 is chance, 1 is "
     "perfect."),
    ("AUEOC", "Area under the equalized odds curve: 1 minus the gap between groups in true and "
     "false positive rates, averaged over all thresholds. 1 means no gap."),
    ("log loss", "Mean of minus the logarithm of the probability that the model gave to the true "
     "label: 0 is perfect, 0.69 is a coin's for two classes."),
    ("HM", "Harmonic mean of AUROC and AUEOC: high only if both are."),
    ("calibration gap", "Mean predicted probability minus the share that has the label: the "
     "model predicts too much above 0, and too little below 0."),
    ("net benefit", "True alarms per row, less false alarms per row times the odds of the "
     "threshold probability: what a false alarm costs, measured in found cases."),
    ("worth", "How many reviewed rows would give as short an interval if nothing were known of the "
     "others; the observed labels of rows nobody reviewed make the difference."),
    ("95 % interval", "A range made by a rule that covers the truth in about 95 of 100 studies "
     "like this one."),
)  # fmt: skip

ENOUGH = 20
"""Minimum reviewed rows for a group to be named at a glance."""


SIGNS = {"use": "\N{CHECK MARK}", "care": "!", "no": "\N{MULTIPLICATION SIGN}"}
REVIEWED = {"green": "good enough", "amber": "look again", "red": "not good enough"}
"""Colour of an audit's verdict -> what a tile says of the reviewed rows."""
AUROC, GAP, REVIEW = "AUROC, corrected", "probabilities off, in points", "the reviewed rows"


def model_page(facts: ModelFacts) -> Page:
    """Lay out the report of one model."""
    names = list(facts.manifest["columns"]["features"])
    read = f"{len(names)} columns that it reads"
    columns = DataTable(pd.DataFrame({"column": names}), "columns", "Columns it reads", read)
    sections = [
        Section("Conclusion", [_conclusion(facts), _tiles(facts), Prose([*_said(facts)])]),
        *filter(None, [decisions(facts)]),
        quality(facts),
        comparison(facts),
        labels(facts),
        tipping_points(facts),
        *filter(None, [made_of(facts)]),
        Section("Model card", [FactList(card(facts)), columns]),
        checklist(facts),
        Section("Words", [FactList(WORDS)]),
        Section("Provenance", [FactList(provenance(facts))]),
    ]
    lead = (
        "Whether to use the model, how good it is, how even it is across groups, and how far the "
        f"label {facts.label_title!r} can be trusted."
    )
    footer = "Made by alignset from a model folder; the same folder and table give the same page."
    about = [("Owner", facts.owner), ("Intended use", facts.intended_use)]
    title = facts.heading or f"A model of {facts.label_title!r}"
    shown = [(term, text) for term, text in about if text]
    return Page(title, lead, sections, footer=footer, about=shown)


def _conclusion(facts: ModelFacts) -> Conclusion:
    found = facts.advice
    told = (found.level, found.conclusion, found.evidence, found.caveat)
    return Conclusion(*told, SIGNS[found.level])


def _said(facts: ModelFacts) -> Iterator[str]:
    if facts.comparison is not None:
        yield str(facts.comparison["sentence"])
    yield from _labels_said(facts.rates)


def _tiles(facts: ModelFacts) -> Tiles:
    rows = facts.manifest.get("rows") or {}
    tiles = [(f"{rows['all']:,}", "rows"), (f"{rows['reviewed']:,}", "reviewed")] if rows else []
    known = _well_known(facts.rates)["rate"]
    if len(known):
        ends = dict.fromkeys(percent(rate, 0) for rate in (known.min(), known.max()))
        said = " to ".join(ends).replace(" % to", " to").replace(" %", "\u00a0%")
        tiles.append((said, "of labels wrong, by group"))
    states: dict[str, str] = {}
    if facts.measured is not None:
        auroc = _corrected(facts.measured, "AUROC")["estimate"]
        tiles.append((NOTHING if pd.isna(auroc) else f"{auroc:.2f}", AUROC))
        gap = _corrected(facts.measured, "calibration")["estimate"]
        tiles.append((NOTHING if pd.isna(gap) else f"{100 * gap:+.1f}", GAP))
        states |= {AUROC: facts.advice.level_of("rank")}
        states |= {GAP: facts.advice.level_of("probabilities")}
    if facts.verdict is not None:
        tiles.append((REVIEWED[facts.verdict.colour], REVIEW))
        states[REVIEW] = {"green": "use", "amber": "care", "red": "no"}[facts.verdict.colour]
    if facts.advice.level == "no":  # nothing is green beside a model that is not to be used
        states = {what: state for what, state in states.items() if state != "use"}
    return Tiles(tiles, states)


def _corrected(found: Measured, metric: str) -> pd.Series[Any]:
    """Return the corrected score for all groups together."""
    place = ["measured", "metric", "group"]
    here = (found.scores[place] == ["corrected", metric, ""]).all(axis=1)
    return found.scores[here].iloc[0]


def _labels_said(rates: pd.DataFrame) -> Iterator[str]:
    known = _well_known(rates).sort_values("rate", ascending=False, kind="stable")
    if not len(known):
        yield "No reviewed rows are known, so the share of wrong labels is only the model's guess."
        return
    most, least = known.iloc[0], known.iloc[-1]
    told = f"In group {most['group']!r}, {_rate(most)} of the labels are wrong"
    if len(known) > 1:
        apart, alike = "do not overlap", "overlap, so this does not show that the groups differ"
        told += f"; in group {least['group']!r}, {_rate(least)}. The intervals "
        told += apart if most["low"] > least["high"] else alike
    yield f"{told}."


def _well_known(rates: pd.DataFrame) -> pd.DataFrame:
    """Keep groups with a rate; of these, only those with enough reviewed rows, if there are any."""
    known = rates[rates["rate"].notna()]
    enough = known[known["reviewed"] >= ENOUGH]
    return enough if len(enough) else known


def _rate(row: pd.Series[Any]) -> str:
    return f"{percent(row['rate'])} ({percent(row['low'])} to {percent(row['high'])})"
