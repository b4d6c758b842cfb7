"""Start-up: what a user waits for before anything happens; the median of ten fresh processes.

python benchmarks/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

import measure

COMMANDS = {
    "import alignset, s": ([sys.executable, "-c", "import alignset"], 0.3),
    "alignset --help, s": ([str(Path(sys.executable).parent / "alignset"), "--help"], 0.4),
}


def seconds(command: list[str]) -> float:
    times = []
    for _ in range(10):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> int:
    rows = [
        measure.row(f"start-up: {name}", seconds(command), target, at_most=True)
        for name, (command, target) in COMMANDS.items()
    ]
    return measure.write(rows, "startup")


if __name__ == "__main__":
    sys.exit(main())
