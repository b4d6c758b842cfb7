"""The page about one model: what it says, what it escapes, how it looks in a browser."""

import subprocess
import sys
from html import unescape

import numpy as np
import pandas as pd
import pytest
from fitting.kept import kept
from report.browser import chromium
from report.made_up_model import NASTY, decisions, facts, interval, manifest, measured, rates

from alignset.evaluate import ThresholdChoice
from alignset.fitting.advice import advise, gather_evidence
from alignset.report.model_page import model_page
from alignset.report.page import Fold, Gallery
from alignset.review.verdict import ReviewVerdict


@pytest.fixture(scope="module")
def html():
    return model_page(facts()).html()


def test_every_question_has_its_section():
    assert [section.title for section in model_page(facts()).sections] == [
        "Conclusion",
        "What its decisions would be",
        "How good the model is, and how even across groups",
        "Would a plain model do?",
        "What was learned about the labels",
        "What would change the conclusion",
        "Model card",
        "TRIPOD+AI checklist",
        "Words",
        "Provenance",
    ]


def test_what_was_found_is_said(html):
    text = unescape(html)
    for said in (
        "30.0\u00a0% (22.0\u00a0% to 40.0\u00a0%) of the labels are wrong",
        "The intervals do not overlap.",
        "Keep it.",
        "on observed labels",
        "corrected",
        "1 / (its probability of being reviewed)",
        "Verdict on the reviewed rows: amber",
        "Few rows.",
        "the group would be level with",
        "with every reviewed row weighted by the rows of the table that it stands for",
        "The model is told 'sex'.",
        "'pid' was left out.",
        "Left out because some class has too few reviewed rows: 'tiny'.",
        "ab" * 32,
        "cd" * 32,
        "alignset fit table.csv --label told",
    ):
        assert said.lower() in text.lower(), said


def test_models_are_compared_by_four_measures_and_the_two_that_decide(html):
    text = unescape(html)
    for said in (
        "log loss",
        "'yes' found at 0.4",
        "difference in log loss",
        "difference in AUROC",
        "every reviewed row weighted by the rows of the table that it stands for",
    ):
        assert said in text, said
    assert "difference in AUEOC" not in text
    once = unescape(model_page(facts(measured=measured(by_design=False))).html())
    assert "with every reviewed row counted once" in once


def test_a_folder_of_an_older_version_still_gets_its_page():
    old = manifest(("f", "m"))
    scores = {m: interval(0.8) for m in ("auroc", "aueoc", "hm")}
    old["comparison"] |= {
        "scores": {"standard": scores, "alignment": scores},
        "differences": {"standard": interval(0.1)},
    }
    text = unescape(model_page(facts(manifest=old)).html())
    assert "difference in HM" in text
    assert "+0.100 (+0.050 to +0.150)" in text


def blended():
    """The manifest of a blend, with a nasty learner."""
    row = {"labels": "both", "learner": NASTY, "weight": 0.25, "log_loss": 0.5, "auroc": 0.75}
    each = {**row, "low": 0.7, "high": 0.8}
    last = {**each, "labels": "blend", "learner": "all", "weight": 1.0, "auroc": None}
    found = manifest(("f", "m"))
    del found["search"]
    return {**found, "candidates": [each, last], "explained": f"All is on {NASTY}."}


def test_a_blend_shows_its_candidates_and_they_are_escaped():
    page = model_page(facts(manifest=blended()))
    (section,) = [s for s in page.sections if s.title == "What the model is made of"]
    html = page.html()
    assert "<script>alert" not in html
    text = unescape(html)
    assert f"All is on {NASTY}." in text
    assert "0.750 (0.700 to 0.800)" in text
    (table,) = [block.frame for block in section.blocks if hasattr(block, "frame")]
    assert table["learner"].tolist() == [NASTY, "all"]
    assert table["weight"].tolist() == ["0.25", "1.00"]
    assert table["AUROC"].tolist()[1] == "\N{EN DASH}"
    assert "What the model is made of" not in model_page(facts()).html()


def test_an_estimator_that_was_saved_shows_its_candidates_too():
    found = blended()
    found["network"] |= {"candidates": found.pop("candidates")}
    del found["explained"]
    assert "What the model is made of" in model_page(facts(manifest=found)).html()


def test_names_are_escaped_everywhere(html):
    assert "<script>alert" not in html
    assert html.count("<script>") == 1
    assert "&lt;script&gt;alert" in html


def test_the_same_facts_give_the_same_bytes(html):
    assert model_page(facts()).html() == html


def test_every_metric_is_there_three_ways():
    names = [display.name for display in model_page(facts()).displays]
    for kind in ("roc", "calibration"):
        assert [f"{kind}-{way}" in names for way in ("observed", "reviewed", "corrected")] == [
            *(True, True, True)
        ]
    assert {"noise-rates", "scores", "equalized-odds", "models"} <= set(names)


def test_without_probabilities_the_correction_says_what_it_assumes():
    page = model_page(facts(measured=measured(by_design=False), weighted=False)).html()
    assert "Reviewed rows count as drawn at random from the table or" in page
    assert "reviewed rows are treated as drawn at random" in page


def test_a_model_nothing_is_known_of_still_gets_its_page():
    known = rates(("f", "m"))
    known[["reviewed", "wrong", "rate", "low", "high"]] = np.nan
    bare = manifest(("f", "m"))
    for name in ("command", "data", "search", "rows", "comparison", "notes", "settings"):
        del bare[name]
    nothing = {
        "measured": None,
        "decisions": None,
        "verdict": None,
        "doubtful": None,
        "level": pd.DataFrame(),
    }
    unjudged = advise(None, why_not="only 9 rows are reviewed")
    page = model_page(facts(manifest=bare, rates=known, table=(), advice=unjudged, **nothing))
    html = page.html()
    for said in (
        "No reviewed rows are known",
        "nothing can be said here",
        "does not say how other models compare: it was not written by `alignset fit`",
        "Fewer than two groups have reviewed rows",
        "Pass the table with --table TABLE",
        "not recorded",
    ):
        assert said in html
    assert page.displays == []


def test_a_level_that_cannot_be_reached_is_said_so():
    level = pd.DataFrame(
        {"group": ["f"], "rate": [0.1], "now": [0.1], "needed": [-0.2], "level_with": ["m"]}
    )
    assert (
        "Even if none of them were wrong"
        in model_page(facts(groups=("f", "m"), level=level)).html()
    )
    over = level.assign(needed=1.2)
    assert (
        "Even if all of them were wrong" in model_page(facts(groups=("f", "m"), level=over)).html()
    )


def test_several_classes_are_told_apart_from_two():
    html = model_page(facts(classes=["a", "b", "c"])).html()
    assert "means over classes, each against the rest" in html


def test_a_group_with_hardly_a_review_is_not_named_at_a_glance():
    known = rates(("f", "m")).assign(reviewed=[140, 1])
    html = model_page(facts(groups=("f", "m"), rates=known)).html()
    assert "In group &#39;f&#39;, 10.0" in html
    assert "; in group" not in html


def test_groups_whose_intervals_overlap_have_no_tipping_point():
    known = rates(("f", "m")).assign(low=[0.06, 0.15], high=[0.18, 0.4])
    text = model_page(facts(groups=("f", "m"), rates=known)).html()
    assert "Which group has the noisier labels" not in text
    assert "Which model is recommended" in text
    level = manifest(("f", "m"))
    level["comparison"]["differences"]["standard"] = {"auroc": {**interval(0.01)}}
    text = model_page(facts(groups=("f", "m"), rates=known, manifest=level)).html()
    assert "Which model is recommended" not in text
    assert "there is nothing to tip" in text


def test_a_tipping_point_is_named():
    found = measured()
    tips = pd.DataFrame(
        {
            "group": ["f", "f"], "direction": ["more", "fewer"], "now": [0.1, 0.1],
            "tried": [0.5, 0.01], "tips": [0.25, np.nan], "recommended": ["standard", ""],
        }
    )  # fmt: skip
    object.__setattr__(found, "tipping", tips)
    html = model_page(facts(measured=found)).html()
    assert "If about 25.0\u00a0% or more of them were, Standard would be recommended." in html
    assert "The recommendation would be the same if as few as 1.0\u00a0% of them were." in html
    assert "As things are, Alignment is recommended." in html


def test_the_report_layer_imports_no_torch():
    code = "import sys, alignset.report.model_page; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_conclusion_comes_first_and_says_what_people_know():
    known = {"heading": f"Model {NASTY}", "owner": f"Dr {NASTY}", "intended_use": "To call back."}
    page = model_page(facts(**known))
    html = page.html()
    assert "<script>alert" not in html
    text = unescape(html)
    assert text.index("Use it") < text.index("Evidence") < text.index("Caveat")
    assert text.index("Caveat") < text.index('id="threshold"') < text.index('id="corrected"')
    assert f"<h1>Model {NASTY}</h1>" in text
    assert f"<dt>Owner</dt><dd>Dr {NASTY}</dd>" in text
    first = page.sections[0].blocks[0]
    assert first.conclusion == facts().advice.conclusion
    assert "A model of 'Told'" in unescape(model_page(facts()).html())


@pytest.mark.parametrize(("colour", "state"), [("green", "use"), ("amber", "care"), ("red", "no")])
def test_no_tile_is_green_beside_a_model_that_is_not_to_be_used(colour, state):
    review = ReviewVerdict(colour, (), "nothing.")
    good = model_page(facts(verdict=review)).sections[0].blocks[1]
    assert good.states["the reviewed rows"] == state
    worse = advise(gather_evidence(kept(), "standard", n_boot=20))
    assert worse.level == "no"
    tiles = model_page(facts(verdict=review, advice=worse)).sections[0].blocks[1]
    assert "use" not in tiles.states.values()
    assert tiles.states["AUROC, corrected"] == "no"


def test_one_roc_and_one_calibration_plot_are_open_and_the_others_are_folded():
    (section,) = [s for s in model_page(facts()).sections if s.title.startswith("How good")]
    shown = [d.name for b in section.blocks if isinstance(b, Gallery) for d in b.displays]
    assert shown == ["roc-corrected", "calibration-corrected"]
    (fold,) = [b for b in section.blocks if isinstance(b, Fold)]
    folded = [d.name for b in fold.blocks if isinstance(b, Gallery) for d in b.displays]
    assert {"roc-observed", "calibration-reviewed", "equalized-odds"} <= set(folded)


def test_the_checklist_is_filled_in_where_the_data_say_it():
    (section,) = [s for s in model_page(facts()).sections if "TRIPOD" in s.title]
    (fold,) = [b for b in section.blocks if isinstance(b, Fold)]
    frame = fold.blocks[0].frame.set_index("item")
    assert len(frame) == frame.index.nunique() == 52
    assert frame.loc["17", "what is known"] == "to be filled in by the authors"
    assert frame.loc["3b", "what is known"] == "to be filled in by the authors"
    assert frame.loc["10", "what is known"].startswith("1 000 rows, 240 of them reviewed.")
    assert frame.loc["25", "what is known"] == facts().advice.conclusion
    told = model_page(facts(intended_use="To call back.")).html()
    assert told.count("To call back.") == 3  # heading, card and checklist


def test_how_rows_were_held_out_is_said():
    about = {**manifest(("f", "m")), "held_out": "whole values of 'site', 4 in 3 parts",
             "judged_by": ["birth_year"]}  # fmt: skip
    text = unescape(model_page(facts(manifest=about)).html())
    assert "On whole values of 'site', 4 in 3 parts, by models that were trained without" in text
    assert "Groups are those of 'Birth year'." in text
    del about["held_out"]
    assert "Not recorded." in model_page(facts(manifest=about)).html()


@pytest.mark.xdist_group("browser")
def test_on_paper_what_was_folded_is_open_and_no_table_is_cut(html, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(html, encoding="utf-8")
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 700, "height": 1000})  # A4 without its margins
        page.goto(path.as_uri())
        assert page.locator("#tripod").is_hidden()
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("#tripod").is_visible()
        assert page.locator("#three-ways").is_visible()
        assert page.locator("#roc-corrected-numbers").is_hidden()
        wide = "t => t.scrollWidth > t.parentElement.clientWidth + 1"
        cut = [t.get_attribute("id") for t in page.locator("table").all() if t.evaluate(wide)]
        assert cut == []
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.emulate_media(media="screen")
        assert page.locator("#tripod").is_hidden()
        assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.xdist_group("browser")
def test_a_table_that_is_too_wide_for_a_phone_says_so(html, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(html, encoding="utf-8")
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 400, "height": 800})
        page.goto(path.as_uri())
        place = page.locator(".tabular", has=page.locator("#models"))
        assert place.locator(".cue").is_visible()
        assert "wide" in place.locator(".scroll").get_attribute("class")
        small = page.locator(".tabular", has=page.locator("#doubtful"))
        assert small.locator(".cue").is_hidden()


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_a_desk_and_a_phone_and_the_console_stays_empty(html, tmp_path, width):
    path = tmp_path / "report.html"
    path.write_text(html, encoding="utf-8")
    said = []
    with chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert NASTY in page.locator("body").inner_text()
        boxes = [svg.bounding_box() for svg in page.locator("figure svg").all()]
    assert (said, wide <= 0) == ([], True)
    assert all(box["width"] > 200 for box in boxes)


def test_a_blend_names_its_candidates_and_what_its_classifier_may_keep():
    about = manifest(["f", "m"])
    weights = {"observed": 0.25, "both": 0.75, "irbl": 0.0}
    table = [{"labels": name, "learner": "linear", "weight": v} for name, v in weights.items()]
    table.append({"labels": "blend", "learner": "all", "weight": 1.0})
    about["network"] = {"method": {"name": "blend"}, "candidates": table}
    found = facts(manifest=about)
    assert found.method == "Blend"
    text = unescape(model_page(found).html())
    assert (
        "Blend of 2 of 3 candidates, weighted by what they said of reviewed rows they were not "
        "trained on (labels, learner, weight): both linear 0.75, observed linear 0.25."
    ) in text
    assert "nearest neighbours" not in text
    about["files"] = {"estimators.skops": {}}
    assert "estimators.skops holds a classifier that is not part of alignset; some kinds" in (
        unescape(model_page(facts(manifest=about)).html())
    )


def test_what_a_threshold_does_is_shown(html):
    text = unescape(html)
    assert "No threshold was chosen (`alignset threshold`), so a row is predicted" in text
    assert "Decision curve" in text
    assert "alerts per 100" in text
    assert "0.50 (0.40 to 0.60)" in text
    assert "worth 310 for sensitivity" in text
    chosen = ThresholdChoice("tpr", 0.9, 0.25)
    known = {"target": "tpr", "value": 0.9, "threshold": 0.25, "by_group": {}, "of_class": 1}
    page = model_page(
        facts(
            decisions=decisions(chosen=chosen),
            manifest={**manifest(("f", "m")), "thresholds": known},
        )
    )
    text = unescape(page.html())
    assert "from a probability of 0.25. This was chosen to find at least 90 % of the rows" in (
        text.replace("\u00a0", " ")
    )
    assert "'yes' from 0.25 for all groups; chosen for tpr 0.9." in text
    none = model_page(facts(decisions=None)).html()
    assert "What its decisions would be" not in none


def test_bands_have_their_numbers():
    (curve,) = [d for d in model_page(facts()).displays if d.name == "decision-curve"]
    frame = curve.frame()
    assert list(frame.columns)[-2:] == ["from", "to"]
    assert curve.svg() == curve.svg()
    assert curve.svg().count("the model") == 1
