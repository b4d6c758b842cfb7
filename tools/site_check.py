"""Open every page of the built site in a real browser and say what is wrong with it.

    python tools/site_check.py [SITE] [--write] [--pictures FOLDER]

Every page must have one main heading and headings in order, fit a desk (1280 px) and a phone
(400 px) without scrolling sideways, show all its pictures, follow a dark system, say nothing on
the console and ask nothing of the network; links inside the site must lead somewhere. ``--write``
puts the list of pages, and what each was checked for, into docs/pages.md.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlparse

import click

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "_build" / "html"
LIST = ROOT / "docs" / "pages.md"
WIDTHS = (1280, 400)
PATIENCE = 3000
"""Milliseconds for colours to change."""
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--allow-file-access-from-files",
)
LOOK = """async () => {
  const main = document.querySelector('main') || document.body;
  const images = [...main.querySelectorAll('img')];
  const broken = [];
  for (const img of images) {
    try { await img.decode(); } catch { broken.push(img.getAttribute('src')); }
    if (!img.naturalWidth && !broken.length) broken.push(img.getAttribute('src'));
  }
  return {
    title: (document.querySelector('h1')?.innerText || '').replace(/#$/, '').trim(),
    headings: [...main.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1]),
    pictures: images.length,
    broken,
    unnamed: images.filter(i => !i.hasAttribute('alt')).map(i => i.getAttribute('src')),
    blocks: main.querySelectorAll('div.highlight pre').length,
    ids: [...document.querySelectorAll('[id]')].map(e => e.id),
    links: [...document.querySelectorAll('a[href]')].map(a => a.href),
  };
}"""
WIDE = "document.documentElement.scrollWidth - window.innerWidth"
DARK = """() => {
  const rgb = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
  return document.documentElement.dataset.theme === 'dark' && Math.max(...rgb) < 96;
}"""


@dataclass
class Page:
    """What a browser found on one page."""

    path: str
    title: str = ""
    headings: list[int] = field(default_factory=list)
    pictures: int = 0
    blocks: int = 0
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@contextmanager
def browser() -> Iterator[Any]:
    """Start the system's Chromium through playwright."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise FileNotFoundError("no Chromium: apt-get install -y --no-install-recommends chromium")
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield found
        finally:
            found.close()


def out_of_order(levels: list[int]) -> str:
    """Say what is wrong with the levels of headings, or nothing.

    Examples
    --------
    >>> out_of_order([1, 2, 3, 2]), out_of_order([1, 3])
    ('', 'a heading of level 3 follows one of level 1')
    """
    if levels.count(1) != 1 or levels[0] != 1:
        return (
            f"{levels.count(1)} main headings" if levels.count(1) != 1 else "starts below level 1"
        )
    for before, after in pairwise(levels):
        if after > before + 1:
            return f"a heading of level {after} follows one of level {before}"
    return ""


def look_at(tab: Any, site: Path, path: str, pictures: Path | None = None) -> Page:
    """Open a page, wide, narrow and in the dark, and write down what is wrong."""
    page, heard = Page(path), []
    listeners = {
        "console": lambda m: heard.append(m.text) if m.type == "error" else None,
        "pageerror": lambda e: heard.append(str(e)),
        "request": lambda r: heard.append(f"asks for {r.url}") if _outside(r.url) else None,
    }
    for event, listener in listeners.items():
        tab.on(event, listener)
    tab.emulate_media(color_scheme="light")
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 900})
        if width == WIDTHS[0]:
            tab.goto((site / path).as_uri())
            _fill(page, tab.evaluate(LOOK))
        excess = tab.evaluate(WIDE)
        if excess > 0:
            page.complaints.append(f"is {excess} px too wide at {width} px")
        if pictures is not None:
            tab.wait_for_timeout(500)  # sidebars slide
            tab.screenshot(path=pictures / f"{path.replace('/', '-')}-{width}.png")
    tab.emulate_media(color_scheme="dark")
    try:
        tab.wait_for_function(DARK, timeout=PATIENCE)  # colours fade over
    except Exception:
        page.complaints.append("is not dark where the system is")
    if pictures is not None:
        tab.set_viewport_size({"width": WIDTHS[0], "height": 900})
        tab.screenshot(path=pictures / f"{path.replace('/', '-')}-dark.png")
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    page.complaints += heard
    return page


def _fill(page: Page, found: dict[str, Any]) -> None:
    page.title, page.headings = found["title"], found["headings"]
    page.pictures, page.blocks = found["pictures"], found["blocks"]
    page.ids, page.links = set(found["ids"]), found["links"]
    disorder = out_of_order(page.headings)
    page.complaints += [disorder] if disorder else []
    page.complaints += [f"picture {name} is broken" for name in found["broken"]]
    page.complaints += [f"picture {name} has no description" for name in found["unnamed"]]


def _outside(url: str) -> bool:
    return not url.startswith(("file:", "data:", "blob:"))


def dead_links(site: Path, pages: list[Page]) -> Iterator[tuple[Page, str]]:
    """Yield links that lead to no file, or to no place on a page."""
    ids = {(site / page.path).resolve(): page.ids for page in pages}
    for page in pages:
        here = (site / page.path).as_uri()
        for link in sorted(set(page.links)):
            address, place = urldefrag(urljoin(here, link))
            if urlparse(address).scheme != "file":
                continue
            target = Path(unquote(urlparse(address).path)).resolve()
            if not target.is_relative_to(site.resolve()) or not target.is_file():
                yield page, f"links to {link}, which is not there"
            elif place and target in ids and unquote(place) not in ids[target]:
                yield page, f"links to {link}, and that page has no such place"


def search_works(tab: Any, site: Path, word: str = "threshold") -> str:
    """Return what is wrong with the search without a server, or nothing."""
    tab.goto(f"{(site / 'search.html').as_uri()}?q={word}")
    try:
        tab.wait_for_selector("#search-results li a", timeout=20_000)
    except Exception as error:
        return f"a search for {word!r} finds nothing: {str(error).splitlines()[0]}"
    return ""


def check_site(site: Path, pictures: Path | None = None) -> list[Page]:
    """Look at every page."""
    paths = sorted(str(path.relative_to(site)) for path in site.rglob("*.html"))
    paths = [path for path in paths if not path.startswith(("_static/", "_downloads/"))]
    with browser() as found:
        tab = found.new_context().new_page()
        pages = [look_at(tab, site, path, pictures) for path in paths]
        if (site / "search.html").exists():
            trouble = search_works(tab, site)
            next(p for p in pages if p.path == "search.html").complaints += [trouble] * bool(
                trouble
            )
    for page, dead in dead_links(site, pages):
        page.complaints.append(dead)
    return pages


def as_markdown(pages: list[Page]) -> str:
    """Return docs/pages.md."""
    rows = []
    for page in pages:
        title = re.sub(r"([|`*_<\[])", r"\\\1", page.title) or page.path
        rows.append(
            f"| {title} | `{page.path}` | {len(page.headings)} | {page.pictures} | {page.blocks} | "
            f"{len(set(page.links))} | {'yes' if not page.complaints else '**no**'} |"
        )
    return (
        "<!-- made by tools/site_check.py --write -->\n# Pages of this site\n\n"
        f"{len(pages)} pages, each opened in Chromium as a file, without a network, at 1280 and "
        "400 px, light and dark. Checked: one main heading, headings in order; no scrolling "
        "sideways at either width; every picture there, with a description; dark where the "
        "system is; nothing on the console; no request leaves the machine; every link inside the "
        "site leads to a file and a place on it. On the search page, that a search finds "
        "something.\n\n"
        "| page | file | headings | pictures | code blocks | links | all held |\n"
        "|---|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def main() -> None:
    """Check a site; exit with 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", nargs="?", type=Path, default=SITE)
    parser.add_argument("--write", action="store_true", help="Write docs/pages.md.")
    parser.add_argument("--pictures", type=Path, help="Folder for three pictures of every page.")
    args = parser.parse_args()
    if args.pictures is not None:
        args.pictures.mkdir(parents=True, exist_ok=True)
    try:
        pages = check_site(args.site, args.pictures)
    except (ImportError, FileNotFoundError) as error:
        click.echo(f"pages were not opened in a browser: {error}", err=True)
        return
    bad = [(page, what) for page in pages for what in page.complaints]
    for page, what in bad:
        click.echo(f"{page.path}: {what}", err=True)
    if args.write:
        LIST.write_text(as_markdown(pages), encoding="utf-8")
    click.echo(f"{len(pages)} pages opened in Chromium, {len(bad)} complaints")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
