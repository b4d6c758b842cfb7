import numpy as np
import pytest
from aimed_tables import fill_in, made_table

from alignset.review.aim import Aim, read_rows
from alignset.review.audit import propose
from alignset.review.sample import sample
from alignset.review.sheet import make_sheet
from alignset.review.strata import block_codes, review_chance
from alignset.review.waves import read_design

AIM = Aim("tpr", "risk", threshold=0.3)
TABLE = made_table()


def chance_of(joined, scores=("risk",), group=("sex",)):
    rows = read_rows(joined, label="obs", truth="reviewed", group=group, scores=scores)
    return rows, review_chance(rows, read_design(joined))


def drawn_often(n_sheets=400, **options):
    """How often each row is on a sheet."""
    count = np.zeros(len(TABLE))
    for seed in range(n_sheets):
        sheet = sample(TABLE, label="obs", group="sex", random_state=seed, **options)
        count[sheet.frame()["row"]] += 1
    return count / n_sheets


@pytest.mark.parametrize("aim", [None, AIM, Aim("wrong")])
def test_the_probability_of_rows_that_were_not_drawn_is_recovered(aim):
    options = {"n": 240, "aim": aim}
    sheet = sample(TABLE, label="obs", group="sex", random_state=0, **options)
    _, known = chance_of(fill_in(TABLE, sheet))
    assert known.by_design
    assert known.counts.sum() == 240
    assert known.chance.sum() == pytest.approx(240)
    often = drawn_often(**options)
    z = (often - known.chance) / np.sqrt(known.chance * (1 - known.chance) / 400)
    assert abs(z).max() < 4.6


def test_two_sheets_are_pooled():
    first = sample(TABLE, n=100, label="obs", group="sex", random_state=0)
    once = fill_in(TABLE, first)
    second = sample(
        once, n=150, label="obs", group="sex", truth="reviewed", aim=AIM, random_state=1
    )
    twice = fill_in(once, second)
    rows, known = chance_of(twice)
    assert known.counts.sum() == rows.reviewed.sum() == 250
    assert not np.isnan(known.chance).any()
    p = chance_of(once)[1].chance
    assert (known.chance > p).all()
    assert known.chance.sum() == pytest.approx(250, rel=0.01)


def test_a_sheet_drawn_with_another_score_counts_by_its_own_probabilities():
    sheet = sample(TABLE, n=240, label="obs", group="sex", aim=AIM, random_state=0)
    rows, known = chance_of(fill_in(TABLE, sheet), scores=("other",))
    assert known.by_design
    assert np.isnan(known.chance[~rows.reviewed]).all()
    exact = chance_of(fill_in(TABLE, sheet))[1].chance
    assert known.chance[rows.reviewed] == pytest.approx(exact[rows.reviewed])


def test_groups_that_were_not_strata_do_not_hide_the_design():
    sheet = sample(TABLE, n=200, label="obs", random_state=0)
    _, known = chance_of(fill_in(TABLE, sheet))
    assert not np.isnan(known.chance).any()
    assert len(np.unique(known.chance)) == 2


def test_the_sheet_with_more_weight_counts_if_doubt_drew_the_other():
    table = fill_in(TABLE, sample(TABLE, n=300, label="obs", group="sex", random_state=0))
    pool = np.flatnonzero(table["wave"].isna())
    doubt = 1 - np.abs(table["obs"] - table["risk"]).to_numpy()[pool]
    drawn, chance = propose(doubt, 30, random_state=0)
    settings = {"stratum": "next", "wave": 2, "id": None, "show": (), "choices": (0, 1)}
    sheet = make_sheet(table, pool[drawn], probability=chance[drawn], **settings)
    rows, known = chance_of(fill_in(table, sheet))
    assert rows.reviewed.sum() == 330
    assert known.counts.sum() == 300  # 30 rows alone would stand for all others
    assert not np.isnan(known.chance).any()


def test_without_probabilities_reviewed_rows_count_as_random_in_their_group():
    picked = TABLE.assign(reviewed=TABLE["true"].where((TABLE["sex"] == "f") & (TABLE.index < 500)))
    _, known = chance_of(picked)
    assert not known.by_design
    f = TABLE["sex"] == "f"
    assert known.chance[f] == pytest.approx((f & (TABLE.index < 500)).sum() / f.sum())


def test_blocks_follow_the_score_and_closed_rows_belong_where_their_score_does():
    score = np.array([0.1, 0.9, 0.5, 0.5, 0.2, 0.95])
    is_open = np.array([True, True, True, True, True, False])
    assert block_codes(score, is_open, np.array([2, 3])).tolist() == [0, 1, 1, 1, 0, 1]
    assert block_codes(score, is_open, np.array([5])).tolist() == [0] * 6
