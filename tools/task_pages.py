"""Run every command of the task pages, in the order of the site, in one folder.

    python tools/task_pages.py [--folder FOLDER] [--write] [PAGE ...]

A page goes on where the one before it stopped: `review` needs the table that `plan` made. With
``--write`` what the commands print is written into the pages.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
from tutorial import Outcome, Step, read_steps, refresh, run_steps

ROOT = Path(__file__).parents[1]
TASKS = ROOT / "docs" / "tasks"
ORDER = (
    *("plan", "review", "fit", "judge", "threshold", "deploy", "monitor", "audit", "compare"),
    "rerun",
)
"""Pages whose blocks are run; `add-a-method` is run by tests/test_contributing.py."""


def run_page(
    name: str, folder: Path, show: Callable[[str], None] = lambda _: None
) -> list[tuple[Step, Outcome]]:
    """Run the blocks of one page in a folder that has what earlier pages made."""
    grids = folder / "paper"
    if not grids.exists():
        grids.symlink_to(ROOT / "paper")
    page = (TASKS / f"{name}.md").read_text(encoding="utf-8")
    return list(run_steps(read_steps(page), folder, show))


def write_page(name: str, done: list[tuple[Step, Outcome]], seconds: float) -> None:
    """Put what was printed into the page."""
    path = TASKS / f"{name}.md"
    printed = [outcome.printed for step, outcome in done if step.printed is not None]
    path.write_text(refresh(path.read_text(encoding="utf-8"), printed, seconds), encoding="utf-8")


def main() -> None:
    """Run pages, all by default, and refresh them where asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", default=ORDER, metavar="PAGE")
    parser.add_argument("--folder", type=Path, help="Where to run; a temporary one if left out.")
    parser.add_argument("--write", action="store_true", help="Refresh the pages.")
    args = parser.parse_args()
    os.environ.setdefault("COLUMNS", "120")
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in args.pages:
            start = time.perf_counter()
            done = run_page(name, folder)
            seconds = time.perf_counter() - start
            click.echo(f"{name}: {len(done)} blocks, {seconds:.1f} s")
            if args.write:
                write_page(name, done, seconds)


if __name__ == "__main__":
    main()
