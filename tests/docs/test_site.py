"""The checker of the site bites; and the built site, where there is one, stands up to it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import site_check
from report.browser import chromium

pytestmark = pytest.mark.xdist_group("browser")

GOOD = """<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<style>@media (prefers-color-scheme: dark) {{ body {{ background: rgb(20, 20, 20) }} }}</style>
<script>matchMedia('(prefers-color-scheme: dark)').onchange = () => {{
document.documentElement.dataset.theme = 'dark' }}</script></head>
<body><main>{}</main></body></html>"""
DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
FAULTS = {
    "<h1>a</h1><h1>b</h1>": "2 main headings",
    "<h2>a</h2><h1>b</h1>": "starts below level 1",
    "<h1>a</h1><h3>b</h3>": "a heading of level 3 follows one of level 1",
    "<h1>a</h1><div style='width: 700px'>b</div>": "px too wide at 400 px",
    "<h1>a</h1><img alt='b' src='gone.png'>": "picture gone.png is broken",
    f"<h1>a</h1><img src='{DOT}'>": f"picture {DOT} has no description",
    "<h1>a</h1><script>console.error('oh')</script>": "oh",
    "<h1>a</h1><script>nothing.there</script>": "nothing is not defined",
    "<h1>a</h1><img alt='b' src='https://localhost:9/b.png'>": "asks for https://localhost:9/b.png",
    "<h1>a</h1><a href='gone.html'>b</a>": "which is not there",
    "<h1>a</h1><a href='#gone'>b</a>": "that page has no such place",
}


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def complaints(browser, tmp_path):
    def look(body, page=GOOD):
        (tmp_path / "a.html").write_text(page.format(body), encoding="utf-8")
        context = browser.new_context()
        try:
            found = site_check.look_at(context.new_page(), tmp_path, "a.html")
        finally:
            context.close()
        found.complaints += [what for _, what in site_check.dead_links(tmp_path, [found])]
        return found

    return look


@pytest.mark.parametrize("body", FAULTS)
def test_a_fault_is_told(complaints, body):
    assert any(FAULTS[body] in what for what in complaints(body).complaints)


def test_a_page_without_fault_passes(complaints):
    body = f"<h1 id='t'>a</h1><h2>b</h2><a href='#t'>c</a><img alt='d' src='{DOT}'>"
    found = complaints(body)
    assert found.complaints == []
    assert (found.title, found.headings, found.pictures) == ("a", [1, 2], 1)


def test_a_page_that_stays_light_in_the_dark_is_told(complaints):
    page = GOOD.replace("rgb(20, 20, 20)", "rgb(250, 250, 250)")
    assert "is not dark where the system is" in complaints("<h1>a</h1>", page).complaints


def test_the_list_says_what_did_not_hold():
    pages = [
        site_check.Page("a.html", "A | b", [1], 0, 2),
        site_check.Page("b.html", "B", [1], complaints=["oh"]),
    ]
    text = site_check.as_markdown(pages)
    assert "| A \\| b | `a.html` | 1 | 0 | 2 | 0 | yes |" in text
    assert "| B | `b.html` | 1 | 0 | 0 | 0 | **no** |" in text


@pytest.mark.slow
def test_every_page_of_the_built_site_holds():
    if not (site_check.SITE / "index.html").exists():
        pytest.skip("the site is not built: make docs")
    try:
        with ThreadPoolExecutor(1) as pool:  # other tests have one in this thread
            pages = pool.submit(site_check.check_site, site_check.SITE).result()
    except (ImportError, FileNotFoundError) as error:
        pytest.skip(str(error))
    assert [(page.path, what) for page in pages for what in page.complaints] == []
    assert len(pages) > 80
    names = next(page for page in pages if page.path == "api/names.html")
    assert len({link for link in names.links if "#alignset." in link}) > 100
