"""The blend and the joint network alone on the paper's synthetic data, at the rates of Figure 2.

Every replication redraws data, noise and review (10 % of the rows); both are fitted to the same
3 500 rows with their defaults and tested on 1 500 others.

    python paper/robustness/figures.py --out docs/robustness/figures.csv --replications 3

Rows that the file already has are not run again.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from alignset import NoisyLabelClassifier, flip_by_features, make_synthetic_released

sys.path.insert(0, str(Path(__file__).parent))
from cells import Drawn
from run import score

TRAIN, REVIEWED = 3500, 0.1
RATES = {
    "2a": [(0.1, 0.3), (0.2, 0.4), (0.3, 0.5), (0.4, 0.6), (0.5, 0.7), (0.6, 0.8)],
    "2b": [(0.2, 0.2), (0.2, 0.6), (0.2, 0.8)],
}
METHODS = {"blend": None, "joint": "joint"}
FIELDS = ("figure", "majority", "minority", "replication", "model", "auroc", "worst_auroc",
          "log_loss", "seconds")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0, help="the first replication to draw")
    parser.add_argument("--replications", type=int, default=3)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    begun, done = time.monotonic(), set()
    if options.out.exists():
        with options.out.open() as file:
            done = {tuple(row[k] for k in FIELDS[:5]) for row in csv.DictReader(file)}
    with options.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for cell in cells(options.first, options.replications):
            todo = [m for m in METHODS if (*map(str, cell), m) not in done]
            for model in todo if time.monotonic() - begun < options.seconds else ():
                values = (*cell, model, *run(cell, model, options.jobs, options.device))
                writer.writerow(dict(zip(FIELDS, values, strict=True)))
                file.flush()


def cells(first: int, replications: int) -> list[tuple[Any, ...]]:
    """Return every setting of a replication before the next replication."""
    return [
        (figure, *rate, replication)
        for replication in range(first, first + replications)
        for figure, rates in RATES.items()
        for rate in rates
    ]


def run(cell: tuple[Any, ...], model: str, jobs: int | None, device: str) -> list[Any]:
    """Fit one model and return its figures on the test rows."""
    rows, replication = draw(cell), cell[3]
    begun = time.monotonic()
    clf = NoisyLabelClassifier(METHODS[model], random_state=replication, n_jobs=jobs, device=device)
    clf.fit(rows.X, rows.seen, y_true=rows.true, groups=rows.group)
    seconds = time.monotonic() - begun
    found = score(rows, clf.predict_proba(rows.X_test, rows.group_test)[:, 1])
    return [*(round(float(found[name]), 5) for name in FIELDS[5:-1]), round(seconds, 1)]


def draw(cell: tuple[Any, ...]) -> Drawn:
    """Draw data, noise and review; true labels are missing where nobody looked."""
    _, majority, minority, replication = cell
    data = make_synthetic_released(random_state=1000 + replication)
    X, true, group = data.table.X, data.table.y, data.table.group
    rng = np.random.default_rng((replication, 7))
    # the minority is the smaller group
    rate = [minority, majority] if (group == 0).mean() < 0.5 else [majority, minority]
    seen = flip_by_features(
        true, X, group, rate=rate, coefficients=data.noise_coefficients, random_state=replication
    ).y_seen
    order = rng.permutation(len(true))
    old, new = order[:TRAIN], order[TRAIN:]
    known = np.where(rng.random(TRAIN) < REVIEWED, true[old].astype(float), np.nan)
    return Drawn(X[old], seen[old], known, group[old], true[old], X[new], true[new], group[new])


if __name__ == "__main__":
    main()
