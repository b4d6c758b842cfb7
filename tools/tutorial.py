"""Run the commands of a tutorial in order, and write what they print into its page.

    python tools/tutorial.py [--page PAGE] [--folder FOLDER] [--write]

A page's ``sh`` and ``python`` blocks are run in one folder, each after the one before it; a
``text`` block holds what the block above it printed. Without ``--write`` the page stays as it is.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click

PAGE = Path(__file__).parents[1] / "docs/tutorials/nhanes-diabetes.md"
BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIME = re.compile(r"took \d+ seconds on \d+ cores")


@dataclass(frozen=True)
class Step:
    """A block to run, and what the page says it prints.

    Parameters
    ----------
    language : {"sh", "python"}
    code : str
    printed : str or None
        None where the page shows nothing.
    """

    language: str
    code: str
    printed: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What a step printed, its exit status, and what it said on standard error."""

    printed: str
    status: int
    error: str


def read_steps(page: str) -> list[Step]:
    """Return the blocks of a page, outputs attached to what printed them."""
    steps: list[Step] = []
    for language, body in BLOCK.findall(page):
        if language == "text":
            steps[-1] = replace(steps[-1], printed=body)
        else:
            steps.append(Step(language, body))
    return steps


def run_step(step: Step, folder: Path) -> Outcome:
    """Run one block with this Python and the commands installed beside it."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    run = ["bash", "-euo", "pipefail", "-c"] if step.language == "sh" else [sys.executable, "-c"]
    done = subprocess.run(
        [*run, step.code],
        cwd=folder,
        env={**os.environ, "PATH": beside},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return Outcome("".join(f"{line}\n" for line in lines), done.returncode, done.stderr)


def run_steps(
    steps: list[Step], folder: Path, show: Callable[[str], None]
) -> Iterator[tuple[Step, Outcome]]:
    """Run the steps in order; stop with what the first that fails said."""
    for step in steps:
        show(step.code.rstrip())
        outcome = run_step(step, folder)
        if outcome.status != 0:
            raise RuntimeError(f"{step.code.strip()}\nended with {outcome.status}: {outcome.error}")
        show(outcome.printed)
        yield step, outcome


def refresh(page: str, printed: list[str], seconds: float) -> str:
    """Put new outputs, in order, into the text blocks of a page."""
    outputs = iter(printed)

    def renew(block: re.Match[str]) -> str:
        return f"```text\n{next(outputs)}```" if block[1] == "text" else block[0]

    took = f"took {seconds:.0f} seconds on {os.cpu_count()} cores"
    return TIME.sub(took, BLOCK.sub(renew, page))


def main() -> None:
    """Run a page, and refresh it where asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--folder", type=Path, help="Where to run; a temporary one if left out.")
    parser.add_argument("--write", action="store_true", help="Refresh the page.")
    args = parser.parse_args()
    page, start = args.page.read_text(encoding="utf-8"), time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        done = list(run_steps(read_steps(page), folder, click.echo))
    seconds = time.perf_counter() - start
    click.echo(f"{args.page.name}: {len(done)} steps, {seconds:.0f} s")
    if args.write:
        printed = [outcome.printed for step, outcome in done if step.printed is not None]
        args.page.write_text(refresh(page, printed, seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
