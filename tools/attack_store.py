"""Damage a store of results in every way: nothing may be wrong in silence, and nothing lost.

    python tools/attack_store.py [--flips 400]

Single bits are flipped in a store and in the log of its last transactions; then ``alignset run``
and ``alignset status`` are given stores that are full, locked, read-only, foreign, cut short or no
files at all. Writes docs/hardening/store.md.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from tally import counted, forked, verdict, write_page

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from study.grids import SPEC, write_grid
from study.test_store import done

from alignset.cli import main
from alignset.cli import status as _status  # noqa: F401  # imported before forking
from alignset.study import database
from alignset.study import run as _warm  # noqa: F401  # imported before forking
from alignset.study.store import Store

database.PATIENCE = 1.0
NOBODY = 65534


def compare(store: Store, before: pd.DataFrame) -> str:
    """Say what a reader of a damaged store gets."""
    try:
        found = store.frame()
    except ValueError as error:
        return "refused in a line or two" if "\n" not in str(error) else "refused at length"
    except Exception as error:
        return f"traceback {type(error).__name__}"
    if found.equals(before):
        return "read, unchanged"
    kept = before.merge(found, how="right", indicator=True)["_merge"].eq("both").all()
    return "the last transactions are missing, the rest unchanged" if kept else "CHANGED IN SILENCE"


def flip_bits(place: Path, n: int, rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Flip single bits of a store that was closed, and of one whose process was killed."""
    store = Store(place / "closed.sqlite")
    store.add([done(float(v), i) for i, v in enumerate(rng.random(60))])
    killed = Store(place / "killed.sqlite")
    killed.add([done(0.5, 99)])
    held = sqlite3.connect(killed.path)  # the last connection that is closed would empty the log
    held.execute("SELECT count(*) FROM cells").fetchone()
    for part in range(6):
        killed.add([done(float(v), 10 * part + i) for i, v in enumerate(rng.random(10))])
    for file in place.glob("killed.sqlite*"):
        shutil.copy(file, place / file.name.replace("killed", "log"))
    held.close()
    log = Store(place / "log.sqlite")
    saved = {file: file.read_bytes() for file in place.glob("log.sqlite*")}
    before = {"a store": store.frame(), "its log after a kill": killed.frame()}
    whole = store.path.read_bytes()
    for bit in rng.integers(0, len(whole) * 8, n):
        _flip(store.path, whole, int(bit))
        yield "a store", compare(store, before["a store"])
    wal = place / "log.sqlite-wal"
    for bit in rng.integers(0, len(saved[wal]) * 8, n // 2):
        for file in place.glob("log.sqlite*"):
            file.unlink()
        for file, content in saved.items():
            if not file.name.endswith("-shm"):  # made anew from the log
                file.write_bytes(content)
        _flip(wal, saved[wal], int(bit))
        yield "its log after a kill", compare(log, before["its log after a kill"])


def _flip(path: Path, whole: bytes, bit: int) -> None:
    content = bytearray(whole)
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


@contextmanager
def limited(size: int) -> Iterator[None]:
    """Let no file grow beyond a size: what a full disk does."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    yield


def as_nobody() -> None:
    """Give up root's right to write everywhere."""
    if os.geteuid() == 0:
        os.setegid(NOBODY)
        os.seteuid(NOBODY)


Fault = tuple[Callable[[Path], Path | None], Callable[[], object]]


def faults(good: bytes) -> dict[str, Fault]:
    """Return what is put in a store's place, and what the process does before it opens it."""

    def content(data: bytes) -> Fault:
        return lambda path: path.write_bytes(data) and None, lambda: None

    def other(script: str) -> Fault:
        def make(path: Path) -> None:
            with sqlite3.connect(path) as connection:
                connection.executescript(script)
            connection.close()

        return make, lambda: None

    def mode(file: int, folder: int) -> Fault:
        def make(path: Path) -> None:
            path.write_bytes(good)
            path.chmod(file)
            path.parent.chmod(folder)

        return make, as_nobody

    def full(room: int) -> Fault:
        return content(good)[0], lambda: limited(room).__enter__()

    def locked(path: Path) -> None:
        path.write_bytes(good)
        connection = sqlite3.connect(path)
        connection.execute("BEGIN EXCLUSIVE")
        _HELD.append(connection)

    named: dict[str, Fault] = {
        "a full disk, nothing fits": full(1), "a full disk, the log does not fit": full(20_000),
        "a full disk, the last rows do not fit": full(len(good) - 4096),
        "a read-only file": mode(0o444, 0o777), "a read-only folder": mode(0o444, 0o555),
        "a file that may not be read": mode(0o000, 0o777), "locked": (locked, lambda: None),
        "text": content(b"not a database\n" * 100), "an image": content(b"\x89PNG\r\n" * 999),
        "zeros": content(bytes(8192)), "a foreign database": other("CREATE TABLE mine (x);"),
        "a foreign database of our format": other("CREATE TABLE cells (x); PRAGMA user_version=2;"),
        "a later format": other("CREATE TABLE cells (x); PRAGMA user_version=9;"),
        "a folder": (lambda path: path.mkdir(), lambda: None),
        "a pipe": (lambda path: os.mkfifo(path), lambda: None),
        "a link to itself": (lambda path: path.symlink_to(path), lambda: None),
        "a link to nowhere": (lambda path: path.symlink_to("/nowhere/x"), lambda: None),
        "/dev/null": (lambda _: Path("/dev/null"), lambda: None),
        "/dev/full": (lambda _: Path("/dev/full"), lambda: None),
        "a name too long": (lambda path: path.with_name("x" * 300), lambda: None),
        "a file as a folder": (lambda path: _beneath(path), lambda: None),
    }  # fmt: skip
    shares = (0.02, 0.1, 0.25, 0.5, 0.75, 0.99)
    return named | {
        f"cut to {share:.0%}": content(good[: int(len(good) * share)]) for share in shares
    }


_HELD: list[sqlite3.Connection] = []


def _beneath(path: Path) -> Path:
    path.write_text("a file")
    return path / "s.sqlite"


def break_stores(place: Path) -> Iterator[tuple[str, str, str]]:
    """Give each command every faulty store; what was good before must be good after."""
    spec = write_grid(place, SPEC)
    clean = place / "clean.sqlite"
    main(["run", str(spec), "--store", str(clean), "--jobs", "1"])
    good, before = clean.read_bytes(), Store(clean).frame()
    more = write_grid(place, SPEC.replace("seeds    = 2", "seeds = 3"))
    place.chmod(0o755)
    for what, (make, begin) in faults(good).items():
        for command in (
            ["run", str(more), "--jobs", "1", "--store"],
            ["status"],
            ["status", "--check"],
        ):
            folder = Path(tempfile.mkdtemp(dir=place))
            folder.chmod(0o777)
            path = folder / "s.sqlite"
            path = make(path) or path

            def work(
                c: list[str] = command, p: Path = path, b: Callable[[], object] = begin
            ) -> int:
                b()
                return main([*c, str(p)])

            code, said = forked(work, limit=30)
            for connection in _HELD:
                connection.close()
            _HELD.clear()
            kind = verdict(code, said)
            if os.path.isfile(path) and path.read_bytes()[:16] == good[:16]:
                folder.chmod(0o777)
                path.chmod(0o666)
                if what.startswith(("a full", "a read", "a file that", "locked")):
                    now = Store(path).frame()
                    kind += "" if before.merge(now).shape == before.shape else ", ROWS LOST"
            yield what, command[0] if len(command) != 2 else " ".join(command), kind


def attack() -> int:
    """Do all of it and write the page."""
    ask = argparse.ArgumentParser()
    ask.add_argument("--flips", type=int, default=400)
    n, rng = ask.parse_args().flips, np.random.default_rng(15)
    total: Counter[str] = Counter()
    rows: list[list[object]] = [["what was done", "run", "status", "status --check"]]
    with tempfile.TemporaryDirectory() as folder:
        flips = Counter(flip_bits(Path(folder), n, rng))
        said = [f"{where}: {times} {kind}" for (where, kind), times in sorted(flips.items())]
        total.update({kind: times for (_, kind), times in flips.items()})
        for what, _, kind in break_stores(Path(folder)):
            if rows[-1][0] != what:
                rows.append([what])
            rows[-1].append(kind)
            total["lost" if "LOST" in kind else kind] += 1
    write_page(
        "attack_store.py", "Faults of a store",
        f"{flips.total()} flipped bits in {'; in '.join(said)}. Then {3 * (len(rows) - 1)} "
        "commands on faulty stores: what a good store held before is there afterwards. A store was "
        "69 times of 200 read with another number before its rows had checksums. "
        "SQLite leaves out the transactions of a log from the first damaged page on: the next "
        "`alignset run` trains those cells again.", rows,
    )  # fmt: skip
    return counted(
        total, ["traceback", "crash", "too slow", "CHANGED", "refused at length", "lost"]
    )


if __name__ == "__main__":
    sys.exit(attack())
