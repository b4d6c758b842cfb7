"""What a blend said of its own rows, by models that did not see them."""

from __future__ import annotations

import numpy as np
import pytest

from alignset.estimator import NoisyLabelClassifier
from alignset.estimator.unseen import WHOLE, Origin
from alignset.labels import EncodedLabels
from alignset.learners import Blend
from alignset.rows import Part

SMALL = Blend(strategies=("observed", "both"), learners=("linear",), network=None, folds=3)


def made(n=300, reviewed=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    true = (X[:, 0] + rng.normal(size=n) > 0).astype(np.int64)
    seen = np.where(rng.random(n) < 0.2, 1 - true, true)
    looked = np.where(rng.permutation(n) < reviewed, true, -1)
    return X, seen, looked, rng.integers(0, 2, n)


def unseen(X, seen, looked, group, blend=SMALL, **options):
    clf = NoisyLabelClassifier(blend, random_state=0, n_jobs=1)
    labels = EncodedLabels(np.array([0, 1]), seen, looked)
    clf.fit_encoded(X, labels, group, np.array(["a", "b"]), keep_unseen=True, **options)
    assert clf.unseen_ is not None
    return clf.unseen_


def test_every_row_is_answered_once_and_by_every_candidate():
    found = unseen(*made())
    assert found.at.tolist() == list(range(300))
    assert set(found.scores) == {("observed", "linear"), ("both", "linear"), WHOLE}
    for score in found.scores.values():
        np.testing.assert_allclose(score.sum(1), 1)
    assert ((found.confidence > 0) & (found.confidence < 1)).all()


def test_the_answers_belong_to_their_rows():
    X, seen, looked, group = made()
    order = np.random.default_rng(1).permutation(len(X))
    found, moved = unseen(X, seen, looked, group), unseen(*(a[order] for a in made()))
    for name in found.scores:
        np.testing.assert_array_equal(moved.scores[name], found.scores[name][order])
    assert np.corrcoef(found.scores[WHOLE][:, 1], X[:, 0])[0, 1] > 0.8


def test_a_row_does_not_move_what_is_said_of_it():
    X, seen, looked, group = made()
    row = int(np.flatnonzero(looked < 0)[7])
    other = seen.copy()
    other[row] = 1 - other[row]
    before, after = (
        unseen(X, y, looked, group).scores["observed", "linear"] for y in (seen, other)
    )
    same = (before == after).all(axis=1)
    assert same[row]
    assert 0.15 < same.mean() < 0.25  # its own fold, of five; all others were trained with it


def test_people_who_look_alike_all_have_an_answer():
    X, seen, looked, group = (np.concatenate([a, a[:20], a[:20]]) for a in made())
    found = unseen(X, seen, looked, group)
    assert found.at.tolist() == list(range(340))


def test_a_row_of_uncertain_class_has_one_answer():
    X, seen, looked, group = made()
    soft = np.eye(2)[np.maximum(looked, 0)] * 0.8 + 0.1
    found = unseen(X, seen, looked, group, soft=soft)
    assert found.at.tolist() == list(range(300))
    assert np.corrcoef(found.scores[WHOLE][:, 1], X[:, 0])[0, 1] > 0.8


def test_copies_are_shared_out_among_those_who_look_alike():
    y = np.zeros(4, dtype=np.int64)
    rows = Part(np.eye(4), y, y, y, copies=np.array([1, 1, 3, 1]))  # the third becomes three
    origin = Origin(np.array([2, 0, 2, 1, 2, 3]), np.arange(6))
    assert origin.copies(rows).tolist() == [2, 0, 3, 1, 4, 5]


def test_nothing_is_kept_unless_asked_for():
    X, seen, looked, group = made(120, 40)
    clf = NoisyLabelClassifier(SMALL, random_state=0, n_jobs=1)
    clf.fit(X, seen, y_true=np.where(looked < 0, np.nan, looked), groups=group)
    assert clf.unseen_ is None


@pytest.mark.parametrize("n_groups", [1, 2])
def test_what_is_said_of_unseen_rows_is_what_fresh_rows_get(n_groups):
    # no optimism: the loss on its own rows is that on new ones, within the error of 600 rows
    gap = []
    for seed in range(6):
        X, seen, looked, group = made(800, 100, seed)
        group = group % n_groups
        fresh, _, true, _ = made(4000, 4000, 50 + seed)
        clf = NoisyLabelClassifier(SMALL, random_state=0, n_jobs=1)
        labels = EncodedLabels(np.array([0, 1]), seen, looked)
        clf.fit_encoded(X, labels, group, np.arange(n_groups), keep_unseen=True)
        own = np.flatnonzero(looked >= 0)
        told = clf.unseen_.scores[WHOLE][own, looked[own]]
        new = clf.predict_proba(fresh)[np.arange(4000), true]
        gap.append(np.log(new).mean() - np.log(told).mean())
    assert abs(np.mean(gap)) < 0.05
