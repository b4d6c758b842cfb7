import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alignset.labels import UNREVIEWED, encode_groups, encode_known, encode_labels, is_missing

NAN = float("nan")


def refuses(message):
    return pytest.raises(ValueError, match="^" + re.escape(message) + "$")


@pytest.mark.parametrize(
    "values",
    [
        [1.0, NAN, 0.0],
        [1, None, 0],
        np.array([1.0, NAN, 0.0]),
        np.array([1, None, 0], dtype=object),
        np.ma.array([1, 0, 0], mask=[False, True, False]),
        pd.Series([1, pd.NA, 0], dtype="Int64"),
        pd.Series([1, None, 0]),
        pd.Series([1, None, 0], dtype="category"),
        pd.array([1, pd.NA, 0], dtype="Int64"),
        pl.Series([1, None, 0]),
        pd.Series([True, None, False], dtype="boolean"),
        np.array([True, None, False], dtype=object),
        [True, None, False],
    ],
)
@pytest.mark.parametrize(
    "y", [[0, 1, 0], np.array([0.0, 1.0, 0.0]), [False, True, False], np.array([0, 1, 0], "O")]
)
def test_a_true_label_matches_whatever_a_gap_turned_it_into(y, values):
    labels = encode_labels(y, values)
    np.testing.assert_array_equal(labels.y_true, [1, UNREVIEWED, 0])
    np.testing.assert_array_equal(labels.y_seen, [0, 1, 0])
    np.testing.assert_array_equal(labels.reviewed, [True, False, True])


@pytest.mark.parametrize(
    "values",
    [
        ["yes", None, "no"],
        ["yes", NAN, "no"],
        ("yes", pd.NA, "no"),
        np.array(["yes", None, "no"], dtype=object),
        np.ma.array(["yes", "x", "no"], mask=[False, True, False]),
        pd.Series(["yes", None, "no"]),
        pd.Series(["yes", None, "no"], dtype="category"),
        pd.Series(["yes", None, "no"], dtype="string"),
        pl.Series(["yes", None, "no"]),
        pl.Series(["yes", None, "no"], dtype=pl.Categorical),
    ],
)
@pytest.mark.parametrize(
    "y",
    [
        ["no", "yes", "no"],
        np.array(["no", "yes", "no"]),
        pd.Series(["no", "yes", "no"]),
        pd.Series(["no", "yes", "no"], dtype="category"),
        pl.Series(["no", "yes", "no"]),
        np.array(["no", "yes", "no"], dtype=np.dtypes.StringDType()),
    ],
)
def test_text_labels_work_in_every_container(y, values):
    labels = encode_labels(y, values)
    assert labels.classes.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(labels.y_true, [1, UNREVIEWED, 0])


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        ([2, -1], np.int64),
        (np.array([2, -1], dtype=np.int8), np.int8),
        (np.array([2.0, -1.0]), np.float64),
        (np.array([True, False]), np.bool_),
        (pd.Series([True, False], dtype="boolean"), np.bool_),
        (pd.Series([2, -1], dtype="Int64"), np.int64),
        (pd.Series([2, -1], dtype="category"), np.int64),
        (np.array(["b", "a"]), np.dtype("<U1")),
        (np.array(["b", "a"], dtype=object), np.object_),
        (np.array([2, -1], dtype=object), np.int64),
    ],
)
def test_classes_are_sorted_and_of_the_type_of_y(y, kind):
    labels = encode_labels(y)
    assert labels.classes.dtype == kind
    assert labels.classes.tolist() == sorted(set(np.asarray(y).tolist()))
    np.testing.assert_array_equal(labels.classes[labels.y_seen], np.asarray(y))
    assert labels.y_seen.dtype == labels.y_true.dtype == np.int64


def test_minus_one_is_a_class_and_never_means_missing():
    labels = encode_labels([-1, 1, 1], y_true=[-1.0, NAN, -1.0])
    assert labels.classes.tolist() == [-1, 1]
    np.testing.assert_array_equal(labels.y_true, [0, UNREVIEWED, 0])


def test_without_y_true_nothing_is_reviewed():
    assert not encode_labels(["a", "b"]).reviewed.any()
    assert not encode_labels(["a", "b"], [NAN, NAN]).reviewed.any()


def test_a_class_that_only_a_reviewer_saw_is_a_class():
    labels = encode_labels(["a", "c"], y_true=["rare", None])
    assert labels.classes.tolist() == ["a", "c", "rare"]
    np.testing.assert_array_equal(labels.y_true, [2, UNREVIEWED])


def test_a_narrow_integer_type_widens_for_a_true_label_it_cannot_hold():
    labels = encode_labels(np.array([0, 1], dtype=np.uint8), y_true=[300.0, NAN])
    assert labels.classes.tolist() == [0, 1, 300]


def test_one_column_is_as_good_as_none():
    np.testing.assert_array_equal(encode_labels(np.array([[1], [0]])).y_seen, [1, 0])
    np.testing.assert_array_equal(encode_labels([1, 0], [[1.0], [NAN]]).y_true, [1, UNREVIEWED])


def test_no_rows_have_no_classes():
    assert len(encode_labels([]).classes) == 0
    assert encode_groups([], 0)[1].shape == (0,)


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.none() | st.integers(-3, 3)), min_size=1),
    st.sampled_from([list, np.array, pd.Series, pl.Series]),
)
def test_codes_decode_to_what_was_passed(rows, container):
    seen, true = [r[0] for r in rows], [r[1] for r in rows]
    labels = encode_labels(container(seen), true)
    assert labels.classes.tolist() == sorted({*seen, *(t for t in true if t is not None)})
    assert labels.classes[labels.y_seen].tolist() == seen
    back = [labels.classes[c].item() if c != UNREVIEWED else None for c in labels.y_true]
    assert back == true


def test_a_length_that_differs_is_named():
    with refuses(
        "y_true has 2 entries but X has 3 rows; pass one per row, "
        "with NaN where the row was not reviewed."
    ):
        encode_labels([0, 1, 0], [1.0, NAN])


@pytest.mark.parametrize("y", [[0, 1, None, None], ["a", "b", NAN, None], [0.0, 1.0, NAN, NAN]])
def test_a_missing_observed_label_is_an_error(y):
    with refuses(
        "y is missing in 2 of 4 rows, first in row 2; every row needs an observed label, so drop "
        "those rows (unreviewed rows are marked in y_true)."
    ):
        encode_labels(y)


@pytest.mark.parametrize(
    ("y", "y_true", "message"),
    [
        (
            ["yes", "no"],
            [1.0, NAN],
            "float labels such as 1.0 but y holds str labels such as 'yes'",
        ),
        ([1, 0], ["1", None], "str labels such as '1' but y holds int labels such as 1"),
        ([True, False], [2, None], "int labels such as 2 but y holds bool labels such as True"),
    ],
)
def test_true_labels_of_another_type_are_an_error(y, y_true, message):
    with refuses(f"y_true holds {message}; use the same labels in both."):
        encode_labels(y, y_true)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5, 1.0], "y holds 0.5, which is not a class"),
        ([0.0, np.inf], "y holds inf, which is not a class"),
        (["a", 1], "y holds labels of type int and str, such as 'a'"),
        ([(1 + 2j), 1j], "y holds labels of type complex, such as (1+2j)"),
    ],
)
def test_what_is_not_a_class_is_an_error(y, message):
    with refuses(f"{message}; labels must be all strings, all booleans or all whole numbers."):
        encode_labels(y)


def test_dates_are_not_classes():
    with pytest.raises(ValueError, match="y holds labels of type datetime64"):
        encode_labels(np.array(["2020-01-01"], dtype="datetime64[D]"))


@pytest.mark.parametrize(("y", "shape"), [([[0, 1], [1, 0]], "(2, 2)"), ("yes", "()")])
def test_several_labels_per_row_are_an_error(y, shape):
    with refuses(f"y must have one label per row, got an array of shape {shape}."):
        encode_labels(y)


def test_further_labels_are_encoded_with_the_known_classes():
    classes = encode_labels([0, 1, 1]).classes
    for y in ([1, 0], [1.0, 0.0], [True, False], np.array([[1], [0]]), pd.Series([1, 0])):
        assert encode_known(y, classes).tolist() == [1, 0]
    assert encode_known([None, 1, NAN], classes, gaps=True).tolist() == [UNREVIEWED, 1, UNREVIEWED]
    assert encode_known([], classes).tolist() == []


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([0, 2], {}, "y holds 2 in row 1, which is not a known label; known labels are 0, 1."),
        ([0, "1"], {}, "y holds '1' in row 1, which is not a known label; known labels are 0, 1."),
        (
            [None, "?"],
            {"column": "reviewed", "gaps": True},
            "column 'reviewed' holds '?' in data row 2, which is not a known label; known "
            "labels are 0, 1, and rows that were not reviewed are left empty.",
        ),
        ([0, None], {}, "y is missing in 1 of 2 rows, first in row 1; every row needs a label."),
        ([[0, 1]], {}, "y must have one label per row, got an array of shape (1, 2)."),
    ],
)
def test_a_label_that_is_not_known_is_an_error(y, options, message):
    with refuses(message):
        encode_known(y, np.array([0, 1]), **options)


def test_labels_and_groups_of_a_table_are_named_by_their_column():
    with refuses("column 'told' holds 0.5, which is not a class; labels must be all strings, all "
                 "booleans or all whole numbers."):  # fmt: skip
        encode_labels([0.5, 1.0], column="told")
    with refuses("column 'told' is missing in 1 of 2 rows, first in data row 2; every row needs an "
                 "observed label, so drop those rows, or "
                 "pass --keep-na told if the words None or NA in it are labels."):  # fmt: skip
        encode_labels(["a", None], column="told")
    with refuses("column 'old' is missing in 1 of 2 rows, first in data row 2; give those rows a "
                 "group of their own, such as 'unknown', or drop them."):  # fmt: skip
        encode_groups([["f", 1], ["m", None]], 2, columns=["sex", "old"])


def test_labels_are_not_changed_in_place():
    y, y_true = np.array([0, 1, 1]), np.array([1.0, NAN, 0.0])
    before = y.copy(), y_true.copy()
    labels = encode_labels(y, y_true)
    labels.y_seen[:] = 7
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(y_true, before[1])


def test_missing_is_every_way_to_say_it():
    assert is_missing([None, NAN, pd.NA, pd.NaT, np.nan, 0, "", "nan"]).tolist() == (
        [True] * 5 + [False] * 3
    )
    assert is_missing(np.ma.array([1.0, NAN, 3.0], mask=[True, False, False])).tolist() == [
        True,
        True,
        False,
    ]


def test_no_groups_are_one_group():
    names, codes = encode_groups(None, 3)
    assert names.tolist() == ["all"]
    np.testing.assert_array_equal(codes, [0, 0, 0])


@pytest.mark.parametrize(
    "groups",
    [
        ["m", "f", "m"],
        np.array(["m", "f", "m"]),
        pd.Series(["m", "f", "m"], dtype="category"),
        pl.Series(["m", "f", "m"]),
        pd.DataFrame({"sex": ["m", "f", "m"]}),
        pl.DataFrame({"sex": ["m", "f", "m"]}),
    ],
)
def test_groups_are_sorted_values_and_codes(groups):
    names, codes = encode_groups(groups, 3)
    assert names.tolist() == ["f", "m"]
    assert codes.dtype == np.int64
    np.testing.assert_array_equal(codes, [1, 0, 1])


def test_group_names_keep_their_type():
    assert encode_groups([10, 2, 10], 3)[0].tolist() == [2, 10]
    assert encode_groups([True, False], 2)[0].dtype == bool


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_several_columns_mean_their_intersections(frame):
    names, codes = encode_groups(frame({"sex": ["m", "f", "m"], "old": [10, 2, 2]}), 3)
    assert names.tolist() == ["f & 2", "m & 2", "m & 10"]
    np.testing.assert_array_equal(codes, [2, 0, 1])


def test_a_missing_group_is_an_error_that_says_how_many():
    message = (
        "groups is missing in 2 of 4 rows, first in row 1; give those rows a group of their own, "
        "such as 'unknown', or drop them."
    )
    with refuses(message):
        encode_groups(["a", None, "b", NAN], 4)
    with refuses(message):
        encode_groups(pd.DataFrame({"a": [1, None, 1, 1], "b": ["x", None, "x", None]}), 4)


def test_group_lengths_types_and_shapes_are_checked():
    with refuses("groups has 2 entries but X has 3 rows; pass one per row."):
        encode_groups(["a", "b"], 3)
    with refuses("groups mixes values of type int and str; pass one type per column."):
        encode_groups([1, "a"], 2)
    with refuses("groups must have shape (n,) or (n, m), got an array of shape ()."):
        encode_groups("a", 1)
