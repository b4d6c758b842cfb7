import pytest
from study.grids import RULES, SPEC, load_grid

from alignset.study import expand
from alignset.study.cells import group_cells

GOLDEN = "12e527d5981bf88fa2a95efe4d6b3d039bf456eb365869bcc1d041ab8b0b3586"


def keys(tmp_path, spec=SPEC, rules=RULES):
    cells, _ = expand(load_grid(tmp_path, spec, rules))
    return [cell.key for cell in cells]


def test_the_grid_is_expanded_whole_and_every_key_is_its_own(tmp_path):
    cells, skipped = expand(load_grid(tmp_path))
    assert len(cells) == 2 * 2 * 2
    assert len({cell.key for cell in cells}) == len(cells)
    assert skipped == {}


def test_a_key_stays_what_it_was(tmp_path):
    """If this fails, stores of earlier runs are worth nothing: was that the intention?"""
    assert keys(tmp_path)[0] == GOLDEN


@pytest.mark.parametrize(
    ("old", "new"),
    [("A tiny grid", "Another title"), ("seeds    = 2", "seeds = 5"), ("[vary]", "\n\n[vary]")],
)
def test_a_key_does_not_depend_on_what_does_not_decide(tmp_path, old, new):
    assert keys(tmp_path)[0] == keys(tmp_path, SPEC.replace(old, new))[0]


def test_a_key_does_not_depend_on_the_folder(tmp_path):
    (tmp_path / "other").mkdir()
    assert keys(tmp_path) == keys(tmp_path / "other")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("configs  = 2", "configs = 3"),
        ("share = 0.3", "share = 0.31"),
        ("[0.1, 0.2], ", "[0.11, 0.2], "),
        ("[review]", "[config]\nlr = 0.01\n[review]"),
    ],
)
def test_a_key_depends_on_the_spec(tmp_path, old, new):
    assert keys(tmp_path)[0] != keys(tmp_path, SPEC.replace(old, new))[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("max_epochs = 3", "max_epochs = 4"),
        ("epochs = 2 }", "epochs = 3 }"),
        ("rows = 400", "rows = 210"),
        ("hidden = 4", "hidden = 5"),
        ('class = "Standard" }', 'class = "StandardPlus" }'),
        ('class = "Standard" }', 'class = "Standard", lr = 0.5 }'),
        ("[tiny]", "[tiny]\nredraw = false"),
    ],
)
def test_a_key_depends_on_the_protocol(tmp_path, old, new):
    assert old in RULES
    assert keys(tmp_path)[0] != keys(tmp_path, rules=RULES.replace(old, new))[0]


def test_a_missing_rate_is_told(tmp_path):
    text = SPEC.split("[vary]")[0]
    with pytest.raises(ValueError, match=r"\[noise\] rate is missing"):
        keys(tmp_path, text)


def test_cohorts_hold_what_can_be_stacked_and_do_not_depend_on_what_is_done(tmp_path):
    cells, _ = expand(load_grid(tmp_path))
    cohorts = group_cells(cells, limit=4)
    assert [len(c) for c in cohorts] == [2, 2, 2, 2]
    assert all(len({cell.method for cell in c}) == 1 for c in cohorts)
    assert sum(cell.replicas for cohort in cohorts for cell in cohort) == 16
    assert sorted(x.key for c in cohorts for x in c) == sorted(x.key for x in cells)
    assert [len(c) for c in group_cells(cells, limit=1000)] == [4, 4]
    assert [len(c) for c in group_cells(cells, limit=1)] == [1] * 8
