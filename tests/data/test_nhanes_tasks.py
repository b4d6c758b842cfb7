import io
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from data.nhanes_file import ZERO, make_file
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from alignset.data import load_nhanes, nhanes, nhanes_pipeline
from alignset.data import nhanes_columns as columns
from alignset.data.cache import read
from alignset.data.nhanes_tasks import DEFAULT, TASKS, TaskName
from alignset.data.sources import NHANES

READINGS = ("1StRdg", "2NdRdg", "3RdRdg")


def pressure(*pairs):
    """Systolic and diastolic of the first, second and third reading."""
    return {
        f"{kind}BloodPres{reading}MmHg": value
        for reading, pair in zip(READINGS, pairs, strict=True)
        for kind, value in zip(("Systolic", "Diastolic"), pair, strict=True)
    }


def diet(*days):
    """Energy and fat of the first and second day."""
    return {
        f"{what}_DR{day}TOT": value
        for day, pair in enumerate(days, 1)
        for what, value in zip(("EnergyKcal", "TotalFatGm"), pair, strict=True)
    }


def body(pounds, inches, index):
    return {
        "CurrentSelfreportedWeightPounds": pounds,
        "CurrentSelfreportedHeightInches": inches,
        "BodyMassIndexKgm2": index,
    }


def prediabetes(told, value, **more):
    return {"EverToldYouHavePrediabetes": told, "Glycohemoglobin": value} | more


OKAY = {
    "diabetes": {},
    "prediabetes": prediabetes(0, 5.0),
    "blood_pressure": pressure((120, 70), (120, 70), (120, 70)),
    "fat": diet((2000, 50), (2000, 50)),
    "overweight": body(150, 70, 21.5),
    "obesity_class_2": body(150, 70, 21.5),
}
"""Somebody whose labels are both 0."""


@pytest.fixture
def made_up(monkeypatch):
    def use(task, *people):
        monkeypatch.setattr(nhanes, "read", lambda *_, **__: make_file(*people))
        return load_nhanes(task=task)

    return use


@pytest.mark.parametrize(
    ("task", "person", "observed", "true"),
    [
        *((task, person, 0, 0) for task, person in OKAY.items()),
        ("prediabetes", prediabetes(0, 5.7), 0, 1),
        ("prediabetes", prediabetes(1, 5.6), 1, 0),
        ("prediabetes", prediabetes(1, 6.4), 1, 1),
        # either number is enough, and the limits are high
        ("blood_pressure", pressure((130, 70), (120, 70), (120, 70)), 1, 0),
        ("blood_pressure", pressure((120, 80), (120, 70), (120, 70)), 1, 0),
        ("blood_pressure", pressure((129, 79), (120, 70), (140, 70)), 0, 1),
        ("blood_pressure", pressure((129, 79), (120, 70), (138, 88)), 0, 0),
        ("blood_pressure", pressure((129, 79), (120, 70), (120, 90)), 0, 1),
        ("blood_pressure", pressure((129, ZERO), (120, ZERO), (120, 90)), 0, 0),
        # 9 kcal a gram: 630 of 1 800 kcal are 35 %, which is not above it
        ("fat", diet((1800, 70), (2000, 60)), 0, 0),
        ("fat", diet((1800, 71), (1800, 60)), 1, 0),
        ("fat", diet((1800, 69), (1800, 72)), 0, 1),
        ("fat", diet((1800, 71), (1800, 71)), 1, 1),
        # 450 of 1 200 kcal of both days are 37.5 %; the mean of 45 % and 0 % would not be above
        ("fat", diet((1000, 50), (200, ZERO)), 1, 1),
        # at 71 in, 179 lb are an index of 24.97, 180 lb 25.1, 250 lb 34.9 and 251 lb 35.01
        ("overweight", body(180, 71, 24.9), 1, 0),
        ("overweight", body(179, 71, 25.0), 0, 1),
        ("overweight", body(250, 71, 40.0), 1, 1),
        ("obesity_class_2", body(250, 71, 35.0), 0, 1),
        ("obesity_class_2", body(251, 71, 34.9), 1, 0),
        ("obesity_class_2", body(180, 71, 26.0), 0, 0),
    ],
)  # fmt: skip
def test_the_observed_and_the_true_label(made_up, task, person, observed, true):
    table = made_up(task, person)
    assert (table.observed.tolist(), table.y.tolist()) == ([observed], [true])


@pytest.mark.parametrize(
    ("task", "person"),
    [
        *((task, {columns.AGE: 19}) for task in OKAY),
        ("prediabetes", {columns.OBSERVED: "1"}),
        ("prediabetes", prediabetes(0, 6.5)),
        ("prediabetes", prediabetes(0, None)),
        ("prediabetes", prediabetes(None, 5.0)),
        ("blood_pressure", pressure((None, None), (120, 70), (120, 70))),
        ("blood_pressure", pressure((120, 70), (120, 70), (120, None))),
        ("fat", diet((2000, 50), (None, None))),
        ("fat", diet((ZERO, ZERO), (2000, 50))),
        ("fat", diet((2000, 50), (ZERO, ZERO))),
        ("overweight", body(7777, 70, 21.5)),
        ("overweight", body(9999, 70, 21.5)),
        ("obesity_class_2", body(150, 7777, 21.5)),
        ("obesity_class_2", body(150, 9999, 21.5)),
        ("obesity_class_2", body(None, 70, 21.5)),
        ("overweight", body(150, 70, None)),
    ],
)
def test_who_is_left_out(made_up, task, person):
    table = made_up(task, OKAY[task], OKAY[task] | person | {columns.PERSON: 2})
    assert table.individuals.tolist() == [1]


def test_a_task_is_known_by_its_name_and_says_what_it_is(made_up):
    assert get_args(TaskName) == tuple(TASKS) == tuple(OKAY)
    assert made_up(DEFAULT, {}).name == "nhanes"
    table = made_up("fat", OKAY["fat"])
    assert (table.name, table.class_names) == ("nhanes_fat", ("35 % or less", "above 35 %"))
    with pytest.raises(
        ValueError, match=r"task must be 'diabetes', .* or 'obesity_class_2', got 7"
    ):
        load_nhanes(task=7)


# what must not be a feature: written out here, whatever the tasks say of themselves

DIABETES = """
    DoctorToldYouHaveDiabetes Glycohemoglobin TakingInsulinNow TakeDiabeticPillsToLowerBloodSugar
    EverToldYouHavePrediabetes EverToldHaveHealthRiskForDiabetes FamilyHistory DiabeticDiet
    AgeWhenFirstToldYouHadDiabetes WhatWasYourLastA1CLevel"""
BODY = """
    WeightKg StandingHeightCm BodyMassIndexKgm2 WaistCircumferenceCm TrunkFatG TrunkPercentFat
    TotalPercentFat CurrentSelfreportedWeightPounds CurrentSelfreportedHeightInches
    TriedToLoseWeightInPastYear TimesLost10LbsOrMoreToLoseWeight WeightLosslowCalorieDiet"""
MUST_NOT = {
    "diabetes": DIABETES,
    "prediabetes": DIABETES,
    "blood_pressure": """
    SystolicBloodPres1StRdgMmHg SystolicBloodPres2NdRdgMmHg SystolicBloodPres3RdRdgMmHg
    DiastolicBloodPres1StRdgMmHg DiastolicBloodPres2NdRdgMmHg DiastolicBloodPres3RdRdgMmHg""",
    "fat": """
    EnergyKcal_DR1TOT ProteinGm_DR1TOT CarbohydrateGm_DR1TOT TotalSugarsGm_DR1TOT
    DietaryFiberGm_DR1TOT TotalFatGm_DR1TOT TotalSaturatedFattyAcidsGm_DR1TOT
    TotalMonounsaturatedFattyAcidsGm_DR1TOT TotalPolyunsaturatedFattyAcidsGm_DR1TOT
    CholesterolMg_DR1TOT AlcoholGm_DR1TOT EnergyKcal_DR2TOT ProteinGm_DR2TOT
    CarbohydrateGm_DR2TOT TotalSugarsGm_DR2TOT DietaryFiberGm_DR2TOT TotalFatGm_DR2TOT
    TotalSaturatedFattyAcidsGm_DR2TOT TotalMonounsaturatedFattyAcidsGm_DR2TOT
    TotalPolyunsaturatedFattyAcidsGm_DR2TOT CholesterolMg_DR2TOT AlcoholGm_DR2TOT""",
    "overweight": BODY,
    "obesity_class_2": BODY,
}


@pytest.mark.parametrize("task", TASKS)
def test_what_defines_a_label_is_no_feature(made_up, task):
    table = made_up(task, OKAY[task])
    forbidden = MUST_NOT[task].split()
    assert not set(table.X.columns) & set(forbidden)
    assert set(forbidden) <= set(TASKS[task].excluded)
    known = {*columns.NUMERIC, *columns.CATEGORICAL, *columns.EXCLUDED}
    assert set(TASKS[task].excluded) <= known, "a misspelt column would be forbidden in vain"
    assert table.feature_names == (*TASKS[task].numeric, *TASKS[task].categorical)


def test_a_task_does_without_no_more_than_it_has_to():
    dropped = {name: 69 - len(task.numeric) - len(task.categorical) for name, task in TASKS.items()}
    assert dropped == {
        "diabetes": 0, "prediabetes": 0, "blood_pressure": 6, "fat": 22, "overweight": 4,
        "obesity_class_2": 4,
    }  # fmt: skip


# the real file


@pytest.mark.network
@pytest.mark.parametrize(
    ("task", "people", "true", "missed", "false"),
    [
        ("diabetes", 4_855, 887, 150, 67),
        ("prediabetes", 3_901, 1_261, 1_005, 214),
        ("blood_pressure", 4_498, 1_982, 149, 293),
        ("fat", 4_136, 2_311, 408, 357),
        ("overweight", 4_962, 3_672, 288, 99),
        ("obesity_class_2", 4_962, 1_002, 228, 36),
    ],
)
def test_the_facts_of_the_real_file(real_data, task, people, true, missed, false):
    real_data("nhanes")
    table = load_nhanes(task=task, group="sex")
    wrong = table.observed != table.y
    assert (len(table), table.y.sum()) == (people, true)
    assert (wrong[table.y == 1].sum(), wrong[table.y == 0].sum()) == (missed, false)
    X = nhanes_pipeline(table.X).fit(table.X[:2000]).transform(table.X)
    assert np.isfinite(X).all()


BOUND = {
    "diabetes": 0.88, "prediabetes": 0.79, "blood_pressure": 0.77, "fat": 0.66,
    "overweight": 0.81, "obesity_class_2": 0.83,
}  # fmt: skip
"""AUROC that no model of the features should reach, about 0.04 above what trees do reach."""
LEAK = {
    "diabetes": "Glycohemoglobin",
    "prediabetes": "Glycohemoglobin",
    "blood_pressure": "DiastolicBloodPres2NdRdgMmHg",
    "fat": "DietaryFiberGm_DR1TOT TotalSugarsGm_DR1TOT AlcoholGm_DR1TOT CholesterolMg_DR1TOT",
    "overweight": "WaistCircumferenceCm",
    "obesity_class_2": "CurrentSelfreportedWeightPounds",
}
"""Columns that tell a label of the task, though not all of it."""


def as_numbers(X):
    codes = {name: pd.factorize(X[name])[0] for name in X.columns.intersection(columns.CATEGORICAL)}
    return X.assign(**codes).to_numpy(float)


def told_by_trees(X, y):
    """AUROC of trees that learn from every other row, on the rest."""
    trees = HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.1, max_depth=3, early_stopping=False, random_state=0
    )
    trees.fit(X[::2], y[::2])
    return roc_auc_score(y[1::2], trees.predict_proba(X[1::2])[:, 1])


def file_columns(names, individuals):
    content = io.BytesIO(read(NHANES)[NHANES.files[0].name])
    raw = pd.read_csv(content, sep="\t", usecols=[columns.PERSON, *names])
    return raw.set_index(columns.PERSON).loc[individuals].to_numpy(float)


@pytest.mark.network
@pytest.mark.parametrize("task", TASKS)
def test_neither_label_can_be_computed_from_the_features(real_data, task):
    real_data("nhanes")
    table = load_nhanes(task=task)
    X = as_numbers(table.X)
    assert 0.55 < told_by_trees(X, table.y) < BOUND[task]
    assert told_by_trees(X, table.observed) < BOUND[task]
    for name, values in zip(table.X.columns, X.T, strict=True):
        alone = roc_auc_score(table.y, np.nan_to_num(values, nan=np.nanmedian(values)))
        assert max(alone, 1 - alone) < 0.75, f"{name} alone tells the true label"


@pytest.mark.network
@pytest.mark.parametrize("task", TASKS)
def test_a_leak_would_be_noticed(real_data, task):
    real_data("nhanes")
    table = load_nhanes(task=task)
    leak = file_columns(LEAK[task].split(), table.individuals)
    assert told_by_trees(np.hstack([as_numbers(table.X), leak]), table.y) > BOUND[task]
