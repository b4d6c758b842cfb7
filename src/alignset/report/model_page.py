"""The page about one model, for a clinician and a statistician."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from alignset.model.foreign import ESTIMATORS
from alignset.report.model_decisions import decisions, threshold_card
from alignset.report.model_facts import Measured, ModelFacts, percent, sentence
from alignset.report.model_labels import labels, tipping_points
from alignset.report.model_quality import comparison, made_of, quality
from alignset.report.page import NOTHING, DataTable, FactList, Page, Prose, Section, Tiles

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


def model_page(facts: ModelFacts) -> Page:
    """Lay out the report of one model."""
    said = [*_labels_said(facts.rates), *_model_said(facts)]
    names = list(facts.manifest["columns"]["features"])
    read = f"{len(names)} columns that it reads"
    columns = DataTable(pd.DataFrame({"column": names}), "columns", "Columns it reads", read)
    sections = [
        Section("At a glance", [Tiles(_tiles(facts)), Prose(said)]),
        labels(facts),
        quality(facts),
        *filter(None, [decisions(facts), made_of(facts)]),
        comparison(facts),
        tipping_points(facts),
        Section("Model card", [FactList(_card(facts)), columns]),
        Section("Words", [FactList(WORDS)]),
        Section("Provenance", [FactList(_provenance(facts))]),
    ]
    lead = (
        f"How far the label {facts.label!r} can be trusted, how good a model of the true label is, "
        "and how even it is across groups."
    )
    footer = "Made by alignset from a model folder; the same folder and table give the same page."
    return Page(f"Report on a model of {facts.label!r}", lead, sections, footer=footer)


def _tiles(facts: ModelFacts) -> list[tuple[str, str]]:
    rows = facts.manifest.get("rows") or {}
    tiles = [(f"{rows['all']:,}", "rows"), (f"{rows['reviewed']:,}", "reviewed")] if rows else []
    known = _well_known(facts.rates)["rate"]
    if len(known):
        ends = dict.fromkeys(percent(rate, 0) for rate in (known.min(), known.max()))
        said = " to ".join(ends).replace(" % to", " to").replace(" %", "\u00a0%")
        tiles.append((said, "of labels wrong, by group"))
    if facts.measured is not None:
        for metric in ("AUROC", "AUEOC"):
            estimate = _corrected(facts.measured, metric)["estimate"]
            said = NOTHING if pd.isna(estimate) else f"{estimate:.2f}"
            tiles.append((said, f"{metric}, corrected"))
    if facts.verdict is not None:
        tiles.append((facts.verdict.colour, "verdict on the reviewed rows"))
    return tiles


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


def _model_said(facts: ModelFacts) -> Iterator[str]:
    if facts.measured is not None:
        auroc, gap = (_corrected(facts.measured, m) for m in ("AUROC", "calibration"))
        way = "too low" if gap["estimate"] < 0 else "too high"
        sure = "" if gap["low"] > 0 or gap["high"] < 0 else ", which may be chance"
        what = repr(facts.measured.positive)
        pair = f"a row with the label {what} above one without it"
        if len(facts.classes) > 2:
            pair = "a row of a class above one of another class, averaged over classes,"
        yield (
            f"The model in this folder ({facts.method}) ranks {pair} in "
            f"{percent(auroc['estimate'], 0)} of pairs ({percent(auroc['low'], 0)} to "
            f"{percent(auroc['high'], 0)}). Its probabilities for {what} are "
            f"on average {100 * abs(gap['estimate']):.1f} percentage points "
            f"{way}{sure}."
        )
    if facts.comparison is not None:
        yield str(facts.comparison["sentence"])


def _card(facts: ModelFacts) -> list[tuple[str, str]]:
    m = facts.manifest
    columns, rows, data = m["columns"], m.get("rows") or {}, m.get("data") or {}
    several = " and ".join(map(repr, columns["groups"])) or "none"
    told = " and ".join(repr(name) for name in columns["groups"] if name in columns["features"])
    knows = (
        f"The model is told {told}."
        if told
        else "The model is not told the group, though other columns may reveal it."
    )
    return [
        ("What it does", f"Estimates the true value of {facts.label!r} ("
         f"{', '.join(map(repr, facts.classes))}) from {len(columns['features'])} columns, and how "
         "likely it is that an observed label is right."),
        ("Intended use", "To rank labels for review and to predict the true label of rows like "
         "those it was trained on. alignset does not know who the model is for or who is "
         "responsible for it; write that here before it is used."),
        ("Not for", "Decisions about a person that nobody checks; people, places or years unlike "
         "the table; groups that were left out or hardly reviewed."),
        ("Data", f"{data.get('file', 'not recorded')}: {rows.get('all', 'unknown')} rows; "
         f"{rows.get('reviewed', 'unknown')} are reviewed, in column {columns['truth']!r}."),
        ("Groups", f"By {several}: {', '.join(map(repr, m['groups']))}. {knows}"),
        ("Training", _training(facts)),
        ("Thresholds", threshold_card(facts)),
        ("Limits", _limits(facts)),
        ("What the folder holds about people", _holds(facts)),
    ]  # fmt: skip


def _holds(facts: ModelFacts) -> str:
    """Say what the folder keeps of rows."""
    holds = "No rows."
    if facts.measured is not None:
        others = ""
        if facts.measured.n_others:
            others = f", and for each of {facts.measured.n_others} others the same but a true label"
        holds = (
            f"For each of {facts.measured.n_rows} reviewed rows, its group, both labels and "
            f"held-out predictions{others}, without id or features (evaluation.json)."
        )
    if ESTIMATORS in facts.manifest.get("files", {}):
        holds += (
            f" {ESTIMATORS} holds a classifier that is not part of alignset; some kinds, such as "
            "nearest neighbours, keep the rows they were trained on."
        )
    return holds


def _training(facts: ModelFacts) -> str:
    search, settings = facts.manifest.get("search"), facts.manifest.get("settings") or {}
    *candidates, _ = facts.manifest["network"].get("candidates") or [None]
    if candidates:
        shares = sorted(candidates, key=lambda each: -each["weight"])
        used = [each for each in shares if each["weight"] > 0]
        told = ", ".join(f"{c['labels']} {c['learner']} {c['weight']:.2f}" for c in used)
        return (
            f"{facts.method} of {len(used)} of {len(shares)} candidates, weighted by what they "
            f"said of reviewed rows they were not trained on (labels, learner, weight): {told}."
        )
    if not search:
        return f"{facts.method}; the search for its configuration was not recorded."
    config = ", ".join(f"{name} {value:.3g}" for name, value in sorted(search["config"].items()))
    return (
        f"{facts.method}, the best of {search['tried']} configurations ({config}); "
        f"{settings.get('folds', 'unknown')} folds for cross-fitting."
    )


def _limits(facts: ModelFacts) -> str:
    found = [str(note) for note in facts.manifest.get("notes", [])]
    if facts.verdict is not None:
        found += [sentence(reason.text) for reason in facts.verdict.reasons]
    found.append("True labels are what reviewers found: if they are wrong, so is everything here.")
    return " ".join(found)


def _provenance(facts: ModelFacts) -> list[tuple[str, str]]:
    m = facts.manifest
    data, versions = m.get("data") or {}, m.get("versions") or {}
    settings = m.get("settings") or {}
    known = [
        ("Trained with", m.get("command")),
        ("Training data", data.get("file")),
        ("SHA-256 of the data", data.get("sha256")),
        ("SHA-256 of the model", m.get("sha256")),
        ("Trained on", m.get("created")),
        ("Seed", m.get("seed")),
        ("Resamples for an interval", settings.get("n_boot")),
        ("Versions", ", ".join(f"{name} {value}" for name, value in versions.items())),
        *facts.table,
        ("Report made with", facts.command),
    ]
    return [(term, "not recorded" if text in (None, "") else str(text)) for term, text in known]
