"""Run a measurement in a fresh process, so that its peak memory is its own."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("ALIGNSET_NATIVE", "1")  # measure the C kernels, not their absence


def in_fresh_process(script: str, job: dict[str, Any]) -> dict[str, float]:
    """Call ``script`` with a JSON job; it prints a JSON result on its last line."""
    done = subprocess.run(
        [sys.executable, str(Path(script)), json.dumps(job)],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def peak_gb() -> float:
    """Peak resident memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main(work: Callable[[dict[str, Any]], dict[str, float]], summary: Callable[[], int]) -> int:
    """Do one job if called with one, else the whole benchmark."""
    if len(sys.argv) > 1 and sys.argv[1].startswith("{"):
        print(json.dumps(work(json.loads(sys.argv[1]))))
        return 0
    return summary()


def row(name: str, measured: float, target: float, *, at_most: bool, unit: str = "") -> dict:
    """One line of the table: what was measured, and whether it meets its target."""
    good = measured <= target if at_most else measured >= target
    sign = "<=" if at_most else ">="
    print(f"{name:58} {measured:9.2f} {unit:4} {sign} {target:g} {'' if good else '  MISSED'}")
    return {"name": name, "measured": measured, "target": target, "ok": good}


def write(rows: list[dict], name: str) -> int:
    """Leave the rows where `make bench` finds them; exit code 1 if a target was missed."""
    folder = Path("results/bench")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if all(r["ok"] for r in rows) else 1
