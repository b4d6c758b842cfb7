from dataclasses import replace

import numpy as np
import pytest

from alignset.data import adult, sources
from alignset.data.adult import ADULT_ALL, ADULT_PAPER, ADULT_RELEASED, draw_train, load_adult

ROW = "{age}, {work}, 1, Bachelors, {years}, Divorced, Sales, Wife, White, {sex}, 0, 0, 40, Cuba, "


def row(income, age=39, work="Private", years=13, sex="Male"):
    return ROW.format(age=age, work=work, years=years, sex=sex) + income + "\n"


@pytest.fixture
def made_up(monkeypatch):
    """Adult files of our own: what is parsed is tested without the real ones."""
    train = row("<=50K", 19, "?") + row(">50K", 20, years=16) + row("<=50K", 85, sex="Female")
    test = "|1x3 Cross validator\n" + row(">50K.", 79, years=1)
    content = {"adult.data": (train + "\n").encode(), "adult.test": test.encode()}

    def read(source, *, folder, download):
        assert source is sources.ADULT
        return content

    monkeypatch.setattr(adult, "read", read)


def column(table, name):
    return table.X[:, table.feature_names.index(name)].tolist()


@pytest.mark.usefixtures("made_up")
class TestParsing:
    def test_files_are_stacked_and_the_official_test_rows_marked(self):
        table = load_adult()
        assert table.test.tolist() == [False, False, False, True]
        assert table.y.tolist() == [0, 1, 0, 1]
        assert table.group.tolist() == [0, 0, 1, 0]

    def test_ages_are_in_bands_and_80_is_in_none(self):
        table = load_adult()
        assert column(table, "age_u20") == [1, 0, 0, 0]
        assert column(table, "age_u30") == [0, 1, 0, 0]
        assert column(table, "age_u80") == [0, 0, 0, 1]
        bands = [column(table, f"age_u{bound}")[2] for bound in range(20, 90, 10)]
        assert sum(bands) == 0

    def test_an_unknown_value_is_a_category(self):
        assert column(load_adult(), "workclass_?") == [1, 0, 0, 0]

    def test_values_are_scaled_over_all_rows(self):
        assert column(load_adult(), "education_num") == pytest.approx([0.8, 1, 0.8, 0])
        assert column(load_adult(), "education_Masters") == [0, 0, 0, 0]

    def test_features_may_be_chosen(self):
        table = load_adult(features=("sex_Male", "capital-gain"))
        assert table.X.tolist() == [[1, 0], [1, 0], [0, 0], [1, 0]]
        with pytest.raises(ValueError, match="Adult has no feature 'shoe-size'"):
            load_adult(features=("shoe-size",))

    def test_training_rows_are_drawn_and_test_rows_kept(self):
        drawn = draw_train(load_adult(), 2, random_state=3)
        assert drawn.test.tolist() == [False, False, True]
        assert np.array_equal(drawn.X, draw_train(load_adult(), 2, random_state=3).X)
        with pytest.raises(ValueError, match=r"n_rows must lie in \[1, 3\], got 9"):
            draw_train(load_adult(), 9, random_state=0)
        with pytest.raises(ValueError, match="no official test rows"):
            draw_train(replace(drawn, test=None), 1, random_state=0)


def test_the_feature_sets_are_the_papers_and_the_released_ones():
    assert len(ADULT_PAPER) == 56
    assert len(ADULT_RELEASED) == 97
    assert len(set(ADULT_ALL)) == 113
    assert set(ADULT_RELEASED) - set(ADULT_PAPER) == {
        name for name in ADULT_ALL if name.startswith("country_") and name != "country_?"
    }
    kinds = [name.rsplit("_", 1)[0].split("_")[0] for name in ADULT_PAPER]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    assert counts == {
        "age": 7,
        "workclass": 9,
        "education": 17,
        "marital-status": 7,
        "occupation": 15,
        "sex": 1,
    }


@pytest.mark.network
def test_the_facts_of_the_real_files(real_data):
    real_data("adult")
    table = load_adult()
    assert table.X.shape == (48_842, 56)
    assert table.X.dtype == np.float32
    train = ~table.test
    assert (train.sum(), table.test.sum()) == (32_561, 16_281)
    assert np.array_equal(table.X.min(axis=0), np.zeros(56))
    assert np.array_equal(table.X.max(axis=0), np.ones(56))
    male, female = table.group == 0, table.group == 1
    # the paper: 67.5 %, 30.9 %, 11.3 %; see docs/data/adult.md for where they come from
    assert male[train].mean() == pytest.approx(0.6692, abs=5e-5)
    assert table.y[train & male].mean() == pytest.approx(0.3057, abs=5e-5)
    assert table.y[train & female].mean() == pytest.approx(0.1095, abs=5e-5)
    assert load_adult(features=ADULT_RELEASED).X.shape == (48_842, 97)
    assert len(draw_train(table, 1000, random_state=0)) == 17_281


@pytest.mark.network
def test_the_papers_male_share_is_that_of_complete_rows(real_data):
    real_data("adult")
    unknown = [name for name in ADULT_ALL if name.endswith("_?")]
    table = load_adult(features=unknown)
    complete = table.X.sum(axis=1) == 0
    assert complete.sum() == 45_222
    assert (table.group[complete] == 0).mean() == pytest.approx(0.6750, abs=1e-4)


@pytest.mark.network
def test_scaling_per_file_would_change_nothing_for_the_papers_features(real_data):
    real_data("adult")
    table = load_adult()
    for rows in (table.test, ~table.test):
        assert np.array_equal(table.X[rows].min(axis=0), np.zeros(56))
        assert np.array_equal(table.X[rows].max(axis=0), np.ones(56))
