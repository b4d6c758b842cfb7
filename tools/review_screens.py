"""Take the pictures of the review page that the documentation shows.

    python tools/review_screens.py

Makes a small table, its sheet and its page, answers some rows in Chromium, and writes two PNG files
to docs/tutorials/figures: a desk and, in dark colours, a phone.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

from alignset.cli import main

FIGURES = Path(__file__).parents[1] / "docs" / "tutorials" / "figures"
MAX_BYTES = 150_000
NOTES = (
    "Routine visit, feels well.",
    "Referred for blurred vision.\nFamily history: mother (type 2).",
    "Follow-up after six months. Takes metformin since 2019, no side effects reported.",
)
SCREENS = {
    "review-page-desk.png": {"viewport": {"width": 900, "height": 860}, "color_scheme": "light"},
    "review-page-phone.png": {"viewport": {"width": 400, "height": 780}, "color_scheme": "dark"},
}


def make_page(place: Path) -> Path:
    """Write the page of a sheet of 30 people who do not exist."""
    rng, n = np.random.default_rng(0), 300
    frame = pd.DataFrame({"person": [f"{i:05d}" for i in range(n)]})
    frame["observed"] = np.where(rng.random(n) < 0.3, "diabetes", "no diabetes")
    frame["sex"] = rng.choice(["Female", "Male"], n)
    frame["age"] = rng.integers(20, 90, n)
    frame["HbA1c (%)"] = rng.normal(5.8, 0.9, n).round(1)
    frame["fasting glucose (mg/dl)"] = rng.normal(108, 20, n).round().astype(int)
    frame["note"] = rng.choice(NOTES, n)
    frame.to_csv(place / "table.csv", index=False)
    shown = [word for name in frame.columns[2:] for word in ("--show", name)]
    argv = ["--label", "observed", "--group", "sex", "--id", "person", *shown]
    sheet = place / "sheet.csv"
    main(["sample", str(place / "table.csv"), "--n", "30", *argv, "-o", str(sheet)])
    main(["review", str(sheet), "-o", str(place / "review.html"), "--title", "Who has diabetes?"])
    return place / "review.html"


def take_pictures(page: Path, folder: Path) -> list[Path]:
    """Answer a few rows, and take a picture of each size."""
    folder.mkdir(parents=True, exist_ok=True)
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, settings in SCREENS.items():
            shown = browser.new_context(**settings).new_page()
            shown.goto(page.as_uri())
            shown.wait_for_selector("html[data-ready]")
            shown.fill("#name", "anna")
            shown.keyboard.press("Enter")
            for key in "122c1212":
                shown.keyboard.press(key)
            shown.evaluate("document.getElementById('by-group').open = true")
            shown.wait_for_selector("#saved:text-matches('^Saved')")
            shown.screenshot(path=folder / name)
        browser.close()
    return [folder / name for name in SCREENS]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        for picture in take_pictures(make_page(Path(name)), FIGURES):
            size = picture.stat().st_size
            print(f"{picture}: {size} bytes")
            if size > MAX_BYTES:
                raise SystemExit(f"{picture} is too large.")
