import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from alignset.data import Table, make_multiclass, make_synthetic
from alignset.labels import UNREVIEWED
from alignset.noise import flip_uniform
from alignset.rows import split


def table_of(sizes=(80, 40), n_classes=2, **fields):
    """Return a table whose only feature is the row number, so that rows can be traced."""
    n = sum(sizes)
    group = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    return Table(
        **{
            "X": np.arange(n, dtype=float)[:, None],
            "y": np.arange(n) % n_classes,
            "group": group,
            "name": "traced",
            "feature_names": ("row",),
            "class_names": tuple("abcdef"[:n_classes]),
            "group_names": tuple(f"g{k}" for k in range(len(sizes))),
            **fields,
        }
    )


def noisy(table):
    return flip_uniform(table.y, rate=0.3, n_classes=table.n_classes, random_state=0).y_seen


def rows_of(part):
    return part.X[:, 0].astype(int)


def parts_of(problem):
    parts = [problem.train, problem.validation, problem.test]
    return [rows_of(p) if p is not None else np.zeros(0, int) for p in parts]


def refuses(message):
    return pytest.raises(ValueError, match="^" + re.escape(message) + "$")


@given(
    st.lists(st.integers(20, 60), min_size=1, max_size=3),
    st.floats(0.2, 0.6),
    st.floats(0.1, 0.9),
    st.integers(0, 99),
)
def test_every_row_is_in_one_part_and_carries_its_own_labels(sizes, share, validation, seed):
    table = table_of(sizes, n_classes=3)
    seen = noisy(table)
    problem = split(table, seen, share=share, validation=validation, seed=seed)
    assert sorted(np.concatenate(parts_of(problem))) == list(range(len(table)))
    for part in (problem.train, problem.validation, problem.test):
        rows = rows_of(part)
        np.testing.assert_array_equal(part.y_seen, seen[rows])
        np.testing.assert_array_equal(part.group, table.group[rows])
        known = part.y_true != UNREVIEWED
        np.testing.assert_array_equal(part.y_true[known], table.y[rows][known])
        assert part is problem.train or known.all()
    np.testing.assert_array_equal(problem.truth, table.y[rows_of(problem.train)])


@given(
    st.lists(st.integers(20, 60), min_size=1, max_size=3), st.floats(0.2, 0.6), st.integers(0, 99)
)
def test_counts_are_exact_in_every_group(sizes, share, seed):
    table = table_of(sizes)
    problem = split(table, table.y, share=share, seed=seed)
    for g, size in enumerate(sizes):
        tested = round(0.2 * size)
        reviewed = round(share * (size - tested))
        held = round(0.5 * reviewed)
        assert (problem.test.group == g).sum() == tested
        assert (problem.validation.group == g).sum() == held
        assert problem.train.reviewed[problem.train.group == g].sum() == reviewed - held


@given(st.lists(st.integers(0, 30), min_size=120, max_size=120), st.integers(0, 99))
def test_no_individual_is_in_two_parts(who, seed):
    who = np.array([*who, *range(100, 200)])
    table = table_of((120, 100), individuals=who)
    problem = split(table, table.y, share=0.3, n_train=60, seed=seed)
    train, validation, test = (set(who[rows]) for rows in parts_of(problem))
    assert train.isdisjoint(validation)
    assert train.isdisjoint(test)
    assert validation.isdisjoint(test)
    assert len(train | validation) == 60


def test_individuals_are_reviewed_with_all_their_rows():
    who = np.arange(400) // 4
    table = table_of((400,), individuals=who.astype(str))
    problem = split(table, table.y, share=0.1, seed=0)
    rows = rows_of(problem.train)
    assert set(who[rows[problem.train.reviewed]]).isdisjoint(who[rows[~problem.train.reviewed]])
    assert [len(p) for p in (problem.train, problem.validation, problem.test)] == [304, 16, 80]


def test_the_paper_protocol_is_the_default():
    table = make_synthetic(5000, random_state=0).table
    problem = split(table, noisy(table), seed=4)
    assert (len(problem.train), len(problem.validation), len(problem.test)) == (3800, 200, 1000)
    assert problem.train.reviewed.sum() == 200
    assert np.bincount(problem.validation.group).tolist() == [160, 40]
    assert (problem.seed, problem.n_classes, problem.n_groups) == (4, 2, 2)
    assert problem.name == "synthetic"
    assert problem.n_features == 30


def test_fully_reviewed_knows_every_training_label():
    table = make_multiclass(300, random_state=0)
    problem = split(table, noisy(table), seed=0)
    clean = problem.fully_reviewed()
    np.testing.assert_array_equal(clean.train.y_true, problem.truth)
    assert clean.train.reviewed.all()
    assert not problem.train.reviewed.all()
    with pytest.raises(ValueError, match="does not know the true label of every training row"):
        replace(problem, truth=None).fully_reviewed()


def test_the_same_seed_gives_the_same_split_and_another_seed_another():
    table = table_of()
    one, same, other = (split(table, table.y, share=0.3, seed=s) for s in (0, 0, 1))
    for a, b in zip(parts_of(one), parts_of(same), strict=True):
        np.testing.assert_array_equal(a, b)
    assert set(rows_of(one.test)) != set(rows_of(other.test))


def test_the_test_rows_do_not_depend_on_the_review():
    table = table_of()
    problems = [split(table, table.y, share=s, seed=0) for s in (0.2, 0.5)]
    problems.append(split(table, table.y, composition=[0.5, 0.5], share=0.2, seed=0))
    for problem in problems[1:]:
        np.testing.assert_array_equal(rows_of(problem.test), rows_of(problems[0].test))


def test_a_biased_alignment_set_has_the_composition_asked_for():
    table = table_of((800, 200))
    for minority in (0.2, 0.5, 0.8, 1.0):
        problem = split(table, table.y, composition=[1 - minority, minority], seed=0)
        part, train = problem.validation, problem.train
        reviewed = len(part) + train.reviewed.sum()
        of_minority = (part.group == 1).sum() + (train.group[train.reviewed] == 1).sum()
        assert reviewed == 80
        assert of_minority == round(80 * minority)


def test_a_group_can_stay_unreviewed_on_purpose():
    problem = split(table_of(), table_of().y, share=[0.2, 0.0], seed=0)
    assert (problem.validation.group == 0).all()
    assert (problem.train.group == 1).any()


def test_official_test_rows_are_kept():
    official = np.arange(120) % 3 == 0
    table = table_of(test=official)
    problem = split(table, table.y, share=0.2, n_train=50, seed=0)
    np.testing.assert_array_equal(rows_of(problem.test), np.flatnonzero(official))
    assert len(problem.train) + len(problem.validation) == 50


def test_no_test_part_is_a_choice():
    problem = split(table_of(), table_of().y, test=None, share=0.2, seed=0)
    assert problem.test is None
    assert len(problem.train) + len(problem.validation) == 120


def test_observed_labels_of_the_table_are_the_default():
    table = table_of(observed=np.ones(120, dtype=np.int64))
    assert (split(table, share=0.2, seed=0).train.y_seen == 1).all()


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, sparse.csr_matrix, sparse.csr_array])
def test_features_are_float32_and_sparse_ones_stay_sparse(make):
    table = make_multiclass(100, random_state=0)
    problem = split(replace(table, X=make(table.X)), table.y, share=0.2, seed=0)
    x = problem.train.X
    assert x.dtype == np.float32
    assert sparse.issparse(x) == sparse.issparse(make(table.X))
    assert not sparse.issparse(x) or x.format == "csr"
    dense = split(table, table.y, share=0.2, seed=0).train.X
    np.testing.assert_array_equal(x.toarray() if sparse.issparse(x) else x, dense)


def test_a_pipeline_is_fitted_to_the_training_rows_alone():
    table = table_of()
    frame = pd.DataFrame({"row": np.arange(len(table.y)), "text": table.y.astype(str)})
    pipeline = ColumnTransformer(
        [
            ("number", StandardScaler(), ["row"]),
            ("text", OneHotEncoder(sparse_output=False), ["text"]),
        ]
    )
    found = split(replace(table, X=frame), table.y, pipeline=pipeline, seed=3)
    same = split(table, table.y, seed=3)  # whose rows can be traced
    rows = rows_of(same.train)
    for part, traced in (
        (found.train, same.train), (found.validation, same.validation), (found.test, same.test),
    ):  # fmt: skip
        assert part.X.dtype == np.float32
        scaled = (rows_of(traced) - rows.mean()) / rows.std()
        np.testing.assert_allclose(part.X[:, 0], scaled, atol=1e-5)
        np.testing.assert_array_equal(part.y_true, traced.y_true)


def test_codes_are_int64_whatever_came():
    table = table_of()
    narrow = replace(table, y=table.y.astype(np.int8), group=table.group.astype(bool))
    train = split(narrow, table.y.astype(bool), share=0.2, seed=0).train
    assert {train.y_seen.dtype, train.y_true.dtype, train.group.dtype} == {np.dtype(np.int64)}


def test_the_input_is_not_changed_and_not_shared():
    table = table_of(X=np.ones((120, 1), dtype=np.float32))
    seen = noisy(table)
    kept = table.X.copy(), table.y.copy(), table.group.copy(), seen.copy()
    problem = split(table, seen, share=0.2, seed=0)
    for part in (problem.train, problem.validation, problem.test):
        part.X[:], part.y_seen[:], part.y_true[:], part.group[:] = 9, 9, 9, 9
    problem.truth[:] = 9
    for before, now in zip(kept, (table.X, table.y, table.group, seen), strict=True):
        np.testing.assert_array_equal(before, now)


def holding(value):
    x = np.ones((120, 2))
    x[7, 1] = x[9, 0] = value
    return x


GAPS = "X holds 2 NaN or infinite values (in float32), first in row 7; "


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        (
            {},
            {"y_seen": None},
            "table 'traced' has no observed labels; pass y_seen, for example "
            "flip_by_features(table.y, table.X, table.group, rate=0.3).y_seen.",
        ),
        (
            {},
            {"y_seen": [0, 1]},
            "y_seen has 2 entries but X has 120 rows; pass one per row.",
        ),
        (
            {},
            {"y_seen": np.full(120, 2)},
            "y_seen holds code 2 in row 0; table 'traced' has codes 0 to 1.",
        ),
        (
            {},
            {"y_seen": np.zeros(120)},
            "y_seen must be a flat array of whole codes, got float64 values of shape (120,); "
            "encode_labels and encode_groups make such codes.",
        ),
        (
            {"y": np.full(120, -1)},
            {},
            "y holds code -1 in row 0; table 'traced' has codes 0 to 1.",
        ),
        (
            {"group": np.r_[np.zeros(119, int), 5]},
            {},
            "group holds code 5 in row 119; table 'traced' has codes 0 to 1.",
        ),
        (
            {"group": np.zeros(120, int)},
            {},
            "group 1 ('g1') has no rows; leave it out of group_names, or add rows.",
        ),
        (
            {"test": np.arange(120) >= 60, "group": (np.arange(120) >= 60).astype(int)},
            {},
            "group 1 ('g1') has no training rows; lower the test share, or raise n_train.",
        ),
        (
            {},
            {"share": 0.04},
            "group 1 ('g1') has 1 reviewed of 32 training rows; it needs at least 2, one to train "
            "and one to validate, so raise its share, or set it to 0 to leave the group "
            "unreviewed on purpose.",
        ),
        (
            {"individuals": np.arange(120)},
            {"share": [0.2, 0.01]},
            "group 1 ('g1') has 0 reviewed of 32 training individuals; it needs at least 2, one "
            "to train and one to validate, so raise its share, or set it to 0 to leave the group "
            "unreviewed on purpose.",
        ),
        (
            {},
            {"share": 0.0},
            "no row is reviewed, so there is nothing to validate on; raise share above 0.",
        ),
        ({}, {"share": 10}, "share must lie in [0, 1], got 10.0; write 0.1 for 10 %."),
        ({}, {"test": 20}, "test share must lie in (0, 1), got 20.0; write 0.2 for 20 %."),
        (
            {},
            {"validation": 0.0},
            "validation share must lie in (0, 1), got 0.0; write 0.1 for 10 %.",
        ),
        (
            {},
            {"n_train": 97},
            "n_train must lie between 1 and 96, the number outside the test part, got 97.",
        ),
        (
            {"individuals": np.arange(120) // 2, "test": np.arange(120) < 31},
            {},
            "1 individuals have rows inside and outside the official test rows of table 'traced'; "
            "an individual may be in only one part, so drop or move them.",
        ),
        ({"X": holding(np.nan)}, {}, GAPS + "impute or drop them first."),
        ({"X": holding(1e300)}, {}, GAPS + "impute or drop them first."),
        (
            {"X": pd.DataFrame(holding(np.nan)).convert_dtypes()},
            {},
            GAPS + "impute or drop them first.",
        ),
        (
            {"X": sparse.csr_array(holding(np.inf))},
            {},
            GAPS + "impute or drop them first.",
        ),
        (
            {"X": np.ones(120)},
            {},
            "X must have rows and columns, got shape (120,).",
        ),
    ],
)
def test_what_is_wrong_is_said(fields, options, message):
    table = table_of(**fields)
    with refuses(message):
        split(table, **{"y_seen": np.arange(120) % 2, "share": 0.2, "seed": 0, **options})


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame])
def test_text_in_the_features_is_an_error(make):
    table = table_of(X=make(np.full((120, 1), "red", dtype=object)))
    with pytest.raises(ValueError, match=r"not numbers \(.*red.*\); encode them first"):
        split(table, table.y, share=0.2, seed=0)
