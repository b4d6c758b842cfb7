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
import subprocess
import sys
from pathlib import Path

import torch

HERE = Path(__file__).parent
SCRIPTS = ("startup", "stack_vs_loop", "sparse", "many_rows")
RESULTS = HERE / "results.json"


def main() -> int:
    scripts = [*SCRIPTS, *(["gpu"] if torch.cuda.is_available() else [])]
    before = {}
    if RESULTS.exists():
        before = {r["name"]: r["measured"] for r in json.loads(RESULTS.read_text())["rows"]}
    rows = []
    for name in scripts:
        print(f"-- {name}", flush=True)
        subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=False)
        rows += json.loads(Path(f"results/bench/{name}.json").read_text())
    print(f"\n{'':58} {'target':>8} {'measured':>9} {'ratio':>6} {'last run':>9}")
    for r in rows:
        ratio = r["measured"] / r["target"]
        last = f"{before[r['name']]:9.2f}" if r["name"] in before else f"{'':>9}"
        missed = "" if r["ok"] else "  MISSED"
        print(f"{r['name']:58} {r['target']:8g} {r['measured']:9.2f} {ratio:6.2f} {last}{missed}")
    machine = {
        "cores": len(os.sched_getaffinity(0)),
        "cpu": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    RESULTS.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
