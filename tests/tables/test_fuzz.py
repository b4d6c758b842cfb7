"""Readers given anything: they answer, or refuse in words, and never fail otherwise."""

import gzip
import json

import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alignset.cli.visible import one_line, visible
from alignset.review.page import review_page
from alignset.review.reading import read_reviews
from alignset.tables.files import read_table

FEW = settings(
    max_examples=60, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
CELLS = st.text(alphabet=st.sampled_from('ab019.,;"\n\r\t =-+\0é\u202e'), max_size=8)
TABLES = st.lists(st.lists(CELLS, min_size=1, max_size=5), min_size=1, max_size=6)


def refused_or_read(read, path):
    try:
        return read(path)
    except (ValueError, OSError):
        return None


@FEW
@given(rows=TABLES, packed=st.booleans())
def test_text_is_read_or_refused(tmp_path, rows, packed):
    content = "\n".join(",".join(row) for row in rows).encode()
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    found = refused_or_read(read_table, path)
    assert found is None or (isinstance(found, pd.DataFrame) and len(found) > 0)
    found = refused_or_read(lambda p: read_table(p, as_text=True), path)
    assert found is None or all(isinstance(v, str) for v in found.to_numpy().reshape(-1))


@FEW
@given(content=st.binary(max_size=300), suffix=st.sampled_from(["csv", "csv.gz", "parquet", "xpt"]))
def test_bytes_are_read_or_refused(tmp_path, content, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(content)
    refused_or_read(read_table, path)


@FEW
@given(rows=TABLES)
def test_sheets_are_read_or_refused(tmp_path, rows):
    path = tmp_path / "s.csv"
    head = "row,stratum,wave,probability,reviewed\n"
    path.write_text(head + "\n".join(",".join(row) for row in rows), encoding="utf-8")
    found = refused_or_read(read_reviews, path)
    assert found is None or not found.frame()["id"].duplicated().any()


@FEW
@given(rows=TABLES, head=st.sampled_from(["pid,reviewed", "pid,note,reviewed,comment", "reviewed"]))
def test_pages_are_made_or_refused(tmp_path, rows, head):
    path = tmp_path / "s.csv"
    path.write_text(head + "\n" + "\n".join(",".join(row) for row in rows), encoding="utf-8")
    found = refused_or_read(lambda p: review_page(p, choices=["a", "b"]), path)
    assert found is None or found.html().count("<script") == 2


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
KEYS = ("row", "id_column", "stratum", "wave", "probability", "reviewed", "annotations", "data")


@FEW
@given(tasks=st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES), max_size=3), data=VALUES)
def test_exports_are_read_or_refused(tmp_path, tasks, data):
    path = tmp_path / "s.json"
    good = {"row": "1", "id_column": "row", "stratum": "1", "wave": 1, "probability": 0.5}
    for shape in (
        tasks,
        [{**good, **task} for task in tasks],
        [{"data": good, "annotations": data}],
    ):
        path.write_text(json.dumps(shape))
        refused_or_read(read_reviews, path)


@FEW
@given(text=st.text())
def test_nothing_that_is_shown_controls_the_terminal(text):
    assert not {c for c in visible(text) if ord(c) < 32} - {"\n", "\t"}
    assert "\n" not in one_line(text)
