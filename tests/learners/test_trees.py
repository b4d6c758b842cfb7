from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from model.blends import Sets
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from alignset import NoisyLabelClassifier
from alignset.learners import Blend, Trees, trees
from alignset.learners.trees import SIZES, levels_of
from alignset.rows.raw import RawColumns
from alignset.tables.preprocess import fit_preprocessing

KINDS = {"site": "category", "ward": "category", "age": "number", "lab": "number"}


def reading(size, raw, level_rows=10):
    """Trees that split categories into sets although there are few rows."""
    return replace(size, raw=raw, level_rows=level_rows)


def table(n=600, seed=0, levels=12):
    """The class depends on which half of the sites a row is from, and there on the lab's sign."""
    rng = np.random.default_rng(seed)
    site, ward = rng.integers(levels, size=n), rng.integers(4, size=n)
    age, lab = rng.normal(size=n), rng.normal(size=n)
    score = np.where(site % 2, lab, -lab) + 0.5 * (ward == 2) + 0.3 * rng.normal(size=n)
    gap = rng.random(n) < 0.2
    frame = pd.DataFrame({"site": [f"s{v:02d}" for v in site], "ward": [f"w{v}" for v in ward]})
    frame = frame.assign(age=age, lab=np.where(gap, np.nan, lab))
    return frame, (score > 0).astype(int)


def encoded(frame):
    prep = fit_preprocessing(frame, KINDS)
    return prep.transform(frame), prep.raw


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("classes", [2, 3])
def test_they_say_what_scikit_learn_says_of_the_table_itself(size, classes):
    frame, y = table(400)
    y = y + (classes == 3) * (frame["age"] > 1).to_numpy() * 1
    X, raw = encoded(frame)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    found = reading(size, raw).fit(X, y, weight, classes, seed=3).log_odds(X)
    # the same columns, their numbers in bins of at most 64 as ours have them
    codes = raw.read(X)
    edges = [np.quantile(v[~np.isnan(v)], np.linspace(0, 1, 65)[1:-1], method="lower")
             for v in codes[:, 2:].T]  # fmt: skip
    for column, own in zip(codes[:, 2:].T, edges, strict=True):
        column[:] = np.where(np.isnan(column), np.nan, np.searchsorted(own, column))
    model = HistGradientBoostingClassifier(
        max_iter=size.rounds, learning_rate=size.rate, max_leaf_nodes=size.leaves,
        l2_regularization=size.l2, max_features=size.columns, max_bins=64, min_samples_leaf=8,
        early_stopping=False, random_state=3, categorical_features=[0, 1],
    ).fit(codes, y, sample_weight=weight)  # fmt: skip
    said = np.exp(found) / np.exp(found).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(said, np.clip(model.predict_proba(codes), 1e-5, 1), atol=2e-5)


def test_half_of_the_levels_are_split_off_at_once():
    frame, y = table(1500)
    X, raw = encoded(frame)
    w = np.ones(len(y))
    few = Trees(rounds=12, rate=0.3, leaves=6, columns=1.0)
    train, test = slice(0, 900), slice(900, None)
    ours = reading(few, raw).fit(X[train], y[train], w[train], 2, seed=0)
    plain = few.fit(X[train], y[train], w[train], 2, seed=0)
    own, other = (roc_auc_score(y[test], m.log_odds(X[test])[:, 1]) for m in (ours, plain))
    assert own > other + 0.03
    sets = [levels_of(each, 12) for each in ours.left]
    assert max(map(len, sets)) >= 4


def test_a_level_that_no_row_had_goes_with_most_rows():
    codes = np.repeat(np.arange(3), [50, 40, 10])
    X = np.eye(4)[codes]  # level 3 of 4 never occurs
    y = (codes == 1).astype(int)
    small = Trees(rounds=1, rate=1.0, leaves=2, columns=1.0)
    model = reading(small, RawColumns(((0, 4),))).fit(X, y, np.ones(100), 2, seed=0)
    said = model.log_odds(np.vstack([np.eye(4), np.zeros(4)]))[:, 1]
    assert said[1] > said[0] == said[2] == said[3] == said[4]


def test_trees_of_labels_of_one_class_and_of_columns_beside_the_table():
    frame, y = table(200)
    X, raw = encoded(frame)
    w = np.ones(len(y))
    assert np.ptp(Trees().reading(raw).fit(X, 0 * y, w, 2, seed=0).log_odds(X)) > 0
    more = np.hstack([X, y[:, None] + 0.0])
    said = reading(Trees(), raw).fit(more, y, w, 2, seed=0).log_odds(more)[:, 1]
    assert roc_auc_score(y, said) > 0.999


@pytest.mark.parametrize("depends", [True, False])
def test_sets_of_levels_are_settled_by_what_rows_say_that_were_held_out(depends):
    frame, y = table(1500)
    X, raw = encoded(frame)
    y = y if depends else (X[:, 0] > 0).astype(int)
    own = Trees(level_rows=100).reading(raw)
    found = own.settle(X, y, np.ones(len(y)), 2, seed=0)
    assert found.raw == (raw if depends else RawColumns((), raw.gaps))
    assert found.fit(X[:200], y[:200], np.ones(200), 2, seed=0).raw == found.raw


OWN = ("linear", Sets(level_rows=10))


@pytest.mark.parametrize(
    "method", ["observed_trees", Blend(("both", "reviewed"), OWN, network=None, folds=2)]
)
def test_the_estimator_reads_tables_so_whatever_their_order_and_copies(method):
    frame, y = table(300)
    rng = np.random.default_rng(2)
    seen, true = (
        np.where(rng.random(300) < 0.2, 1 - y, y),
        np.where(rng.random(300) < 0.3, y, np.nan),
    )
    clf = NoisyLabelClassifier(method, random_state=0).fit(frame, seen, y_true=true)
    found = [m.raw for m in clf._model.models if hasattr(m, "raw")]
    assert all(len(raw.gaps) == 1 for raw in found)
    assert max(len(raw.categories) for raw in found) == (0 if method == "observed_trees" else 2)
    said = clf.predict_proba(frame)
    order = rng.permutation(300)
    again = NoisyLabelClassifier(method, random_state=0)
    again.fit(frame.iloc[order], seen[order], y_true=true[order])
    np.testing.assert_array_equal(again.predict_proba(frame), said)
    three = NoisyLabelClassifier(method, random_state=0)
    three.fit(frame, seen, y_true=true, sample_weight=np.where(np.arange(300) < 9, 3, 1))
    copies = np.r_[np.arange(300), np.tile(np.arange(9), 2)]
    other = NoisyLabelClassifier(method, random_state=0)
    other.fit(frame.iloc[copies], seen[copies], y_true=true[copies])
    np.testing.assert_array_equal(three.predict_proba(frame), other.predict_proba(frame))


def test_a_category_with_few_rows_per_level_stays_columns_of_zeros_and_ones():
    frame, y = table(600)
    X, raw = encoded(frame)  # 4 wards, 12 sites
    (ward,) = [each for each in raw.categories if each[1] - each[0] == 4]
    for rows, left in ((10, raw.categories), (100, (ward,)), (1000, ())):
        model = reading(Trees(), raw, rows).fit(X, y, np.ones(len(y)), 2, seed=0)
        assert model.raw == RawColumns(left, raw.gaps)


def test_sizes_are_judged_by_halves_or_after_fitting_most_of_many_rows(monkeypatch):
    monkeypatch.setattr(trees, "JUDGING", 100)
    monkeypatch.setattr(trees, "MOST_ROWS", 500)
    sizes = [[(len(out), len(kept)) for out, kept in trees._splits(np.arange(n))]
             for n in (1, 150, 200, 300, 900)]  # fmt: skip
    assert sizes == [[(1, 0), (0, 1)], [(75, 75)] * 2, [(100, 100)] * 2, [(100, 200)], [(100, 400)]]
    out, kept = trees._splits(np.arange(300))[0]
    assert not set(out) & set(kept)


@pytest.mark.parametrize("values", [[np.nan] * 4, [1.0, np.nan] * 2, [np.nan, 0, 0, 0]])
def test_numbers_of_which_hardly_any_is_known(values):
    raw = RawColumns(gaps=((0, 1),))
    X = np.column_stack([np.nan_to_num(values), np.isnan(values), np.zeros(4), np.arange(4.0)])
    X, y = np.tile(X, (20, 1)), np.tile([0, 1, 0, 1], 20)
    for weight in (np.ones(80), np.linspace(0.5, 2, 80)):
        said = Trees(rounds=5).reading(raw).fit(X, y, weight, 2, seed=0).log_odds(X)
        assert np.isfinite(said).all()
