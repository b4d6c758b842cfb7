import re

import pandas as pd
import pytest
from report.made_up import cells

from alignset.report import Axis, Page, Section
from alignset.report.page import DataTable, FactList, Gallery, Prose, Tiles
from alignset.study import Curves

EVIL = "<script>alert('x')</script>"


def page(*blocks, **more):
    return Page("T", "L", [Section("S", blocks)], **more).html()


def test_every_kind_of_block_escapes_what_it_shows():
    frame = cells({EVIL: {1.0: 0.9, 2.0: 0.8}}, seeds=2)
    blocks = [
        Prose([EVIL]),
        Tiles([(EVIL, EVIL)]),
        FactList([(EVIL, EVIL)], anchor=EVIL),
        DataTable(pd.DataFrame({EVIL: [EVIL]}), name="t", caption=EVIL, summary=EVIL),
        Gallery([Curves(frame, "hm", Axis(EVIL), name=EVIL, title=EVIL, alt=f'"{EVIL}')]),
    ]
    html = Page(EVIL, EVIL, [Section(EVIL, blocks, [Section(EVIL)])], footer=EVIL).html()
    assert html.count("<script") == 1
    assert html.count("alert(") >= 15
    assert "alert('x')</script>" not in html


def test_the_page_loads_nothing():
    html = page(Prose(["see https://example.org"]), links=[("paper", "https://example.org")])
    loads = re.findall(r'(?:src|<link[^>]*href)="([^"]*)"', html)
    assert loads in ([], ["data:,"])
    assert "@import" not in html
    assert "url(http" not in html
    assert "default-src 'none'" in html


def test_a_link_that_is_not_a_web_address_is_refused():
    with pytest.raises(ValueError, match=r"must start with https://, got 'javascript:1'"):
        page(links=[("paper", "javascript:1")])


def test_headings_lead_to_their_sections():
    html = Page("T", "L", [Section("One thing"), Section("Other")]).html()
    targets = re.findall(r'<a href="#([^"]+)"', html)
    assert targets == ["section-one-thing", "section-other"]
    assert all(f'id="{target}"' in html for target in targets)


def test_a_table_has_exact_values_and_sortable_headings():
    html = page(DataTable(pd.DataFrame({"mean": [0.123456]}), name="t", caption="c"))
    assert 'data-value="0.123456">0.123<' in html
    assert 'aria-sort="none" class="number"><button type="button">mean</button>' in html


def test_an_empty_table_can_be_shown():
    assert "0 rows" in page(DataTable(pd.DataFrame({"a": []}), name="t", caption="c"))
