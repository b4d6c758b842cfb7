"""How far a blend should lean on models of both labels: the study behind decision 32.

    python paper/robustness/lean.py --out results/lean.csv                  other tables
    python paper/robustness/lean.py --out results/lean_grid.csv --grid 20   the grid, 1 % reviewed

Candidates are fitted once per setting, and blended for every L. Prints gains over L = 0, and
regret: the mean of what is lost to the best of six plain models, chosen by the test rows, where
any is.
"""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score

from alignset import NoisyLabelClassifier

sys.path.insert(0, str(Path(__file__).parent))
import elsewhere
from cells import Cell, Drawn, cells_of
from cells import draw as draw_cell
from leaning import combined, keep_combined

LEANS = (0.0, 2.0, 5.0, 10.0)
MODELS = {
    "linear": partial(LogisticRegressionCV, Cs=10, cv=5, scoring="neg_log_loss", max_iter=500),
    "trees": partial(HistGradientBoostingClassifier, random_state=0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--grid", type=int, nargs="*", help="replications of the grid")
    parser.add_argument("--replication", type=int, default=0, help="of the other tables")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.grid is None:
        todo: list[Any] = list(elsewhere.settings(options.replication))
    else:
        grid = tomllib.loads((Path(__file__).parent / "grid.toml").read_text())
        grid.update(replications=max(options.grid) + 1, reviewed=[min(grid["reviewed"])])
        todo = [cell for cell in cells_of(grid) if cell.replication in options.grid]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for done, found in enumerate(pool.map(run_setting, todo), 1):
            rows += found
            print(f"{done} of {len(todo)}: {found[0]['setting']}", flush=True)
            pd.DataFrame(rows).to_csv(options.out, index=False)
    print(summary(pd.DataFrame(rows)).to_string())


def run_setting(setting: Any) -> list[dict[str, Any]]:
    """Blend for every L, beside the best plain model."""
    warnings.simplefilter("ignore")
    rows = (
        draw_cell(setting, elsewhere.ROWS) if isinstance(setting, Cell) else elsewhere.draw(setting)
    )
    seed = setting.replication if isinstance(setting, Cell) else setting[-1]
    k = int(max(rows.clean.max(), rows.y_test.max())) + 1
    plain = [score(rows.y_test, said) for said in plain_models(rows, k)]
    best = max(area for area, _ in plain), min(loss for _, loss in plain)
    name = setting.name if isinstance(setting, Cell) else " ".join(map(str, setting))
    found = []
    for lean, said in blends(rows, k, seed):
        area, loss = score(rows.y_test, said)
        found.append({
            "setting": name, "reviewed": int((rows.true >= 0).sum()), "lean": lean, "auroc": area,
            "log_loss": loss, "gain": area - best[0], "log_loss_gain": best[1] - loss,
        })  # fmt: skip
    return found


def plain_models(rows: Drawn, k: int) -> Any:
    """Yield what six plain models say of the test rows."""
    looked = rows.true >= 0
    everyone = np.ones(len(looked), dtype=bool)
    both = np.where(looked, rows.true, rows.seen)
    for y, at in ((rows.seen, everyone), (rows.true, looked), (both, everyone)):
        for model in MODELS.values():
            try:
                fitted = model().fit(rows.X[at], y[at])
            except ValueError:  # too few rows of a class
                share = np.bincount(y[at], minlength=k) + 0.01
                yield np.tile(share / share.sum(), (len(rows.y_test), 1))
                continue
            yield whole(fitted.predict_proba(rows.X_test), fitted.classes_, k)


def blends(rows: Drawn, k: int, seed: int) -> Any:
    """Yield L and what the blend says of the test rows, for every L."""
    clf = NoisyLabelClassifier(random_state=seed, n_jobs=1)
    y_true = np.where(rows.true >= 0, rows.true.astype(float), np.nan)
    with keep_combined() as kept:
        clf.fit(rows.X, rows.seen, y_true=y_true, groups=rows.group)
    X, classes = clf._scale(rows.X_test), np.asarray(clf.classes_).astype(int)
    for lean in LEANS:
        yield lean, whole(combined(kept, lean).probability(X), classes, k)


def whole(said: Any, classes: Any, k: int) -> Any:
    """Return probabilities of all classes."""
    found = np.full((len(said), k), 1e-6)
    found[:, classes] = said
    return found / found.sum(1, keepdims=True)


def score(y: Any, said: Any) -> tuple[float, float]:
    """Return AUROC, its mean over classes if there are more than two, and log loss."""
    k = said.shape[1]
    said = np.clip(said, 1e-6, 1)
    said /= said.sum(1, keepdims=True)
    several = {"multi_class": "ovr", "labels": np.arange(k)} if k > 2 else {}
    area = roc_auc_score(y, said if k > 2 else said[:, 1], **several)
    return area, log_loss(y, said, labels=np.arange(k))


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Gains over L = 0 with their standard errors, and regret, by rows reviewed and L."""
    rows = rows.set_index(["setting", "lean"])
    before = rows.xs(0.0, level="lean")
    told = []
    for (reviewed, lean), part in rows.groupby(["reviewed", "lean"]):
        part = part.droplevel("lean")
        own = before.loc[part.index]
        loss, area = own["log_loss"] - part["log_loss"], part["auroc"] - own["auroc"]
        told.append({
            "reviewed": reviewed, "L": lean, "settings": len(part),
            "log loss": loss.mean(), "(se)": loss.sem(), "AUROC": area.mean(), "(se) ": area.sem(),
            "regret in log loss": -part["log_loss_gain"].clip(upper=0).mean(),
            "in AUROC": -part["gain"].clip(upper=0).mean(),
        })  # fmt: skip
    return pd.DataFrame(told).round(4)


if __name__ == "__main__":
    main()
