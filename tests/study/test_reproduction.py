import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from report.made_up import cells, fail, published_of, small

from alignset.report.displays import save_figures
from alignset.study import Reproduction
from alignset.study.claims import Verdicts
from alignset.study.publication import load_publication

PAPER = load_publication(Path(__file__).parents[2] / "paper" / "chil2023" / "claims.py")
SMALL = fail(pd.concat([small(), small().assign(protocol="as-released")], ignore_index=True))


@pytest.fixture(scope="module")
def found():
    return Reproduction(SMALL, PAPER, published_of(small()), [("Machine", "a <b> & c")])


@pytest.fixture(scope="module")
def html(found):
    return found.page().html()


def test_the_same_store_gives_the_same_bytes(html):
    again = SMALL.sample(frac=1, random_state=5)
    facts = [("Machine", "a <b> & c")]
    assert Reproduction(again, PAPER, published_of(small()), facts).page().html() == html


def test_every_figure_is_there_with_its_numbers(found, html):
    names = [display.name for display in found.displays]
    assert len(set(names)) == len(names) == html.count("<figure")
    assert "noise-rate-synthetic-as-written-hm" in names
    assert "noise-rate-synthetic-as-released-hm-released-published" in names
    assert all(f'<table id="{name}-numbers"' in html for name in names)


def test_no_id_is_given_twice(html):
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_every_link_inside_the_page_leads_somewhere(html):
    ids = set(re.findall(r'\bid="([^"]+)"', html))
    assert set(re.findall(r'<a href="#([^"]+)"', html)) <= ids
    assert 'href="#deviation-7"' in html


def test_every_claim_has_a_verdict_in_words(html):
    body = html[html.index('id="claims"') :]
    rows = re.findall(r'<tr role="row" class="([\w-]+)">', body)
    words = re.findall(r'class="badge">\S ([\w ]+)<', body)
    assert [row.replace("-", " ") for row in rows] == words
    assert {"not run", "holds"} <= set(words)
    assert len(set(re.findall(r'data-value="([^"]+)"><span>[^<]*<small>', body))) == 27


def test_a_claim_without_results_is_not_run_and_counts_as_that(found, html):
    states = Counter(judged.state for judged in found.judged)
    assert states["not run"] == sum(judged.verdict.finding is None for judged in found.judged) > 0
    for state, n in states.items():
        assert f"<strong>{n}</strong> <span>verdicts: {state}</span>" in html
    frame = Verdicts(found.judged).frame()
    assert (frame["verdict"] == "not run").sum() == states["not run"]
    assert set(frame.loc[frame["verdict"] == "not run", "protocol"]) == {"not run"}


def test_the_headline_figure_stands_above_the_claims_and_only_there(found, html):
    first = found.displays[0]
    assert html.index(f'<table id="{first.name}-numbers"') < html.index('<table id="claims"')
    assert [d.name for d in found.page().displays].count(first.name) == 1
    assert {d.name for d in found.page().displays} == {d.name for d in found.displays}


def test_a_quick_run_has_a_banner(html):
    assert "Quick run" not in html
    few = Reproduction(cells({"only": {1.0: 0.9}}, experiment="my_own", seeds=2))
    text = few.page().html()
    assert text.index("Quick run, 2 seeds: it shows that everything works") < text.index(
        'class="tiles"'
    )
    assert "Quick run, 1 seed:" in Reproduction(few.results[few.results["seed"] == 0]).page().html()
    assert not Reproduction(cells({"only": {1.0: 0.9}}, seeds=3)).is_quick


def test_claims_are_judged_once_per_protocol_that_was_run(found):
    protocols = {}
    for judged in found.judged:
        protocols.setdefault(judged.claim.text, []).append(judged.protocol)
    texts = list(protocols)
    assert protocols[texts[0]] == ["as-written", "as-released"]
    assert ["not run"] in protocols.values()


def test_what_was_run_and_what_failed_is_listed(html):
    assert "3 cells failed; they are left out of every mean." in html
    assert html.count("theta became NaN in epoch 12") == 3
    assert "a &lt;b&gt; &amp; c" in html
    assert "<dd>0 to 3</dd>" in html


def test_published_values_stand_only_beside_the_same_metric(found):
    beside = [d for d in found.displays if "published mean" in d.frame()]
    assert beside
    assert {d.metric for d in beside} == {"hm_released"}


def test_a_store_of_one_method_and_no_publication_gives_a_page():
    page = Reproduction(cells({"only": {1.0: 0.9, 2.0: 0.8}}, experiment="my_own", seeds=1)).page()
    html = page.html()
    assert "My own" in html
    assert html.count("<figure") == 3
    assert "Claims" not in [section.title for section in page.sections]


def test_a_store_in_which_everything_failed_gives_a_page():
    frame = cells({"a": {1.0: 0.9}}, seeds=2)
    html = Reproduction(fail(frame, n=2), PAPER).page().html()
    assert "No cell was computed, so there is nothing to draw." in html
    assert html.count("<figure") == 0


def test_an_empty_store_is_refused():
    with pytest.raises(ValueError, match="hold no cell"):
        Reproduction(SMALL[:0], PAPER).page()


def test_a_method_with_a_hostile_name_changes_nothing():
    frame = small()
    frame["method"] = frame["method"].replace("standard", "<script>alert(1)</script>")
    html = Reproduction(frame, PAPER, published_of(frame)).page().html()
    assert html.count("<script") == 1


def test_pictures_and_numbers_can_be_saved(found):
    saved = save_figures(found.displays[:1])
    assert list(saved) == [f"{found.displays[0].name}{end}" for end in (".svg", ".csv")]
    assert saved[next(iter(saved))].startswith("<?xml")


def test_the_report_needs_no_torch():
    code = "import sys, alignset.report; assert 'torch' not in sys.modules"
    code += "; assert 'matplotlib.pyplot' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
