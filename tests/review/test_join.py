import re

import numpy as np
import pandas as pd
import pytest

from alignset.cli import main
from alignset.review.join import join
from alignset.review.reading import read_reviews
from alignset.review.sample import sample
from alignset.review.sheet import Reviews
from alignset.tables.files import write_table

TABLE = pd.DataFrame({"pid": np.arange(8) + 70, "obs": [0, 1] * 4, "sex": ["f", "m", "m", "f"] * 2})


def reviews(answers, id_column="row", wave=1):
    rows = [
        {"id": key, "reviewed": value, "probability": 0.5, "stratum": "1", "wave": wave}
        for key, value in answers.items()
    ]
    return Reviews(id_column, pd.DataFrame(rows))


def test_answers_find_their_rows_and_keep_the_type_of_the_label():
    joined = join(TABLE, reviews({"73": "0", "70": "1.0", "75": None}, "pid"), label="obs")
    out = joined.frame()
    assert out["reviewed"].dropna().to_dict() == {0: 1, 3: 0}
    assert out["reviewed"].dtype == "Int64"
    assert (
        out["probability"].notna().tolist() == [True, False, False, True, False, True] + [False] * 2
    )
    assert (joined.n_reviewed, joined.n_cannot_tell, joined.n_open) == (2, 0, 1)
    pd.testing.assert_frame_equal(out[TABLE.columns], TABLE)
    assert "reviewed" not in TABLE


def test_cannot_tell_is_counted_and_is_no_label():
    joined = join(TABLE, reviews({"0": "cannot tell", "1": "1"}), label="obs")
    assert joined.n_cannot_tell == 1
    assert joined.frame()["reviewed"].isna().sum() == 7
    assert joined.frame()["wave"].notna().sum() == 2


@pytest.mark.parametrize(
    ("values", "answers", "expected"),
    [
        (["no", "yes"], {"0": "YES", "1": "no"}, ["yes", "no"]),
        (["a", "A"], {"0": "A", "1": "a"}, ["A", "a"]),
        ([False, True], {"0": "True", "1": "false"}, [True, False]),
        ([-1, 1], {"0": "1", "1": "-1"}, [1, -1]),
    ],
)
def test_labels_of_every_kind_come_back(values, answers, expected):
    table = pd.DataFrame({"obs": values * 4})
    out = join(table, reviews(answers), label="obs").frame()
    assert out["reviewed"].tolist()[:2] == expected


def test_a_second_wave_is_added_to_the_first():
    first = join(TABLE, reviews({"0": "1", "1": None}), label="obs").frame()
    second = join(first, reviews({"5": "0", "1": "1"}, wave=2), label="obs").frame()
    assert second["reviewed"].dropna().to_dict() == {0: 1, 1: 1, 5: 0}
    assert second["wave"].dropna().to_dict() == {0: 1, 1: 2, 5: 2}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_from_sheet_to_table_and_back_through_files(tmp_path, suffix):
    from alignset.tables.files import read_table

    path = tmp_path / f"t.{suffix}"
    write_table(TABLE, path)
    table = read_table(path)
    sheet = sample(table, n=4, label="obs", id="pid", random_state=0)
    write_table(sheet.rows, tmp_path / "s.csv")
    filled = pd.read_csv(tmp_path / "s.csv")
    filled["reviewed"] = ["1", "0", "cannot tell", "1"]
    filled.to_csv(tmp_path / "s.csv", index=False)
    out = join(table, read_reviews(tmp_path / "s.csv"), label="obs").frame()
    write_table(out, tmp_path / f"r.{suffix}")
    again = read_table(tmp_path / f"r.{suffix}")
    assert again["reviewed"].notna().sum() == 3
    assert again["probability"].dropna().tolist() == [0.5] * 4
    assert (
        sample(again, n=4, label="obs", truth="reviewed", random_state=0)
        .frame()["wave"]
        .eq(2)
        .all()
    )


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        (
            reviews({"0": "maybe"}),
            {},
            "the sheet, row '0': 'maybe' is no answer; write '0', '1' or 'cannot tell', or leave "
            "it empty",
        ),
        (
            reviews({"99": "1"}),
            {},
            "the sheet, row '99': the table has no such row; join the sheet to the table it is of",
        ),
        (
            reviews({"99": "1"}, "pid"),
            {},
            "the sheet, row '99': the table has no such pid; join the sheet to the table it is of",
        ),
        (reviews({"0": "1"}, "name"), {}, "the table has no column 'name'; it has pid, obs, sex."),
        (
            reviews({"0": "1"}),
            {"label": "obz"},
            "the table has no column 'obz'; did you mean 'obs'? it has pid, obs, sex.",
        ),
        (
            reviews({"0": "f"}),
            {"truth": "sex"},
            "the sheet, row '0': 'f' is no answer; write '0', '1' or 'cannot tell', or leave it "
            "empty",
        ),
        (
            reviews({"0": "1"}),
            {"truth": "sex"},
            "the sheet, row '0': '1' differs from the table's 'sex', 'f'; keep one, or replace "
            "the old one with --replace",
        ),
    ],
)
def test_what_does_not_fit_is_refused(given, options, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        join(TABLE, given, **{"label": "obs"} | options)


def test_a_class_called_cannot_tell_is_refused():
    with pytest.raises(ValueError, match=re.escape("'cannot tell' is a class of the label")):
        join(pd.DataFrame({"obs": ["cannot tell", "yes"]}), reviews({"0": "yes"}), label="obs")


@pytest.mark.parametrize("pair", [("1", "1.0"), ("1", " 1"), ("1", "01"), ("a b", "a  b")])
def test_ids_that_look_alike_never_get_each_others_answer(pair):
    table = pd.DataFrame({"pid": [*pair, "9"], "obs": [0, 1, 0]})
    for asked in pair:
        with pytest.raises(ValueError, match="which a spreadsheet program saves as the same id"):
            join(table, reviews({asked: "1"}, "pid"), label="obs")
    with pytest.raises(ValueError, match="which a spreadsheet program saves as the same id"):
        sample(table, n=2, label="obs", id="pid", random_state=0)
    joined = join(table[1:], reviews({pair[0]: "0"}, "pid"), label="obs").frame()
    assert joined["reviewed"].tolist() == [0, pd.NA]


def test_a_column_named_row_is_not_taken_for_the_position():
    table = pd.DataFrame({"row": [3, 2, 1, 0], "obs": [0, 1, 0, 1]})
    with pytest.raises(ValueError, match="the id column cannot be 'row': the sheet has its own"):
        sample(table, n=2, label="obs", id="row", random_state=0)


def test_a_sheet_without_an_answer_is_refused():
    said = "none of the 2 rows of the sheet has an answer, so there is nothing to add"
    with pytest.raises(ValueError, match=said):
        join(TABLE, reviews({"0": None, "1": None}), label="obs")


def test_classes_that_look_alike_keep_their_own_answers():
    table = pd.DataFrame({"obs": ["1", "1.0", "01", "x"]})
    out = join(table, reviews({"0": "01", "1": "1", "2": "1.0"}), label="obs").frame()
    assert out["reviewed"].tolist()[:3] == ["01", "1", "1.0"]
    with pytest.raises(ValueError, match=r"'1.00' is no answer; did you mean '1.0'\?"):
        join(table, reviews({"0": "1.00"}), label="obs")


def test_leading_zeros_survive_from_table_to_sheet_to_table(tmp_path):
    path, ids = tmp_path / "t.csv", [f"{i:08d}" for i in range(49461, 49481)]
    path.write_text("pid,other,obs\n" + "".join(f"{i},0{k},{k % 2}\n" for k, i in enumerate(ids)))
    made = ["sample", path, "--n", "20", "--label", "obs", "--id", "pid", "-o", tmp_path / "s.csv"]
    assert main([str(word) for word in made]) == 0
    rows = pd.read_csv(tmp_path / "s.csv", dtype=str, keep_default_na=False)
    assert sorted(rows["pid"]) == ids
    # a spreadsheet program drops the zeros of some, and their answers still find them
    rows["reviewed"] = (rows["pid"].astype(int) % 2).astype(str)
    rows.loc[rows.index < 5, "pid"] = rows["pid"].str.lstrip("0")
    rows.to_csv(tmp_path / "s.csv", index=False)
    added = ["join", tmp_path / "s.csv", path, "--label", "obs", "-o", tmp_path / "o.csv"]
    assert main([str(word) for word in added]) == 0
    out = pd.read_csv(tmp_path / "o.csv", dtype=str, keep_default_na=False)
    assert out["pid"].tolist() == ids
    assert out["other"].tolist() == [f"0{k}" for k in range(20)]
    assert (out["pid"].astype(int) % 2 == out["reviewed"].astype(int)).all()
