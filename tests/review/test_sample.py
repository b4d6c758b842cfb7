import re

import numpy as np
import pandas as pd
import pytest

from alignset.review.design import even, neyman
from alignset.review.sample import sample

TABLE = pd.DataFrame(
    {
        "pid": np.arange(400) + 1000,
        "sex": np.repeat(["f", "m"], [300, 100]),
        "obs": np.tile(["no", "no", "no", "yes"], 100),
        "age": np.arange(400) % 60 + 20,
    }
)


def drawn(**options):
    return sample(TABLE, **{"n": 40, "label": "obs", "group": "sex", "random_state": 0} | options)


def test_a_sheet_has_ids_strata_probabilities_and_an_empty_column():
    sheet = drawn(id="pid", show=["age"])
    rows = sheet.frame()
    assert rows.columns.tolist() == ["pid", "stratum", "wave", "probability", "age", "reviewed"]
    assert len(sheet) == 40
    assert rows["pid"].is_unique
    assert (rows["reviewed"] == "").all()
    assert (rows["wave"] == 1).all()
    assert sheet.choices == ("no", "yes")
    ages = TABLE.set_index("pid")["age"]
    assert rows["age"].tolist() == ages[rows["pid"]].tolist()


def test_without_an_id_rows_are_known_by_their_place():
    rows = drawn().frame()
    assert rows.columns[0] == "row"
    assert rows["row"].between(0, 399).all()


def test_probabilities_are_draws_over_rows_of_the_stratum():
    rows = drawn(allocation=even).frame().join(TABLE, on="row")
    for _, part in rows.groupby("stratum"):
        assert part.groupby(["sex", "obs"]).ngroups == 1
        size = ((TABLE["sex"] == part["sex"].iloc[0]) & (TABLE["obs"] == part["obs"].iloc[0])).sum()
        assert part["probability"].to_numpy() == pytest.approx(len(part) / size)
    assert (1 / rows["probability"]).sum() == pytest.approx(400)
    assert rows["sex"].value_counts().to_dict() == {"f": 20, "m": 20}


def test_every_row_is_drawn_as_often_as_its_probability_says():
    rng = np.random.default_rng(0)
    small = TABLE.iloc[::9].reset_index(drop=True)
    counts, chance = np.zeros(len(small)), np.zeros(len(small))
    for _ in range(800):
        rows = sample(small, n=12, label="obs", group="sex", floor=2, random_state=rng).frame()
        counts[rows["row"]] += 1
        chance[rows["row"]] = rows["probability"]
    z = (counts / 800 - chance) / np.sqrt(chance * (1 - chance) / 800)
    assert abs(z).max() < 4


def test_the_observed_label_is_hidden_unless_asked_for():
    hidden = drawn(show=["age"]).frame()
    assert "obs" not in hidden
    assert not {"no", "yes"} & set(hidden["stratum"])
    assert "obs" in drawn(show_label=True).frame()
    # the number of a stratum does not give its label away from one sheet to the next
    first = [
        drawn(random_state=seed).frame().join(TABLE, on="row").set_index("stratum")["obs"]["1"]
        for seed in range(8)
    ]
    assert len({np.unique(values)[0] for values in first}) == 2


def test_a_sheet_is_shuffled_and_the_same_for_the_same_seed():
    rows = drawn().frame()
    assert not rows["row"].is_monotonic_increasing
    assert rows["stratum"].ne(rows["stratum"].shift()).sum() > 8
    pd.testing.assert_frame_equal(rows, drawn().frame())
    assert set(rows["row"]) != set(drawn(random_state=1).frame()["row"])


def test_without_label_and_group_it_is_a_simple_random_sample():
    sheet = sample(TABLE, n=10, random_state=0)
    assert sheet.frame()["probability"].unique().tolist() == [10 / 400]
    assert sheet.choices == ()


def test_neyman_takes_guesses():
    rows = drawn(allocation=neyman, guess={"no": 0.02, "yes": 0.5}).frame().join(TABLE, on="row")
    assert (rows["obs"] == "yes").mean() > 0.45


def test_rows_that_are_known_or_were_drawn_are_left_out():
    wave = pd.Series([1.0] * 5 + [None] * 395)
    before = TABLE.assign(reviewed=["no"] * 3 + [None] * 397, wave=wave)
    before = before.assign(stratum=wave.map({1.0: "1"}), probability=wave / 80)
    rows = sample(before, n=395, label="obs", truth="reviewed", random_state=0).frame()
    assert rows["row"].min() == 5
    assert (rows["wave"] == 2).all()
    without = TABLE.assign(reviewed=["no"] * 3 + [None] * 397)
    assert sample(without, n=397, truth="reviewed", random_state=0).frame()["row"].min() == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n": 401}, "n must be from 1 to 400 (the rows not yet reviewed), got 401."),
        ({"n": 0}, "n must be from 1 to 400 (the rows not yet reviewed), got 0."),
        (
            {"n": 3},
            "cannot draw 3 rows from 4 group x label cells; draw at least 4, one "
            "from each, or use fewer groups.",
        ),
        (
            {"id": "sex"},
            "column 'sex' holds 'f' more than once; an id must identify one row: leave it "
            "out to use the position in the table.",
        ),
        (
            {"id": "pidd"},
            "the table has no column 'pidd'; did you mean 'pid'? it has pid, sex, obs, age.",
        ),
        ({"show": ["weight"]}, "the table has no column 'weight'; it has pid, sex, obs, age."),
        ({"truth": "true"}, "the table has no column 'true'; it has pid, sex, obs, age."),
        ({"label": None, "show_label": True}, "show_label needs label, the column to show."),
    ],
)
def test_bad_options_are_refused(options, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        drawn(**options)


@pytest.mark.parametrize(
    ("frame", "options", "said"),
    [
        (
            TABLE.assign(t="no"),
            {"truth": "t"},
            "all 400 rows are reviewed; there is nothing left to draw.",
        ),
        (
            TABLE.assign(pid=[None, *range(399)]),
            {"id": "pid"},
            "column 'pid' is missing in 1 of 400 rows, first in data row 1; every row needs an id.",
        ),
        (
            TABLE.rename(columns={"pid": "wave"}).assign(wave=None),
            {"show": ["wave"]},
            "cannot show column 'wave': the sheet has its own.",
        ),
        (
            TABLE.rename(columns={"pid": "stratum"}),
            {"id": "stratum"},
            "the table has a column 'stratum' of its own, and `alignset join` writes how rows "
            "were drawn for review to one of that name; rename it, such as to 'own_stratum'.",
        ),
        (
            TABLE.assign(obs="no"),
            {},
            "column 'obs' has one class, 'no', in all 400 rows; a label needs at least two.",
        ),
    ],
)
def test_bad_tables_are_refused(frame, options, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        sample(frame, n=40, label="obs", random_state=0, **options)


def test_a_group_of_one_is_drawn_for_certain():
    one = pd.concat([TABLE, TABLE[:1].assign(sex="x")], ignore_index=True)
    rows = sample(one, n=40, label="obs", group="sex", random_state=0).frame()
    assert rows.set_index("row")["probability"][400] == 1.0
