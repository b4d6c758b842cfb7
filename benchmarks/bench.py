"""All speed benchmarks, one table: target, measured, and the last committed run beside it.

    make bench        (about ten minutes on 2 cores; leave the machine alone meanwhile)

Every number is a ratio, a count or a time measured in one run on one machine, which is described in
the JSON file. Writes benchmarks/results.json; commit it when the numbers were taken on a quiet
machine.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import torch

HERE = Path(__file__).parent
SCRIPTS = ("startup", "stack_vs_loop", "sparse", "many_rows", "blend")
RESULTS = HERE / "results.json"


def main() -> int:
    scripts = [*SCRIPTS, *(["gpu"] if torch.cuda.is_available() else [])]
    before = {}
    if RESULTS.exists():
        before = {r["name"]: r.get("measured") for r in json.loads(RESULTS.read_text())["rows"]}
    rows = [row for name in scripts for row in run(name)]
    machine = describe()
    print(f"\n{json.dumps(machine)}")
    print(f"{'':58} {'target':>8} {'measured':>9} {'ratio':>6} {'last run':>9}")
    for r in rows:
        print(line(r, before.get(r["name"])))
    RESULTS.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")
    return 0 if all(r["ok"] for r in rows) else 1


def run(name: str) -> list[dict]:
    """Run one script and read what it wrote; a script that fails is one row of its own."""
    print(f"-- {name}", flush=True)
    written = Path(f"results/bench/{name}.json")
    written.unlink(missing_ok=True)  # or a crash would show the numbers of another day
    subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=False)
    if written.exists():
        return json.loads(written.read_text())
    return [{"name": f"{name}.py", "measured": None, "target": None, "ok": False}]


def line(r: dict, last: float | None) -> str:
    if r["measured"] is None:
        return f"{r['name']:58} CRASHED"
    ratio = r["measured"] / r["target"]
    beside = f"{'':>9}" if last is None else f"{last:9.2f}"
    missed = "" if r["ok"] else "  MISSED"
    return f"{r['name']:58} {r['target']:8g} {r['measured']:9.2f} {ratio:6.2f} {beside}{missed}"


def describe() -> dict[str, str | int]:
    """Say what the numbers were measured on."""
    facts = {}
    if shutil.which("lscpu"):
        out = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
        facts = {
            k: v.strip() for k, v in (li.split(":", 1) for li in out.splitlines() if ":" in li)
        }
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": len(os.sched_getaffinity(0)),
        "cpu": facts.get("Model name", platform.machine()),
        "l2": facts.get("L2 cache", "unknown"),
        "memory_gb": round(memory / 1e9),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


if __name__ == "__main__":
    sys.exit(main())
