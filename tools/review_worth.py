"""Measure what a reviewed row is worth on NHANES, where the truth is known for every row.

    python tools/review_worth.py              # writes docs/evaluation/worth.csv

A logistic regression is fitted to the observed labels (out of fold, so that no row scores itself)
and then left alone. Rows are drawn at random and reviewed, many times over, and each estimate is
compared with the same metric on all rows: the ratio of mean squared errors, reviewed rows alone
over all rows used, is how many reviewed rows one counts for. "limit" is that ratio as far as score
and observed label can take it: with soft labels learned from the truth of all rows.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
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
from alignset.rows.table import Table

OUT = Path(__file__).parent.parent / "docs/evaluation/worth.csv"
THRESHOLDS = {"tpr": (0.2, 0.5), "fpr": (0.2, 0.5), "ppv": (0.2,), "npv": (0.2,)}
"""0.2 flags 29 % of the rows, 0.5 flags 8 %."""
EVEN = ("aueoc", "hm")


def nhanes_rows(group: str) -> tuple[np.ndarray, Table]:
    """Return the scores (n, 2) of a model of the observed labels, and the table."""
    table = load_nhanes(group=group)
    model = make_pipeline(nhanes_pipeline(table.X), LogisticRegression(C=0.1, max_iter=2000))
    score = cross_val_predict(model, table.X, table.observed, cv=5, method="predict_proba")
    return score, table


def wanted(score: np.ndarray, table: Table) -> dict[str, tuple[str, ScoredRows]]:
    """Name -> estimand and the rows with what they flag."""
    found = {}
    for metric in ESTIMANDS:
        for cut in THRESHOLDS.get(metric, (0.2,)):
            name = f"{metric} at {cut}" if metric in THRESHOLDS else metric
            rows = ScoredRows(score, table.observed, score[:, 1] >= cut, cut)
            found[name] = metric, rows
    return found


def one_review(
    jobs: dict[str, tuple[str, ScoredRows]], table: Table, reviewed: int, rng: np.random.Generator
) -> dict[str, tuple[float, float, float, float]]:
    """Review some rows at random: name -> estimate, reviewed rows alone, low, high."""
    n, code = len(table.y), table.group
    seen = np.zeros(n, dtype=bool)
    seen[rng.permutation(n)[:reviewed]] = True
    any_rows = next(iter(jobs.values()))[1]
    q = soft_labels(
        any_rows.score[:, 1], table.observed, table.y, seen, n_classes=2, groups=(code,), rng=rng
    )
    cells = {g: code == g for g in range(code.max() + 1)}
    rows = EstimateRows(
        (any_rows,), np.where(seen, table.y, -1), seen, np.full(n, reviewed / n), np.ones(n), q, q,
        cells, tuple(cells),
    )  # fmt: skip
    whole, settled = np.ones(n, dtype=bool), {"finite": True, "power": None}
    each = {
        name: estimate_within(metric, replace(rows, scored=(part,)), whole, "all", 0.95, **settled)
        for name, (metric, part) in jobs.items()
    }
    if len(cells) == 2:
        evens = estimate_even(EVEN, rows, rng, level=0.95, **settled)
        each |= dict(zip(EVEN, evens, strict=True))
    return {name: (e.estimate, e.reviewed_only[0], e.low, e.high) for name, e in each.items()}


def true_values(
    jobs: dict[str, tuple[str, ScoredRows]], table: Table
) -> dict[str, tuple[float, float]]:
    """Name -> the value with the true labels of all rows, and the limit of what a row is worth."""
    n, hot = len(table.y), np.eye(2)[table.y]
    score = next(iter(jobs.values()))[1].score[:, 1]
    everyone, rng = np.ones(n, dtype=bool), np.random.default_rng(0)
    q = soft_labels(score, table.observed, table.y, everyone, n_classes=2, rng=rng)
    found = {}
    for name, (metric, rows) in jobs.items():
        one = ESTIMANDS[metric].linearise(rows, hot, np.ones(n))
        psi = (hot * one.psi).sum(1)
        found[name] = one.value, psi.var() / (psi - (q * one.psi).sum(1)).var()
    area, even = auroc(table.y, score), aueoc(table.y, score, table.group)
    unknown = float("nan")
    return found | {"aueoc": (even, unknown), "hm": (harmonic_mean(area, even), unknown)}


def measure(group: str, reviewed: int, repetitions: int, seed: int = 0) -> pd.DataFrame:
    """Mean squared errors of every estimand over repeated reviews."""
    score, table = nhanes_rows(group)
    jobs, rng = wanted(score, table), np.random.default_rng([seed, reviewed])
    reviews = [one_review(jobs, table, reviewed, rng) for _ in range(repetitions)]
    rows = []
    for name, (t, limit) in true_values(jobs, table).items():
        if name not in reviews[0]:
            continue
        numbers = np.array([one[name] for one in reviews])
        value, alone, low, high = numbers[np.isfinite(numbers).all(1)].T
        rows.append(
            {
                "groups": group,
                "reviewed": reviewed,
                "estimand": name,
                "truth": t,
                "repetitions": len(value),
                "bias": np.mean(value) - t,
                "rmse_alone": np.sqrt(np.mean((alone - t) ** 2)),
                "rmse": np.sqrt(np.mean((value - t) ** 2)),
                "worth": np.mean((alone - t) ** 2) / np.mean((value - t) ** 2),
                "limit": limit,
                "coverage": np.mean((low <= t) & (t <= high)),
            }
        )
    return pd.DataFrame(rows)


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(argv)
    tasks = [(group, n) for group in ("sex", "race") for n in (100, 200, 400)]
    table = pd.concat([measure(*task, options.repetitions) for task in tasks], ignore_index=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(options.out, index=False, float_format="%.5g")
    print(
        table.pivot_table(index="estimand", columns=["groups", "reviewed"], values="worth").round(2)
    )


if __name__ == "__main__":
    sys.exit(main())
