import numpy as np
import pytest
from aimed_tables import fill_in, made_table

from alignset.review.aim import Aim, prepare, reach, read_rows
from alignset.review.belief import believe
from alignset.review.sample import sample
from alignset.review.shortest import LEAST_SIGMA, share_out
from alignset.review.strata import review_chance
from alignset.review.waves import read_design

TPR = Aim("tpr", "risk", threshold=0.3)


def shares(table, aim, n=300, guess=0.08, group="sex"):
    rows = read_rows(table, label="obs", group=group, scores=aim.columns)
    q = believe(rows, guess)[0].probability()
    return rows, q, share_out(rows, aim, q, np.ones(len(rows), dtype=bool), n)


@pytest.mark.parametrize(
    "aim", [TPR, Aim("wrong"), Aim("auroc", "risk", "other"), Aim("wrong", between=("f", "m"))]
)
def test_every_row_has_a_chance_and_the_counts_add_up(aim):
    _, _, found = shares(made_table(), aim)
    assert found.counts.sum() == 300
    assert (found.chance > 0).all()
    assert (found.counts <= found.sizes).all()
    assert found.chance.sum() == pytest.approx(300)


def test_rows_go_where_the_true_label_is_least_certain():
    rows, q, found = shares(made_table(), Aim("wrong"), guess={0: 0.02, 1: 0.3})
    by_label = [found.chance[rows.cells.label == k].mean() for k in (0, 1)]
    ratio = np.sqrt(0.3 * 0.7 / (0.02 * 0.98))
    assert by_label[1] / by_label[0] == pytest.approx(ratio, rel=0.1)
    assert q[rows.cells.label == 1, 0].mean() == pytest.approx(0.3)


def test_the_smaller_group_is_not_left_behind():
    rows, _, found = shares(made_table(), Aim("wrong"))
    drawn = np.bincount(rows.cells.group, found.chance)
    assert drawn[0] == pytest.approx(drawn[1], rel=0.1)
    whole = share_out(
        *(read_rows(made_table(), label="obs"), Aim("wrong")),
        shares(made_table(), Aim("wrong"), group=())[1], np.ones(2000, dtype=bool), 300,
    )  # fmt: skip
    share = np.bincount(rows.cells.group, whole.chance) / 300
    assert share == pytest.approx(np.bincount(rows.cells.group) / 2000, abs=0.02)


def test_no_stratum_is_looked_at_far_less_often_than_its_group():
    rows, _, found = shares(made_table(), TPR, n=600)
    for g in (0, 1):
        chance = found.chance[rows.cells.group == g]
        assert chance.min() > 0.8 * LEAST_SIGMA * chance.mean()


def test_a_difference_does_not_spend_rows_on_a_third_group():
    table = made_table()
    table.loc[table.index % 3 == 0, "sex"] = "x"
    rows, _, found = shares(table, Aim("tpr", "risk", threshold=0.3, between=("f", "m")))
    drawn = np.bincount(rows.cells.group, found.chance)
    assert drawn[2] < 0.15 * drawn[:2].sum()
    assert drawn[2] > 0


@pytest.mark.parametrize("aim", [Aim("tpr", "risk", threshold=0.3), Aim("auroc", "risk", "other")])
def test_intervals_are_shorter_than_those_of_a_proportional_sheet(aim):
    def width(chosen, seed):
        table = made_table(seed=seed)
        sheet = sample(
            table, n=250, label="obs", group="sex", aim=chosen, guess=0.08, random_state=seed
        )
        joined = fill_in(table, sheet)
        rows = read_rows(joined, label="obs", truth="reviewed", group="sex", scores=aim.columns)
        chance = review_chance(rows, read_design(joined)).chance
        rng = np.random.default_rng(0)
        found = reach(prepare(rows, rows.true, chance, aim.threshold, rng), aim, 0.95)
        return max(one.high - one.low for one in found.values())

    ratio = [np.log(width(aim, seed) / width(None, seed)) for seed in range(30)]
    assert np.mean(ratio) + 2 * np.std(ratio) / np.sqrt(30) < 0


def test_a_first_wave_moves_rows_to_where_labels_were_found_wrong():
    table = made_table(noise=0.02)
    table["obs"] = np.where((table["sex"] == "m") & (table.index % 3 == 0), 1 - table["true"],
                            table["obs"])  # fmt: skip
    first = fill_in(table, sample(table, n=200, label="obs", group="sex", random_state=0))
    options = {"label": "obs", "group": "sex", "truth": "reviewed", "n": 200, "random_state": 1}
    sheet = sample(first, aim=Aim("wrong"), **options).frame()
    assert (sheet["wave"] == 2).all()
    men = (table["sex"][sheet["row"]] == "m").mean()
    plain = sample(first, **options).frame()
    assert men > (table["sex"][plain["row"]] == "m").mean() + 0.1
