"""The facts on a model's page, gathered from its folder and from a table if one is given."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from alignset.estimator.names import title_of
from alignset.fitting.tipping import level_rates, tipping
from alignset.model.decisions import at_threshold, decision_curve
from alignset.model.evaluation import Evaluation
from alignset.model.fitted import Model
from alignset.model.folder import load_model
from alignset.model.measures import calibration_curves, measure, odds_curves, positive, roc_curves
from alignset.model.reading import read_for_model
from alignset.report.model_facts import Decisions, Measured, ModelFacts
from alignset.review.audit import audit
from alignset.tables.dialect import FOUND_OUT, Dialect, Tell, warn
from alignset.tables.files import check_columns, hash_file
from alignset.tables.preprocess import Matrix

COUNTS, NUMBERS = ["rows", "reviewed", "wrong"], ["rate", "low", "high", "model_rate"]


def gather(
    folder: Path,
    table: Path | None,
    *,
    top: int,
    show: Sequence[str],
    dialect: Dialect = FOUND_OUT,
    tell: Tell = warn,
) -> ModelFacts:
    """Load a model folder, check the labels of a table if one is given, and measure.

    The table's ``top`` most doubtful rows are listed, with the columns to ``show``; ``dialect`` and
    ``tell`` are as in ``read_table``.
    """
    model = load_model(folder)
    seed = int(model.manifest.get("seed") or 0)
    rates = trained_rates(model)
    seen: dict[str, Any] = {}
    words = ["alignset", "report", folder.name]
    if table is not None:
        frame = _read(model, table, show, dialect, tell)
        found = audit(model, frame, random_state=seed)
        seen["doubtful"] = most_doubtful(found.ranked, frame, top, show)
        seen["table"] = _told(model, table, frame)
        if model.columns.truth in frame:
            rates = found.rate_frame()
            seen |= {"verdict": found.verdict, "cautions": found.notes}
        words += ["--table", table.name, "--top", str(top)]
    for name in show:
        words += ["--show", name]
    shown = rates[["group", *COUNTS, *NUMBERS]].astype({"group": str})
    return ModelFacts(
        manifest=model.manifest,
        classes=[str(name) for name in model.classes.tolist()],
        rates=shown,
        weighted=bool(rates["weighted"].any()),
        level=level_rates(shown[shown["rows"].notna()]),
        titles={name: title_of(name) for name in _models(model)},
        measured=None if model.evaluation is None else _measured(model.evaluation, seed),
        decisions=_decisions(model, seed),
        command=shlex.join(words),
        **seen,
    )


def _models(model: Model) -> set[str]:
    """Return the names of all models that the folder speaks of."""
    network = model.manifest.get("network") or {}
    own = [model.manifest.get("method"), (network.get("method") or {}).get("name")]
    compared = {} if model.evaluation is None else model.evaluation.scores
    return {*(str(name) for name in own if name), *compared}


def trained_rates(model: Model) -> pd.DataFrame:
    """Return the noise rates in the folder, in the form of an audit's; NaN if unknown."""
    known = model.manifest.get("noise_rates") or {}
    frame = pd.DataFrame([{"group": group, **rate} for group, rate in known.items()])
    frame = frame.rename(columns={"modelled": "model_rate"})
    frame = frame.reindex(columns=["group", *COUNTS, *NUMBERS, "weighted"])
    numbers = frame[[*COUNTS, *NUMBERS]].apply(pd.to_numeric)
    whole = {name: int for name in COUNTS if numbers[name].notna().all()}
    by_design = model.columns.probability is not None  # an older folder does not say
    weighted = [by_design if pd.isna(known) else bool(known) for known in frame["weighted"]]
    return frame.assign(**numbers.astype(whole), weighted=weighted)


def _read(
    model: Model, path: Path, show: Sequence[str], dialect: Dialect, tell: Tell
) -> pd.DataFrame:
    if isinstance(model.preprocessing, Matrix):
        raise ValueError(
            "the model was trained on a matrix, not on a table, so it cannot read --table; leave "
            "that option out."
        )
    frame = read_for_model(model, path, dialect=dialect, tell=tell)
    check_columns(frame, show)
    return frame


def _told(model: Model, path: Path, frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Return facts about the table."""
    digest, truth = hash_file(path), model.columns.truth
    known = digest == (model.manifest.get("data") or {}).get("sha256")
    same = "the training data" if known else "not the training data"
    told = [("Table checked", f"{path.name}, {same}"), ("SHA-256 of the table", digest)]
    if truth not in frame:
        none = f"The table has no column {truth!r}: noise rates are from the training data."
        told.append(("True labels", none))
    return told


def most_doubtful(
    ranked: pd.DataFrame, frame: pd.DataFrame, top: int, show: Sequence[str]
) -> pd.DataFrame:
    """List rows nobody reviewed: id, observed label, confidence, and the columns to show."""
    id_ = str(ranked.columns[0])
    rows = ranked[ranked["reviewed"].isna()].head(top)
    shown = rows[[id_, "observed", "confidence"]].copy()
    if show:
        place = pd.Index(frame[id_]) if id_ in frame else pd.RangeIndex(len(frame))
        if not place.is_unique:
            raise ValueError(f"ids in column {id_!r} repeat, so --show cannot tell rows apart.")
        at = place.get_indexer_for(pd.Index(rows[id_]))
        shown[list(show)] = frame[list(show)].iloc[at].to_numpy(object)
    return shown.reset_index(drop=True)


def _decisions(model: Model, seed: int) -> Decisions | None:
    """Estimate what the model's threshold does, if it has two classes and held-out rows."""
    kept = model.evaluation
    if kept is None or len(kept.classes) != 2:
        return None
    found = at_threshold(kept, model.thresholds, random_state=seed)
    frame = found.to_frame()
    rows = []
    for row in frame.to_dict("records"):
        name = row["group"]
        tpr = found.rates["tpr"] if name == "all" else found.rates["tpr"].by_group[name]
        rates: dict[str, Any] = {
            rate: tuple(row[f"{rate}{end}"] for end in ("", "_low", "_high"))
            for rate in ("tpr", "fpr", "ppv", "npv", "flagged")
        }
        middle, low, high = rates.pop("fpr")
        rates["specificity"] = 1 - middle, 1 - high, 1 - low
        rates["flagged"] = tuple(100 * share for share in rates["flagged"])
        known = {"group": str(name), "threshold": row["threshold"], "reviewed": tpr.reviewed}
        rows.append({**known, "worth": tpr.worth, **rates})
    return Decisions(
        found.target, found.value, found.threshold, dict(found.by_group),
        kept.classes[found.of_class], rows,
        decision_curve(kept, of_class=found.of_class, random_state=seed), found.notes,
    )  # fmt: skip


def _measured(kept: Evaluation, seed: int) -> Measured:
    tips = tipping(kept, random_state=seed)
    return Measured(
        n_rows=len(kept),
        by_design=kept.by_design,
        positive=kept.classes[positive(kept)],
        scores=measure(kept, random_state=seed),
        roc=roc_curves(kept),
        odds=odds_curves(kept),
        calibration=calibration_curves(kept, random_state=seed),
        corrected_method=tips.corrected,
        tipping=tips.groups,
        n_others=0 if kept.unreviewed is None else len(kept.unreviewed.group),
    )
