"""``alignset threshold``: choose what a model decides by, and write it into its folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from alignset.cli import review_options as ask
from alignset.cli.reading import TableCommand, TableReading, reading_options, tell
from alignset.evaluate import ThresholdChoice, choose_threshold
from alignset.evaluate.thresholds import TARGETS
from alignset.fitting.later import read_later
from alignset.model.decisions import rarest
from alignset.model.estimating import HeldOutRows
from alignset.model.evaluation import why_none
from alignset.model.fitted import Model
from alignset.model.folder import load_model, store_thresholds
from alignset.model.reading import read_for_model
from alignset.model.thresholds import (
    against_rest,
    check_two_classes,
    class_code,
    thresholds_to_data,
)
from alignset.tables.files import check_columns, hash_file, in_thousands

TITLES = {
    "group": "group", "threshold": "threshold", "tpr": "sensitivity (TPR)",
    "specificity": "specificity", "ppv": "PPV", "npv": "NPV", "flagged": "alerts per 100",
}  # fmt: skip


def parse_target(_context: Any, _option: Any, text: str | None) -> tuple[str, float] | None:
    """Turn ``tpr=0.9`` into a target and its number."""
    if text is None:
        return None
    name, _, number = text.partition("=")
    try:
        return name.strip().replace("-", "_"), float(number)
    except ValueError:
        raise click.BadParameter(
            f"{text!r}; write --target NAME=NUMBER, such as tpr=0.9; names are "
            f"{', '.join(TARGETS)}."
        ) from None


@click.command("threshold", cls=TableCommand)
@click.argument("model", type=ask.PATH)
@click.argument("table", type=ask.PATH, required=False)
@click.option(
    "--target", callback=parse_target, metavar="NAME=NUMBER",
    help="What to choose for: tpr=0.9 (find at least 90 %), fpr=0.1 (flag at most 10 % of the "
    "negatives), flagged=0.05 (flag at most 5 %), equalized_odds=0.05 (TPR and FPR of groups at "
    "most 0.05 apart), net_benefit=0.2 (best if a false alarm costs what 20 % risk is worth).",
)  # fmt: skip
@click.option(
    "--positive", metavar="CLASS", help="The class to find.  [default: the rarest true one]"
)
@click.option("--per-group", is_flag=True, help="Choose a threshold for each group.")
@click.option("--clear", is_flag=True, help="Take the thresholds out of the folder instead.")
@click.option("--dry-run", is_flag=True, help="Only say what would be chosen.")
@ask.level_option
@ask.json_option
@ask.seed_option
@reading_options
def command(
    model: Path,
    table: Path | None,
    target: tuple[str, float] | None,
    positive: str | None,
    per_group: bool,
    clear: bool,
    dry_run: bool,
    level: float,
    as_json: bool,
    random_state: int,
    reading: TableReading,
) -> None:
    """Choose the probability from which MODEL predicts the class to find, one of two.

    By default from the predictions that the folder keeps: for rows of the training table, by models
    that had not seen them. With TABLE, from its rows, which must be others, some of them reviewed.
    Rates at the threshold are estimated from reviewed rows and the observed labels of the others.

    `alignset predict`, `load_model` and the report then use it; ONNX files name it.
    """
    if clear == (target is not None):
        raise click.UsageError("pass one of --target and --clear.")
    loaded = load_model(model)
    if clear:
        if not dry_run:
            store_thresholds(model, None)
        click.echo(f"{model}: predicts the more probable class")
        return
    assert target is not None
    if per_group and table is None and loaded.manifest.get("judged_by"):
        raise ValueError(
            "the folder's held-out rows are in the groups of --judge-by, which predictions do not "
            "know; pass a TABLE of other rows, some of them reviewed."
        )
    if table is None:
        rows = _kept(loaded, positive)
    else:
        rows = _from_table(loaded, table, positive, reading, level, as_json)
    of_class = rows.pop("of_class")
    rows |= {"per_group": per_group, "level": level, "random_state": random_state}
    found = replace(choose_threshold(target[0], target[1], **rows), of_class=of_class)
    if not dry_run:
        store_thresholds(model, found)
    if as_json:
        ask.print_json(thresholds_to_data(found))
    else:
        _print(found, loaded, model, dry_run)


def _kept(model: Model, positive: str | None) -> dict[str, Any]:
    """Return the rows that the folder keeps, and the class to find."""
    check_two_classes(len(model.classes))
    kept = model.evaluation
    if kept is None:
        raise ValueError(
            f"the folder keeps no held-out predictions: {why_none(model.manifest)}; pass a TABLE "
            "of other rows, some of them reviewed."
        )
    rows = HeldOutRows(kept)
    several, of_class = len(kept.groups) > 1, class_code(model.classes, positive, rarest(kept))
    return {
        "of_class": of_class,
        "y_score": rows.score(kept.asked)[:, of_class],
        **against_rest(rows.observed, rows.true, of_class),
        "groups": rows.names if several else None,
        **rows.design,
    }


def _from_table(
    model: Model,
    path: Path,
    positive: str | None,
    reading: TableReading,
    level: float,
    quiet: bool,
) -> dict[str, Any]:
    """Return the rows of a table that the model was not trained on, and the class to find."""
    check_two_classes(len(model.classes))
    if hash_file(path) == (model.manifest.get("data") or {}).get("sha256"):
        raise ValueError(
            f"{path.name} is the table that the model was trained on, and knows too well; leave it "
            "out to use the held-out predictions that the folder keeps."
        )
    frame = read_for_model(model, path, dialect=reading.dialect, tell=tell(quiet))
    truth = model.columns.truth
    check_columns(frame, [model.columns.label, *([] if truth is None else [truth])])
    if truth is None or frame[truth].isna().all():
        raise ValueError(f"no row of {path.name} is reviewed: it needs true labels.")
    later = read_later(model, frame, None, level)
    known = later.true[~np.isnan(later.true)].astype(np.int64)
    rare = int(np.bincount(known, minlength=2)[::-1].argmin() == 0)
    of_class = class_code(model.classes, positive, rare)
    return {
        "of_class": of_class,
        "y_score": later.score[:, of_class],
        **against_rest(later.observed, later.true, of_class),
        "groups": model.groups_of(frame),
        "review_probability": later.chance,
    }


def _print(found: ThresholdChoice, loaded: Model, folder: Path, dry_run: bool) -> None:
    frame, rates = found.to_frame(), found.rates
    shown = pd.DataFrame({"group": frame["group"].astype(str)})
    shown["threshold"] = [_four(value) for value in frame["threshold"]]
    for name in ("tpr", "ppv", "npv"):
        shown[name] = [_told(*row) for row in zip(*_columns(frame, name), strict=True)]
    fpr = (1 - column for column in _columns(frame, "fpr"))
    estimate, high, low = fpr
    shown["specificity"] = [_told(*row) for row in zip(estimate, low, high, strict=True)]
    flagged = (100 * column for column in _columns(frame, "flagged"))
    shown["flagged"] = [_told(a, b, c, digits=1) for a, b, c in zip(*flagged, strict=True)]
    ask.print_grid(shown, TITLES)
    tpr, name = rates["tpr"], str(loaded.classes[found.of_class])
    ask.say(
        f"reviewed {in_thousands(tpr.reviewed)}, worth {in_thousands(tpr.worth)} for sensitivity; "
        f"{tpr.level:.0%} intervals; {name!r} is predicted from the threshold"
    )
    for note in found.notes:
        ask.say(f"note: {note}")
    ask.say(f"{folder}: {'nothing was written' if dry_run else 'threshold written'}")
    if dry_run:
        ask.say_next(*_next(found, folder, name))
    else:
        ask.say_next("report", folder, "-o", "report.html")


def _next(found: ThresholdChoice, folder: Path, positive: str) -> list[str]:
    """Return the words of the command that writes what was only tried."""
    table = click.get_current_context().params["table"]
    words = ["threshold", str(folder), *([] if table is None else [str(table)])]
    words += ["--target", f"{found.target}={found.value:g}", "--positive", positive]
    return [*words, *(["--per-group"] if found.by_group else [])]


def _columns(frame: pd.DataFrame, name: str) -> list[pd.Series[float]]:
    return [frame[name], frame[f"{name}_low"], frame[f"{name}_high"]]


def _told(estimate: float, low: float, high: float, digits: int = 3) -> str | None:
    if np.isnan(estimate):
        return None
    return f"{estimate:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _four(value: float) -> str | None:
    return None if np.isnan(value) else f"{value:.4f}"
