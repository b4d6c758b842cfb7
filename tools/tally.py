"""What the attacks of ``make attack`` share: forked commands, and a page with the figures."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

PAGES = Path(__file__).parents[1] / "docs/hardening"
LIMIT = 20
"""Seconds after which a command counts as stuck; a test machine may be busy."""


def forked(work: Callable[[], int], *, limit: float = LIMIT) -> tuple[int, str]:
    """Do work in a child that has everything imported; return its exit code and what it wrote.

    A signal is a negative code; -14 means that it took too long.
    """
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if child == 0:
            code = 99
            with contextlib.suppress(BaseException):
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                signal.setitimer(signal.ITIMER_REAL, limit)
                try:
                    code = work()
                except BaseException:
                    traceback.print_exc()
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return code, said.read()


def verdict(code: int, said: str) -> str:
    """Say how a command took what it was given."""
    if "Traceback (most recent call last)" in said:
        return "traceback"
    if code == -signal.SIGALRM:
        return "too slow"
    if code < 0:
        return f"crash ({signal.Signals(-code).name})"
    return "accepted" if code == 0 else "refused in a line or two"


def write_page(name: str, title: str, about: str, rows: Sequence[Sequence[object]]) -> None:
    """Print a table, and write it to docs/hardening; the first row is its header."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    table = "\n".join(lines)
    stamp = time.strftime("%Y-%m-%d")
    PAGES.mkdir(parents=True, exist_ok=True)
    text = f"# {title}\n\n{about}\n\n{table}\n\nWritten by `python tools/{name}` on {stamp}.\n"
    (PAGES / f"{Path(name).stem.removeprefix('attack_')}.md").write_text(text, encoding="utf-8")
    sys.stdout.write(f"{title}\n{table}\n")


def counted(found: Counter[str], bad: Sequence[str]) -> int:
    """Return 1 if anything bad was found: the exit code of an attack."""
    return int(any(key.startswith(tuple(bad)) and n for key, n in found.items()))
