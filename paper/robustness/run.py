"""Run the robustness study: one CSV row per cell and model, appended as cells finish.

    python paper/robustness/run.py paper/robustness/grid.toml --out results/robustness.csv

Cells that the file already has are not run again: one file for one choice of ``--models``.
``--first``, ``--replications`` and ``--reviewed`` choose which are drawn, ``--seconds`` stops
early. ``weight`` is what a candidate counts in the blend.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
import tomllib
import warnings
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

sys.path.insert(0, str(Path(__file__).parent))
from cells import Cell, Drawn, cells_of, draw
from leaning import keep_combined, without_credit

METRICS = ("auroc", "worst_auroc", "log_loss", "brier", "calibration", "tpr", "weight", "seconds")
KINDS = ("plain", "blend", "networks")
NETWORKS = ("joint", "alignment", "standard", "confident")
FIELDS = ("data", "noise", "rate", "reviewed", "replication", "model", *METRICS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("grid", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--first", type=int, default=0, help="the first replication to draw")
    parser.add_argument("--replications", type=int, help="how many to draw")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--models", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--reviewed", nargs="+", type=float, help="shares of the grid to run")
    options = parser.parse_args()
    grid = tomllib.loads(options.grid.read_text())
    grid["replications"] = options.first + (options.replications or grid["replications"])
    grid["reviewed"] = options.reviewed or grid["reviewed"]
    done = finished(options.out)
    drawn = (cell for cell in cells_of(grid) if cell.replication >= options.first)
    todo = [cell for cell in drawn if cell.name not in done]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    new = not options.out.exists()
    with options.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        for rows in run_all(todo, grid["rows"], options):
            writer.writerows(rows)
            file.flush()


def run_all(todo: list[Cell], most: int, options: argparse.Namespace) -> Iterator[list[Any]]:
    """Yield the results of every cell, as they come; start none after the time is over."""
    start, waiting, count = time.monotonic(), {}, 0
    queue = iter(todo)
    with ProcessPoolExecutor(options.jobs) as pool:
        while True:
            while len(waiting) < options.jobs and time.monotonic() - start < options.seconds:
                cell = next(queue, None)
                if cell is None:
                    break
                ready = pool.submit(run_cell, cell, most, options.device, options.models)
                waiting[ready] = cell
            if not waiting:
                return
            for ready in wait(waiting, return_when=FIRST_COMPLETED).done:
                cell, count = waiting.pop(ready), count + 1
                spent = time.monotonic() - start
                print(f"{count} of {len(todo)}, {spent:.0f} s: {cell.name}", flush=True)
                yield ready.result()


def finished(out: Path) -> set[str]:
    if not out.exists():
        return set()
    with out.open(newline="") as file:
        return {
            Cell(r["data"], r["noise"], float(r["rate"]), float(r["reviewed"]),
                 int(r["replication"])).name
            for r in csv.DictReader(file)
        }  # fmt: skip


def run_cell(cell: Cell, most: int, device: str, kinds: list[str]) -> list[dict[str, Any]]:
    """Fit every model to one cell, and score it on the test rows."""
    warnings.simplefilter("ignore")
    rows = draw(cell, most)
    about = {f: getattr(cell, f) for f in FIELDS[:5]}
    found = []
    for name, fit in models(rows, cell.replication, device, kinds):
        start = time.perf_counter()
        try:
            answers = fit()
        except (ValueError, ImportError) as error:  # too few rows, or cleanlab is not installed
            print(f"{cell.name}: {name}: {error}", flush=True)
            continue
        for part, said, weight in answers:
            more = {"weight": weight, "seconds": time.perf_counter() - start}
            found.append({**about, "model": name + part, **score(rows, said), **more})
    for row in found:
        row.update({k: round(row[k], 5) for k in METRICS})
    return found


def models(rows: Drawn, seed: int, device: str, kinds: list[str]) -> Any:
    """(name, function that fits and gives (what, P(class 1), its weight)) of every model."""
    if "plain" in kinds:
        yield from plain_models(rows)
    if "blend" in kinds:
        yield "blend", lambda: estimator(rows, None, seed, device)
    if "networks" in kinds:
        for method in NETWORKS:
            yield method, lambda method=method: estimator(rows, method, seed, device)


def plain_models(rows: Drawn) -> Any:
    """What a user would pick instead, and the same with clean labels."""
    looked = rows.true >= 0
    everyone = np.ones(len(looked), dtype=bool)
    labels = {
        "observed": (rows.seen, everyone),
        "reviewed": (rows.true, looked),
        "both": (np.where(looked, rows.true, rows.seen), everyone),
        "clean": (rows.clean, everyone),
    }
    for kind, (y, at) in labels.items():
        for learner in ("linear", "trees"):
            name = f"{'clean' if kind == 'clean' else 'plain'} {learner}"
            yield f"{name} {kind}", lambda y=y, at=at, use=learner: plain(rows, y, at, use)


def plain(rows: Drawn, y: Any, at: Any, learner: str) -> list[tuple[str, Any, float]]:
    """Three lines of scikit-learn; the shares of the classes where it cannot be fitted."""
    if learner == "linear":
        model: Any = LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=500)
    else:
        model = HistGradientBoostingClassifier(random_state=0)
    try:
        said = model.fit(rows.X[at], y[at]).predict_proba(rows.X_test)[:, 1]
    except ValueError:
        said = np.full(len(rows.y_test), y[at].mean() if at.any() else 0.5)
    return [("", said, 1.0)]


def estimator(rows: Drawn, method: Any, seed: int, device: str) -> list[tuple[str, Any, float]]:
    """What ships; of a blend also every candidate alone, and itself without credit."""
    from alignset import NoisyLabelClassifier

    clf = NoisyLabelClassifier(method, random_state=seed, device=device, n_jobs=1)
    y_true = np.where(rows.true >= 0, rows.true, np.nan)
    with keep_combined() as kept:
        clf.fit(rows.X, rows.seen, y_true=y_true, groups=rows.group)
    found = [("", clf.predict_proba(rows.X_test)[:, 1], 1.0)]
    if method is None:
        X = clf._scale(rows.X_test)
        for row, model in zip(clf.candidates_[:-1], clf._model.models, strict=True):
            odds = model.log_odds(X.astype(np.float32).astype(float))
            said = 1 / (1 + np.exp(odds[:, 0] - odds[:, 1]))
            found.append((f": {row.labels} {row.learner}", said, row.weight))
        found.append((" without credit", without_credit(kept).probability(X)[:, 1], 1.0))
    return found


def score(rows: Drawn, said: Any) -> dict[str, float]:
    """Every metric on the test rows."""
    y, said = rows.y_test, np.clip(said, 1e-6, 1 - 1e-6)
    by_group = [
        roc_auc_score(y[own], said[own])
        for g in np.unique(rows.group_test)
        if len(np.unique(y[own := rows.group_test == g])) == 2
    ]
    order = np.array_split(np.argsort(said, kind="stable"), 10)
    gaps = [abs(said[at].mean() - y[at].mean()) * len(at) / len(y) for at in order]
    return {
        "auroc": roc_auc_score(y, said), "worst_auroc": min(by_group),
        "log_loss": log_loss(y, said), "brier": brier_score_loss(y, said),
        "calibration": sum(gaps), "tpr": float((said[y == 1] >= 0.5).mean()),
    }  # fmt: skip


if __name__ == "__main__":
    main()
