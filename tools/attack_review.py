"""Kill a browser while a reviewer answers rows, and count the answers that are lost.

A Chromium with a profile on the disk opens a review page; rows are answered as fast as it shows
them, and all its processes are killed with SIGKILL at a random moment. Another Chromium with the
same profile opens the page again: every answer that the page had shown as given has to be there.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import Error, Page, Playwright, sync_playwright

from alignset.cli import main

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *(
        "--remote-debugging-port=0",
        "--disable-background-networking",
        "--hide-crash-restore-bubble",
    ),
)
ROWS = 400
KEYS = {"1": "no", "2": "yes", "c": "cannot tell"}
NO_DATABASE = "IDBFactory.prototype.open = () => { throw Error('none'); };"


def make_page(place: Path, rng: np.random.Generator) -> Path:
    """Write a sheet with many rows, and its page."""
    frame = pd.DataFrame({"id": np.arange(ROWS), "x": rng.normal(size=ROWS).round(2)})
    frame["observed"] = np.where(frame["x"] > 0, "yes", "no")
    frame.to_csv(place / "reviewed-page.csv", index=False)
    sheet, page = place / "page-sheet.csv", place / "review.html"
    argv = ["--label", "observed", "--id", "id", "--show", "x", "-o", str(sheet)]
    main(["sample", str(place / "reviewed-page.csv"), "--n", str(ROWS), *argv])
    main(["review", str(sheet), "-o", str(page)])
    return page


def launch(profile: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start a browser in a process group of its own; return it and where to reach it."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise SystemExit("needs Chromium: apt-get install -y --no-install-recommends chromium")
    told = profile / "DevToolsActivePort"
    told.unlink(missing_ok=True)
    for lock in profile.glob("Singleton*"):
        lock.unlink(missing_ok=True)
    browser = subprocess.Popen(
        [path, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not (told.exists() and told.read_text().count("\n")):
        if time.monotonic() > until:
            raise TimeoutError("the browser did not start")
        time.sleep(0.05)
    return browser, f"http://127.0.0.1:{told.read_text().splitlines()[0]}"


def kill(browser: subprocess.Popen[bytes]) -> None:
    """Kill a browser with everything that it started."""
    os.killpg(browser.pid, signal.SIGKILL)
    browser.wait()


def open_page(driver: Playwright, address: str, page: Path, init: str) -> Page:
    """Open the review page; a reviewer who is not known yet gives a name."""
    found = driver.chromium.connect_over_cdp(address).contexts[0].new_page()
    if init:
        found.add_init_script(init)
    found.goto(page.as_uri())
    found.wait_for_selector("html[data-ready]", timeout=60_000)
    if found.locator("#start").is_visible():
        found.fill("#name", "anna")
        found.keyboard.press("Enter")
        found.wait_for_selector("#work:not([hidden])")
    return found


def answered(page: Page) -> list[str]:
    """Return the answers that the page shows, row by row, up to the first open one."""
    n = int(page.inner_text("#done").split()[0])
    found = []
    for row in range(n):
        if row == 0:
            while page.locator("#before").is_enabled():
                page.keyboard.press("ArrowLeft")
        chosen = page.locator("#choices [aria-pressed=true] span").all_text_contents()
        found += chosen or [""]
        page.keyboard.press("ArrowRight")
    return found


def one_kill(
    driver: Playwright, profile: Path, page: Path, rng: np.random.Generator, init: str
) -> tuple[int, int, bool]:
    """Answer, kill, look again: answers given, answers lost, whether those there are right."""
    shutil.rmtree(profile, ignore_errors=True)
    profile.mkdir()
    browser, address = launch(profile)
    shown, given, seen = open_page(driver, address, page, init), [], 0
    timer = threading.Timer(rng.uniform(0.05, 3.0), kill, [browser])
    timer.start()
    try:
        while len(given) < ROWS:
            key = str(rng.choice(list(KEYS)))
            given.append(KEYS[key])  # it may be on the disk before the page shows it
            shown.keyboard.press(key)
            shown.wait_for_selector("html:not([data-busy])")
            seen = int(shown.inner_text("#done").split()[0])
    except Error:
        pass  # killed
    timer.join()
    browser, address = launch(profile)
    try:
        found = answered(open_page(driver, address, page, init))
    finally:
        kill(browser)
    return seen, max(0, seen - len(found)), found == given[: len(found)]


def kill_review(
    place: Path, kills: int, rng: np.random.Generator, *, local_only: bool = False
) -> dict[str, Any]:
    """Kill so often; ``local_only`` takes the database away, so that only localStorage is left."""
    page, losses, bad = make_page(place, rng), [], 0
    seconds = 0.0
    with sync_playwright() as driver:
        for _ in range(kills):
            begun = time.monotonic()
            init = NO_DATABASE if local_only else ""
            given, lost, right = one_kill(driver, place / "profile", page, rng, init)
            losses.append(lost)
            bad += lost > 0 or not right
            seconds = max(seconds, time.monotonic() - begun)
            print(f"review page: {given} answers, {lost} lost, {'right' if right else 'WRONG'}")
    return {"killed": kills, "ended": kills, "bad": bad, "seconds": seconds, "losses": losses}


if __name__ == "__main__":
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        told = kill_review(
            Path(folder), int(sys.argv[1]), np.random.default_rng(16),
            local_only="--local" in sys.argv,
        )  # fmt: skip
        print({**told, "losses": sorted(told["losses"])})
