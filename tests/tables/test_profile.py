import json

import numpy as np
import pandas as pd
import pytest

from alignset.tables.drift import column_drift, far_values
from alignset.tables.kinds import Holds, what_holds
from alignset.tables.preprocess import fit_preprocessing
from alignset.tables.profile import FEW, Profile, profile_table, read_columns


def table(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    day = np.datetime64("2020-01-01") + rng.integers(0, 900, n)
    frame = pd.DataFrame({"glucose": rng.normal(100, 15, n), "flag": rng.random(n) < 0.02})
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["seen"] = pd.Series(day).astype(str)
    frame["count"] = rng.poisson(0.4, n)
    frame.loc[rng.random(n) < 0.1, "glucose"] = np.nan
    return frame


def made(frame):
    prep = fit_preprocessing(frame, {name: what_holds(frame[name]) for name in frame})
    return profile_table(frame, prep), prep


def test_a_profile_counts_every_row_once_and_survives_json():
    frame = table()
    profile, _ = made(frame)
    for column in (*profile.numbers, *profile.levels):
        assert sum(column.shares) == pytest.approx(1)
    assert Profile.from_data(json.loads(json.dumps(profile.to_data()))) == profile


def test_nothing_in_a_profile_is_about_fewer_than_five_rows():
    frame = table(60)
    frame.loc[0, "glucose"] = 999.0
    frame.loc[1, "sex"] = "Ana Maria Perez"
    profile, _ = made(frame)
    told = json.dumps(profile.to_data())
    assert "999" not in told
    assert "Perez" not in told
    assert "2020" not in told  # dates tell a person's day
    glucose = next(c for c in profile.numbers if c.name == "glucose")
    counts = glucose.counts(frame["glucose"].to_numpy())
    assert counts[:-1].min() >= FEW
    assert (frame["glucose"] <= glucose.low).sum() >= FEW - 1  # the edge itself is rounded
    few = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    assert made(few)[0].numbers == ()


def test_a_typing_error_is_found_and_ordinary_rows_are_not():
    profile, prep = made(table())
    later = table(seed=1)
    assert far_values(profile, read_columns(later, prep)) == []
    later.loc[[6, 9], "glucose"] = [1e6, -1e6]
    (far,) = far_values(profile, read_columns(later, prep))
    assert (far.name, far.count, far.first, far.row) == ("glucose", 2, 1e6, 7)
    assert "'glucose' holds 2 values far outside" in str(far)
    assert "first 1e+06 in data row 7" in str(far)


def test_an_unchanged_table_is_hardly_ever_reported():
    profile, prep = made(table(2000))
    alarms = [
        any(c.changed for c in column_drift(profile, read_columns(table(n, seed=seed), prep)))
        for seed in range(100, 160)
        for n in (30, 1000)
    ]
    assert sum(alarms) <= 4  # 1 % of 120 expected at most


def test_a_changed_column_is_reported_with_where_it_changed():
    profile, prep = made(table(2000))
    later = table(500, seed=3)
    later["glucose"] += 20
    later["sex"] = np.where(np.arange(500) < 450, "f", "x")
    found = column_drift(profile, read_columns(later, prep))
    assert {c.name for c in found if c.changed} == {"glucose", "sex"}
    assert all(c.much for c in found[:2])
    sex = next(c for c in found if c.name == "sex")
    assert "before" in sex.how
    assert sex.how.startswith(("'f'", "'m'"))


def test_codes_that_become_frequent_are_reported():
    rng = np.random.default_rng(0)
    codes = pd.DataFrame({"diagnosis": rng.choice(["E11.9", "I10", "J45.0", "N18.3"], 800)})
    prep = fit_preprocessing(codes, {"diagnosis": Holds("codes", system="ICD-10")})
    later = codes.where(rng.random((800, 1)) < 0.5, "E11.9")
    changed = [
        c for c in column_drift(profile_table(codes, prep), read_columns(later, prep)) if c.changed
    ]
    assert any("E11" in c.name for c in changed)
    assert all(c.name.startswith("diagnosis: ") for c in changed)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 0},
        {"rows": "many"},
        {"numbers": [{"name": "x", "edges": [2, 1], "shares": [0.1] * 4, "low": 0, "high": 1}]},
        {"numbers": [{"name": "x", "edges": [1], "shares": [0.5], "low": 0, "high": 1}]},
        {"numbers": [{"name": "x", "edges": [], "shares": [2, 0], "low": 0, "high": 1}]},
        {"levels": [{"name": "x", "levels": [1], "shares": [0.5, 0.5]}]},
        {"levels": None},
    ],
)
def test_a_profile_that_alignset_did_not_write_is_refused(change):
    data = {"rows": 10, "numbers": [], "levels": []} | change
    with pytest.raises(ValueError, match=r"profile|invalid literal"):
        Profile.from_data(data)
