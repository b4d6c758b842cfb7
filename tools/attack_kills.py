"""Kill alignset at random moments, and see that resuming gives what was never interrupted gives.

    python tools/attack_kills.py [--kills 150] [--only page|join|...]

A command is started in a forked process, killed with SIGKILL at a random moment of the time it
takes, looked at, and started again until it comes to its end; a browser is killed while a reviewer
answers (``attack_review.py``). Writes docs/hardening/kills.md; with --only, its other rows stay.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from attack_review import kill_review
from tally import PAGES, write_page

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from data.file_server import CONTENT, Origin, serve, toy_source
from study.grids import SPEC, results, write_grid

from alignset.cli import fit as _fit  # noqa: F401  # imported before forking
from alignset.cli import join as _join  # noqa: F401
from alignset.cli import main
from alignset.cli import run as _run  # noqa: F401
from alignset.data import sources
from alignset.model.folder import load_model
from alignset.review.log import answers_path
from alignset.stack.kernels import build
from alignset.study.store import Store


@dataclass
class Target:
    """What is killed, what must hold whenever it is, and what must be there in the end."""

    name: str
    work: Callable[[], object]
    holds: Callable[[], object]
    begin: Callable[[], object]
    same: Callable[[], bool]
    share: float


def start(work: Callable[[], object]) -> int:
    """Fork; return the child's process id."""
    child = os.fork()
    if child == 0:
        code = 98
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def kill_and_resume(target: Target, kills: int, rng: np.random.Generator) -> dict[str, Any]:
    """Kill it so often; between kills it is resumed, and now and then begun anew."""
    found = {"killed": 0, "ended": 0, "bad": 0}
    target.begin()
    seconds = float("inf")
    for _ in range(2):  # the first time may take longer
        begun = time.monotonic()
        os.waitpid(start(target.work), 0)
        seconds = min(seconds, time.monotonic() - begun)
        found["bad"] += not target.same()
        target.begin()
    while found["killed"] < kills:
        child = start(target.work)
        time.sleep(rng.uniform(0, 1.05 * seconds))
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        killed = os.WIFSIGNALED(status)
        found["killed"] += killed
        try:
            target.holds()
        except Exception as error:
            found["bad"] += 1
            sys.stdout.write(f"{target.name}: {error!r}\n")
        last = found["killed"] == kills
        if not killed or last or rng.random() < 0.2:  # come to the end, compare, begin again
            code = os.waitpid(start(target.work), 0)[1]
            found["ended"] += 1
            found["bad"] += code != 0 or not target.same()
            target.begin()
    return {**found, "seconds": seconds}


def _table(place: Path, rng: np.random.Generator) -> Path:
    n = 300
    frame = pd.DataFrame({"id": np.arange(n), "a": rng.normal(size=n), "b": rng.normal(size=n)})
    frame["observed"] = np.where(frame.a + rng.normal(size=n) / 2 > 0, "yes", "no")
    frame["truth"] = np.where(rng.random(n) < 0.4, np.where(frame.a > 0, "yes", "no"), "")
    frame.to_csv(place / "t.csv", index=False)
    return place / "t.csv"


def run_target(place: Path, jobs: int) -> Target:
    """``alignset run``: the table of results must be the same."""
    folder = place / f"run-{jobs}"
    folder.mkdir()
    spec = write_grid(folder, SPEC.replace("seeds    = 2", "seeds = 6"))
    options = ["--replicas", "2", "--jobs", str(jobs)]
    whole, store = folder / "whole.sqlite", folder / "s.sqlite"
    main(["run", str(spec), "--replicas", "2", "--jobs", "1", "--store", str(whole)])
    expected = results(Store(whole))

    def begin() -> None:
        for file in folder.glob("s.sqlite*"):
            file.unlink()

    def holds() -> None:
        if store.exists():
            found = results(Store(store)) if Store(store).statuses() else expected.head(0)
            if len(expected.merge(found)) != len(found):
                raise AssertionError("a row differs")

    return Target(
        f"alignset run --jobs {jobs}",
        lambda: main(["run", str(spec), *options, "--store", str(store)]),
        holds, begin, lambda: results(Store(store)).equals(expected), 0.3 if jobs == 1 else 0.06,
    )  # fmt: skip


def fit_target(place: Path, table: Path) -> Target:
    """``alignset fit --overwrite``: there is a whole model at any moment."""
    out = place / "model"
    command = ["fit", str(table), "--label", "observed", "--truth", "truth", "--ignore", "id"]
    command += ["--method", "standard", "--configs", "1", "--folds", "2", "--jobs", "1"]
    command += ["--out", str(out), "--overwrite"]
    main(command)
    frame = pd.read_csv(table)
    expected = load_model(out).predict_proba(frame)

    def holds() -> None:
        if not np.array_equal(load_model(out).predict_proba(frame), expected):
            raise AssertionError("the model predicts something else")
        if list(place.glob(".model*")):
            raise AssertionError("something is left over")

    return Target("alignset fit --overwrite", lambda: main(command), holds, lambda: None,
                  lambda: np.array_equal(load_model(out).predict_proba(frame), expected),
                  0.14)  # fmt: skip


def join_target(place: Path, table: Path) -> Target:
    """``alignset join --overwrite``: the old table or the new one, whole."""
    sheet, out = place / "sheet.csv", place / "joined.csv"
    how = ["--label", "observed", "--id", "id"]
    main(["sample", str(table), "--n", "40", *how, "--seed", "1", "-o", str(sheet)])
    rows = pd.read_csv(sheet, dtype=str, keep_default_na=False)
    rows["reviewed"] = "yes"
    rows.to_csv(sheet, index=False)
    command = ["join", str(sheet), str(table), "--label", "observed", "-o", str(out)]
    main(command)
    both = (out, answers_path(out))
    expected = [path.read_bytes() for path in both]

    def begin() -> None:  # every other time there is nothing yet
        for path in both if next(turns) % 2 else ():
            path.unlink(missing_ok=True)

    def holds() -> None:
        # the log is there before the table is
        found = [path.read_bytes() if path.exists() else None for path in both]
        if found not in (expected, [None, None], [None, expected[1]]):
            raise AssertionError("the table or its log differs")

    turns = count()
    return Target("alignset join --overwrite", lambda: main([*command, "--overwrite"]), holds,
                  begin, lambda: [path.read_bytes() for path in both] == expected, 0.2)  # fmt: skip


def get_target(place: Path, stack: ExitStack) -> Target:
    """``alignset data get`` from a slow server on this machine: the file, whole or not at all."""
    origin = stack.enter_context(serve(Origin(seconds=0.02)))
    sources.SOURCES["toy"] = toy_source(origin.url)
    os.environ["ALIGNSET_DATA"] = str(place / "data")
    path = place / "data/toy/toy.bin"

    def holds() -> None:
        if path.exists() and path.read_bytes() != CONTENT:
            raise AssertionError("half a file was published")

    return Target("alignset data get", lambda: main(["data", "get", "toy"]), holds,
                  lambda: path.unlink(missing_ok=True),
                  lambda: path.read_bytes() == CONTENT, 0.2)  # fmt: skip


def build_target(place: Path) -> Target:
    """Compile the kernels: what is found is whole, and the same."""
    os.environ["XDG_CACHE_HOME"] = str(place / "cache")
    expected = build.compiled().read_bytes()

    def begin() -> None:
        for file in build.cache_folder().glob("*.so*"):
            file.unlink()

    def holds() -> None:
        path = build.find()
        if path is not None and path.read_bytes() != expected:
            raise AssertionError("another file was published")

    def same() -> bool:
        path = build.find()
        return path is not None and path.read_bytes() == expected

    return Target("kernel build", build.compiled, holds, begin, same, 0.1)


HEAD: list[object] = [
    "what was killed", "seconds it takes", "kills", "ended afterwards", "damaged or different",
]  # fmt: skip
PAGE = "browser, while a review page saves"


def kill_commands(
    place: Path, kills: int, rng: np.random.Generator, only: str
) -> dict[str, list[object]]:
    """Kill every command whose name has ``only`` in it, its share of times."""
    rows: dict[str, list[object]] = {}
    with ExitStack() as stack:
        table = _table(place, rng)
        makers: dict[str, Callable[[], Target]] = {
            "alignset run --jobs 1": lambda: run_target(place, 1),
            "alignset run --jobs 2": lambda: run_target(place, 2),
            "alignset fit --overwrite": lambda: fit_target(place, table),
            "alignset join --overwrite": lambda: join_target(place, table),
            "alignset data get": lambda: get_target(place, stack),
            "kernel build": lambda: build_target(place),
        }
        for name, make in makers.items():
            if only not in name:
                continue
            target = make()
            found = kill_and_resume(target, round(kills * target.share), rng)
            rows[name] = [f"{found['seconds']:.1f}", found["killed"], found["ended"], found["bad"]]
            sys.stdout.write(f"{name}: {rows[name]}\n")
            sys.stdout.flush()
    return rows


def kill_page(place: Path, kills: int, rng: np.random.Generator) -> list[object]:
    """Kill browsers: an answer that was shown as given and is lost counts as damage."""
    found = kill_review(place, kills, rng)
    return [f"{found['seconds']:.1f}", found["killed"], found["ended"], found["bad"]]


def written_rows() -> dict[str, list[object]]:
    """Return the rows that the page has, without its total."""
    lines = (PAGES / "kills.md").read_text(encoding="utf-8").splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return {name: [*rest] for name, *rest in cells if name not in ("all", HEAD[0])}


def attack() -> int:
    """Do all of it and write the page."""
    ask = argparse.ArgumentParser()
    ask.add_argument("--kills", type=int, default=150)
    ask.add_argument("--page-kills", type=int, default=20)
    ask.add_argument("--only", default="", help="part of the name of what to kill")
    given, rng = ask.parse_args(), np.random.default_rng(15)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rows = written_rows() if given.only else {}
        rows |= kill_commands(place, given.kills, rng, given.only)
        if given.only in PAGE:
            rows[PAGE] = kill_page(place, given.page_kills, rng)
    total = [sum(int(str(row[i])) for row in rows.values()) for i in (1, 2, 3)]
    write_page(
        "attack_kills.py", "Kills",
        "Killed with SIGKILL at a random moment. After every kill what is on the disk is read: "
        "rows of results equal to those of a run that nobody killed, a model that loads and "
        "predicts the same, a whole table, a whole file or none. Then the command is run again, "
        "and its result compared. An earlier campaign found that the first run on a machine used "
        "torch until the C kernels were compiled, and differed by 1e-8 from those that resumed it: "
        "a run now waits for them. A browser is killed with all its processes while keys are "
        "pressed on a review page, and started again with the same profile: an answer that the "
        "page had shown as given and that is lost, or another one than was given, is damage. An "
        "earlier page kept answers in localStorage alone, and Chromium had none of those of the "
        "last seconds (`python tools/attack_review.py 10 --local`: lost in 10 of 10 kills); the "
        "next one wrote to IndexedDB, too, but went on before it was done, and lost 8 of 120 and "
        "48 of 131 answers, pressed without a pause, in 2 of 25 kills. Now the next row is shown "
        "once the answer is on the disk.",
        [HEAD, *([name, *row] for name, row in rows.items()), ["all", "", *total]],
    )  # fmt: skip
    return int(total[2] > 0)


if __name__ == "__main__":
    sys.exit(attack())
