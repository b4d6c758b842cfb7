"""The review page in a browser: answered, reloaded, exported, joined, attacked, on a phone."""

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from report.browser import chromium, watched_pages

from alignset.cli import main
from alignset.review.log import read_answers

pytestmark = pytest.mark.xdist_group("browser")
BAD = "<img src=x onerror='window.ran=1'></script><script>window.ran=1</script>"
COMMENT = 'say "no",\nor \N{FACE WITH TEARS OF JOY}; it\'s\ttrue'


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def open_page(browser):
    """Open a page; the console stays empty, and nothing is asked of the network."""
    with watched_pages(browser) as new_page:

        def open_(path, context=None, init="", **settings):
            page = new_page(context, **settings)
            page.on("dialog", lambda dialog: dialog.accept())
            if init:
                page.add_init_script(init)
            page.goto(Path(path).as_uri())
            page.wait_for_selector("html[data-ready]")
            return page

        yield open_


def make(folder, n=30, **columns):
    """Write a table, a sheet of n rows of it and its page; return the page."""
    frame = pd.DataFrame({"pid": [f"{i:03d}" for i in range(90)], "obs": ["no", "yes", "no"] * 30})
    frame["sex"] = ["f", "m"] * 45
    for name, value in columns.items():
        frame[name] = value
    frame.to_csv(folder / "table.csv", index=False)
    shown = [word for name in frame.columns[2:] for word in ("--show", name)]
    argv = ["sample", folder / "table.csv", "--n", n, "--label", "obs", "--group", "sex", "--id",
            "pid", *shown, "-o", folder / "sheet.csv"]  # fmt: skip
    assert run(*argv) == 0
    assert run("review", folder / "sheet.csv", "-o", folder / "review.html") == 0
    return folder / "review.html"


def run(*argv):
    return main([str(word) for word in argv])


def begin(page, name="anna"):
    page.fill("#name", name)
    page.keyboard.press("Enter")
    page.wait_for_selector("#work:not([hidden])")


def press(page, *keys):
    """Press keys, each once the one before has been dealt with."""
    for key in keys:
        page.keyboard.press(key)
        page.wait_for_selector("html:not([data-busy])")


def saved(page):
    page.wait_for_selector("#saved:text-matches('^Saved')")


def export(page, folder):
    with page.expect_download() as download:
        page.click("#export")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def row_id(page):
    return page.inner_text("#row").rpartition(" ")[2]


def test_thirty_rows_by_keyboard_reload_undo_comment_export_join(open_page, tmp_path):
    page = open_page(make(tmp_path))
    begin(page)
    given, keys = {}, {"1": "no", "2": "yes", "c": "cannot tell"}
    for k in range(30):
        if k == 14:
            saved(page)
            page.reload()
            page.wait_for_selector("#work:not([hidden])")
            assert page.inner_text("#done") == "14 of 30 answered"
            assert page.inner_text("#who-text") == "Reviewer: anna"
        if k in (5, 20):  # the last answer is taken back, and given again
            row = row_id(page)
            press(page, "2")
            press(page, "u")
            assert row_id(page) == row
        if k in (3, 4):
            page.keyboard.press("m")
            page.keyboard.insert_text(COMMENT if k == 3 else "=cmd|' /C calc'!A0")
            page.keyboard.press("Escape")
        key = "12c"[k % 3] if k % 7 else "c"
        given[row_id(page)] = keys[key]
        press(page, key)
    assert page.inner_text("#done") == "30 of 30 answered"
    assert "All 30 rows are answered: export" in page.inner_text("#status")
    press(page, "ArrowLeft")  # look at an answer without changing it
    assert page.locator("#choices [aria-pressed=true]").count() == 1
    path = export(page, tmp_path)
    assert path.name == "sheet.anna-filled.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    out = tmp_path / "reviewed.csv"
    assert run("join", path, tmp_path / "table.csv", "-o", out) == 0
    log = read_answers(tmp_path / "reviewed.answers.csv").set_index("id")
    assert log["answer"].to_dict() == given
    assert set(log["reviewer"]) == {"anna"}
    assert log["time"].str.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").all()
    ids = list(given)
    assert log["comment"][ids[3]] == COMMENT
    assert log["comment"][ids[4]] == "=cmd|' /C calc'!A0"
    table = pd.read_csv(out, dtype=str, keep_default_na=False).set_index("pid")
    for row, answer in given.items():
        assert table.loc[row, "reviewed"] == ("" if answer == "cannot tell" else answer)
        assert table.loc[row, "review_state"] == (
            "cannot tell" if answer == "cannot tell" else "agreed"
        )


def test_text_that_looks_like_a_script_is_only_text(open_page, tmp_path):
    classes = [f"{BAD}a", f"{BAD}b"]
    frame = pd.DataFrame({f"{BAD}id": [f"{BAD}{i}" for i in range(8)], "obs": classes * 4})
    frame[f"{BAD}c"] = [BAD, "@script@", "\u2028", "]]>", "<!--", "&lt;", '"', "'"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    argv = ["--label", "obs", "--id", f"{BAD}id", "--show", f"{BAD}c"]
    assert run("sample", tmp_path / "t.csv", "--n", 8, *argv, "-o", tmp_path / "s.csv") == 0
    out = tmp_path / "page.html"
    assert run("review", tmp_path / "s.csv", "-o", out, "--title", BAD, "--reviewer", BAD) == 0
    page = open_page(out)
    assert page.input_value("#name") == BAD[:80]
    begin(page, "<b>x")
    page.fill("#comment", BAD)
    for key in "1212":
        page.keyboard.press("Escape")
        press(page, key)
    saved(page)
    page.reload()
    page.wait_for_selector("#work:not([hidden])")
    assert page.inner_text("#done") == "4 of 8 answered"
    assert page.inner_text("h1") == BAD
    assert page.locator("dt").first.text_content() == f"{BAD}c"
    assert page.locator("img").count() == 0
    assert page.evaluate("window.ran") is None
    path = export(page, tmp_path)
    assert run("join", path, tmp_path / "t.csv", "-o", tmp_path / "o.csv") == 0
    assert set(read_answers(tmp_path / "o.answers.csv")["answer"]) == set(classes)


def test_a_script_that_was_slipped_in_does_not_run(browser, tmp_path):
    path = make(tmp_path)
    hostile = (
        "<script>window.ran=1</script><img src=x onerror='window.ran=1'><div style='color:red'>"
    )
    text = path.read_text(encoding="utf-8").replace("<main", hostile + "<main", 1)
    path.write_text(text, encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    assert page.locator("img").count() == 1
    assert page.evaluate("window.ran") is None
    with pytest.raises(Exception, match="TrustedHTML"):
        page.evaluate("document.body.innerHTML = '<b>x</b>'")
    with pytest.raises(Exception, match=r"Failed to fetch|Content Security Policy"):
        page.evaluate("fetch('https://example.org/')")
    page.close()


def test_nothing_is_wider_than_the_screen(open_page, tmp_path):
    path = make(tmp_path, **{"a" * 90: "b" * 300, "note": "some words " * 60})
    page = open_page(path, viewport={"width": 400, "height": 700})
    wide = "document.documentElement.scrollWidth - window.innerWidth"
    assert page.evaluate(wide) <= 0
    begin(page, "n" * 60)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    for width in (1280, 400, 320):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate(wide) <= 0
        # the answers are in reach however long the text is
        for button in page.locator("#choices button").all():
            box = button.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] <= 700
            assert box["height"] >= 44


CONTRAST = """(pairs) => pairs.map(([over, under]) => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/\\d+/g).map((v) => v / 255).map(
      (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const look = (name) => getComputedStyle(document.querySelector(name));
  const both = [light(look(over).color), light(look(under).backgroundColor)];
  const [a, b] = both.sort((x, y) => x - y);
  return (b + 0.05) / (a + 0.05);
})"""


@pytest.mark.parametrize(("scheme", "ground"), [("light", 245), ("dark", 20)])
def test_text_stands_out_in_light_and_dark(open_page, tmp_path, scheme, ground):
    page = open_page(make(tmp_path), color_scheme=scheme)
    begin(page)
    press(page, "1")
    press(page, "ArrowLeft")
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour.startswith(f"rgb({ground},")
    pairs = [["#saved", "body"], ["#status", "body"], ["dt", "article"], ["dd", "article"],
             ["#export", "#export"], ["[aria-pressed=true]", "[aria-pressed=true]"],
             ["summary", "body"], ["#undo", "#undo"]]  # fmt: skip
    assert min(page.evaluate(CONTRAST, pairs)) >= 4.5


REFUSED = """
for (const name of ["setItem", "getItem"]) Storage.prototype[name] = () => { throw Error("full"); };
IDBFactory.prototype.open = () => { throw Error("refused"); };
"""
FULL = """
Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };
const put = IDBObjectStore.prototype.put;
IDBObjectStore.prototype.put = function (...args) {
  this.transaction.abort();
};
"""


@pytest.mark.parametrize("init", [REFUSED, FULL], ids=["refused", "full"])
def test_answers_that_cannot_be_saved_are_said_loudly_and_can_be_exported(
    open_page, tmp_path, init
):
    page = open_page(make(tmp_path), init=init)
    begin(page)
    press(page, "1")
    page.wait_for_selector("#alarm:not([hidden])")
    assert "cannot be saved in this browser" in page.inner_text("#alarm")
    assert page.inner_text("#saved") == "NOT SAVED"
    with page.expect_download() as download:
        page.click("#alarm-export")
    assert pd.read_csv(download.value.path())["reviewed"].tolist()[0] == "no"


def test_an_export_is_gone_on_from_on_another_machine(open_page, browser, tmp_path):
    path = make(tmp_path)
    page = open_page(path)
    begin(page)
    press(page, *"12c12")
    page.fill("#comment", "half-way")
    first = export(page, tmp_path)
    other = open_page(path)  # another context: another machine
    begin(other)
    assert other.inner_text("#done") == "0 of 30 answered"
    rows = pd.read_csv(first, dtype=str, keep_default_na=False)  # a spreadsheet program saves it
    rows["pid"] = rows["pid"].astype(int)
    rows.to_csv(tmp_path / "saved.csv", index=False, sep=";", encoding="utf-8-sig")
    other.set_input_files("#file", tmp_path / "saved.csv")
    other.wait_for_selector("#status:text-matches('^Imported')")
    assert other.inner_text("#done") == "5 of 30 answered"
    press(other, "1")
    again = export(other, tmp_path)
    assert pd.read_csv(again)["reviewed"].tolist()[:6] == [
        *("no", "yes", "cannot tell", "no", "yes", "no"),
    ]
    assert pd.read_csv(again)["comment"][5] == "half-way"
    third = open_page(path)
    begin(third, "ben")
    third.set_input_files("#file", first)
    third.wait_for_selector("#alarm:not([hidden])")
    assert "has answers by anna, and you are ben; nothing was imported" in (
        third.inner_text("#alarm")
    )
    assert third.inner_text("#done") == "0 of 30 answered"


def test_reviewers_and_sheets_do_not_mix(open_page, browser, tmp_path):
    path = make(tmp_path)
    context = browser.new_context()
    page = open_page(path, context)
    begin(page)
    press(page, *"11")
    page.click("#other")
    begin(page, "ben")
    assert page.inner_text("#done") == "0 of 30 answered"
    press(page, "2")
    page.click("#other")
    begin(page)
    assert page.inner_text("#done") == "2 of 30 answered"
    saved(page)
    (tmp_path / "second").mkdir()
    more = open_page(make(tmp_path / "second", n=29), context)
    assert more.locator("#start").is_visible()  # nothing is known about this sheet
    context.close()


def test_answers_are_deleted_from_a_browser_once_they_were_exported(open_page, tmp_path):
    page = open_page(make(tmp_path, n=4))
    begin(page)
    press(page, "1", "2")
    saved(page)
    for name in ("ben", "anna"):  # another reviewer's answers in the same browser stay
        page.click("#other")
        begin(page, name)
        press(page, *(["1"] if name == "ben" else []))
    page.click("#forget")
    page.wait_for_selector("#status:text-matches('Export the answers first')")
    export(page, tmp_path)
    page.click("#forget")
    page.wait_for_selector("#forget:text-is('Delete now')")
    press(page, "c")  # a new answer takes the question back
    page.wait_for_selector("#forget:text-is('Delete from this browser')")
    export(page, tmp_path)
    page.click("#forget")
    with page.expect_navigation():
        page.click("#forget")
    page.wait_for_selector("#start:not([hidden])")
    left = page.evaluate("Object.keys(localStorage).join()")
    assert "anna" not in left
    assert "ben" in left
    begin(page)
    assert page.inner_text("#done").startswith("0 of 4")
    page.click("#other")
    begin(page, "ben")
    assert page.inner_text("#done").startswith("1 of 4")


def test_leaving_with_answers_that_were_not_exported_asks_first(open_page, tmp_path):
    page, asked = open_page(make(tmp_path)), []
    page.on("dialog", lambda dialog: asked.append(dialog.type))
    begin(page)
    page.reload()
    page.wait_for_selector("#work:not([hidden])")
    assert asked == []
    press(page, "1")
    page.reload()
    page.wait_for_selector("#work:not([hidden])")
    assert asked == ["beforeunload"]
    export(page, tmp_path)
    page.reload()
    page.wait_for_selector("#work:not([hidden])")
    assert asked == ["beforeunload"]


def test_it_can_be_heard_and_used_without_a_mouse(open_page, tmp_path):
    page = open_page(make(tmp_path), reduced_motion="reduce")
    assert page.evaluate("document.activeElement.id") == "name"
    begin(page)
    active = "document.activeElement"
    assert page.evaluate(f"{active}.id") == "row"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{active}.textContent") == "1no"
    assert page.evaluate(f"getComputedStyle({active}).outlineStyle") == "solid"
    press(page, "Enter")
    assert page.locator("[role=status][aria-live=polite]").inner_text() == (
        "Row 1: no. 1 of 30 answered."
    )
    assert page.evaluate(f"{active}.id") == "row"
    order = []
    for _ in range(9):
        page.keyboard.press("Tab")
        order.append(page.evaluate(f"{active}.id || {active}.textContent"))
    assert order == [
        *("1no", "2yes", "ccannot tell", "comment", "before", "after", "open", "undo", "export"),
    ]
    tree = page.locator("body").aria_snapshot()
    for said in ('group "What is the true label?"', 'textbox "Comment (optional)"', 'button "yes"',
                 'heading "Row 2 of 30', 'progressbar "1 of 30 answered"'):  # fmt: skip
        assert said in tree
    assert page.evaluate("getComputedStyle(document.getElementById('status')).transition") in (
        *("none", "none 0s ease 0s"),
    )
    # single keys can be switched off for those whose speech or reader types them
    page.evaluate("document.getElementById('help').open = true")
    page.uncheck("#use-keys")
    press(page, "1")
    assert page.inner_text("#done") == "1 of 30 answered"


def test_progress_by_group_is_told_only_if_the_group_is_shown(open_page, tmp_path):
    page = open_page(make(tmp_path))
    begin(page)
    sexes = [page.locator("#facts dd").first.text_content()]
    press(page, "1")
    texts = page.locator("#groups li").all_text_contents()
    assert sorted(text.split(" of ")[0] for text in texts) == sorted(
        f"{sex}: {int(sex in sexes)}" for sex in "fm"
    )
    assert run("review", tmp_path / "sheet.csv", "-o", tmp_path / "b.html", "--show", "sex") == 0
    text = (tmp_path / "sheet.csv").read_text().replace("pid,sex,reviewed", "pid,age,reviewed")
    (tmp_path / "sheet.csv").write_text(text)
    assert run("review", tmp_path / "sheet.csv", "-o", tmp_path / "c.html") == 0
    page = open_page(tmp_path / "c.html")
    begin(page)
    assert page.locator("#by-group").is_hidden()


def test_a_browser_that_is_killed_has_lost_no_answer_that_was_seen(tmp_path):
    pytest.importorskip("playwright.sync_api")
    if shutil.which("chromium") is None:
        pytest.skip("needs Chromium")
    tool = Path(__file__).parents[2] / "tools" / "attack_review.py"
    # in a process of its own: a process has one driver of browsers
    done = subprocess.run([sys.executable, tool, "1"], capture_output=True, text=True, check=False)
    assert "'killed': 1, 'ended': 1, 'bad': 0" in done.stdout, done.stderr


def test_the_pictures_of_the_page_are_small():
    figures = Path(__file__).parents[2] / "docs" / "tutorials" / "figures"
    for name in ("review-page-desk.png", "review-page-phone.png"):
        assert 10_000 < (figures / name).stat().st_size < 150_000
