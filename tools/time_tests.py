"""Name the tests that take long, for ``make check`` to leave out.

    python tools/time_tests.py          # every test, one after another: about a quarter of an hour

Writes tests/slow_tests.txt: every test function that took over a third of a second of processor
time (its own and its child processes', all parameters together), except those whose single cases
are so quick that only their number adds up. Processor time, so that a busy machine changes little.
"""

import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

LIST = Path(__file__).parents[1] / "tests/slow_tests.txt"
SECONDS, SECONDS_OF_A_CASE = 0.35, 0.05


class Clock:
    """A pytest plugin that adds up processor time by test function."""

    def __init__(self) -> None:
        self.cases: dict[str, list[float]] = defaultdict(list)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Time one test with its fixtures."""
        start = sum(os.times()[:4])
        yield
        self.cases[item.nodeid.partition("[")[0]].append(sum(os.times()[:4]) - start)

    def slow(self) -> list[str]:
        """Return the functions that take long."""
        return sorted(
            name
            for name, cases in self.cases.items()
            if sum(cases) > SECONDS and sum(cases) / len(cases) > SECONDS_OF_A_CASE
        )


def main() -> int:
    """Run all tests and write the list."""
    clock = Clock()
    status = pytest.main(["-q", "-n", "0", *sys.argv[1:]], plugins=[clock])
    if status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        LIST.write_text("".join(f"{name}\n" for name in clock.slow()), encoding="utf-8")
        sys.stdout.write(f"{LIST}: {len(clock.slow())} tests of {len(clock.cases)}\n")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
