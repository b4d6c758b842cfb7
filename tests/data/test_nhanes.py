import numpy as np
import pandas as pd
import pytest
from data.nhanes_file import ZERO, make_file

from alignset.data import nhanes
from alignset.data import nhanes_columns as columns
from alignset.data.nhanes import load_nhanes, nhanes_pipeline, undiagnosed_by_group
from alignset.data.sources import NHANES


@pytest.fixture
def made_up(monkeypatch):
    def use(*people):
        monkeypatch.setattr(nhanes, "read", lambda *_, **__: make_file(*people))
        return load_nhanes()

    return use


@pytest.mark.parametrize(
    ("person", "observed", "true"),
    [
        ({}, 0, 0),
        ({columns.GLYCOHAEMOGLOBIN: 6.5}, 0, 1),
        ({columns.GLYCOHAEMOGLOBIN: 6.4}, 0, 0),
        ({columns.OBSERVED: "1"}, 1, 0),
        ({columns.OBSERVED: "1", columns.INSULIN: 1}, 1, 1),
        ({columns.OBSERVED: "1", columns.PILLS: 1}, 1, 1),
        ({columns.PILLS: 1}, 0, 0),
        ({columns.OBSERVED: "1", columns.GLYCOHAEMOGLOBIN: 9.0}, 1, 1),
    ],
)
def test_the_observed_and_the_true_label(made_up, person, observed, true):
    table = made_up(person)
    assert table.observed.tolist() == [observed]
    assert table.y.tolist() == [true]


@pytest.mark.parametrize(
    "person",
    [
        {columns.AGE: 19},
        {columns.GLYCOHAEMOGLOBIN: None},
        {columns.OBSERVED: "Borderline"},
        {columns.OBSERVED: None},
    ],
)
def test_who_is_left_out(made_up, person):
    table = made_up({}, person | {columns.PERSON: 2})
    assert table.individuals.tolist() == [1]


def test_codes_that_are_no_answers(made_up):
    table = made_up(
        {
            "OfMealsNotHomePrepared": 5555,
            "OfFrozenMealspizzaInPast30Days": 6666,
            "MinutesSedentaryActivity": 9999,
            "AlcoholGm_DR1TOT": ZERO,
            "TotalNumberOfPeopleInTheHousehold": "7 or more people in the Household",
            "ServedActiveDutyInUsArmedForces": "Don't Know",
            "EducationLevelAdults20": "Don't Know",
            "GeneralHealthCondition": "Fair or",
        }
    )
    first = table.X.iloc[0]
    assert first["OfMealsNotHomePrepared"] == 22
    assert first["OfFrozenMealspizzaInPast30Days"] == 91
    assert np.isnan(first["MinutesSedentaryActivity"])
    assert first["AlcoholGm_DR1TOT"] == 0
    assert first["TotalNumberOfPeopleInTheHousehold"] == 7
    assert np.isnan(first["ServedActiveDutyInUsArmedForces"])
    assert pd.isna(first["EducationLevelAdults20"])
    assert first["GeneralHealthCondition"] == "Fair"


def test_a_column_is_a_feature_or_has_a_reason():
    features = {*columns.NUMERIC, *columns.CATEGORICAL}
    assert len(features) == len(columns.NUMERIC) + len(columns.CATEGORICAL) == 69
    assert not features & set(columns.EXCLUDED)
    assert all(columns.EXCLUDED.values())


def test_nothing_that_is_or_leaks_the_diagnosis_is_a_feature():
    features = {*columns.NUMERIC, *columns.CATEGORICAL}
    for word in ("diabet", "insulin", "a1c", "glyco", "sugar free", "special", "told"):
        assert not [name for name in features if word in name.lower()]


def test_the_pipeline_handles_what_it_has_not_seen():
    def frame(numbers, answers):
        columns_ = dict.fromkeys(columns.NUMERIC, numbers)
        return pd.DataFrame(columns_ | dict.fromkeys(columns.CATEGORICAL, answers))

    pipeline = nhanes_pipeline().fit(frame([1.0, 2.0, 3.0], ["Good", "Poor", "Good"]))
    later = frame([np.nan], ["Odd"])
    assert np.isfinite(pipeline.transform(later)).all()


def test_a_table_without_observed_labels_is_refused(made_up):
    table = made_up({})
    object.__setattr__(table, "observed", None)
    with pytest.raises(ValueError, match="observed labels of its own"):
        undiagnosed_by_group(table)


@pytest.mark.network
def test_the_facts_of_the_real_file(real_data):
    real_data("nhanes")
    table = load_nhanes()
    assert table.X.shape == (4_855, 69)
    assert (table.n_groups, table.n_classes) == (6, 2)
    assert (table.y.sum(), table.observed.sum()) == (887, 804)
    shares = undiagnosed_by_group(table)["share_not_told"]
    assert shares["Non-Hispanic White"] == pytest.approx(0.07, abs=0.005)
    assert shares["Non-Hispanic Black"] == pytest.approx(0.22, abs=0.005)
    assert shares["Non-Hispanic Asian"] == pytest.approx(0.22, abs=0.005)
    by_sex = undiagnosed_by_group(load_nhanes(group="sex"))
    assert by_sex.loc["all", "people"] == 4_855
    assert by_sex["share_not_told"].round(3).to_dict() == {
        "Male": 0.127,
        "Female": 0.217,
        "all": 0.169,
    }


@pytest.mark.network
def test_every_column_of_the_real_file_is_accounted_for(real_data):
    real_data("nhanes")
    from alignset.data.cache import read

    header = read(NHANES)[NHANES.files[0].name].split(b"\n", 1)[0].decode().split("\t")
    assert set(header) == {*columns.NUMERIC, *columns.CATEGORICAL, *columns.EXCLUDED}


@pytest.mark.network
def test_the_real_table_goes_through_the_pipeline_and_can_be_learned(real_data):
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline

    real_data("nhanes")
    table = load_nhanes()
    assert table.X.isna().any(axis=None)
    model = make_pipeline(nhanes_pipeline(), LogisticRegression(C=0.1, max_iter=1000))
    model.fit(table.X[:3500], table.y[:3500])
    score = roc_auc_score(table.y[3500:], model.predict_proba(table.X[3500:])[:, 1])
    assert 0.75 < score < 0.90  # a leak would show as almost 1
