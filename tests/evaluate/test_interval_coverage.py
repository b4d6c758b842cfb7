"""A small version of the campaign in docs/evaluation, and that its page is what the tools write."""

import evaluation
import numpy as np
import pandas as pd
import pytest
from interval_coverage import Setting, make_pool, measure, review, settings

FAST = ("wrong", "auroc", "tpr", "prevalence")


@pytest.mark.parametrize(
    "setting",
    [
        Setting("srs", 100, noise=0.05),
        Setting("doubt", 200, noise=0.1),
        Setting("srs", 200, soft="wrong"),
    ],
    ids=lambda setting: setting.name,
)
def test_intervals_hold_what_they_promise(setting):
    found = measure(setting, 300, only=FAST).set_index("estimand")
    assert (found.coverage > 0.91).all()  # 95 %, less three standard errors
    assert (found.coverage[["auroc", "tpr", "prevalence"]] < 0.99).all()
    assert (found.bias.abs() < 0.02).all()
    assert (found.mse_ratio > 0.9).all()


def test_soft_labels_make_intervals_narrower_where_labels_are_mostly_right():
    found = measure(Setting("srs", 200, noise=0.03), 60, only=("tpr", "auroc"))
    assert (found.width < 0.75 * found.width_alone).all()


@pytest.mark.slow
def test_evenness_and_differences_hold_too():
    found = measure(Setting("srs", 400, noise=0.1, even=True), 300).set_index("estimand")
    assert found.coverage[["aueoc", "hm"]].min() > 0.91
    assert found.coverage.min() > 0.9


def test_probabilities_of_review_add_up():
    for design in ("srs", "strata", "doubt"):
        setting, rng = Setting(design, 200), np.random.default_rng(0)
        rows = make_pool(setting, rng).take(np.arange(1000))
        seen, chance = review(setting, rows, rng)
        assert abs(int(seen.sum()) - 200) <= 1
        assert chance.sum() == pytest.approx(200, abs=1)
        assert ((chance > 0) & (chance <= 1)).all()


def test_the_campaign_has_been_run_as_it_is_written():
    table = pd.read_csv(evaluation.FOLDER / "coverage.csv")
    keys = ["design", "reviewed", "noise", "groups", "soft"]
    run = set(map(tuple, table[keys].to_numpy()))
    assert run == {(s.design, s.reviewed, s.noise, s.groups, s.soft) for s in settings()}
    assert table.repetitions.min() >= 2000


def test_the_page_is_made_from_the_numbers_beside_it():
    table, worth = (pd.read_csv(evaluation.FOLDER / name) for name in ("coverage.csv", "worth.csv"))
    written = (evaluation.FOLDER / "README.md").read_text(encoding="utf-8")
    assert written == evaluation.page(table, worth)
