"""The half of ``alignset report`` that lays out a model folder."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alignset.fitting.tipping import level_rates, tipping
from alignset.methods.registry import METHODS, describe
from alignset.model.evaluation import Evaluation
from alignset.model.fitted import Model
from alignset.model.folder import load_model
from alignset.model.measures import (
    calibration_curves,
    measure,
    odds_curves,
    positive,
    roc_curves,
)
from alignset.report.model_facts import LabelAudit, Measured, ModelFacts
from alignset.review.audit import Audit, audit
from alignset.tables.cells import check_columns
from alignset.tables.files import hash_file, read_table
from alignset.tables.preprocess import Matrix

RATES = ("group", "rows", "reviewed", "wrong", "rate", "low", "high", "model_rate")


def gather(folder: Path, table: Path | None, *, top: int, show: Sequence[str]) -> ModelFacts:
    """Load a model folder, look a table over where one is given, and measure.

    Parameters
    ----------
    folder : path
    table : path or None
    top : int
        Doubtful rows to list.
    show : sequence of str
        Columns of the table to list them with.
    """
    model = load_model(folder)
    seed = int(model.manifest.get("seed") or 0)
    kept = model.evaluation
    rates, weighted = trained_rates(model)
    seen = None if table is None else _look(model, table, top, show, seed)
    if seen is not None and seen.has_truth:
        rates, weighted = _audited_rates(seen.found), any(r.weighted for r in seen.found.rates)
    words = ["alignset", "report", folder.name]
    words += [] if table is None else ["--table", table.name, "--top", str(top)]
    for name in show:
        words += ["--show", name]
    return ModelFacts(
        manifest=model.manifest,
        classes=[str(name) for name in model.classes.tolist()],
        rates=rates,
        weighted=weighted,
        level=level_rates(rates[rates["rows"].notna()]),
        titles={name: describe(name).title for name in METHODS},
        measured=None if kept is None else _measured(kept, seed),
        audit=seen.verdict if seen is not None and seen.has_truth else None,
        doubtful=None if seen is None else seen.doubtful,
        table=() if seen is None else seen.told,
        command=shlex.join(words),
    )


def trained_rates(model: Model) -> tuple[pd.DataFrame, bool]:
    """Return the noise rates that the folder has, and whether they are weighted."""
    rows = []
    kept, known = model.evaluation, model.manifest.get("noise_rates") or {}
    sizes: dict[str, int] = {}
    if kept is not None:
        total = np.bincount(kept.group, kept.weight, len(kept.groups))
        sizes = dict(zip(kept.groups, np.rint(total).astype(int).tolist(), strict=True))
    for group, rate in known.items():
        counted = [_known(rate.get(name)) for name in ("reviewed", "wrong", "rate", "low", "high")]
        rows.append((group, sizes.get(group), *counted, _known(rate.get("modelled"))))
    frame = pd.DataFrame(rows, columns=list(RATES))
    for name in ("rows", "reviewed", "wrong"):
        if frame[name].notna().all():
            frame[name] = frame[name].astype(int)
    numbers = list(RATES[1:])
    frame[numbers] = frame[numbers].apply(pd.to_numeric)
    return frame, model.columns.probability is not None


def _known(value: Any) -> Any:
    return np.nan if value is None else value


class _Seen:
    """What a table says: its audit, its most doubtful rows, what file it was."""

    def __init__(self, model: Model, path: Path, frame: pd.DataFrame, seed: int) -> None:
        self.has_truth = model.columns.truth in frame.columns
        self.found = audit(model, frame, random_state=seed)
        self.path, self.trained_on = path, (model.manifest.get("data") or {}).get("sha256")
        self.truth = model.columns.truth
        self.doubtful = pd.DataFrame()

    @property
    def verdict(self) -> LabelAudit:
        """The verdict as plain data."""
        of = self.found.verdict
        reasons = [(reason.colour, reason.text) for reason in of.reasons]
        return LabelAudit(of.colour, of.action, reasons, self.found.notes)

    @property
    def told(self) -> list[tuple[str, str]]:
        """Say which table it was."""
        digest = hash_file(self.path)
        same = "the training data" if digest == self.trained_on else "not the training data"
        told = [("Table looked at", f"{self.path.name}, {same}"), ("SHA-256 of the table", digest)]
        if not self.has_truth:
            told.append(
                ("True labels", f"The table has no column {self.truth!r}: noise rates are those "
                 "of the training data.")
            )  # fmt: skip
        return told


def _look(model: Model, path: Path, top: int, show: Sequence[str], seed: int) -> _Seen:
    if isinstance(model.preprocessing, Matrix):
        raise ValueError(
            "the model was trained on a matrix, not on a table, so --table cannot be read with it; "
            "leave it out."
        )
    frame = read_table(path)
    check_columns(frame, show)
    seen = _Seen(model, path, frame, seed)
    seen.doubtful = most_doubtful(seen.found.ranked, frame, top, show)
    return seen


def most_doubtful(
    ranked: pd.DataFrame, frame: pd.DataFrame, top: int, show: Sequence[str]
) -> pd.DataFrame:
    """List rows nobody reviewed: id, observed label, confidence, and what was asked for."""
    id_ = str(ranked.columns[0])
    rows = ranked[ranked["reviewed"].isna()].head(top)
    shown = rows[[id_, "observed", "confidence"]].copy()
    if show:
        place = pd.Index(frame[id_]) if id_ in frame else pd.RangeIndex(len(frame))
        at = place.get_indexer_for(pd.Index(rows[id_])) if place.is_unique else None
        if at is None:
            raise ValueError(f"ids in column {id_!r} repeat, so --show cannot tell rows apart.")
        for name in show:
            shown[name] = frame[name].iloc[at].to_numpy()
    return shown.reset_index(drop=True)


def _audited_rates(found: Audit) -> pd.DataFrame:
    frame = found.rate_frame()
    frame["group"] = frame["group"].astype(str)
    return frame[list(RATES)]


def _measured(kept: Evaluation, seed: int) -> Measured:
    tips = tipping(kept, random_state=seed)
    return Measured(
        n_rows=len(kept),
        by_design=kept.by_design,
        positive=kept.classes[positive(kept)],
        scores=measure(kept, random_state=seed),
        roc=roc_curves(kept),
        odds=odds_curves(kept),
        calibration=calibration_curves(kept),
        corrected_method=tips.corrected,
        tipping=tips.groups,
    )
