"""A headless Chromium, where there is one."""

import shutil
from contextlib import contextmanager

import pytest

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@contextmanager
def chromium():
    """Start the system's Chromium, or skip the test and say what is missing."""
    reason = "needs playwright (pip install playwright) to drive a browser"
    sync_api = pytest.importorskip("playwright.sync_api", reason=reason)
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs Chromium: apt-get install -y --no-install-recommends chromium")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()
