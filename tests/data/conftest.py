"""Real data for the tests: fetched once per run if a registry is reachable, else skipped."""

from __future__ import annotations

import os

import pytest

from alignset.data import cache

NAMES = ("adult", "compas", "nhanes")


@pytest.fixture(scope="session")
def fetched(tmp_path_factory):
    """Return the folder that has the real data sets, and why any of them is not in it.

    The developer's cache if it has all of them, else a folder of this test run.
    """
    if all(found.state == "intact" for name in NAMES for found in cache.inspect(name)):
        return cache.cache_folder(), {}
    folder, reasons = tmp_path_factory.mktemp("data"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALIGNSET_DATA", os.fspath(folder))
        for name in NAMES:
            try:
                cache.get(name)
            except FileNotFoundError as error:
                reasons[name] = str(error)
    return folder, reasons


@pytest.fixture
def real_data(fetched, monkeypatch):
    """Return a function that makes real data sets available to the test, or skips it."""
    folder, reasons = fetched

    def available(*names: str) -> None:
        for name in names:
            if name in reasons:
                pytest.skip(reasons[name])
        monkeypatch.setenv("ALIGNSET_DATA", os.fspath(folder))

    return available
