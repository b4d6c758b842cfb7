"""The page as a reader meets it: in a browser, on a desk, on a phone, on paper."""

import csv
from pathlib import Path

import pandas as pd
import pytest
from report.browser import chromium, outside, watched_pages
from report.made_up import fail, published_of, small

from alignset.study import Reproduction
from alignset.study.publication import load_publication

PAPER = load_publication(Path(__file__).parents[2] / "paper" / "chil2023" / "claims.py")
pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    frame = small()
    odd = frame[frame["method"] == "standard"].assign(method='a "b", <script>')
    found = Reproduction(fail(pd.concat([odd, frame])), PAPER, published_of(frame))
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(found.page().html(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def open_page(browser, address):
    """Open the page; the console must stay empty and nothing may be asked of the network."""
    with watched_pages(browser) as new_page:

        def open_(**settings):
            page = new_page(**settings)
            page.goto(address)
            return page

        yield open_


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 768, 390, 320])
def test_all_figures_are_seen_and_the_page_does_not_scroll_sideways(open_page, width, scheme):
    page = open_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert overflow(page) <= 0
    boxes = [svg.bounding_box() for svg in page.locator("figure svg").all()]
    assert len(boxes) == page.locator("figure").count() > 4
    assert all(box["width"] > 200 and box["height"] > 100 for box in boxes)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert overflow(page) <= 0


def test_what_is_too_wide_is_caught_and_what_is_slipped_in_does_not_run(browser, address):
    page = browser.new_page(viewport={"width": 390, "height": 800})
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(address)
    slip = "const s = document.createElement('script'); s.textContent = 'window.bad = 1';"
    page.evaluate(f"() => {{ {slip} document.body.append(s) }}")
    assert page.evaluate("window.bad") is None
    assert "Content Security Policy" in said[0]
    page.evaluate("() => { document.querySelector('figure svg').style.width = '900px' }")
    assert overflow(page) > 0
    page.close()


def column(page, table, number):
    return page.locator(f"#{table} tbody tr td:nth-child({number})").all_inner_texts()


def test_a_heading_sorts_up_and_down_by_mouse_and_keyboard(open_page):
    page = open_page()
    name = "noise-rate-synthetic-as-written-hm-numbers"
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    before = column(page, name, 4)
    heading = page.locator(f"#{name} th").nth(3)
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    up = column(page, name, 4)
    assert up == sorted(before, key=float)
    heading.locator("button").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert column(page, name, 4) == up[::-1]
    assert "descending" in page.locator("[role=status]").inner_text()
    page.locator(f"#{name} th button").first.click()
    assert heading.get_attribute("aria-sort") == "none"


def test_claims_sort_by_verdict(open_page):
    page = open_page()
    page.locator("#claims th button", has_text="Verdict").click()
    found = [text.split()[-1] for text in column(page, "claims", 3)]
    assert found == sorted(found)
    assert len(set(found)) > 1


def test_missing_values_are_sorted_last_both_ways(open_page):
    page = open_page()
    name = "noise-rate-synthetic-as-written-hm-released-published-numbers"
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    for _ in range(2):
        page.locator(f"#{name} th button", has_text="gap").click()
        assert column(page, name, 8)[-1] == "\N{EN DASH}"


def test_a_table_is_saved_whole_with_exact_values(open_page):
    page = open_page()
    name = "noise-rate-synthetic-as-written-hm-numbers"
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    with page.expect_download() as download:
        page.locator(f"button[data-csv={name}]").click()
    assert download.value.suggested_filename == f"{name}.csv"
    with open(download.value.path(), newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["method", "x", "seeds", "mean", "SD"]
    assert len(rows) == page.locator(f"#{name} tbody tr").count()
    assert 'a "b", <script>' in {row[0] for row in rows}
    assert min(len(row[3]) for row in rows) > 10


def test_a_table_can_be_copied(open_page):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.locator("button[data-copy=cells]").click()
    page.wait_for_function("document.querySelector('[role=status]').textContent != ''")
    assert page.locator("[role=status]").inner_text() == "Copied 2 rows"
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert lines[0].startswith("experiment\tdataset\tprotocol")
    assert len(lines) == 3


def test_the_keyboard_reaches_the_content_first(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_page_can_be_read_without_scripts(open_page):
    page = open_page(java_script_enabled=False)
    assert page.locator(".tools").first.is_hidden()
    assert page.locator("#claims tbody tr").count() >= 27
    page.locator("figure details summary").first.click()
    assert page.locator("figure table").first.is_visible()


def test_on_paper_there_are_figures_and_claims_but_no_buttons(open_page):
    page = open_page()
    page.emulate_media(media="print")
    assert page.locator(".tools").first.is_hidden()
    assert page.locator("nav").is_hidden()
    assert page.locator("#claims").is_visible()
    assert page.locator("figure svg").first.is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_what_a_script_would_do_is_forbidden(browser, address, tmp_path):
    """Even if something were not escaped: no other script, base, form or image from outside."""
    text = Path(address.removeprefix("file://")).read_text(encoding="utf-8")
    hostile = (
        "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
        "<base href='https://example.org/'><form action='https://example.org/'><button>b"
        "</button></form><a id='here' href='page'>a</a>"
    )
    path = tmp_path / "hostile.html"
    path.write_text(text.replace("<main", hostile + "<main", 1), encoding="utf-8")
    page, asked = browser.new_page(), []
    page.on("request", lambda r: asked.append(r.url) if outside(r.url) else None)
    page.goto(path.as_uri())
    assert page.locator("#here").count() == 1  # it is there
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.getElementById('here').href").startswith("file:")
    page.locator("form button").click(no_wait_after=True)
    page.wait_for_timeout(200)
    assert page.url.startswith("file:")
    assert asked == []
    page.close()
