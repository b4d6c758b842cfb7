"""The store of results: one SQLite file, one row per cell, one transaction per cohort."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from alignset.study.database import (
    COLUMNS,
    Values,
    explained,
    read_rows,
    reading,
    shown,
    structure,
    verified,
    with_checksum,
    writing,
)
from alignset.study.records import IDENTITY, METRICS, Cell, Record, as_json

LAST_PATIENCE = 60.0
"""Seconds to wait for another process that is writing, with results that would be lost."""


class Store:
    """Results of experiments in one SQLite file, safe under ``kill -9``.

    Every row has a checksum, which is verified whenever it is read: a store that was damaged is
    refused, with a line that says how to keep what is intact.

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
        rows = [with_checksum(_row(record)) for record in records]
        if not rows:
            return
        columns = list(rows[0])
        result = ", ".join(f"{c} = excluded.{c}" for c in columns[1:])
        sql = (
            f"INSERT {'OR REPLACE ' * replace}INTO cells ({', '.join(columns)}) "
            f"VALUES (:{', :'.join(columns)}) "
            f"ON CONFLICT (key) DO UPDATE SET {result} WHERE cells.status = 'failed'"
        )
        with writing(self.path, LAST_PATIENCE) as connection:
            connection.executemany(sql, rows)

    def check_writable(self) -> None:
        """Refuse a store that cannot be written to, by writing: before any work is done."""
        with writing(self.path) as connection:
            again = connection.execute("PRAGMA user_version").fetchone()[0]
            connection.execute(f"PRAGMA user_version = {again}")

    def statuses(self) -> dict[str, str]:
        """Key -> "done" or "failed", for every cell."""
        place = COLUMNS.index("status")
        return {row[0]: row[place] for row in self._rows()}

    def strangers(self, cells: Iterable[Cell]) -> int:
        """Count rows that have the name of one of ``cells`` but were made with other settings."""
        keys = {_identity(row): row[0] for row in self._rows()}
        return sum(keys.get(cell.identity, cell.key) != cell.key for cell in cells)

    def frame(self) -> pd.DataFrame:
        """Return one row per cell, the metrics as columns; NaN where the cell failed."""
        self._must_exist()
        rows = sorted(self._rows(), key=_identity)
        table = pd.DataFrame.from_records(rows, columns=COLUMNS, coerce_float=True)
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

    def damage(self) -> list[str]:
        """Return a line for everything in the file that is not as it was written."""
        self._must_exist()
        found: list[str] = []
        try:
            with reading(self.path) as connection:
                if connection is not None:
                    found += map(shown, structure(connection))
                    rows = read_rows(connection)
                    found += [f"damaged row: {_named(row)}" for row, intact in rows if not intact]
        except ValueError as error:
            found.append(str(error))
        return found

    def rescue(self, path: str | os.PathLike[str]) -> tuple[int, int]:
        """Copy the rows that are intact to a new store; return how many, and how many were not."""
        target = Path(path)
        if target.exists():
            raise ValueError(f"{target} exists; name a file that does not.")
        kept: list[Values] = []
        lost = 0
        with reading(self.path) as connection:
            if connection is not None:
                try:
                    with explained(self.path):
                        for row, intact in read_rows(connection):
                            kept += [row] if intact else []
                            lost += not intact
                except ValueError:  # what comes after a broken page cannot be found
                    lost += 1
        rows = [with_checksum(dict(zip(COLUMNS, row, strict=True))) for row in kept]
        names = (*COLUMNS, "checksum")
        with writing(target) as connection:
            sql = f"INSERT OR IGNORE INTO cells ({', '.join(names)}) VALUES (:{', :'.join(names)})"
            connection.executemany(sql, rows)
        return len(rows), lost

    def _must_exist(self) -> None:
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path} does not exist; `alignset run` creates it.")

    def _rows(self) -> list[Values]:
        """Return every row, verified; none if the file does not exist or was only just created."""
        with reading(self.path) as connection:
            return [] if connection is None else verified(connection, self.path)


def _identity(row: Values) -> Values:
    return row[1 : 1 + len(IDENTITY)]


def _named(row: Values) -> str:
    return " ".join(f"{k}={shown(v)}" for k, v in zip(IDENTITY, _identity(row), strict=True))


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
