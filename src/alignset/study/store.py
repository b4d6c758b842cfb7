"""The store of results: one SQLite file, one row per cell, one transaction per cohort."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from alignset.study.records import IDENTITY, METRICS, Cell, Record, as_json

_FORMAT = 1
_TABLE = """
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY, experiment TEXT NOT NULL, protocol TEXT NOT NULL,
    dataset TEXT NOT NULL, method TEXT NOT NULL, x_name TEXT NOT NULL, x REAL NOT NULL,
    seed INTEGER NOT NULL, setting TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')), reason TEXT NOT NULL,
    metrics TEXT NOT NULL, config TEXT NOT NULL, score REAL, epochs TEXT NOT NULL,
    seconds REAL NOT NULL, created TEXT NOT NULL, version TEXT NOT NULL,
    UNIQUE (experiment, protocol, dataset, method, x_name, x, seed)
)"""
_NAMED = len(("key", *IDENTITY, "setting"))
"""Columns that say which cell it is; the others hold its result."""


class Store:
    """Results of experiments in one SQLite file, safe under ``kill -9``.

    Parameters
    ----------
    path : path
        The file; it is created, with its folder, when first written to.

    Examples
    --------
    >>> import tempfile
    >>> from alignset.study.recipe import DataSpec, MethodSpec, Recipe
    >>> recipe = Recipe(data=DataSpec(source="synthetic"), method=MethodSpec(class_="Standard"))
    >>> cell = Cell("noise_rate", "as-written", "toy", "standard", "rate", 0.3, 0, recipe)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder + "/results.sqlite")
    ...     store.add([Record(cell, "done", metrics={"auroc": 0.75}, score=0.8)])
    ...     store.frame()[["experiment", "x", "status", "auroc"]]
       experiment    x status  auroc
    0  noise_rate  0.3   done   0.75
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def add(self, records: Sequence[Record], *, replace: bool = False) -> None:
        """Write records in one transaction.

        A cell that is done stays as it is; one that failed is overwritten. ``replace`` also
        drops rows of the same name that were made with other settings.
        """
        rows = [_row(record) for record in records]
        if not rows:
            return
        columns = list(rows[0])
        result = ", ".join(f"{c} = excluded.{c}" for c in columns[_NAMED:])
        sql = (
            f"INSERT {'OR REPLACE ' * replace}INTO cells ({', '.join(columns)}) "
            f"VALUES (:{', :'.join(columns)}) "
            f"ON CONFLICT (key) DO UPDATE SET {result} WHERE cells.status = 'failed'"
        )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._connection() as connection, connection:
            connection.executemany(sql, rows)

    def statuses(self) -> dict[str, str]:
        """Key -> "done" or "failed", for every cell."""
        return dict(self._select("SELECT key, status FROM cells"))

    def strangers(self, cells: Iterable[Cell]) -> int:
        """Count rows that have the name of one of ``cells`` but were made with other settings."""
        found = self._select(f"SELECT key, {', '.join(IDENTITY)} FROM cells")
        keys = {tuple(row[1:]): row[0] for row in found}
        return sum(keys.get(cell.identity, cell.key) != cell.key for cell in cells)

    def frame(self) -> pd.DataFrame:
        """Return one row per cell, the metrics as columns; NaN where the cell failed."""
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path} does not exist; `alignset run` creates it.")
        with self._connection() as connection:
            order = ", ".join(IDENTITY)
            table = pd.read_sql_query(f"SELECT * FROM cells ORDER BY {order}", connection)
        metrics = [json.loads(text) for text in table.pop("metrics")]
        place = list(table.columns).index("reason") + 1
        for offset, name in enumerate(METRICS):
            values = [found.get(name) for found in metrics]
            table.insert(place + offset, name, pd.Series(values, dtype="float64"))
        return table

    def summary(self) -> pd.DataFrame:
        """Return mean, population SD (as published) and number of every metric over seeds."""
        frame = self.frame()
        done = frame[frame["status"] == "done"]
        keys = list(IDENTITY[:-1])
        long = done.melt(keys, list(METRICS), var_name="metric").dropna(subset="value")
        grouped = long.groupby([*keys, "metric"], sort=True)["value"]
        table = grouped.agg(mean="mean", n="count").reset_index()
        table.insert(table.columns.size - 1, "sd", grouped.std(ddof=0).to_numpy())
        return table

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`summary` as CSV, to five decimals."""
        self.summary().round({"mean": 5, "sd": 5}).to_csv(path, index=False, lineterminator="\n")

    def _select(self, sql: str) -> list[tuple[Any, ...]]:
        """Return rows, or none if the file does not exist or was only just created."""
        if not self.path.exists():
            return []
        with self._connection(reading=True) as connection:
            return connection.execute(sql).fetchall() if self._format(connection) else []

    @contextmanager
    def _connection(self, *, reading: bool = False) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=60)) as connection:
                if not self._format(connection) and not reading:
                    connection.execute("PRAGMA journal_mode = WAL")
                    # one transaction: a process killed in between must not leave half a store
                    connection.execute("BEGIN IMMEDIATE")
                    connection.execute(_TABLE)
                    connection.execute(f"PRAGMA user_version = {_FORMAT}")
                    connection.commit()
                yield connection
        except sqlite3.DatabaseError as error:
            if "not a database" not in str(error):
                raise
            raise ValueError(f"{self.path} is not a store of results: {error}.") from None

    def _format(self, connection: sqlite3.Connection) -> int:
        """Return the format of the file, 0 if it is empty; refuse any format but ours."""
        found = int(connection.execute("PRAGMA user_version").fetchone()[0])
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if found != _FORMAT and (found or tables):
            raise ValueError(
                f"{self.path} has format {found} but this version of alignset writes {_FORMAT}; "
                "use another file."
            )
        return found


def _row(record: Record) -> dict[str, Any]:
    """Return the value of every column."""
    cell, recipe = record.cell, record.cell.recipe
    setting = {"noise": recipe.noise, "review": recipe.review, "config": recipe.search.fixed}
    named = {"key": cell.key, **dict(zip(IDENTITY, cell.identity, strict=True))}
    result = {
        "status": record.status, "reason": record.reason, "metrics": as_json(record.metrics),
        "config": as_json(record.config), "score": record.score, "epochs": as_json(record.epochs),
        "seconds": record.seconds, "version": _version(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip
    return {**named, "setting": as_json(setting), **result}


def _version() -> str:
    try:
        return version("alignset")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "source"
