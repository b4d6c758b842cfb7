"""Measure what a reviewed row is worth on NHANES, where the truth is known for every row.

    python tools/review_worth.py              # writes docs/evaluation/worth.csv

A logistic regression is fitted to the observed labels (out of fold, so that no row scores itself)
and then left alone. Rows are drawn at random and reviewed, many times over, and each estimate is
compared with the same metric on all rows: the ratio of mean squared errors, reviewed rows alone
over all rows used, is how many reviewed rows one counts for.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from alignset.data import load_nhanes
from alignset.data.nhanes import nhanes_pipeline
from alignset.evaluate import aueoc, auroc, harmonic_mean
from alignset.evaluate.estimands import ESTIMANDS, ScoredRows
from alignset.evaluate.estimate_rows import EstimateRows
from alignset.evaluate.estimates import estimate_within
from alignset.evaluate.even_estimate import estimate_even
from alignset.evaluate.soft_labels import soft_labels

OUT = Path(__file__).parent.parent / "docs/evaluation/worth.csv"
THRESHOLD = 0.2
"""Flags a quarter of the rows."""


def nhanes_rows(group: str) -> tuple[ScoredRows, np.ndarray, np.ndarray]:
    """Rows with the score of a model of the observed labels, their true label and their group."""
    table = load_nhanes(group=group)
    model = make_pipeline(nhanes_pipeline(table.X), LogisticRegression(C=0.1, max_iter=2000))
    score = cross_val_predict(model, table.X, table.observed, cv=5, method="predict_proba")
    flagged = score[:, 1] >= THRESHOLD
    return ScoredRows(score, table.observed, flagged, THRESHOLD), table.y, table.group


def measure(group: str, reviewed: int, repetitions: int, seed: int = 0) -> pd.DataFrame:
    """Mean squared errors of every estimand over repeated reviews."""
    scored, true, code = nhanes_rows(group)
    n, rng = len(true), np.random.default_rng([seed, reviewed])
    cells = {g: code == g for g in range(code.max() + 1)}
    size, whole = np.ones(n), np.ones(n, dtype=bool)
    settled = {"finite": True, "power": None}
    found = []
    for _ in range(repetitions):
        seen = np.zeros(n, dtype=bool)
        seen[rng.permutation(n)[:reviewed]] = True
        q = soft_labels(
            scored.score[:, 1], scored.observed, true, seen, n_classes=2, groups=(code,), rng=rng
        )
        rows = EstimateRows(
            (scored,), np.where(seen, true, -1), seen, np.full(n, reviewed / n), size, q, q, cells,
            tuple(cells),
        )  # fmt: skip
        each = {m: estimate_within(m, rows, whole, "all", 0.95, **settled) for m in ESTIMANDS}
        if len(cells) == 2:
            both = ("aueoc", "hm")
            evens = estimate_even(both, rows, rng, level=0.95, **settled)
            each |= dict(zip(both, evens, strict=True))
        found.append({m: (e.estimate, *e.reviewed_only, e.low, e.high) for m, e in each.items()})
    truth = true_values(scored, true, code)
    rows_out = []
    for metric in found[0]:
        value, alone, _, _, low, high = np.array([one[metric] for one in found]).T
        t, ok = truth[metric], np.isfinite(value) & np.isfinite(alone)
        rows_out.append(
            {
                "groups": group,
                "reviewed": reviewed,
                "estimand": metric,
                "truth": t,
                "repetitions": int(ok.sum()),
                "bias": np.mean(value[ok]) - t,
                "rmse_alone": np.sqrt(np.mean((alone[ok] - t) ** 2)),
                "rmse": np.sqrt(np.mean((value[ok] - t) ** 2)),
                "worth": np.mean((alone[ok] - t) ** 2) / np.mean((value[ok] - t) ** 2),
                "coverage": np.mean((low[ok] <= t) & (t <= high[ok])),
            }
        )
    return pd.DataFrame(rows_out)


def true_values(scored: ScoredRows, true: np.ndarray, code: np.ndarray) -> dict[str, float]:
    """Compute every estimand with the true labels of all rows."""
    hot, size = np.eye(2)[true], np.ones(len(true))
    found = {name: one.linearise(scored, hot, size).value for name, one in ESTIMANDS.items()}
    area, even = auroc(true, scored.score[:, 1]), aueoc(true, scored.score[:, 1], code)
    return found | {"aueoc": even, "hm": harmonic_mean(area, even)}


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(argv)
    parts = [measure("sex", n, options.repetitions) for n in (100, 200, 400)]
    table = pd.concat(parts, ignore_index=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(options.out, index=False, float_format="%.5g")
    print(table.pivot_table(index="estimand", columns="reviewed", values="worth").round(2))


if __name__ == "__main__":
    sys.exit(main())
