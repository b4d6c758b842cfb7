"""Made-up facts of a model, measured from a made-up evaluation."""

import pandas as pd
from fitting.kept import kept

from alignset.fitting.advice import advise, gather_evidence
from alignset.fitting.tipping import level_rates, tipping
from alignset.model.decisions import at_threshold, decision_curve
from alignset.model.measures import calibration_curves, measure, odds_curves, roc_curves
from alignset.report.model_facts import Decisions, Measured, ModelFacts
from alignset.review.verdict import Reason, ReviewVerdict

NASTY = '<script>alert("x")</script> & $\\frac{1}$ _m'


def interval(estimate):
    return {"estimate": estimate, "low": estimate - 0.05, "high": estimate + 0.05}


def manifest(groups):
    scores = {m: interval(0.8) for m in ("log_loss", "auroc", "aueoc", "found")}
    return {
        "command": "alignset fit table.csv --label told",
        "data": {"file": "table.csv", "sha256": "ab" * 32},
        "seed": 3,
        "settings": {"n_boot": 100, "folds": 3},
        "search": {"method": "alignment", "config": {"lr": 0.01}, "tried": 4},
        "rows": {"all": 1000, "reviewed": 240},
        "comparison": {
            "scores": {"standard": scores, "alignment": scores},
            "differences": {"standard": {m: interval(0.1) for m in scores}},
            "asked": "alignment",
            "recommended": "alignment",
            "base": "alignment",
            "sentence": "Keep it.",
            "groups_left_out": ["tiny"],
            "sought": "yes",
            "threshold": 0.4,
        },
        "notes": ["'pid' was left out."],
        "held_out": "rows at random",
        "judged_by": [],
        "versions": {"alignset": "0.1.0"},
        "created": "2026-01-01T00:00:00+00:00",
        "groups": list(groups),
        "network": {"method": {"name": "alignment"}},
        "columns": {"label": "told", "truth": "reviewed", "groups": ["sex"],
                    "features": ["age", "sex"]},
        "sha256": "cd" * 32,
    }  # fmt: skip


def measured(groups=("f", "m"), **options):
    found = kept(groups=groups, **options)
    tips = tipping(found, n_boot=20, random_state=0)
    return Measured(
        len(found), found.by_design, "yes", measure(found, n_boot=20, random_state=0),
        roc_curves(found), odds_curves(found), calibration_curves(found), tips.groups,
    )  # fmt: skip


def decisions(groups=("f", "m"), chosen=None):
    found = kept(groups=groups)
    cuts = at_threshold(found, chosen)
    rows = [
        {"group": group, "threshold": 0.5, "reviewed": 240, "worth": 310.0,
         **dict.fromkeys(("tpr", "specificity", "ppv", "npv"), (0.5, 0.4, 0.6)),
         "flagged": (50.0, 45.0, 55.0)}
        for group in ("all", *groups)
    ]  # fmt: skip
    return Decisions(
        cuts.target, cuts.value, cuts.threshold, cuts.by_group, "yes", rows, decision_curve(found)
    )


def rates(groups):
    return pd.DataFrame(
        {
            "group": list(groups), "rows": [600, 400], "reviewed": [140, 100], "wrong": [14, 30],
            "rate": [0.1, 0.3], "low": [0.06, 0.22], "high": [0.16, 0.4],
            "model_rate": [0.12, 0.2],
        }
    )  # fmt: skip


def facts(groups=("f", NASTY), **changes):
    known = rates(groups)
    options = {
        "manifest": manifest(groups),
        "classes": ["no", "yes"],
        "rates": known,
        "weighted": True,
        "level": level_rates(known),
        "titles": {"alignment": "Alignment", "standard": "Standard"},
        "advice": advise(gather_evidence(kept(groups=groups), "alignment", ["tiny"], n_boot=20)),
        "measured": measured(groups),
        "decisions": decisions(groups),
        "verdict": ReviewVerdict(
            "amber", (Reason("amber", "few rows", "review more."),), "review more."
        ),
        "cautions": ["a note"],
        "doubtful": pd.DataFrame({"pid": [7], "observed": ["yes"], "confidence": [0.02]}),
        "table": [("Table checked", "table.csv")],
        "command": "alignset report model",
    }
    return ModelFacts(**(options | changes))
