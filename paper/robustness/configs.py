"""Which configs of the joint network do well: the study behind `JointAlignment.shortlist`.

Trains one network per config on cells of the robustness grid (3 and 10 % reviewed, one replication
of each, not one that the page shows) and of Figure 2, and scores it on the test rows.

    python paper/robustness/configs.py --out results/configs.csv

Prints, for every config, how much log loss it is behind the cell's best one, by kind of data.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from alignset import NoisyLabelClassifier
from alignset.estimator.learn import trainer_for
from alignset.labels import UNREVIEWED
from alignset.methods import JointAlignment
from alignset.rows import Part, Problem

sys.path.insert(0, str(Path(__file__).parent))
import figures
from cells import Drawn, cells_of, draw

CONFIGS = [
    {"l2": l2, "lr": lr, "gamma": gamma, "prior": prior, "alpha": 0.2}
    for l2, lr, gamma, prior in product(
        (0.001, 0.0025, 0.005, 0.012, 0.025, 0.05, 0.1), (0.002, 0.005), (0.05, 0.12, 0.4), (1, 4)
    )
]
STOPPING = 5  # one reviewed row in five stops the network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cells", type=int, default=48)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = []
    for kind, name, rows in drawn(options.cells):
        loss = losses(rows)
        found += [
            {"kind": kind, "cell": name, **config, "log_loss": value}
            for config, value in zip(CONFIGS, loss, strict=True)
        ]
        print(f"{name}: {loss.min():.4f} to {loss.max():.4f}", flush=True)
    table = pd.DataFrame(found)
    table.to_csv(options.out, index=False)
    table["behind"] = table["log_loss"] - table.groupby("cell")["log_loss"].transform("min")
    print(table.pivot_table(index="l2", columns="kind", values="behind", margins=True).round(3))
    best = table.groupby(list(CONFIGS[0]))["behind"].mean().sort_values()
    print(best.head(12).round(4))


def drawn(n: int) -> Any:
    """Cells of the grid, at random, and one of each setting of Figure 2."""
    grid = tomllib.loads((Path(__file__).parent / "grid.toml").read_text())
    cells = [cell for cell in cells_of(grid) if cell.reviewed > 0.02]
    rng = np.random.default_rng(0)
    for i in rng.permutation(len(cells))[:n]:
        cell = cells[i]
        kind = "nhanes" if cell.noise == "real" else cell.data
        yield kind, cell.name, draw(cell, grid["rows"])
    for replication, (figure, rates) in enumerate(figures.RATES.items()):
        for rate in rates:
            cell = (figure, *rate, 100 + replication)
            yield "figure 2", str(cell), figures.draw(cell)


def losses(rows: Drawn) -> Any:
    """Log loss of one network per config on the test rows."""
    scale = StandardScaler().fit(rows.X)
    X, X_test = (scale.transform(x).astype(np.float32) for x in (rows.X, rows.X_test))
    known = np.nan_to_num(rows.true, nan=UNREVIEWED).astype(np.int64)
    part = Part(X, rows.seen, known, rows.group)
    stop = np.zeros(len(known), dtype=bool)
    stop[np.flatnonzero(part.reviewed)[::STOPPING]] = True
    problem = Problem(part.take(~stop), part.take(stop), None, 2, len(set(rows.group)), 0)
    method = JointAlignment()
    trainer = trainer_for(NoisyLabelClassifier(n_jobs=1), method, [problem])
    said = trainer.train(method, [problem], CONFIGS).probability(X_test)
    right = np.clip(np.asarray(said, dtype=float)[:, np.arange(len(rows.y_test)), rows.y_test],
                    1e-6, 1)  # fmt: skip
    return -np.log(right).mean(1)


if __name__ == "__main__":
    main()
