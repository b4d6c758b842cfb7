"""Settings of the whole suite: kernels are waited for, and slow tests are known and begin first.

Besides those with a ``slow`` mark, ``slow_tests.txt`` names the tests that took over a third of
a second of processor time when ``tools/time_tests.py`` last looked; ``make check`` leaves both out.
"""

import os
import signal
from pathlib import Path

import pytest

# C kernels that are not there yet are waited for: both they and torch's are tested in one run
os.environ.setdefault("ALIGNSET_NATIVE", "1")

# a shell that starts the suite in the background has it ignore Ctrl-C, and all that it starts
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW = set(Path(__file__).with_name("slow_tests.txt").read_text(encoding="utf-8").split())


@pytest.hookimpl(hookwrapper=True)  # before -m is looked at, and after pytest-randomly has shuffled
def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.partition("[")[0] in SLOW:
            item.add_marker(pytest.mark.slow)
    yield
    # first, so that no worker is left with one of them at the end
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
