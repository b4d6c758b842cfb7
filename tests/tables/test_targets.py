import pandas as pd

from alignset.tables.targets import guessed_rates, read_cells

TABLE = pd.DataFrame(
    {"obs": [0, 1, 1, 0, 1], "sex": ["f", "f", "m", "m", "m"], "old": [True, False] * 2 + [True]}
)


def test_counts_agree_with_a_crosstab():
    cells = read_cells(TABLE, label="obs", group="sex")
    assert cells.counts.tolist() == pd.crosstab(TABLE["sex"], TABLE["obs"]).to_numpy().tolist()
    assert cells.count(TABLE["old"].to_numpy()).tolist() == [[1, 0], [0, 2]]
    assert cells.flat.tolist() == [0, 1, 3, 2, 3]


def test_several_groups_intersect_and_none_is_all():
    both = read_cells(TABLE, label="obs", group=["sex", "old"])
    assert both.groups.tolist() == ["f & False", "f & True", "m & False", "m & True"]
    none = read_cells(TABLE, label=None)
    assert (none.groups.tolist(), none.labels.tolist()) == (["all"], ["all"])
    once, twice = (read_cells(TABLE, label="obs", group=of) for of in ("sex", ["sex", "sex"]))
    assert once.groups.tolist() == twice.groups.tolist() == ["f", "m"]


def test_columns_kept_as_codes_are_read_too():
    coded = TABLE.assign(sex=TABLE["sex"].astype("category"), obs=TABLE["obs"].astype("category"))
    plain, same = (read_cells(t, label="obs", group="sex") for t in (TABLE, coded))
    assert plain.counts.tolist() == same.counts.tolist()
    assert same.labels.tolist() == [0, 1]


def test_guesses_are_one_rate_or_one_per_label():
    cells = read_cells(TABLE, label="obs", group="sex")
    assert guessed_rates(0.3, cells).tolist() == [[0.3, 0.3], [0.3, 0.3]]
    assert guessed_rates({1: 0.4, 0: 0.1}, cells).tolist() == [[0.1, 0.4], [0.1, 0.4]]
