"""Dates, units, codes and words in text: how they are found out, kept and checked."""

import json

import numpy as np
import pandas as pd
import pytest

from alignset.tables.codes import CHAPTERS, codes_in, has_mark, learn_codes
from alignset.tables.dialect import Dialect
from alignset.tables.forms import Form, date_text, unit_number
from alignset.tables.kinds import Holds, as_numbers, what_holds
from alignset.tables.preprocess import fit_preprocessing, from_data
from alignset.tables.spelling import unify_labels


@pytest.mark.parametrize(
    ("cell", "order", "iso"),
    [
        ("2020-02-29", "dmy", "2020-02-29"),
        ("29.02.2020", "dmy", "2020-02-29"),
        ("29.02.2019", "dmy", None),
        ("2/3/2020", "mdy", "2020-02-03"),
        ("2/3/2020", "dmy", "2020-03-02"),
        ("31.12.1999 23:59", "dmy", "1999-12-31T23:59"),
        ("31.12.1999, 7:05:09", "dmy", "1999-12-31T07:05:09"),
        ("31.12.99", "dmy", None),
        ("31.12-1999", "dmy", None),
        ("12.31.1999", "dmy", None),
        ("0000-00-00", "ymd", None),
        ("no date", "mdy", None),
    ],
)
def test_a_date_is_read_in_its_order(cell, order, iso):
    assert date_text(cell, order) == iso


def test_dates_of_any_form_are_the_same_days():
    iso = pd.Series(["2020-01-31", "2019-12-01", None])
    days = as_numbers(iso, "date", None)
    for form in ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y"):
        text = pd.to_datetime(iso).dt.strftime(form)
        found = what_holds(text)
        np.testing.assert_array_equal(as_numbers(text, "date", None, form=found.form), days)
        assert as_numbers(iso, "date", None, form=found.form)[0] == days[0]
    with pytest.raises(ValueError, match=r"holds '31\.02\.2020' in data row 1; it takes dates"):
        as_numbers(pd.Series(["31.02.2020"]), "date", None, form=Form("dmy"))


DAYS = ["05.02.2019", "31.01.2020", "12.12.2021"]


@pytest.mark.parametrize(
    ("cells", "later"),
    [
        (DAYS, "08/01/2023"),
        (DAYS, "08-01-2023"),
        (["01/31/2020", "02/05/2019"], "08.01.2023"),
        ([*DAYS * 9, "unknown"], "08/01/2023"),
    ],
)
def test_a_date_that_another_mark_leaves_open_is_refused(cells, later):
    form = what_holds(pd.Series(cells)).form
    with pytest.raises(ValueError, match=f"holds '{later}' in data row 2; it takes dates such as"):
        as_numbers(pd.Series([cells[0], later]), "date", None, form=form)


@pytest.mark.parametrize(
    ("cells", "later", "day"),
    [
        (DAYS, "31/01/2023", "2023-01-31"),
        (DAYS, "01/01/2023", "2023-01-01"),
        (["31/01/2020", "05/02/2019"], "08.01.2023", "2023-01-08"),
        (["31/01/2020", "05/02/2019"], "08/01/2023", "2023-01-08"),
        ([*DAYS, "31/01/2020"], "08/01/2023", "2023-01-08"),
    ],
)
def test_a_date_that_can_be_read_in_one_way_is_read(cells, later, day):
    form = what_holds(pd.Series(cells)).form
    days = as_numbers(pd.Series([later, day]), "date", None, form=form)
    assert days[0] == days[1]


def test_a_column_with_two_marks_must_tell_the_order_of_both():
    with pytest.raises(ValueError, match="such as '08/01/2023', and nothing says which number is"):
        what_holds(pd.Series([*DAYS, "08/01/2023"]))


def test_a_model_of_an_earlier_version_reads_every_mark():
    assert as_numbers(pd.Series(["02/01/1970"]), "date", None, form=Form("dmy"))[0] == 1


@pytest.mark.parametrize(
    ("cell", "form", "number"),
    [
        ("94.4%", Form(unit="%"), 94.4),
        ("94,4 %", Form(unit="%", decimal=","), 94.4),
        (" 72kg ", Form(unit="kg"), 72),
        ("72", Form(unit="kg"), 72),
        ("72 g", Form(unit="kg"), np.nan),
        ("1,234.5 ml", Form(unit="ml"), 1234.5),
        ("1 234,5 ml", Form(unit="ml", decimal=","), 1234.5),
        ("-3 °C", Form(unit="°C"), -3),
        ("12,34.5 ml", Form(unit="ml"), np.nan),
        ("120/80", Form(unit="mmHg"), np.nan),
        ("<5 ml", Form(unit="ml"), np.nan),
        ("9" * 60, Form(unit=""), np.nan),
    ],
)
def test_a_number_with_a_unit_is_read(cell, form, number):
    assert unit_number(cell, form) == pytest.approx(number, nan_ok=True)


def test_two_units_in_one_column_are_not_one_number():
    cells = [f"{i} mg/dL" if i % 2 else f"{i} mmol/l" for i in range(20)]
    assert what_holds(pd.Series(cells)).kind == "category"
    assert what_holds(pd.Series([f"{i % 4}{'AB'[i % 2]}" for i in range(40)])).kind == "category"


def test_every_code_is_in_one_chapter():
    for system, codes in (
        ("ICD-10", ["A00", "B99", "C50", "D45", "D50", "E119", "H59", "H60", "S72", "T98", "Z00"]),
        ("ICD-9", ["001", "139", "140", "25000", "999", "V5861", "E8500"]),
        ("ATC", ["A10BA02", "C07", "V03"]),
    ):
        for code in codes:
            assert sum(has_mark(code, mark) for mark in CHAPTERS[system]) == 1, code


def test_codes_of_fewer_than_five_rows_are_not_kept_but_their_chapter_tells():
    common = ["E11.9"] * 6 + ["E11.0"] * 4 + ["I10"] * 5
    values = pd.Series([*common, "E66.0", "J45.1", None], name="icd")
    made = learn_codes(values, "ICD-10", 5)
    assert made.marks == ("E00-E90", "I00-I99", "E11", "=E119", "=I10")
    assert not made.missing
    named = dict(zip(made.titles, made.matrix(values).T.tolist(), strict=True))
    assert sum(named["E11"]) == 10
    assert [named[title][15] for title in made.titles] == [1, 0, 0, 0, 0]
    assert [named[title][-1] for title in made.titles] == [0] * 5
    both = made.matrix(pd.Series(["i10, e11.9", "e119|nonsense", ""]))
    assert both.tolist() == [[1, 1, 1, 1, 1], [1, 0, 1, 1, 0], [0] * 5]
    assert codes_in("E11.9+ / i10.-") == ["E119", "I10"]


def rich():
    n = 60
    return pd.DataFrame(
        {
            "icd": [f"{'EIJ'[i % 3]}{i % 30 + 10}.{i % 3}" for i in range(n)],
            "sat": ["n.d." if i == 1 else f"{90 + i % 7}%" for i in range(n)],
            "seen": [f"{i % 28 + 1:02d}.{i % 12 + 1:02d}.2020" for i in range(n)],
            "note": [f"word{i} common text" for i in range(n)],
        }
    )


def test_what_is_written_is_read_and_nothing_rare_is_in_it():
    frame = rich()
    kinds = {name: what_holds(frame[name]) for name in frame}
    assert [holds.kind for holds in kinds.values()] == ["codes", "number", "date", "text"]
    made = fit_preprocessing(frame, kinds)
    text = json.dumps(made.to_data())
    again = from_data(json.loads(text))
    assert again == made
    assert not again.is_plain
    new = rich().iloc[::-1].assign(icd="E11.1; X99", sat=95.0, seen="2020-05-06")
    np.testing.assert_array_equal(again.transform(new), made.transform(new))
    assert made.unread_cells(frame) == {"sat": ["n.d."]}
    for held in ("word5", "n.d.", "2020", "E101", "E131"):
        assert held not in text


def spoil(data, change):
    part, name, value = change
    data[part][0] = {**data[part][0], name: value}
    return data


@pytest.mark.parametrize(
    "change",
    [
        ("codes", "marks", ["(.*)"]),
        ("codes", "marks", ["E11", "E11"]),
        ("codes", "marks", [f"A{i}" for i in range(400)]),
        ("codes", "marks", 3),
        ("codes", "missing", "yes"),
        ("codes", "code", "import os"),
        ("words", "width", 10**9),
        ("words", "width", True),
        ("words", "name", None),
        ("numbers", "form", {"order": "ydm"}),
        ("numbers", "form", {"unit": "k" * 99}),
        ("numbers", "form", {"unit": 3}),
        ("numbers", "form", {"decimal": ";"}),
        ("numbers", "form", {"lenient": 1}),
        ("numbers", "form", {"eval": "x"}),
        ("numbers", "form", [1]),
    ],
    ids=str,
)
def test_foreign_forms_are_refused(change):
    frame = rich()
    made = fit_preprocessing(frame, {name: what_holds(frame[name]) for name in frame})
    data = json.loads(json.dumps(made.to_data()))
    assert from_data(data) == made
    with pytest.raises(ValueError, match=r"preprocessing\.json is not what alignset writes"):
        from_data(spoil(data, change))


def test_plain_tables_are_written_as_before():
    frame = pd.DataFrame({"age": [1.0, 2.0], "sex": ["f", "m"]})
    made = fit_preprocessing(frame, {"age": "number", "sex": Holds("category")})
    assert made.is_plain
    assert set(made.to_data()) == {"reads", "numbers", "categories"}
    assert "form" not in made.to_data()["numbers"][0]


def test_labels_are_spelled_as_the_model_spells_them():
    frame = pd.DataFrame({"told": ["YES", "yes", "yes", "No", "  "], "n": [1, 2, 3, 4, 5]})
    notes = []
    found = unify_labels(frame, "told", "gone", classes=["Yes", "no"], tell=notes.append)
    assert found["told"].dropna().tolist() == ["Yes", "Yes", "Yes", "no"]
    assert found["told"].isna().tolist() == [False] * 4 + [True]
    assert notes == [
        "column 'told': 'yes' (2 rows), 'YES' (1 row) are read as 'Yes'.",
        "column 'told': '  ' (1 row) is read as empty.",
        "column 'told': 'No' (1 row) is read as 'no'.",
    ]
    assert frame["told"].tolist()[0] == "YES"  # the table itself is left alone
    numbers = pd.DataFrame({"told": [0, 1]})
    assert unify_labels(numbers, "told", tell=notes.append) is numbers


def test_the_truth_is_spelled_as_the_label_is():
    frame = pd.DataFrame({"told": ["Yes", "Yes", "no"], "true": [None, "yes", "yes"]})
    found = unify_labels(frame, "told", "true", tell=lambda _: None)
    assert found["true"].isna().tolist() == [True, False, False]
    assert found["true"].dropna().tolist() == ["Yes", "Yes"]


@pytest.mark.parametrize(
    "options",
    [{"separator": "ab"}, {"separator": "5"}, {"separator": "\n"}, {"separator": ""},
     {"decimal": ";"}, {"encoding": "rot13"}, {"encoding": "base64"}, {"encoding": "../x"}],
    ids=str,
)  # fmt: skip
def test_a_dialect_that_is_none_is_refused(options):
    with pytest.raises(ValueError, match=r"--(sep|decimal|encoding) takes"):
        Dialect(**options)
