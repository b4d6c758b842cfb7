import re

import numpy as np
import pandas as pd
import pytest

from alignset.evaluate.proportion import clopper_pearson, expected_half_width, wilson
from alignset.review import plan as module
from alignset.review.design import even, neyman
from alignset.review.plan import plan, smallest


def table(**counts):
    """Rows by ``group_label=count``."""
    rows = [
        {"sex": key.split("_")[0], "obs": key.split("_")[1]}
        for key, n in counts.items()
        for _ in range(n)
    ]
    return pd.DataFrame(rows)


BIG = table(f_no=3000, f_yes=1000, m_no=400, m_yes=100)


def test_the_numbers_of_a_textbook():
    # Cochran: 1.96^2 * 0.25 / 0.05^2 = 384 for a large population; Wilson needs a little less
    huge = pd.DataFrame({"obs": np.repeat(["no", "yes"], 500_000)})
    made = plan(huge, label="obs", rule=wilson)
    assert 378 <= made.total_at_worst <= 385
    assert made.groups["group"].tolist() == ["all"]
    exact = plan(huge, label="obs", rule=clopper_pearson)
    assert made.total < exact.total < exact.total_at_worst <= 404


def test_what_is_needed_is_enough_and_one_less_is_not():
    made = plan(BIG, label="obs", group="sex", precision=0.06)
    assert (made.groups["half_width"] <= 0.06).all()
    ask = module._Question(0.06, 0.95, wilson)
    sizes = np.array([3000, 1000])
    for rates in ([0.2, 0.2], [0.05, 0.4]):
        needed = int(ask.rows_needed(sizes, np.array(rates)).sum())
        by_hand = next(
            n
            for n in range(2, 4000)
            if ask.half_width(sizes, module.allocate(sizes, sizes, n), np.array(rates)) <= 0.06
        )
        assert needed == by_hand


@pytest.mark.parametrize("rule", [wilson, clopper_pearson])
def test_the_search_finds_the_smallest_number_of_a_small_population(rule):
    ask = module._Question(0.1, 0.9, rule)
    for n_no, n_yes in [(30, 5), (7, 40), (60, 60)]:
        sizes = np.array([n_no, n_yes])
        enough = [
            n
            for n in range(2, n_no + n_yes + 1)
            if rule(
                0.5,
                module._design_size(sizes, module.allocate(sizes, sizes, n), np.full(2, 0.5)),
                level=0.9,
            )[1]
            <= 0.6
        ]
        assert int(ask.rows_at_worst(sizes).sum()) == enough[0]


def test_a_dip_is_not_missed():
    assert smallest(lambda n: n in (46, 47) or n >= 50, 1, 100) == 46
    assert smallest(lambda n: n >= 100, 1, 100) == 100
    assert smallest(lambda n: True, 3, 100) == 3


def test_the_worst_case_needs_the_most():
    made = plan(BIG, label="obs", group="sex", guess=0.3)
    for group in made.groups.itertuples():
        assert group.needed <= group.needed_at_worst <= group.rows
    assert made.total <= made.total_at_worst


def test_a_small_group_needs_a_larger_share_but_fewer_rows():
    f, m = plan(BIG, label="obs", group="sex").groups.itertuples()
    assert m.needed < f.needed
    assert m.needed / m.rows > f.needed / f.rows


def test_cells_add_up_to_groups_and_mirror_the_labels():
    made = plan(BIG, label="obs", group="sex", budget=200)
    cells, groups = made.frame(), made.group_frame().set_index("group")
    for column in ("rows", "needed", "needed_at_worst", "within_budget"):
        assert cells.groupby("group")[column].sum().to_dict() == groups[column].to_dict()
    f_no = cells.query("group == 'f' and label == 'no'")["needed"].item()
    assert f_no == pytest.approx(0.75 * groups["needed"]["f"], abs=1)
    assert cells["within_budget"].sum() == 200
    assert cells["within_budget"].min() >= 10


def test_a_larger_budget_narrows_every_group():
    widths = [
        plan(BIG, label="obs", group="sex", budget=b).group_frame()["budget_half_width"]
        for b in (100, 300, 4500)
    ]
    assert (widths[0] > widths[1]).all()
    assert widths[2].tolist() == [0, 0]


def test_even_makes_the_widest_interval_narrower_and_neyman_the_average():
    widest = {}
    for rule in (None, even):
        options = {} if rule is None else {"allocation": rule}
        made = plan(BIG, label="obs", group="sex", budget=200, floor=1, **options)
        widest[rule] = made.group_frame()["budget_half_width"].max()
    assert widest[even] < widest[None]
    guess = {"no": 0.02, "yes": 0.5}
    one = table(f_no=3000, f_yes=1000)
    plain, best = (
        plan(one, label="obs", budget=200, guess=guess, **options).groups["budget_half_width"][0]
        for options in ({}, {"allocation": neyman})
    )
    assert best < plain


def test_a_group_too_small_is_warned_about():
    made = plan(table(f_no=500, f_yes=500, m_no=1), label="obs", group="sex")
    (said,) = made.warnings
    assert said == (
        "group 'm' has one row: reviewing them all shows how many of these labels are wrong, "
        "but leaves 0.40 either way for new rows of the group; say nothing about it, or merge it "
        "with another group."
    )
    assert made.groups["needed"][1] == 1
    assert made.groups["half_width"][1] == 0.0
    left = expected_half_width(0.2, 1)
    assert f"{left:.2f}" in said


def test_the_paper_is_cited_with_its_findings():
    made = plan(BIG, label="obs", group="sex", budget=100, floor=1)
    size, bias = made.findings
    assert size.startswith(
        "100 of 4500 rows is an alignment set of 2.2%; in Tjandra & Wiens (2023)"
    )
    assert "noticeably worse at 3% or less" in size
    assert "20% to 80%" in bias
    assert bias.endswith(": 'f' is 89% of this one, 'm' is 11% of this one.")
    even_made = plan(BIG, label="obs", group="sex", budget=100, allocation=even)
    assert even_made.findings[1].endswith("heavily dominated it.")


def test_several_groups_mean_their_intersections():
    frame = BIG.assign(race=["a", "b", "b"] * 1500)
    names = plan(frame, label="obs", group=["sex", "race"]).groups["group"]
    assert names.tolist() == ["f & a", "f & b", "m & a", "m & b"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"label": "obz"}, "the table has no column 'obz'; did you mean 'obs'? it has sex, obs."),
        ({"group": "age"}, "the table has no column 'age'; it has sex, obs."),
        ({"group": "obs"}, "column 'obs' cannot be both the label and a group."),
        ({"precision": 5}, "precision must lie in (0, 0.5), got 5; write 0.05 for 5 %."),
        ({"level": 95}, "level must lie in (0, 1), got 95; write 0.95 for 95 %."),
        ({"guess": 20}, "guess must lie in (0, 1), got 20; write 0.2 for 20 %."),
        (
            {"guess": {"no": 0.1}},
            "guess names the labels 'no' but the table has 'no', 'yes'; give one rate for "
            "each, or one for all.",
        ),
        ({"budget": 5000}, "budget must be from 1 to 4500 (all rows), got 5000."),
        (
            {"budget": 3},
            "cannot draw 3 rows from 4 group x label cells; draw at least 4, one "
            "from each, or use fewer groups.",
        ),
        ({"floor": -1}, "floor must not be negative, got -1."),
    ],
)
def test_bad_options_are_refused(options, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        plan(BIG, **{"label": "obs", "group": "sex", **options})


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (BIG[:0], "the table has no rows."),
        (
            BIG.query("obs == 'no'"),
            "column 'obs' has one class, 'no', in all 3400 rows; a label needs at least two.",
        ),
        (
            BIG.set_axis(["obs", "obs"], axis=1),
            "the table has 2 columns named 'obs'; give every column a name of its own.",
        ),
        (
            BIG.assign(obs=[None, *BIG["obs"][1:]]),
            "column 'obs' is missing in 1 of 4500 rows, first in data row 1; every row "
            "needs an observed label, so drop those rows, or pass --keep-na obs if the words None "
            "or NA in it are labels.",
        ),
        (
            BIG.assign(sex=[*BIG["sex"][1:], None]),
            "column 'sex' is missing in 1 of 4500 rows, first in data row 4500; give those rows "
            "a group of their own, such as 'unknown', or drop them.",
        ),
        (
            BIG.assign(obs=np.linspace(0, 1, 4500)),
            "column 'obs' holds 0.0002222716159146477, which is not a class; labels "
            "must be all strings, all booleans or all whole numbers.",
        ),
    ],
)
def test_bad_tables_are_refused(frame, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        plan(frame, label="obs", group="sex" if "sex" in frame else ())
