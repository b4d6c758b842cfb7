"""The SQLite file of a store: open it, make it, verify every row; an error is one clear line.

Format 1 had no checksums: it is still read, and brought to format 2 when it is first written to.
"""

from __future__ import annotations

import hashlib
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

FORMAT = 2
COLUMNS = (
    "key", "experiment", "protocol", "dataset", "method", "x_name", "x", "seed", "setting",
    "status", "reason", "metrics", "config", "score", "epochs", "seconds", "created", "version",
)  # fmt: skip
"""What a row holds; format 2 has its checksum, too."""
_REAL = ("x", "score", "seconds")
_TABLE = """
CREATE TABLE cells (
    key TEXT PRIMARY KEY, experiment TEXT NOT NULL, protocol TEXT NOT NULL,
    dataset TEXT NOT NULL, method TEXT NOT NULL, x_name TEXT NOT NULL, x REAL NOT NULL,
    seed INTEGER NOT NULL, setting TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')), reason TEXT NOT NULL,
    metrics TEXT NOT NULL, config TEXT NOT NULL, score REAL, epochs TEXT NOT NULL,
    seconds REAL NOT NULL, created TEXT NOT NULL, version TEXT NOT NULL,
    checksum TEXT NOT NULL,
    UNIQUE (experiment, protocol, dataset, method, x_name, x, seed)
)"""
PATIENCE = 10.0
"""Seconds to wait for another process that is writing, before there is anything to lose."""

_RESCUE = "`alignset status {path} --rescue NEW` copies the intact rows to a new store"
_REASONS = {
    "NOTADB": "{path} is not a store of results: {error}.",
    "CORRUPT": "{path} is damaged ({error}); " + _RESCUE + ".",
    "FULL": "the disk is full: {path} keeps all it had, and nothing was added; free some space and "
    "run the same command again.",
    "READONLY": "{path} cannot be written to: its file or folder is read-only; name another store.",
    "CANTOPEN": "{path} cannot be opened: its file or folder may not be read or written by you, or "
    "is on a read-only disk.",
    "BUSY": "{path} is locked by another program that is writing to it; wait for it to end, or "
    "name another store.",
    "IOERR": "{path} cannot be read or written: the disk reports an error, or is full ({error}); "
    "it keeps all it had.",
    "CONSTRAINT": "{path} has a cell of the same name, made with other settings; use another "
    "store, or replace them (--replace).",
}
"""Middle of SQLite's name of an error -> what to tell the user."""

Values = tuple[Any, ...]


class StoreError(ValueError):
    """A store that cannot be read or written: says why, and what to do."""


def checksum(values: Sequence[Any]) -> str:
    """Return the checksum of a row's values, in the order of ``COLUMNS``.

    >>> checksum(("a", 1, None)) == checksum(("a", 1, "None"))
    False
    """
    digest = hashlib.sha256()
    for value in values:
        kind = type(value).__name__
        text = str(value).encode("utf-8", "surrogateescape")
        digest.update(f"{kind} {len(text)} ".encode() + text)
    return digest.hexdigest()


def with_checksum(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as SQLite gives it back, with its checksum."""
    for name in _REAL:
        value = None if row[name] is None else float(row[name])
        row[name] = None if value != value else value  # SQLite has no NaN
    return {**row, "checksum": checksum([row[name] for name in COLUMNS])}


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection | None]:
    """Yield a connection that cannot write, or None if the file is missing or has no table yet."""
    if not path.exists():
        yield None
        return
    with explained(path), _for_reading(path) as connection:
        connection.execute("BEGIN")  # one snapshot, whatever others write meanwhile
        yield connection if _format(connection, path) else None


@contextmanager
def writing(path: Path, timeout: float | None = None) -> Iterator[sqlite3.Connection]:
    """Yield a connection in a transaction, committed if the block succeeds.

    The file is made, with its folder, or brought to this format, in the same transaction.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with explained(path), closing(_connect(path, "rwc", timeout)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            found = _format(connection, path)
            if not found:
                connection.execute(_TABLE)
            elif found == 1:
                _add_checksums(connection)
            if found != FORMAT:
                connection.execute(f"PRAGMA user_version = {FORMAT}")
            yield connection
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        _write_ahead(connection)


def read_rows(connection: sqlite3.Connection) -> Iterator[tuple[Values, bool]]:
    """Yield every row, and whether it is as it was written; format 1 cannot tell."""
    has_checksum = "checksum" in _columns(connection)
    names = (*COLUMNS, "checksum") if has_checksum else COLUMNS
    # not through an index, which may be damaged differently from the table
    found = connection.execute(f"SELECT {', '.join(names)} FROM cells NOT INDEXED")
    for row in found:
        values = row[: len(COLUMNS)]
        yield values, not has_checksum or checksum(values) == row[-1]


def structure(connection: sqlite3.Connection) -> list[str]:
    """Return what SQLite finds wrong with the file's pages and indexes: lost rows, for example."""
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
    return [] if found == ["ok"] else found


def verified(connection: sqlite3.Connection, path: Path) -> list[Values]:
    """Return every row, or refuse the store if one is not as it was written."""
    rows = list(read_rows(connection))
    damaged = [values for values, intact in rows if not intact]
    wrong = structure(connection)
    if damaged or wrong:
        what = f"{len(damaged)} of {len(rows)} rows do not match their checksum"
        raise StoreError(
            f"{path} is damaged: {what if damaged else shown(wrong[0])}; `alignset status {path} "
            f"--check` lists what is wrong, and {_RESCUE.format(path=path)}."
        )
    return [values for values, _ in rows]


def shown(value: Any) -> str:
    """Return text of a damaged file so that it cannot reach the terminal as anything but text."""
    return str(value).encode("ascii", "backslashreplace").decode().replace("\n", " ")[:120]


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into lines for the user."""
    try:
        yield
    except sqlite3.Error as error:
        name = str(getattr(error, "sqlite_errorname", "")).removeprefix("SQLITE_")
        known = next((text for key, text in _REASONS.items() if name.startswith(key)), "")
        text = known or "{path} cannot be used as a store of results: {error}."
        raise StoreError(text.format(path=path, error=shown(error))) from None


def _connect(path: Path, mode: str, timeout: float | None = None) -> sqlite3.Connection:
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise StoreError(f"{path} is not a file, so no results can be kept in it; name another.")
    where = f"file:{quote(str(path.absolute()))}?{mode if '=' in mode else 'mode=' + mode}"
    wait = PATIENCE if timeout is None else timeout
    connection = sqlite3.connect(where, uri=True, timeout=wait, isolation_level=None)
    # a damaged text must reach the checksum, not fail on the way
    connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    return connection


@contextmanager
def _for_reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file that exists; in a folder that is read-only, as one that nobody changes."""
    connection = _connect(path, "rw")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        connection.execute("PRAGMA query_only = ON")
    except sqlite3.OperationalError:
        connection.close()
        if path.with_name(f"{path.name}-wal").exists():
            raise
        connection = _connect(path, "immutable=1")
    with closing(connection):
        yield connection


def _columns(connection: sqlite3.Connection) -> list[str]:
    return [row[1] for row in connection.execute("PRAGMA table_info(cells)")]


def _format(connection: sqlite3.Connection, path: Path) -> int:
    """Return the format of the file, 0 if it is empty; refuse what is not ours.

    Call it inside a transaction: another process may be making the file.
    """
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if found not in (1, FORMAT) and (found or tables):
        raise StoreError(
            f"{path} has format {found} but this version of alignset writes {FORMAT}; "
            "use another file."
        )
    needed = {*COLUMNS, "checksum"} if found == FORMAT else set(COLUMNS)
    if found and set(_columns(connection)) != needed:
        raise StoreError(
            f"{path} is not a store of results, or its description is damaged: it has no table "
            "'cells' as alignset makes it; use another file."
        )
    return found


def _add_checksums(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE cells ADD COLUMN checksum TEXT NOT NULL DEFAULT ''")
    names = ", ".join(COLUMNS)
    rows: Iterable[Values] = connection.execute(f"SELECT rowid, {names} FROM cells").fetchall()
    sums = [(checksum(values), rowid) for rowid, *values in rows]
    connection.executemany("UPDATE cells SET checksum = ? WHERE rowid = ?", sums)


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Let others read while one writes; a process that has the file open may prevent it for now."""
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        return
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if not str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_BUSY"):
            raise
