"""The parts of a model's report for the record: its card, and where it comes from."""

from __future__ import annotations

from alignset.model.foreign import ESTIMATORS
from alignset.report.model_decisions import threshold_card
from alignset.report.model_facts import BY_AUTHORS, ModelFacts, capital, sentence


def card(facts: ModelFacts) -> list[tuple[str, str]]:
    """Return what a model card says: (term, text)."""
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
        ("What it does", f"Estimates the true value of {facts.label_title!r} ("
         f"{', '.join(map(repr, facts.classes))}) from {len(columns['features'])} columns, and how "
         "likely it is that an observed label is right."),
        ("Owner", facts.owner or f"{BY_AUTHORS} (--owner)."),
        ("Intended use", facts.intended_use or "To rank labels for review and to predict the true "
         "label of rows like those it was trained on. Who it is for is "
         f"{BY_AUTHORS} (--intended-use)."),
        ("Not for", "Decisions about a person that nobody checks; people, places or years unlike "
         "the table; groups that were left out or hardly reviewed."),
        ("Data", f"{data.get('file', 'not recorded')}: {rows.get('all', 'unknown')} rows; "
         f"{rows.get('reviewed', 'unknown')} are reviewed. Observed label: column "
         f"{facts.label!r}; true label: column {columns['truth']!r}."),
        ("Groups", f"By {several}: {', '.join(map(repr, m['groups']))}. {knows}"),
        ("Training", training(facts)),
        ("How it was judged", facts.judged),
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


def training(facts: ModelFacts) -> str:
    """Say how the model was made."""
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
    found = [capital(str(note)) for note in facts.manifest.get("notes", [])]
    if facts.verdict is not None:
        found += [sentence(reason.text) for reason in facts.verdict.reasons]
    found.append("True labels are what reviewers found: if they are wrong, so is everything here.")
    return " ".join(found)


def provenance(facts: ModelFacts) -> list[tuple[str, str]]:
    """Return what it takes to make the model, or this page, again: (term, text)."""
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
