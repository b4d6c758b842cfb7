"""The campaign of docs/evaluation/plan.md, in small."""

import pandas as pd
import plan_campaign as campaign
import pytest

from alignset.review.aim import Aim

SMALL = campaign.Target("small", Aim("auroc", "score"), 0.06, rows=1500, grouped=False, draws=15)


@pytest.mark.parametrize("first", [0, 80])
def test_a_small_campaign_keeps_its_promise(first, monkeypatch):
    monkeypatch.setattr(campaign, "PLANS", 2)
    monkeypatch.setattr(campaign, "PLANS_AFTER_WAVE", 5)
    target = campaign.Target("s", SMALL.aim, 0.06, rows=1500, grouped=False, draws=15, first=first)
    found = campaign.summary(target, campaign.measure(target, 30))
    assert found["met"] >= 0.8
    assert found["coverage"] >= 0.83
    assert 60 <= found["planned"] < 1000
    assert found["width"] <= found["width_alone"]


def test_half_the_rows_break_the_promise():
    rng = campaign.np.random.default_rng(0)
    table = campaign.new_table(SMALL, rng)
    n = campaign.make_plan(SMALL, table, rng)
    widths = [
        max((e.high - e.low) / 2 for e in campaign.review(SMALL, table, n // 3, rng).values())
        for _ in range(10)
    ]
    assert pd.Series(widths).gt(0.06).mean() > 0.5


def test_the_page_shows_every_target_that_was_run():
    table = pd.read_csv(campaign.OUT)
    assert table["target"].tolist() == [target.name for target in campaign.TARGETS]
    assert table["repetitions"].min() >= 500
    assert (table["met"] >= 0.9).all()
    assert table["coverage"].between(0.93, 0.97).all()
    text = campaign.OUT.with_name("plan.md").read_text(encoding="utf-8")
    assert text == campaign.page(table, pd.read_csv(campaign.SHEETS))
