import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from alignset.rows import from_arrays, split


def test_plain_arrays_become_a_table_that_splits():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.5, "no", "yes")
    table = from_arrays(
        sparse.csr_array(rng.random((200, 3))),
        y,
        np.where(rng.random(200) < 0.3, "f", "m"),
        y_seen=np.full(200, "no"),
        individuals=np.arange(200) // 2,
        name="mine",
    )
    assert (table.class_names, table.group_names) == (("no", "yes"), ("f", "m"))
    np.testing.assert_array_equal(table.y, y == "yes")
    problem = split(table, share=0.3, seed=0)
    assert (problem.train.y_seen == 0).all()
    assert problem.name == "mine"


def test_column_names_come_from_a_frame():
    table = from_arrays(pd.DataFrame({"age": [1, 2], "bmi": [3, 4]}), [0, 1], test=[0, 1])
    assert table.feature_names == ("age", "bmi")
    assert table.test.tolist() == [False, True]
    assert table.group_names == ("all",)
    assert from_arrays([[1.0], [2.0]], [0, 1]).feature_names == ("0",)


def test_every_true_label_is_needed():
    with pytest.raises(
        ValueError, match=r"y is missing in 1 of 2 rows, .*; a table to split needs"
    ):
        from_arrays(np.eye(2), [1.0, None], y_seen=[0, 1])
    with pytest.raises(ValueError, match="y is missing in 1 of 2 rows, first in row 1"):
        from_arrays(np.eye(2), [1.0, None])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="y has 3 entries but X has 2 rows"):
        from_arrays(np.eye(2), [0, 1, 0])
