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


def outside(url):
    """Tell whether an address is of the network."""
    return not url.startswith(("file:", "data:", "blob:"))


@contextmanager
def watched_pages(browser):
    """Yield what opens an empty page; no console may speak, nothing may be asked of the network.

    A page is opened in a context of its own with the settings given, or in one that is passed.
    """
    complaints, contexts = [], []

    def new_page(context=None, **settings):
        if context is None:
            contexts.append(context := browser.new_context(**settings))
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda r: complaints.append(r.url) if outside(r.url) else None)
        return page

    yield new_page
    for context in contexts:
        context.close()
    assert complaints == []
