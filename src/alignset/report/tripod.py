"""The TRIPOD+AI checklist (Collins et al., BMJ 2024), filled in where the data say it.

Items have the numbers of the checklist and short names of our own; a paper needs its full text.
"""

from __future__ import annotations

import pandas as pd

from alignset.report.model_card import training
from alignset.report.model_facts import BY_AUTHORS, ModelFacts, capital, readable
from alignset.report.page import DataTable, Fold, Prose, Section
from alignset.tables.files import in_thousands

ITEMS = (
    ("1", "Title"), ("2", "Abstract"), ("3a", "Clinical context and reasons"),
    ("3b", "Who the model is for, and where in care"), ("3c", "Known health inequalities"),
    ("4", "Objectives"), ("5a", "Where the data come from"), ("5b", "Dates of the data"),
    ("6a", "Setting and centres"), ("6b", "Who was eligible"), ("6c", "Treatments"),
    ("7", "Preparation of the data"), ("8a", "Outcome, and how it was assessed"),
    ("8b", "Who assessed the outcome"), ("8c", "Blinding of the assessment"),
    ("9a", "Choice of predictors"), ("9b", "Definition of predictors"),
    ("9c", "Who assessed predictors"), ("10", "Sample size"), ("11", "Missing data"),
    ("12a", "How the data were divided"), ("12b", "Handling of predictors"),
    ("12c", "Kind of model, and how it was built"), ("12d", "Differences between centres"),
    ("12e", "Measures of performance"), ("12f", "Changes made to the model"),
    ("12g", "How predictions were calculated"), ("13", "Class imbalance"), ("14", "Fairness"),
    ("15", "What the model returns, and thresholds"),
    ("16", "Training data against evaluation data"), ("17", "Ethical approval"),
    ("18a", "Funding"), ("18b", "Conflicts of interest"), ("18c", "Protocol"),
    ("18d", "Registration"), ("18e", "Sharing of data"), ("18f", "Sharing of code"),
    ("19", "Patients and public"), ("20a", "Flow of participants"),
    ("20b", "Characteristics of participants"), ("20c", "Development against evaluation"),
    ("21", "Participants and outcomes in each analysis"), ("22", "The whole model"),
    ("23a", "Performance with intervals, also by group"), ("23b", "Performance by centre"),
    ("24", "Results of changes to the model"), ("25", "Interpretation"), ("26", "Limitations"),
    ("27a", "Poor or missing inputs in use"), ("27b", "What users have to do and know"),
    ("27c", "Next steps"),
)  # fmt: skip
"""Number in the checklist, and what it is about."""
HOW = (
    "Numbers are those of TRIPOD+AI (Collins et al., BMJ 2024;385:e078378), names are our own. "
    "What the data say is filled in; everything else is to be filled in by the authors."
)


def checklist(facts: ModelFacts) -> Section:
    """Return the checklist as a table that is folded away."""
    known = {number: text for number, text in _known(facts).items() if text}
    rows = [(number, name, known.get(number, BY_AUTHORS)) for number, name in ITEMS]
    frame = pd.DataFrame(rows, columns=["item", "about", "what is known"])
    table = DataTable(frame, "tripod", "TRIPOD+AI checklist")
    summary = f"{len(known)} of {len(ITEMS)} items are filled in, at least in part"
    return Section("TRIPOD+AI checklist", [Prose([HOW]), Fold(summary, [table])])


def _known(facts: ModelFacts) -> dict[str, str]:
    """Return item -> what data, flags and folder say about it."""
    m = facts.manifest
    columns, data, rows = m["columns"], m.get("data") or {}, m.get("rows") or {}
    groups = " and ".join(repr(readable(str(name))) for name in columns["groups"])
    features = ", ".join(readable(str(name)) for name in columns["features"])
    label = (
        f"Observed: {facts.label_title!r}; true: {readable(str(columns['truth']))!r}, as found by "
        f"review, where there was one. Classes: {', '.join(map(repr, facts.classes))}."
    )
    return {
        "1": facts.heading,
        "3b": facts.intended_use,
        "5a": f"File {data['file']}, {in_thousands(rows['all'])} rows." if data and rows else "",
        "7": " ".join(capital(str(note)) for note in m.get("notes") or ()),
        "8a": label if columns.get("truth") else "",
        "9a": f"All {len(columns['features'])} columns that were not left out.",
        "9b": f"{features}.",
        "10": _size(facts),
        "11": "Gaps in predictors are filled, and a column says where; a missing true label means "
        "that nobody reviewed the row.",
        "12a": facts.judged if facts.measured is not None else "",
        "12c": training(facts),
        "12e": "Log loss, AUROC, AUEOC, calibration, and, at the threshold, sensitivity, "
        "specificity, PPV, NPV and alerts; with 95 % intervals.",
        "13": "Classes are not rebalanced; what is sought is the rarest class.",
        "14": f"Measured by {groups}: see the sections on decisions and on evenness."
        if groups
        else "",
        "15": _output(facts),
        "18f": "Made with alignset "
        f"{(m.get('versions') or {}).get('alignset', '(version not recorded)')}; the command and "
        "checksums are under Provenance.",
        **_results(facts),
    }


def _results(facts: ModelFacts) -> dict[str, str]:
    if facts.measured is None:
        return {"26": facts.advice.caveat}
    return {
        "21": _size(facts),
        "22": "The model folder holds the whole model; `alignset export` writes it as ONNX.",
        "23a": facts.advice.evidence,
        "25": facts.advice.conclusion,
        "26": facts.advice.caveat,
        "27a": "`alignset predict` fills gaps as in training and names values far outside the "
        "training table.",
    }


def _size(facts: ModelFacts) -> str:
    rows = facts.manifest.get("rows") or {}
    if not rows:
        return ""
    told = f"{in_thousands(rows['all'])} rows, {in_thousands(rows['reviewed'])} of them reviewed."
    if facts.measured is not None:
        told += f" {in_thousands(facts.measured.n_rows)} reviewed rows judged the models."
    return told


def _output(facts: ModelFacts) -> str:
    found, told = facts.decisions, "A probability for each class"
    if found is None:
        return f"{told}."
    cut = f"{found.threshold:.3g}" if not found.by_group else "a threshold for each group"
    return f"{told}; {found.positive!r} is predicted from {cut}."
