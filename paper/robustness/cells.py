"""The cells of the robustness study: data, noise, review and split, drawn anew for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from alignset.data import load_adult, load_compas, load_nhanes, nhanes_pipeline
from alignset.data.synthetic import make_synthetic
from alignset.noise.kinds import KINDS

HIDDEN_SHARE = 6  # one column in six is hidden


@dataclass(frozen=True)
class Cell:
    data: str
    noise: str
    rate: float
    reviewed: float
    replication: int

    @property
    def name(self) -> str:
        return f"{self.data} {self.noise} {self.rate:g} {self.reviewed:g} {self.replication}"


def cells_of(grid: dict[str, Any]) -> Iterator[Cell]:
    """Every cell, replication by replication: a run that is cut short is still even."""
    for replication in range(grid["replications"]):
        for share in sorted(grid["reviewed"], reverse=True):
            injected = grid["injected"]
            for data in injected["data"]:
                for noise in injected["noise"]:
                    for rate in injected["rates"]:
                        yield Cell(data, noise, rate, share, replication)
            for data in grid["real"]["data"]:
                yield Cell(data, "real", 0.0, share, replication)


@cache
def load(name: str) -> tuple[Any, Any, Any, Any]:
    """Features as numbers, true labels, groups, and observed labels if the file has them."""
    if name in ("adult", "compas"):
        table: Any = {"adult": load_adult, "compas": load_compas}[name]()
        return np.asarray(table.X, dtype=float), table.y, table.group, None
    table = load_nhanes(task=name, group="sex")
    X = nhanes_pipeline().fit_transform(table.X)
    return np.asarray(X, dtype=float), table.y, table.group, table.observed


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows to train on and rows to test on."""

    X: Any
    seen: Any
    true: Any  # -1 where it was not reviewed
    group: Any
    clean: Any
    X_test: Any
    y_test: Any
    group_test: Any


def draw(cell: Cell, most: int) -> Drawn:
    """Draw rows, noise and review; nothing depends on another cell."""
    key = [cell.replication, *cell.name.encode()]
    rng = np.random.default_rng(key)
    if cell.data == "synthetic":
        table = make_synthetic(most, random_state=int(rng.integers(2**31))).table
        X, y, group, seen = np.asarray(table.X, float), table.y, table.group, None
    else:
        X, y, group, seen = load(cell.data)
    at = rng.permutation(len(y))[:most]
    X, y, group = X[at], y[at], group[at]
    X, seen = _observe(cell, X, y, group, None if seen is None else seen[at], rng)
    cut = round(0.6 * len(y))
    looked = np.zeros(cut, dtype=bool)
    looked[rng.permutation(cut)[: round(cell.reviewed * cut)]] = True
    scale = StandardScaler().fit(X[:cut])
    return Drawn(
        scale.transform(X[:cut]), seen[:cut], np.where(looked, y[:cut], -1), group[:cut], y[:cut],
        scale.transform(X[cut:]), y[cut:], group[cut:],
    )  # fmt: skip


def _observe(cell: Cell, X: Any, y: Any, group: Any, seen: Any, rng: Any) -> tuple[Any, Any]:
    """Return the features that a model may see, and observed labels."""
    if cell.noise == "real":
        return X, seen
    Z = StandardScaler().fit_transform(X)
    if cell.noise != "hidden":
        return X, KINDS[cell.noise](y, Z, group, cell.rate, rng)
    away = rng.permutation(X.shape[1])[: max(2, X.shape[1] // HIDDEN_SHARE)]
    seen = KINDS["probabilistic"](y, Z[:, away], group, cell.rate, rng)
    return np.delete(X, away, axis=1), seen
