"""The parts of a model's report that say how good and how even it is, and what else might do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from alignset.report.displays import Display
from alignset.report.model_displays import Dots, Lines
from alignset.report.model_facts import WAYS, Measured, ModelFacts, records
from alignset.report.page import Block, DataTable, Gallery, Prose, Section
from alignset.report.tables import NOTHING

THREE_WAYS = (
    "Everything here is measured on reviewed rows, each scored by a model that was trained without "
    "it (cross-fitting), in three ways. On observed labels: against the label in the table, every "
    "row counting once; this is what one would see without reviews. On reviewed rows: against what "
    "the reviewers found, every row counting once. Corrected: against what the reviewers found, "
    "every row counting as many rows of the table as it stands for.",
)
BY_DESIGN = (
    "A row stands for 1 / (its probability of being reviewed) rows, scaled so that each group and "
    "observed label adds up to its rows in the table."
)
BY_CELL = (
    "Selection probabilities are not known, so a row stands for the rows of its group and observed "
    "label, shared out evenly: right if reviewed rows were picked at random within these, and not "
    "otherwise."
)
TERMS = {"AUROC": "AUROC", "AUEOC": "AUEOC", "HM": "HM", "calibration": "calibration gap"}


def quality(facts: ModelFacts) -> Section:
    """Say how good and how even the model is, three ways."""
    title = "How good and how even the model is"
    found = facts.measured
    if found is None:
        said = "Models were not compared on held-out reviewed rows, so nothing can be said here."
        why = [note for note in facts.manifest.get("notes", []) if "too few to compare" in note]
        return Section(title, [Prose([said, *why])])
    how = f"{THREE_WAYS[0]} {BY_DESIGN if found.by_design else BY_CELL}"
    cautions = [_caution(found)]
    if len(facts.classes) > 2:
        cautions.append(
            "AUROC and AUEOC are means over classes, each against the rest. Curves and calibration "
            f"are of {found.positive!r} against the rest."
        )
    return Section(
        title,
        [
            Prose([how]),
            DataTable(_table(found.scores), "three-ways", "How good and how even, three ways"),
            Prose(cautions),
            Gallery(_pictures(found)),
        ],
    )


def _caution(found: Measured) -> str:
    return (
        f"In brackets: 95 % intervals from resampling the {found.n_rows} rows within their groups. "
        "AUEOC is near 1 also for predictions that hardly differ, so read it beside AUROC; its "
        "intervals lean low when groups are truly even. The models measured were trained on part "
        "of the reviewed rows; the one in the folder, trained on all, may be a little better."
    )


def _table(scores: pd.DataFrame) -> pd.DataFrame:
    rows, order = [], list(TERMS)
    metrics = scores.sort_values("metric", key=lambda m: m.map(order.index), kind="stable")
    for (metric, group), part in metrics.groupby(["metric", "group"], sort=False):
        name = f"{TERMS[str(metric)]}, {group}" if group else TERMS[str(metric)]
        sign = "+" if metric == "calibration" else ""
        told = {row["measured"]: _told(row, sign) for row in records(part)}
        rows.append({"measure": name, **{WAYS[way]: told.get(way, NOTHING) for way in WAYS}})
    return pd.DataFrame(rows)


def _told(row: dict[str, Any], sign: str = "") -> str:
    if math.isnan(row["estimate"]):
        return NOTHING
    numbers = (format(row[name], f"{sign}.3f") for name in ("estimate", "low", "high"))
    return "{} ({} to {})".format(*numbers)


def _pictures(found: Measured) -> list[Display]:
    metrics = found.scores[found.scores["metric"].isin(["AUROC", "AUEOC", "HM"])].copy()
    metrics["label"] = [
        f"{m}, {g}" if g else str(m)
        for m, g in zip(metrics["metric"], metrics["group"], strict=True)
    ]
    dots = metrics.assign(series=metrics["measured"].map(WAYS))
    dots = dots.rename(columns={"low": "from", "high": "to"})
    dots = dots[["label", "series", "estimate", "from", "to"]].reset_index(drop=True)
    pictures: list[Display] = [
        Dots(dots, "scores", "The same model, measured three ways", "score (95 % interval)",
             alt="AUROC, AUEOC and their harmonic mean, three ways, with intervals."),
    ]  # fmt: skip
    if len(found.odds):
        pictures.append(_odds(found))
    for way, told in WAYS.items():
        pictures += _roc(found, way, told)
    for way, told in WAYS.items():
        pictures.append(_calibration(found, way, told))
    return pictures


def _odds(found: Measured) -> Lines:
    values = pd.DataFrame(
        {
            "line": found.odds["measured"].map(WAYS),
            "x": found.odds["threshold"],
            "y": found.odds["eo"],
        }
    )
    lowest = math.floor(10 * float(values["y"].min())) / 10
    return Lines(
        values, "equalized-odds", "Equalized odds",
        f"threshold on the probability of {found.positive!r}", "equalized odds",
        caption="1 minus how far groups lie apart in true and false positive rate; the area below "
        "is AUEOC. A dip is a threshold at which errors fall unevenly.",
        alt="Equalized odds between groups along the threshold, three ways.",
        y_from=max(0.0, min(lowest, 0.8)),
    )  # fmt: skip


def _roc(found: Measured, way: str, told: str) -> list[Display]:
    here = found.roc[found.roc["measured"] == way]
    if here.empty:
        return []
    values = pd.DataFrame({"line": here["group"], "x": here["fpr"], "y": here["tpr"]})
    picture = Lines(
        values.reset_index(drop=True), f"roc-{way}", f"ROC by group, {told}",
        "false positive rate", "true positive rate",
        alt=f"ROC curve of each group, {told}.", diagonal="chance",
    )  # fmt: skip
    return [picture]


def _calibration(found: Measured, way: str, told: str) -> Lines:
    here = found.calibration[found.calibration["measured"] == way]
    names = {"group": "line", "predicted": "x", "found": "y", "low": "from", "high": "to"}
    values = here.rename(columns=names).drop(columns="measured").reset_index(drop=True)
    return Lines(
        values, f"calibration-{way}", f"Calibration by group, {told}",
        f"mean predicted probability of {found.positive!r}", f"share that is {found.positive!r}",
        caption="Five parts of each group with as many rows each. Below the diagonal the model "
        "says too much, above it too little.",
        alt=f"Predicted and found share in five parts of each group, {told}.",
        diagonal="as predicted",
    )  # fmt: skip


def comparison(facts: ModelFacts) -> Section:
    """Compare with simpler models, and repeat the recommendation."""
    title = "Would a simpler model do?"
    found = facts.comparison
    if found is None:
        return Section(title, [Prose(["Models were not compared: too few rows are reviewed."])])
    rows, dots = [], []
    for name, scores in found["scores"].items():
        row = {"model": facts.title(name)}
        for metric, of in scores.items():
            numbers = {k: _number(of[k]) for k in ("estimate", "low", "high")}
            row[metric.upper()] = _told(numbers)
            if metric == "hm":
                ends = {"from": numbers["low"], "to": numbers["high"]}
                dots.append({"label": row["model"], "series": "", **numbers, **ends})
        row["difference in HM"] = _difference(found, name)
        rows.append(row)
    what = (
        f"Difference in HM: that of {facts.title(found['asked'])} minus that of the other; 95 % "
        "intervals, every reviewed row counting once."
    )
    blocks: list[Block] = [Prose([found["sentence"], *_left_out(found), what])]
    picture = pd.DataFrame(dots)[["label", "series", "estimate", "from", "to"]]
    words = "HM of AUROC and AUEOC (95 % interval)"
    blocks.append(DataTable(pd.DataFrame(rows), "models", "Models on held-out reviewed rows"))
    alt = "Harmonic mean of AUROC and AUEOC of each model."
    title_ = "Models on held-out reviewed rows"
    blocks.append(Gallery([Dots(picture, "models-hm", title_, words, alt=alt)]))
    return Section(title, blocks)


def _number(value: float | None) -> float:
    """JSON has no NaN."""
    return math.nan if value is None else float(value)


def _difference(found: Mapping[str, Any], name: str) -> str:
    of = found["differences"].get(name)
    if of is None or of["estimate"] is None:
        return NOTHING
    low, high = _number(of["low"]), _number(of["high"])
    return f"{of['estimate']:+.3f} ({low:+.3f} to {high:+.3f})"


def _left_out(found: Mapping[str, Any]) -> list[str]:
    names = found["groups_left_out"]
    if not names:
        return []
    told = ", ".join(map(repr, names))
    return [f"Left out, for too few reviewed rows of some class: {told}."]
