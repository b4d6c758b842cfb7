"""How good a model is, on its page: numbers that agree, and the truth where there are none."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
from fitting.kept import kept
from report.made_up_model import facts, manifest, measured, rates

from alignset.model.measures import calibration_curves, measure, odds_curves, roc_curves
from alignset.report.displays import Axis
from alignset.report.model_displays import Dots
from alignset.report.model_page import model_page


def test_a_folder_without_its_predictions_says_so_and_not_that_nothing_was_compared():
    bare = manifest(("f", "m"))
    bare["comparison"] |= {"level": 0.95, "by_design": True}
    alike = rates(("f", "m")).assign(low=0.0, high=0.5)
    gone = {"measured": None, "decisions": None, "rates": alike}
    page = model_page(facts(groups=("f", "m"), manifest=bare, **gone))
    html = page.html()
    assert "The folder was written with --no-evaluation" in html
    assert "which --no-evaluation kept out of the folder" in html
    assert "with all rows of the same person" in html  # how it was judged is known
    assert "every reviewed row weighted by the rows of the table" in html
    for untrue in (
        "not compared",
        "Too few rows are reviewed,",
        "It was not judged",
        "counted once",
    ):
        assert untrue not in html


def test_a_difference_in_the_table_is_that_of_the_scores_beside_it():
    told = manifest(("f", "m"))
    found = told["comparison"]
    found |= {"level": 0.95}
    own, theirs = ({**found["scores"]["standard"]} for _ in range(2))
    own["log_loss"] = {"estimate": 0.44349, "low": 0.4, "high": 0.5}
    theirs["log_loss"] = {"estimate": 0.44051, "low": 0.4, "high": 0.5}
    found["scores"] = {"alignment": own, "standard": theirs}
    found["differences"]["standard"]["log_loss"] = {"estimate": 0.00298, "low": 0.0, "high": 0.01}
    html = unescape(model_page(facts(groups=("f", "m"), manifest=told)).html())
    for text in ("0.443 (0.400 to 0.500)", "0.441 (0.400 to 0.500)", "+0.002 (+0.000 to +0.010)"):
        assert text in html.replace("\u00a0", " ")


def test_one_group_leaves_evenness_blank_and_says_why():
    one = kept(groups=("all",), noise=(0.2,))
    alone = replace(
        measured(), scores=measure(one, n_boot=20, random_state=0), odds=odds_curves(one),
        roc=roc_curves(one), calibration=calibration_curves(one),
    )  # fmt: skip
    told = manifest(("all",))
    for scores in told["comparison"]["scores"].values():
        scores["aueoc"] = dict.fromkeys(("estimate", "low", "high"))
    page = model_page(facts(groups=("f", "m"), measured=alone, manifest=told))
    html = page.html()
    assert "AUEOC and HM are left blank: they compare groups" in html
    assert "AUEOC is left blank: it compares groups" in html
    assert "1.000 (1.000 to 1.000)" not in html
    (scores,) = [display for display in page.displays if display.name == "scores"]
    assert set(scores.frame()["label"]) == {"AUROC"}


def test_ticks_of_shares_have_decimals_where_their_steps_do():
    row = {"label": ["f"], "estimate": [0.1], "low": [0.05], "high": [0.182]}
    svg = Dots(pd.DataFrame(row), Axis("share", is_share=True), name="noise").svg()
    ticks = re.findall(r">([\d.]+) %</text>", svg)
    numbers = [float(tick) for tick in ticks]
    steps = set(np.round(np.diff(numbers), 6))
    assert len(numbers) > 4
    assert len(steps) == 1
