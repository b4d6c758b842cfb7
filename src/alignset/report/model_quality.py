"""The parts of a model's report on how good and how even it is, and on simpler models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from alignset.fitting.judge import ONE_GROUP as NO_AUEOC
from alignset.model.evaluation import why_none
from alignset.report.displays import Axis, Display
from alignset.report.model_displays import Dots, Lines
from alignset.report.model_facts import WAYS, Measured, ModelFacts
from alignset.report.page import NOTHING, DataTable, Fold, Gallery, Prose, Section
from alignset.tables.files import in_thousands

CORRECTED = (
    "Corrected numbers are what the whole table would show, estimated from what reviewers found."
)
MORE = "The same measured in other ways, and equalized odds"
THREE_WAYS = (
    "On observed labels: reviewed rows against the label in the table; this is what you would see "
    "without reviews. On reviewed rows: against what the reviewers found, with every row counted "
    "once. Corrected: as above."
)
MORE_PRECISE = (
    "The observed labels of {others} more rows make the corrected numbers more precise, and cannot "
    "bias them: the {reviewed} reviewed rows are worth {worth} for the AUROC."
)
BY_DESIGN = (
    "A reviewed row stands for 1 / (its probability of being reviewed) rows, scaled to make each "
    "group and observed label add up to its rows in the table."
)
BY_CELL = (
    "Selection probabilities are not known. Reviewed rows count as drawn at random from the table "
    "or, where some groups or labels were clearly reviewed more often than others, from the rows "
    "with their group and observed label: this is right only if they were."
)
ONE_GROUP = (
    "AUEOC and HM are left blank: they compare groups, and there were not two with enough reviewed "
    "rows of every class."
)
TERMS = {"AUROC": "AUROC", "AUEOC": "AUEOC", "HM": "HM", "calibration": "calibration gap"}


def quality(facts: ModelFacts) -> Section:
    """Say how good and how even the model is, measured three ways."""
    title = "How good the model is, and how even across groups"
    found = facts.measured
    if found is None:
        return Section(title, [Prose([_nothing(facts)])])
    said = [f"{CORRECTED} {facts.judged} {BY_DESIGN if found.by_design else BY_CELL}"]
    worth = _worth(found)
    if found.n_others and not math.isnan(worth):
        said.append(
            MORE_PRECISE.format(
                others=in_thousands(found.n_others), reviewed=in_thousands(found.n_rows),
                worth=in_thousands(worth),
            )
        )  # fmt: skip
    told = _table(found.scores)
    short = told[["measure", WAYS["corrected"], "worth"]]
    short = short.rename(columns={WAYS["corrected"]: "corrected (95 % interval)"})
    table = DataTable(short, "corrected", "The model, overall and by group")
    ways = DataTable(told, "three-ways", "The model, measured three ways")
    shown = [_roc(found, "corrected")] if "corrected" in set(found.roc["measured"]) else []
    shown.append(_calibration(found, "corrected"))
    more = Fold(MORE, [Prose([THREE_WAYS]), ways, Gallery(_pictures(found))])
    cautions = Prose([*_cautions(facts, found)])
    return Section(title, [Prose(said), table, Gallery(shown), cautions, more])


def _nothing(facts: ModelFacts) -> str:
    """Say why nothing was measured."""
    if facts.left_out:
        return (
            "The folder was written with --no-evaluation, so it has no held-out predictions to "
            f"measure by group or to draw curves of. {facts.judged} How models compared then is "
            "told below."
        )
    why = why_none(facts.manifest)
    return f"The folder has no held-out predictions, so nothing can be said here: {why}."


def _cautions(facts: ModelFacts, found: Measured) -> Iterator[str]:
    yield (
        "In brackets: 95 % intervals. AUEOC is also near 1 for predictions that hardly differ, so "
        "read it with AUROC. The models measured were trained on part of the rows; the one in the "
        "folder, trained on all, may be a little better."
    )
    if len(facts.classes) > 2:
        yield (
            "AUROC and AUEOC are means over classes, each against the rest. Curves and calibration "
            f"are for {found.positive!r} against the rest."
        )
    if found.scores.loc[found.scores["metric"] == "AUEOC", "estimate"].isna().all():
        yield ONE_GROUP


def _worth(found: Measured) -> float:
    """Return how many reviewed rows alone would give as precise a corrected AUROC."""
    place = ["measured", "metric", "group"]
    here = (found.scores[place] == ["corrected", "AUROC", ""]).all(axis=1)
    return float(found.scores[here].iloc[0]["worth"])


def _table(scores: pd.DataFrame) -> pd.DataFrame:
    rows, order = [], list(TERMS)
    metrics = scores.sort_values("metric", key=lambda m: m.map(order.index), kind="stable")
    for (metric, group), part in metrics.groupby(["metric", "group"], sort=False):
        sign = "+" if metric == "calibration" else ""
        told = {row["measured"]: _told(row, sign) for row in part.to_dict("records")}
        name = _name(TERMS[str(metric)], group)
        worth = part.set_index("measured")["worth"].get("corrected", math.nan)
        told = {WAYS[way]: told.get(way, NOTHING) for way in WAYS}
        rows.append({"measure": name, **told, "worth": in_thousands(worth)})
    return pd.DataFrame(rows)


def _name(metric: object, group: object) -> str:
    return f"{metric}, {group}" if group else str(metric)


def _told(row: Mapping[Any, Any], sign: str = "") -> str:
    """Format an estimate and its interval; JSON has None for NaN."""
    if row["estimate"] is None or math.isnan(row["estimate"]):
        return NOTHING
    ends = (math.nan if row[end] is None else row[end] for end in ("low", "high"))
    return "{} ({} to {})".format(*(f"{n:{sign}.3f}" for n in (row["estimate"], *ends)))


def _pictures(found: Measured) -> list[Display]:
    scores = found.scores[found.scores["metric"] != "calibration"]
    scores = scores.groupby(["metric", "group"]).filter(lambda part: part["estimate"].notna().any())
    scores = scores.reset_index(drop=True)
    labels = list(map(_name, scores["metric"], scores["group"]))
    dots = scores.assign(label=labels, series=scores["measured"].map(WAYS))
    pictures: list[Display] = [
        Dots(dots, Axis("score (95 % interval)"), name="scores",
             title="The same model, measured three ways",
             alt="AUROC, AUEOC and their harmonic mean, three ways, with intervals."),
    ]  # fmt: skip
    if len(found.odds):
        pictures.append(_odds(found))
    ways = [way for way in WAYS if way != "corrected"]
    roc = [_roc(found, way) for way in ways if way in set(found.roc["measured"])]
    return [*pictures, *roc, *(_calibration(found, way) for way in ways)]


def _odds(found: Measured) -> Lines:
    lowest = math.floor(10 * float(found.odds["eo"].min())) / 10
    lines = found.odds["measured"].map(WAYS)
    return Lines(
        pd.DataFrame({"line": lines, "x": found.odds["threshold"], "y": found.odds["eo"]}),
        f"threshold on the probability of {found.positive!r}", "equalized odds",
        name="equalized-odds", title="Equalized odds",
        caption="1 minus the gap between groups in true and false positive rates; the area below "
        "the curve is AUEOC. A dip is a threshold at which groups have different errors.",
        alt="Equalized odds between groups by threshold, three ways.",
        y_from=max(0.0, min(lowest, 0.8)),
    )  # fmt: skip


def _way(curves: pd.DataFrame, way: str, **names: str) -> pd.DataFrame:
    """Return the curves measured one way, a line per group, with these columns as x and y."""
    here = curves[curves["measured"] == way].drop(columns="measured").reset_index(drop=True)
    return here.rename(columns={"group": "line", **{old: new for new, old in names.items()}})


def _roc(found: Measured, way: str) -> Lines:
    return Lines(
        _way(found.roc, way, x="fpr", y="tpr"), "false positive rate", "true positive rate",
        diagonal="chance", name=f"roc-{way}", title=f"ROC by group, {WAYS[way]}",
        alt=f"ROC curve of each group, {WAYS[way]}.",
    )  # fmt: skip


def _calibration(found: Measured, way: str) -> Lines:
    return Lines(
        _way(found.calibration, way, x="predicted", y="found"),
        f"mean predicted probability of {found.positive!r}", f"share that is {found.positive!r}",
        diagonal="as predicted", name=f"calibration-{way}",
        title=f"Calibration by group, {WAYS[way]}",
        caption="Each group in five parts of equal size. Below the diagonal the model predicts too "
        "much, above it too little.",
        alt=f"Predicted and found share in five parts of each group, {WAYS[way]}.",
    )  # fmt: skip


def made_of(facts: ModelFacts) -> Section | None:
    """Show the candidates of a blend and their weights; None for a model that is no blend."""
    known = facts.manifest.get("candidates") or facts.manifest["network"].get("candidates")
    if not known:
        return None
    rows = [{"log_loss": None, "auroc": None, "low": None, "high": None, **row} for row in known]
    shown = pd.DataFrame(
        {
            "labels": [str(row["labels"]) for row in rows],
            "learner": [str(row["learner"]) for row in rows],
            "weight": [f"{row['weight']:.2f}" for row in rows],
            "log loss": [_number(row["log_loss"]) for row in rows],
            "AUROC": [_told({**row, "estimate": row["auroc"]}) for row in rows],
        }
    )
    how = (
        "Each candidate is a learner fitted to labels of one kind. All are measured on reviewed "
        "rows they did not see, and weighted by how well they predict these together. The last row "
        "is all of them together. AUROC with 95 % interval."
    )
    said = [str(facts.manifest["explained"])] if facts.manifest.get("explained") else []
    table = DataTable(shown, "candidates", "Candidates of the blend")
    return Section("What the model is made of", [Prose([*said, how]), table])


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def comparison(facts: ModelFacts) -> Section:
    """Compare the model with plain ones, and repeat the recommendation."""
    title, found = "Would a plain model do?", facts.comparison
    if found is None:
        why = why_none(facts.manifest)
        told = f"The folder does not say how other models compare: {why}."
        return Section(title, [Prose([told])])
    of, first = _columns(found), next(iter(next(iter(found["scores"].values()))))
    rows = [
        {
            "model": facts.title(name),
            **{of[measure]: _told(score) for measure, score in scores.items()},
            **{
                f"difference in {of[measure]}": _told(gap, "+")
                for measure, gap in _gaps(found, name).items()
            },
        }
        for name, scores in found["scores"].items()
    ]
    said = [found["sentence"]]
    if found["groups_left_out"]:
        names = ", ".join(map(repr, found["groups_left_out"]))
        said.append(f"Left out because some class has too few reviewed rows: {names}.")
    if _lacks_evenness(found):
        said.append(NO_AUEOC)
    said.append(_how(facts, found))
    models, ends = "Models on held-out reviewed rows", ["estimate", "low", "high"]
    dots = [{"label": facts.title(name), **score[first]} for name, score in found["scores"].items()]
    picture = Dots(
        pd.DataFrame(dots).astype(dict.fromkeys(ends, float)),
        Axis(f"{of[first]} (95 % interval)"), name="models", title=models,
        alt=f"{of[first]} of each model.",
    )  # fmt: skip
    table = DataTable(pd.DataFrame(rows).fillna(NOTHING), "models", models)
    return Section(title, [Prose(said), table, Gallery([picture])])


def _lacks_evenness(found: Mapping[str, Any]) -> bool:
    known = [
        scores["aueoc"]["estimate"] for scores in found["scores"].values() if "aueoc" in scores
    ]
    return bool(known) and all(estimate is None for estimate in known)


def _columns(found: Mapping[str, Any]) -> dict[str, str]:
    """Return what each measure is called."""
    sought = f"{found.get('sought')!r} found at {found.get('threshold')}"
    named = {"log_loss": "log loss", "found": sought}
    scores = next(iter(found["scores"].values()))
    return {measure: named.get(measure, measure.upper()) for measure in scores}


def _gaps(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the differences from one model in the measures that decide."""
    gaps = found["differences"].get(name) or {}
    if "estimate" in gaps:  # a folder of an older version, which compared HM alone
        return {"hm": gaps}
    return {
        measure: {**gaps[measure], "estimate": _less(found, name, measure)}
        for measure in ("log_loss", "auroc")
        if measure in gaps
    }


def _less(found: Mapping[str, Any], name: str, measure: str) -> float | None:
    """Return the difference of the two scores as they are printed beside it."""
    ends = [found["scores"].get(each, {}).get(measure, {}) for each in (found.get("base"), name)]
    own, theirs = (end.get("estimate") for end in ends)
    if "level" not in found or own is None or theirs is None:  # older versions: by itself
        return found["differences"][name][measure]["estimate"]  # type: ignore[no-any-return]
    return float(round(own, 3) - round(theirs, 3))


def _how(facts: ModelFacts, found: Mapping[str, Any]) -> str:
    base, counted = found.get("base") or found["asked"], "counted once"
    by_design = found.get("by_design", facts.measured is not None and facts.measured.by_design)
    if by_design:
        counted = "weighted by the rows of the table that it stands for"
    others = ""
    if found.get("n_others"):
        others = f" and the observed labels of {in_thousands(found['n_others'])} others"
    n, together = len(found["differences"]), ""
    if n > 1 and "level" in found:
        together = f"; those of differences are for all {n} comparisons together"
    return (
        f"Difference: {facts.title(base)} minus the other model; 95 % intervals, with "
        f"every reviewed row {counted}{others}{together}. Log loss is small where the "
        "probabilities are right."
    )
