import re

import numpy as np
import pandas as pd
import pytest
from report.made_up import cells

from alignset.report import Axis, Page, Section
from alignset.report.page import DataTable, FactList, Gallery, Prose, Tiles, slug
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


def view(**columns):
    return DataTable(pd.DataFrame(columns), name="t", caption="c")


def test_a_cell_shows_few_digits_and_keeps_all():
    (cell,) = view(mean=[0.123456789]).rows[0]
    assert (cell.text, cell.value, cell.is_number) == ("0.123", "0.123456789", True)


def test_cells_are_written_by_their_kind():
    table = view(
        x=[0.1, 10.0],
        gap=[0.01, -0.01],
        n=np.array([1, 2]),
        method=["a", "b"],
        mean=[np.nan, 1.0],
    )
    assert [cell.text for cell in table.rows[0]] == ["0.1", "+0.010", "1", "a", "\N{EN DASH}"]
    assert [cell.value for cell in table.rows[0]][-1] == ""
    assert [cell.text for cell in table.rows[1]][:2] == ["10", "-0.010"]


def test_p_values_are_never_zero():
    assert [row[0].text for row in view(**{"p (Holm)": [0.0, 0.04, 1.0]}).rows] == [
        *("<0.001", "0.040", "1.000"),
    ]


def test_a_name_can_be_an_id():
    assert slug("Noise rate", "a/b\"c'<d>") == "noise-rate-a-b-c-d"
    assert slug("%") == "x"
