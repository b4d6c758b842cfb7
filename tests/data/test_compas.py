import numpy as np
import pytest

from alignset.data import compas
from alignset.data.compas import COMPAS_PAPER, COMPAS_RELEASED, load_compas

HEADER = (
    "id,sex,age_cat,race,priors_count,days_b_screening_arrest,c_charge_degree,is_recid,"
    "score_text,two_year_recid\n"
)
KEPT = "1,Male,25 - 45,Caucasian,4,-30,F,0,Low,0\n2,Female,Less than 25,Asian,0,30,M,1,High,1\n"


@pytest.fixture
def made_up(monkeypatch):
    def use(rows):
        text = (HEADER + rows).encode()
        monkeypatch.setattr(compas, "read", lambda *_, **__: {"compas-scores-two-years.csv": text})

    return use


@pytest.mark.parametrize(
    "row",
    [
        "9,Male,25 - 45,Other,0,31,F,0,Low,0",
        "9,Male,25 - 45,Other,0,-31,F,0,Low,0",
        "9,Male,25 - 45,Other,0,,F,0,Low,0",
        "9,Male,25 - 45,Other,0,0,F,-1,Low,0",
        "9,Male,25 - 45,Other,0,0,O,0,Low,0",
        "9,Male,25 - 45,Other,0,0,F,0,N/A,0",
    ],
)
def test_propublicas_filters(made_up, row):
    made_up(KEPT + row)
    assert load_compas().individuals.tolist() == [1, 2]


def test_features_and_codes(made_up):
    made_up(KEPT)
    table = load_compas(features=COMPAS_RELEASED)
    first, second = (
        {name for name, value in zip(table.feature_names, row, strict=True) if value}
        for row in table.X
    )
    assert first == {"Number_of_Priors", "White", "Age_TwentyFive_To_FourtyFive"}
    assert second == {"Age_Below_TwentyFive", "Asian", "Female", "Misdemeanor"}
    assert table.group.tolist() == [0, 1]
    assert table.y.tolist() == [0, 1]
    with pytest.raises(ValueError, match="COMPAS has no feature 'score_factor'"):
        load_compas(features=("score_factor",))


def test_the_eleventh_feature_is_white():
    assert len(COMPAS_PAPER) == 11
    assert "White" in COMPAS_PAPER
    assert set(COMPAS_RELEASED) - set(COMPAS_PAPER) == {"Age_TwentyFive_To_FourtyFive"}


@pytest.mark.network
def test_the_facts_of_the_real_file(real_data):
    real_data("compas")
    table = load_compas()
    assert table.X.shape == (6_172, 11)
    assert table.X.min() == 0
    assert np.array_equal(table.X.max(axis=0), np.ones(11))
    white = table.group == 0
    # the paper swaps the shares: it says 65.8 % white
    assert white.mean() == pytest.approx(0.3407, abs=5e-5)
    assert table.y[white].mean() == pytest.approx(0.3909, abs=5e-5)
    assert table.y[~white].mean() == pytest.approx(0.4883, abs=5e-5)
    assert len(np.unique(table.individuals)) == 6_172
