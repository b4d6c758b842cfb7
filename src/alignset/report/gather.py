"""The facts on a model's page, gathered from its folder and from a table if one is given."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from alignset.estimator.names import title_of
from alignset.fitting.advice import Advice, advise, gather_evidence, read_advice
from alignset.fitting.compare import compare
from alignset.fitting.held_out import Settings
from alignset.fitting.holdout import AT_RANDOM
from alignset.fitting.tipping import level_rates, tipping
from alignset.model.decisions import at_threshold, decision_curve
from alignset.model.evaluation import Evaluation
from alignset.model.fitted import Model
from alignset.model.folder import load_model
from alignset.model.measures import calibration_curves, measure, odds_curves, positive, roc_curves
from alignset.model.reading import read_for_model
from alignset.report.model_facts import Decisions, Measured, ModelFacts
from alignset.review.audit import audit
from alignset.review.verdict import Reason
from alignset.tables.dialect import FOUND_OUT, Dialect, Tell, warn
from alignset.tables.files import check_columns, hash_file, plain
from alignset.tables.preprocess import Matrix

SAID = {"heading": "--title", "owner": "--owner", "intended_use": "--intended-use"}
"""What only people know of a model -> the option that says it."""
COUNTS, NUMBERS = ["rows", "reviewed", "wrong"], ["rate", "low", "high", "model_rate"]


def gather(
    folder: Path,
    table: Path | None,
    *,
    top: int,
    show: Sequence[str],
    dialect: Dialect = FOUND_OUT,
    tell: Tell = warn,
    said: Mapping[str, str] | None = None,
) -> ModelFacts:
    """Load a model folder, check the labels of a table if one is given, and measure.

    The table's ``top`` most doubtful rows are listed, with the columns to ``show``; ``dialect`` and
    ``tell`` are as in ``read_table``. ``said`` is what only people know: heading, owner,
    intended_use; what is left out is taken from the folder.
    """
    model = load_model(folder)
    seed = int(model.manifest.get("seed") or 0)
    rates = trained_rates(model)
    seen: dict[str, Any] = {}
    if table is not None:
        frame = _read(model, table, show, dialect, tell)
        found = audit(model, frame, random_state=seed)
        seen["doubtful"] = most_doubtful(found.ranked, frame, top, show)
        seen["table"] = _told(model, table, frame)
        if model.columns.truth in frame:
            rates = found.rate_frame()
            seen |= {"verdict": found.verdict, "cautions": found.notes}
    shown = rates[["group", *COUNTS, *NUMBERS]].astype({"group": str})
    manifest = _judged_again(model, seed)
    review = seen["verdict"].reasons if "verdict" in seen else ()
    return ModelFacts(
        manifest=manifest,
        advice=_advice(model, manifest, seed, review),
        classes=[str(name) for name in model.classes.tolist()],
        rates=shown,
        weighted=bool(rates["weighted"].any()),
        level=level_rates(shown[shown["rows"].notna()]),
        titles={name: title_of(name) for name in _models(model)},
        measured=None if model.evaluation is None else _measured(model.evaluation, seed),
        decisions=_decisions(model, seed),
        command=_command(folder, table, top, show, said or {}),
        **_people(manifest, said or {}),
        **seen,
    )


def _people(manifest: Mapping[str, Any], said: Mapping[str, str]) -> dict[str, Any]:
    """Return what only people know: as they say it now, else as the folder has it."""
    return {name: str(manifest.get(name) or "") for name in SAID} | dict(said)


def _command(
    folder: Path, table: Path | None, top: int, show: Sequence[str], said: Mapping[str, str]
) -> str:
    """Return what makes this page again; of paths only the last name, which names no person."""
    words = ["alignset", "report", folder.name]
    if table is not None:
        words += ["--table", table.name, "--top", str(top)]
    for name in show:
        words += ["--show", name]
    for name, option in SAID.items():
        words += [option, said[name]] if said.get(name) else []
    return shlex.join(words)


def _judged_again(model: Model, seed: int) -> Mapping[str, Any]:
    """Return the manifest; a folder of an older version gets today's recommendation."""
    known, kept = model.manifest.get("comparison"), model.evaluation
    if known is None or kept is None or "level" in known:
        return model.manifest
    settings = Settings(seed=seed, threshold=float(known.get("threshold") or 0.5))
    again = compare(kept, settings=settings, groups_left_out=known.get("groups_left_out", ()))
    return {**model.manifest, "comparison": plain(again)}


def _advice(
    model: Model, manifest: Mapping[str, Any], seed: int, review: Sequence[Reason]
) -> Advice:
    """Say what to do with the model, by the rules of ``alignset fit``."""
    known, kept = manifest.get("comparison"), model.evaluation
    held_out = str(manifest.get("held_out") or AT_RANDOM)
    if kept is not None and known is not None:
        told = known["recommended"], known.get("groups_left_out", ())
        found = gather_evidence(
            kept, *told, threshold=float(known.get("threshold") or 0.5),
            decided=model.thresholds is not None, random_state=seed,
        )  # fmt: skip
        return advise(found, held_out=held_out, review=review)
    if manifest.get("advice"):
        return read_advice(manifest["advice"])
    why = [note for note in manifest.get("notes", ()) if "too few to compare" in note]
    never = "it was not compared with other models when it was fitted"
    return advise(None, why_not=str(why[0]).partition(";")[0] if why else never)


def _models(model: Model) -> set[str]:
    """Return the names of all models that the folder speaks of."""
    network = model.manifest.get("network") or {}
    own = [model.manifest.get("method"), (network.get("method") or {}).get("name")]
    kept, known = model.evaluation, model.manifest.get("comparison") or {}
    compared = known.get("scores", {}) if kept is None else kept.scores
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
        for name in show:
            shown[name] = _whole(frame[name].iloc[at])
    return shown.reset_index(drop=True)


def _whole(values: pd.Series[Any]) -> Any:
    """Return the values as they are to be read: ages and years have no decimals."""
    known = values.dropna()
    if pd.api.types.is_float_dtype(values) and len(known) and (known % 1 == 0).all():
        return pd.array([None if pd.isna(v) else int(v) for v in values], dtype=object)
    return values.to_numpy(object)


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
        tipping=tips.groups,
        n_others=0 if kept.unreviewed is None else len(kept.unreviewed.group),
    )
