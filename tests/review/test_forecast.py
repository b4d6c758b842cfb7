import re

import numpy as np
import pandas as pd
import pytest
from aimed_tables import fill_in, made_table

from alignset.review import forecast as module
from alignset.review.aim import Aim, prepare, reach, read_rows
from alignset.review.forecast import forecast
from alignset.review.plan import plan
from alignset.review.sample import sample
from alignset.review.strata import review_chance
from alignset.review.waves import read_design

TPR = Aim("tpr", "risk", threshold=0.3)
POOL = made_table(200_000, seed=9)
GUESS = (POOL["obs"] != POOL["true"]).groupby(POOL["obs"]).mean().to_dict()


def made(table, aim=TPR, **options):
    settings = {"label": "obs", "group": "sex", "precision": 0.12, "guess": GUESS, "draws": 20}
    return forecast(table, aim, random_state=0, **settings | options)


def reviewed_widths(aim, n, draws, *, first=0):
    """Half-widths, and whether they have the truth, of reviews as planned."""
    widths, inside = [], []
    for seed in range(draws):
        table = made_table(seed=100 + seed)
        truth, options = None, {"label": "obs", "group": "sex", "random_state": seed}
        if first:
            table, truth = fill_in(table, sample(table, n=first, **options)), "reviewed"
        joined = fill_in(table, sample(table, n=n, aim=aim, guess=GUESS, truth=truth, **options))
        rows = read_rows(joined, label="obs", truth="reviewed", group="sex", scores=aim.columns)
        known = review_chance(rows, read_design(joined))
        every = prepare(rows, rows.true, known.chance, aim.threshold, np.random.default_rng(0))
        found = reach(every, aim, 0.95)
        widths.append(max((one.high - one.low) / 2 for one in found.values()))
        positive = POOL[POOL["true"] == 1]
        for name, one in found.items():
            at = (positive["risk"][positive["sex"] == name] >= 0.3).mean()
            inside.append(one.low <= at <= one.high)
    return np.array(widths), np.array(inside)


@pytest.mark.parametrize("first", [0, 120])
def test_the_promise_is_kept_in_nine_of_ten_reviews(first):
    table = made_table(seed=1)
    options = {"precision": 0.11}
    if first:
        start = sample(table, n=first, label="obs", group="sex", random_state=0)
        table, options = fill_in(table, start), options | {"truth": "reviewed"}
    promised = made(table, draws=40, **options)
    widths, inside = reviewed_widths(TPR, promised.total, 60, first=first)
    assert (widths <= 0.11).mean() >= 0.85  # 90 %, less two standard errors of 60 reviews
    assert widths.mean() > 0.6 * 0.11  # and not because far too many rows were asked for
    assert inside.mean() >= 0.89  # 95 %, less three standard errors of 120 intervals
    if not first:  # the expected width is no promise
        hoped = made(table, draws=40, assurance=0.5, **options)
        assert hoped.total < promised.total


def test_the_noise_rate_keeps_its_promise_too():
    table = made_table(seed=1, noise=0.1)
    settings = {"label": "obs", "group": "sex", "precision": 0.05, "guess": 0.1}
    totals = {a: plan(table, assurance=a, **settings).total for a in (None, 0.9)}
    kept = {}
    for assurance, n in totals.items():
        widths = []
        for seed in range(60):
            other = made_table(seed=200 + seed, noise=0.1)
            options = {"label": "obs", "group": "sex", "guess": 0.1, "random_state": seed}
            joined = fill_in(other, sample(other, n=n, aim=Aim("wrong"), **options))
            rows = read_rows(joined, label="obs", truth="reviewed", group="sex")
            known = review_chance(rows, read_design(joined))
            every = prepare(rows, rows.true, known.chance, None, np.random.default_rng(0))
            found = reach(every, Aim("wrong"), 0.95)
            widths.append(max((one.high - one.low) / 2 for one in found.values()))
        kept[assurance] = np.mean(np.array(widths) <= 0.05)
    assert kept[0.9] >= 0.85
    assert kept[None] < kept[0.9]


def test_a_narrower_interval_takes_more_rows_and_a_surer_one_too():
    table = made_table()
    narrow, wide = (made(table, precision=p).total for p in (0.09, 0.13))
    assert narrow > 1.4 * wide
    hoped, sure = (made(table, assurance=a, draws=40).total for a in (0.5, 0.95))
    assert sure > hoped


def test_labels_that_know_nothing_save_nothing_and_good_ones_much():
    good, bad = (
        made(made_table(noise=0.03), guess=0.03),
        made(made_table(noise=0.25), guess=0.4, precision=0.2),
    )
    assert good.total < 0.6 * good.alone
    assert bad.total > 0.6 * bad.alone
    assert "save" in " ".join(good.notes)


def test_a_proxy_no_better_than_the_score_is_said_to_save_at_most_half():
    table = made_table()
    worse = made(table, guess=0.4).notes[-1]
    assert worse.endswith(
        "a proxy no better than the model it judges saves at most half of the reviews "
        "(Dorner, Nastl & Hardt 2025)."
    )
    assert "were they no better than the score" in made(table, guess=0.05).notes[-1]
    assert not any("proxy" in text for text in made(table, Aim("wrong", "risk")).notes)


def test_what_cannot_be_reached_is_said():
    found = made(made_table(300), precision=0.02)
    assert not found.reached
    assert found.total == 300
    assert found.left > 0.02
    said = " ".join(found.notes)
    assert "a half-width of 0.02 is out of reach: 300 rows are what there is" in said
    assert "all 300 rows reviewed would still leave" in said


def test_differences_between_groups_and_scores_are_planned():
    table = made_table()
    between = made(table, Aim("tpr", "risk", threshold=0.3, between=("f", "m")), precision=0.15)
    assert between.groups["group"].tolist() == ["TPR at 0.3, m minus f"]
    paired = made(table, Aim("auroc", "risk", "other"), group=(), precision=0.05)
    assert paired.groups["group"].tolist() == ["all"]
    assert paired.aim.title == "AUROC, other minus risk"


def test_large_tables_are_simulated_by_some_of_their_rows(monkeypatch):
    table = made_table(4000)
    whole = made(table, draws=40).total
    monkeypatch.setattr(module, "MOST_ROWS", 2500)
    assert made(table, draws=40).total == pytest.approx(whole, rel=0.35)


def test_three_classes_have_noise_rates_only():
    table = made_table()
    three = table.assign(obs=np.where(table.index % 5 == 0, 2, table["obs"]))
    found = made(three, Aim("wrong", between=("f", "m")), precision=0.1, guess=0.1)
    assert 30 <= found.total < 2000
    with pytest.raises(ValueError, match="a score column is for two classes, but 'obs' has 3"):
        made(three)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"precision": 0.6}, "precision must lie in (0, 0.5), got 0.6; write 0.05 for 5 %."),
        ({"assurance": 90}, "assurance must lie in (0, 1), got 90; write 0.05 for 5 %."),
        ({"draws": 3}, "draws must be 10 or more, got 3; with fewer there is no share."),
    ],
)
def test_bad_options_are_refused(options, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        made(made_table(200), **options)


@pytest.mark.parametrize(
    ("aim", "said"),
    [
        ({"measure": "f1"}, "there is no measure 'f1'; use one of wrong, prevalence, auroc, tpr,"),
        ({"measure": "ppv", "score": "a"}, "ppv needs threshold, the score from which rows count."),
        (
            {"score": "a", "score_b": "b"},
            "wrong does not depend on a score, so two scores do not differ in it",
        ),
        (
            {"measure": "auroc", "score": "a", "score_b": "b", "between": (0, 1)},
            "between compares two groups, score_b two scores; pass one of them.",
        ),
    ],
)
def test_aims_that_make_no_sense_are_refused(aim, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        Aim(**aim)


def test_a_score_with_gaps_is_refused():
    table = made_table(200)
    with pytest.raises(ValueError, match="column 'risk' holds nan in data row 3; a score must be"):
        made(table.assign(risk=table["risk"].mask(pd.RangeIndex(200) == 2)))
