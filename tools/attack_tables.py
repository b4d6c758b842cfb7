"""Attack the commands that read a user's files, and count what did not end as it should.

Every case is a malformed or hostile table, sheet or option, made from a seed. A case runs in a
process of its own, forked from one that has imported alignset, under a time limit. It may succeed,
or be refused with exit code 1 or 2 and one line; counted are

* faults: a traceback, or exit code 70, which says that alignset failed where it should not;
* crashes: the process ended by a signal;
* slow: over 10 seconds of processor time; killed after 60, or when nothing comes for 10 minutes;
* wrong: success, but the answer breaks a rule that the case states (a review on another row, a
  lost row, an id that changed), an escape code on standard output, or a message of several lines.

    python tools/attack_tables.py --write   # prints the table, and writes docs/hardening/tables.md
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from attack_answers import design_cases, log_cases, monitor_cases, page_cases, reading_cases
from attack_cases import Case, Shared, option_cases, prepare, sheet_cases, table_cases
from attack_excel import excel_cases

from alignset.cli import COMMANDS, main

PAGE = Path(__file__).parent.parent / "docs" / "hardening" / "tables.md"
LIMIT, SLOW = 60.0, 10.0
"""Seconds of processor time after which a case is killed, and that are too many."""
CLOCK = 600.0
"""Seconds after which a case that does nothing is killed; on a busy machine all take long."""
REFUSED = (0, 1, 2)
KINDS = ("cases", "accepted", "refused", "faults", "crashes", "slow", "wrong")
COUNTED = (*KINDS, "slowest s", "code")
AREAS = (option_cases, sheet_cases, excel_cases, design_cases, page_cases, log_cases,
         monitor_cases, reading_cases, table_cases)  # fmt: skip


@dataclass
class Found:
    """What a campaign found."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    stories: list[str] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, case: Case, code: int, seconds: float, wrong: str | None, said: str) -> None:
        """Count a case, and keep what to tell about one that went wrong."""
        kinds = ["cases", "accepted" if code == 0 else "refused"]
        kinds += ["crashes"] * (code < 0 and seconds < LIMIT) + ["slow"] * (seconds > SLOW)
        kinds += ["faults"] * (code > 2) + ["wrong"] * bool(wrong)
        if code not in REFUSED:
            kinds.remove("refused")
        self.seconds.setdefault(case.area, []).append(seconds)
        self.counts.setdefault(case.area, Counter()).update(kinds)
        if set(kinds) - {"cases", "accepted", "refused"}:
            last = said.strip().splitlines()[-1:] or [""]
            self.stories.append(f"{case.area}: {case.name}: {kinds[-1]} {wrong or ''} {last[0]}")


def run_case(case: Case, folder: Path) -> tuple[int, float, str, str]:
    """Run a case in a forked process: its exit code, seconds, standard output and error."""
    out, err = folder / "out.txt", folder / "err.txt"
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        _become(case, out, err)
    code, seconds = _wait(child, begun)
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in (out, err))
    return code, seconds, *texts


def _become(case: Case, out: Path, err: Path) -> None:
    """Run a case in this process, which ends here."""
    code = 99
    try:
        for path, number in ((out, 1), (err, 2)):
            os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), number)
        code = main([str(word) for word in case.argv])
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _wait(child: int, begun: float) -> tuple[int, float]:
    """Wait for a process; kill it at the limit. Return its code, and its processor time."""
    handle = os.pidfd_open(child)
    try:
        while time.monotonic() - begun < CLOCK and _used(child) < LIMIT:
            if select.select([handle], [], [], 1.0)[0]:
                _, status, used = os.wait4(child, 0)
                return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
    finally:
        os.close(handle)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), LIMIT


def _used(child: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def judge(case: Case, code: int, out: str, err: str) -> str | None:
    """Say what is wrong with how a case ended; None if nothing is."""
    if "Traceback" in err:
        return "traceback"
    if "\x1b" in out + err or "\x07" in out + err:
        return "an escape code reached the terminal"
    lines = err.strip().splitlines()
    # rows of a sheet are listed, 20 at most
    most = 22 if lines and lines[0].endswith(" rows cannot be joined:") else 1
    if code == 1 and not 1 <= len(lines) <= most:
        return f"{len(lines)} lines of error"
    if code == 0 and case.check is not None:
        try:
            return case.check()
        except Exception as error:
            return f"the result cannot be checked: {error!r}"
    return None


def attack(
    cases: Iterator[Callable[[Path], Case]], say: Callable[[str], None], *, every: bool = False
) -> Found:
    """Run every case, and say what went wrong; or how each ended, if ``every`` is set."""
    found = Found()
    for number, make in enumerate(cases):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            case = make(folder)
            code, seconds, out, err = run_case(case, folder)
            stories = len(found.stories)
            found.add(case, code, seconds, judge(case, code, out, err), err)
            for story in found.stories[stories:]:
                say(f"{number}: {story}")
            if number % 100 == 99:
                print(f"{number + 1} cases", file=sys.stderr, flush=True)
            if every:
                say(f"{number}: {case.area}: {case.name}: {code} {err.strip()[-160:]}")
    return found


def every_case(shared: Shared, only: str) -> Iterator[Callable[[Path], Case]]:
    """Yield every case whose name contains ``only``."""
    for cases in AREAS:
        for make in cases(shared):
            known = " ".join(str(a) for a in make.args if isinstance(a, str | int | list))
            if only in known:
                yield make


def code_of() -> str:
    """Return the commit that is attacked, with a plus if files were changed since."""
    told = [
        subprocess.run(["git", *words], cwd=PAGE.parent, capture_output=True, text=True).stdout
        for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "../../src"])
    ]
    return f"{told[0].strip() or 'unknown'}{'+' if told[1].strip() else ''}"


def counted(found: Found, code: str) -> dict[str, list[str]]:
    """Return a row of the table for each area."""
    return {
        area: [
            *(str(found.counts[area][kind]) for kind in KINDS),
            f"{max(found.seconds[area]):.1f}",
            code,
        ]
        for area in found.counts
    }


def counted_before() -> dict[str, list[str]]:
    """Return the rows of the table as it is."""
    lines = PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    # what the limits below it have in common with it is not the number of columns
    return {
        row[0]: row[1:]
        for row in rows
        if len(row) == len(COUNTED) + 1 and row[1].isdigit() and not row[0].startswith("*")
    }


def page(rows: dict[str, list[str]]) -> str:
    """Write what was found as a page."""
    sums = [sum(int(row[i]) for row in rows.values()) for i in range(len(KINDS))]
    slowest = max(float(row[-2]) for row in rows.values() if row[-2])
    table = [*sorted([area, *row] for area, row in rows.items())]
    table.append(["**all**", *map(str, sums), f"{slowest:.1f}", ""])
    lines = [
        "# Malformed tables, sheets and options",
        "",
        "What `make attack` (`python tools/attack_tables.py --write`) found. Every case is a file",
        "or option made to break a command. It may succeed or be refused in one line. *Faults*",
        "are tracebacks and exit code 70, *crashes* end by a signal, *slow* is over 10 s of CPU,",
        "*wrong* is a result that breaks the rule stated with the case (a review on another row, a",
        "row lost, an id changed, a prediction other than that of the same table in plain form, a",
        "script on a page), an escape code on the terminal, or an error of several lines that is",
        "not the list of a sheet's rows. The last columns: CPU seconds of the slowest, and the",
        "commit that was attacked.",
        "",
        "| area | " + " | ".join(COUNTED) + " |",
        "|---|" + "---:|" * len(COUNTED),
        *("| " + " | ".join(row) + " |" for row in table),
        "",
        "The cases are in `tools/attack_cases.py` (tables, sheets, options), `attack_excel.py`",
        "(workbooks) and `attack_answers.py` (designs, answers, review pages, monitoring, and the",
        "options about reading a table).",
        "",
        "## Limits",
        "",
        "| what | at most |",
        "|---|---|",
        "| characters of a cell or a name in CSV and TSV | 131 072 |",
        "| characters of a line | 67 108 864 |",
        "| what a .gz file unpacks to | 1 GiB, or 200 times its size if that is more |",
        "| what an .xlsx file unpacks to | 64 MiB, or 200 times its size if that is more |",
        "| rows and cells of a sheet, empty ones counted | 1 048 576, 100 000 000 |",
        "| whole numbers as labels | 64 bits |",
        "| classes, groups | 20, 50 |",
        "| number of a wave | 1 000 000 |",
        "| largest value of a column | 1e305; at least 1e-300 |",
        "| distance from the training mean in `predict` | 1e18 standard deviations |",
        "| rows of a level for its name to be stored | at least 5 |",
        "",
    ]
    return "\n".join(lines)


def campaign() -> int:
    """Run the campaign; exit with 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--write", action="store_true", help="write docs/hardening/tables.md")
    parser.add_argument(
        "--only",
        default="",
        help="areas (excel_cases,page_cases), whose rows of the page are made anew; or a name",
    )
    parser.add_argument("--every", action="store_true", help="say how every case ended")
    options = parser.parse_args()
    known, code = {cases.__name__: cases for cases in AREAS}, code_of()
    named = options.only.split(",") if options.only else list(known)
    areas = [known[name] for name in named] if set(named) <= set(known) else []
    rows, stories = (counted_before() if options.only and areas else {}), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # imported once, but nothing is computed here: threads do not survive a fork
        for module in (*(module for module, _ in COMMANDS.values()), "openpyxl"):
            import_module(module)
        shared = prepare(folder, lambda case: run_case(case, folder)[0])
        gc.freeze()  # a process that is forked need not copy what it does not change
        for chosen in [cases(shared) for cases in areas] or [every_case(shared, options.only)]:
            found = attack(chosen, lambda text: print(text, flush=True), every=options.every)
            stories += len(found.stories)
            rows |= counted(found, code)
            if options.write and areas:  # a long campaign is kept as far as it came
                PAGE.parent.mkdir(exist_ok=True)
                PAGE.write_text(page(rows), encoding="utf-8")
    print(page(rows))
    return int(bool(stories))


if __name__ == "__main__":
    sys.exit(campaign())
