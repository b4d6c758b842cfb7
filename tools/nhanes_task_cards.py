"""The facts of the card on NHANES's tasks: who is in, how many labels are wrong, for whom."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
from pages import count, markdown, percent
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from alignset.data import Table, load_nhanes, sources
from alignset.data import nhanes_columns as columns
from alignset.data.cache import read
from alignset.data.nhanes_tasks import ADULT, TASKS, NhanesTask


def nhanes_tasks() -> dict[str, Any]:
    """Return the facts of every task of NHANES."""
    raw = pd.read_csv(
        io.BytesIO(read(sources.NHANES)[sources.NHANES.files[0].name]),
        sep="\t",
        dtype={columns.OBSERVED: "str"},
        low_memory=False,
    )
    tables = {name: load_nhanes(task=name) for name in TASKS}
    return {
        "n_other": len(TASKS) - 1,
        "overview": _overview(tables),
        "tasks": [_task(task, tables[name], raw) for name, task in TASKS.items()],
    }


def _overview(tables: dict[Any, Table]) -> str:
    header = (
        "task", "people", "features", "observed", "true", "wrong", "of the true, missed",
        "of the others, false", "AUROC",
    )  # fmt: skip
    return markdown(
        header,
        [
            (
                f"[`{name}`](#{name})",
                count(len(table)),
                table.X.shape[1],
                percent(table.observed.mean(), 1),
                percent(table.y.mean(), 1),
                *_errors(table, np.ones(len(table), dtype=bool)),
                f"{_auroc_with_true_labels(table):.2f}",
            )
            for name, table in tables.items()
        ],
    )


def _errors(table: Table, inside: Any) -> tuple[str, str, str]:
    """Return the share wrong, the share of the true missed and of the others called true."""
    wrong, true = (table.observed != table.y)[inside], (table.y == 1)[inside]
    return tuple(percent(part.mean(), 1) for part in (wrong, wrong[true], wrong[~true]))


def _auroc_with_true_labels(table: Table) -> float:
    """Return how well trees that learn from true labels tell them on held-out rows."""
    X = table.X.copy()
    for name in X.columns.intersection(columns.CATEGORICAL):
        X[name] = pd.Categorical(X[name])
    trees = HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.05, max_depth=3, early_stopping=False, random_state=0,
        categorical_features="from_dtype",
    )  # fmt: skip
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_predict(trees, X, table.y, cv=folds, method="predict_proba")
    return float(roc_auc_score(table.y, scores[:, 1]))


def _task(task: NhanesTask, table: Table, raw: pd.DataFrame) -> dict[str, Any]:
    by_sex = load_nhanes(task=task.name, group="sex")
    reasons = [
        (why, ", ".join(f"`{name}`" for name in names.split()))
        for why, names in task.forbidden.items()
    ]
    return {
        "name": task.name,
        "observed_means": task.observed_means,
        "true_means": task.true_means,
        "classes": ", ".join(f'"{name}"' for name in task.class_names),
        "filters": markdown(("filter", "people left"), _cascade(task, raw)),
        "groups": markdown(
            ("group", "people", "observed", "true", "wrong", "of the true, missed",
             "of the others, false"),
            [*_by_group(table), *_by_group(by_sex), _group("all", table, slice(None))],
        ),
        "forbidden": markdown(("why", "columns"), reasons) if reasons else "",
        "problems": task.problems,
    }  # fmt: skip


def _cascade(task: NhanesTask, raw: pd.DataFrame) -> list[tuple[str, str]]:
    left = raw[columns.AGE] >= ADULT
    rows = [("in the file", count(len(raw))), (f"{ADULT} years and over", count(left.sum()))]
    for name, passes in task.keep.items():
        left = left & passes(raw)
        rows.append((name, count(left.sum())))
    return rows


def _by_group(table: Table) -> list[tuple[str, ...]]:
    return [_group(name, table, table.group == code) for code, name in enumerate(table.group_names)]


def _group(name: str, table: Table, inside: Any) -> tuple[str, ...]:
    wrong, true = (table.observed != table.y)[inside], (table.y == 1)[inside]
    shares = _errors(table, inside)
    numbers = (wrong.sum(), (wrong & true).sum(), (wrong & ~true).sum())
    return (
        name,
        count(len(true)),
        count((table.observed == 1)[inside].sum()),
        count(true.sum()),
        *(f"{count(n)} ({share})" for n, share in zip(numbers, shares, strict=True)),
    )
