import pandas as pd
import pytest

from alignset.tables.delimited import HEAD
from alignset.tables.dialect import Dialect
from alignset.tables.files import form_for, read_table, write_table
from alignset.tables.written import TextForm, find_form

FRAME = pd.DataFrame({"größe": [1.5, 2.25], "n": [1, 2], "dx": ["a;b", "c,d"]})


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv"])
@pytest.mark.parametrize(
    "form",
    [
        TextForm(";", decimal=",", encoding="cp1252", line_end="\r\n"),
        TextForm("\t", encoding="utf-16", line_end="\n"),
        TextForm(";", decimal=",", encoding="utf-8-sig", line_end="\r\n", says_separator=True),
        TextForm("|", encoding="utf-8", line_end="\n"),
    ],
)
def test_a_table_is_written_in_the_form_it_is_found_in(tmp_path, name, form):
    write_table(FRAME, tmp_path / name, form=form)
    assert find_form(tmp_path / name, ",") == form
    pd.testing.assert_frame_equal(read_table(tmp_path / name), FRAME)


def test_an_encoding_that_shows_only_after_the_first_lines_is_found(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"n\n" + b"1\n" * HEAD + "größe\n".encode("cp1252"))
    assert find_form(path, ",").encoding == "cp1252"


def test_what_is_said_about_a_table_is_its_form(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe;n\n1.5;2\n".encode("mac-roman"))
    dialect = Dialect(encoding="mac-roman")
    assert form_for(tmp_path / "o.csv", path, dialect=dialect).encoding == "mac-roman"


def test_another_suffix_has_its_own_separator(tmp_path):
    write_table(FRAME, tmp_path / "t.csv", form=TextForm(";", decimal=","))
    assert form_for(tmp_path / "o.tsv", tmp_path / "t.csv").separator == "\t"
    assert form_for(tmp_path / "o.tsv", tmp_path / "t.csv").decimal == ","
    assert form_for(tmp_path / "o.parquet", tmp_path / "t.csv") is None
