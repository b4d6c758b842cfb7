"""The campaign of docs/evaluation/reviewers.md, in small."""

import numpy as np
import pandas as pd
import reviewer_campaign as campaign


def test_a_small_campaign_covers():
    """With 10 % errors: intervals hold, and those that take answers as told do not."""
    found = pd.DataFrame([campaign.review_once(campaign.MAIN[1], seed) for seed in range(12)])
    assert found["coverage"].mean() >= 0.83
    assert found["as_told"].mean() < 0.8
    assert abs(found["bias"].mean()) < 0.02
    assert found["bias_as_told"].mean() > 0.03
    assert found["half_width"].mean() > found["half_width_true"].mean()


def test_blanks_are_bounded():
    found = pd.DataFrame([campaign.blank_once(seed) for seed in range(5)])
    assert found["bounds_cover"].mean() == 1
    assert found["amber"].mean() == 1


def test_a_model_loses_little(monkeypatch):
    monkeypatch.setattr(campaign, "BLEND", campaign.Blend(("observed", "both"), ("linear",), None))
    for one in campaign.fit_once("linear", 0).values():
        assert one["perfect"] - one["soft"] < 0.02
        assert one["perfect"] > 0.75


def test_a_fifth_is_answered_twice_and_disputes_are_adjudicated():
    rng = np.random.default_rng(0)
    _, true = campaign.new_table(rng)
    asked = np.arange(1000)
    answers, first = campaign.answer(true, asked, campaign.MAIN[1], rng)
    assert 0.15 < (answers.n_told[asked] == 2).mean() < 0.25
    assert (answers.n_told[1000:] == 0).all()
    assert ((first >= 0) == (np.arange(len(true)) < 1000)).all()
    assert not answers.disputed.any()
    assert (answers.settled[answers.settled >= 0] == true[answers.settled >= 0]).all()


def test_the_page_is_what_the_tool_makes_of_its_file():
    stored = pd.read_csv(campaign.OUT)
    page = campaign.OUT.with_suffix(".md").read_text(encoding="utf-8")
    assert page == campaign.page(stored)
