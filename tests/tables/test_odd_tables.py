import json
import sys

import list_odd_tables
import numpy as np
import pandas as pd
import pytest
from tables.odd_tables import COLUMNS, ODD

from alignset.tables.columns import choose_columns
from alignset.tables.dialect import Dialect, TableWarning
from alignset.tables.fates import column_fates
from alignset.tables.files import read_table, write_table
from alignset.tables.preprocess import fit_preprocessing, from_data

EVERY = [pytest.param(odd, id=f"{part}: {odd.name}") for part, odds in ODD.items() for odd in odds]


def cells(values):
    return [None if pd.isna(value) else value for value in values.tolist()]


def test_there_are_forty_and_every_name_is_its_own():
    names = [odd.name for odds in ODD.values() for odd in odds]
    assert len(names) >= 40
    assert len({*names, *(odd.name for odd in COLUMNS)}) == len(names) + len(COLUMNS)


@pytest.mark.parametrize("odd", EVERY)
def test_an_odd_table_is_read_or_refused(tmp_path, odd):
    path, notes = odd.write(tmp_path), []
    if odd.refused:
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            read_table(path, as_text=odd.as_text, dialect=Dialect(**odd.options), tell=notes.append)
        assert odd.refused in str(caught.value)
        assert "\n" not in str(caught.value)
        return
    read = read_table(path, as_text=odd.as_text, dialect=Dialect(**odd.options), tell=notes.append)
    assert {str(name): cells(read[name]) for name in read} == {
        name: list(values) for name, values in odd.read.items()
    }
    assert len(notes) == len(odd.notes)
    assert all(said in note for said, note in zip(odd.notes, notes, strict=True))


def test_a_note_is_a_warning_in_python(tmp_path):
    (tmp_path / "t.csv").write_text("cost,n\n1 234,1\n")
    with pytest.warns(TableWarning, match="between thousands"):
        read_table(tmp_path / "t.csv")


def test_what_is_written_to_excel_is_read(tmp_path):
    frame = pd.DataFrame(
        {
            "pid": ["00049461", "=1+1", "#N/A"],
            "n": [1, 2, 3],
            "x": [0.5, np.nan, -1e-7],
            "day": pd.to_datetime(["2020-01-31 00:00", None, "2020-02-01 12:30"]),
            "yes": [True, False, True],
            "big": [10**17, 1, 2],
        }
    )
    write_table(frame, tmp_path / "t.xlsx")
    read = read_table(tmp_path / "t.xlsx", as_text=["pid", "big"])
    for name in frame:
        expected = frame["big"].astype(str) if name == "big" else frame[name]
        assert cells(read[name]) == cells(expected), name


def test_what_excel_cannot_hold_is_refused(tmp_path):
    for value, said in (("x" * 40_000, "32767"), ("\x07", "control characters")):
        with pytest.raises(ValueError, match=said):
            write_table(pd.DataFrame({"a": [value]}), tmp_path / "t.xlsx")
    assert not list(tmp_path.iterdir())


def test_openpyxl_is_asked_for_by_name(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "t.xlsx").write_bytes(b"x")
    for act in (lambda p: read_table(p), lambda p: write_table(pd.DataFrame({"a": [1]}), p)):
        with pytest.raises(ValueError, match=r'pip install "alignset\[excel\]"|exists'):
            act(tmp_path / "t.xlsx")


def odd_frame(odd, n=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"odd": [odd.cells(i) for i in range(n)], "age": rng.normal(60, 9, n)})
    frame["told"] = rng.choice(["no", "yes"], n)
    frame["reviewed"] = frame["told"].where(frame.index < 80)
    return frame


def chosen(frame, options=()):
    named = dict(zip(options[::2], options[1::2], strict=True))
    asked = {"text": named.get("--text", "refuse"), "codes": [named["--code"]] if "--code" in named else []}  # fmt: skip  # noqa: E501
    return choose_columns(frame, label="told", truth="reviewed", **asked)


@pytest.mark.parametrize("odd", [pytest.param(odd, id=odd.name) for odd in COLUMNS])
def test_an_odd_column_keeps_its_content_or_is_refused(odd):
    frame = odd_frame(odd)
    if odd.refused:
        with pytest.raises(ValueError, match=odd.refused):
            chosen(frame, odd.options)
        return
    choice = chosen(frame, odd.options)
    made = fit_preprocessing(frame, choice.kinds)
    fates = {fate.name: fate for fate in column_fates(frame, choice.kinds, made)}
    if not odd.holds:
        assert "odd" not in fates
        assert "'odd' is text with too many values and was left out." in choice.notes
        return
    assert fates["odd"].holds.startswith(odd.holds)
    assert (odd.lost in fates["odd"].lost) if odd.lost else not fates["odd"].lost
    values = made.transform(frame)
    assert np.isfinite(values).all()
    own = [name.startswith("odd") for name in made.feature_names]
    assert len(np.unique(values[:, own], axis=0)) >= min(frame["odd"].nunique(), 3)
    again = from_data(json.loads(json.dumps(made.to_data())))
    assert again == made
    np.testing.assert_array_equal(again.transform(frame), values)


def test_the_page_lists_them_as_they_are():
    assert list_odd_tables.PAGE.read_text(encoding="utf-8") == list_odd_tables.page()
