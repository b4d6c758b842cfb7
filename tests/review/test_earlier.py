"""A user's own columns are not taken for those of a join, and are not written over."""

import numpy as np
import pandas as pd
import pytest
from commands import run

from alignset.review.earlier import check_not_own

N = 40
TABLE = pd.DataFrame({"pid": np.arange(N) + 100, "obs": ["no", "no", "yes", "no"] * 10})
OWN = {
    "stratum": ["urban", "rural"] * 20,
    "wave": [1, 2, 3, 4] * 10,
    "probability": np.linspace(0.01, 0.99, N),
    "review_state": ["Texas", "Ohio"] * 20,
}


def reviewed(tmp_path, capsys, **own):
    """Draw a sheet of a table, fill it in, and return it with the table it is joined to."""
    plain, table, sheet = (tmp_path / f"{name}.csv" for name in ("plain", "t", "sheet"))
    TABLE.to_csv(plain, index=False)
    TABLE.assign(**own).to_csv(table, index=False)
    argv = ["--n", 8, "--label", "obs", "--id", "pid", "-o", sheet]
    assert run(capsys, "sample", plain, *argv)[0] == 0
    pd.read_csv(sheet).assign(reviewed="yes").to_csv(sheet, index=False)
    return sheet, table


@pytest.mark.parametrize("name", OWN)
def test_a_join_does_not_write_over_a_column_of_the_users_own(tmp_path, capsys, name):
    sheet, table = reviewed(tmp_path, capsys, **{name: OWN[name]})
    code, _, err = run(capsys, "join", sheet, table, "-o", tmp_path / "out.csv")
    assert code == 1
    assert err == (
        f"error: the table has a column {name!r} of its own, and `alignset join` writes how rows "
        f"were drawn for review to one of that name; rename it, such as to 'own_{name}'.\n"
    )
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("name", OWN)
def test_a_sheet_is_not_drawn_from_a_table_that_cannot_be_joined(tmp_path, capsys, name):
    _, table = reviewed(tmp_path, capsys, **{name: OWN[name]})
    argv = ["--n", 8, "--label", "obs", "--id", "pid", "-o", tmp_path / "second.csv"]
    code, _, err = run(capsys, "sample", table, *argv)
    assert code == 1
    assert f"the table has a column {name!r} of its own" in err


def test_columns_of_a_survey_are_not_those_of_a_join(tmp_path, capsys):
    survey = {name: OWN[name] for name in ("stratum", "wave", "probability")}
    sheet, table = reviewed(tmp_path, capsys, **survey)
    code, _, err = run(capsys, "join", sheet, table, "-o", tmp_path / "out.csv")
    assert code == 1
    assert "columns 'stratum', 'wave' and 'probability' of its own" in err
    assert "rename them, such as to 'own_stratum', 'own_wave', 'own_probability'.\n" in err


def test_a_table_that_was_joined_is_sampled_and_joined_again(tmp_path, capsys):
    sheet, table = reviewed(tmp_path, capsys)
    first, second, next_sheet = (tmp_path / f"{name}.csv" for name in ("r1", "r2", "next"))
    assert run(capsys, "join", sheet, table, "-o", first)[0] == 0
    argv = ["--label", "obs", "--truth", "reviewed", "--id", "pid", "-o", next_sheet]
    code, said, _ = run(capsys, "sample", first, "--n", N - 8, *argv)
    assert (code, "wave 2" in said) == (0, True)
    pd.read_csv(next_sheet).assign(reviewed="no").to_csv(next_sheet, index=False)
    assert run(capsys, "join", next_sheet, first, "-o", second)[0] == 0
    joined = pd.read_csv(second)
    assert joined["wave"].value_counts().to_dict() == {1: 8, 2: N - 8}
    check_not_own(joined, "reviewed")  # every row was on a sheet


def test_a_join_of_an_earlier_version_has_no_states():
    drawn = np.arange(N) < 8
    sheet = {"stratum": "1", "wave": 1, "probability": 0.2}
    before = TABLE.assign(
        **{name: pd.Series(v, TABLE.index).where(drawn) for name, v in sheet.items()}
    )
    check_not_own(before)
    check_not_own(before.drop(columns=["stratum", "wave"]).assign(true=before["obs"]), "true")
    with pytest.raises(ValueError, match="column 'probability' of its own"):
        check_not_own(before.drop(columns=["stratum", "wave"]), "true")


def test_a_column_with_nothing_in_it_is_nobodys():
    check_not_own(TABLE.assign(wave=None, stratum=np.nan))
