import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fitting.kept import kept

from alignset.model.evaluation import Evaluation, keep_evaluation
from alignset.tables.columns import choose_columns
from alignset.tables.targets import read_targets


def same(a, b):
    return json.dumps(a.to_data()) == json.dumps(b.to_data())


def test_what_is_written_is_read_back():
    found = kept()
    assert same(Evaluation.from_data(json.loads(json.dumps(found.to_data()))), found)


def spoil(key, value):
    def change(data):
        data[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("weight"), r"not what alignset writes \(KeyError\('weight'\)\)"),
        (spoil("scores", []), "not what alignset writes"),
        (spoil("scores", {}), "do not match each other"),
        (spoil("asked", "other"), "do not match each other"),
        (lambda d: d["true"].pop(), "do not match each other"),
        (lambda d: d["group"].__setitem__(0, 2), "out of range"),
        (lambda d: d["true"].__setitem__(0, -1), "out of range"),
        (lambda d: d["weight"].__setitem__(0, 0.0), "out of range"),
        (lambda d: d["scores"]["alignment"].__setitem__(0, [2.0, 0.0]), "out of range"),
    ],
)
def test_what_is_not_an_evaluation_is_refused(change, said):
    data = json.loads(json.dumps(kept().to_data()))
    change(data)
    with pytest.raises(ValueError, match=said):
        Evaluation.from_data(data)


@pytest.fixture
def reviewed():
    """Eight rows of two groups, six of them reviewed, with known probabilities."""
    frame = pd.DataFrame({"age": np.arange(8.0), "sex": list("ffffmmmm"), "told": [0, 1] * 4})
    frame["reviewed"] = [0, 1, 1, None, 0, 1, 0, None]
    frame["p"] = [0.5, 0.5, 0.25, None, 0.5, 0.5, 0.5, None]
    columns = {"label": "told", "truth": "reviewed", "groups": ["sex"], "probability": "p"}
    targets = read_targets(frame, choose_columns(frame, **columns).columns)
    score = np.linspace(0.9, 0.1, 8)
    return targets, {"m": np.stack([1 - score, score], axis=1)}


def test_rows_stand_for_their_group_and_observed_label(reviewed):
    targets, scores = reviewed
    found = keep_evaluation(targets, scores, "m", ())
    assert len(found) == 6
    assert found.by_design
    # f, observed 0: two rows in all, reviewed with probability 1/2 and 1/4: 2 and 4 parts of 6
    of = found.weight[(found.group == 0) & (found.observed == 0)]
    assert sorted(of.tolist()) == pytest.approx([2 / 3, 4 / 3])
    assert found.weight.sum() == pytest.approx(8)
    assert found.weight[(found.group == 1) & (found.observed == 1)].tolist() == [2.0]


def test_the_order_of_rows_says_nothing(reviewed):
    targets, scores = reviewed
    found = keep_evaluation(targets, scores, "m", ())
    assert (np.diff(found.scores["m"][:, 1]) >= 0).all()


def test_groups_left_out_of_the_comparison_are_left_out(reviewed):
    targets, scores = reviewed
    found = keep_evaluation(targets, scores, "m", ("f",))
    assert (found.groups, len(found), set(found.group)) == (("m",), 3, {0})
    everyone = keep_evaluation(targets, scores, "m", ("f", "m"))
    assert (everyone.groups, len(everyone), set(everyone.group)) == (("all",), 6, {0})


def test_without_probabilities_rows_of_a_cell_count_alike(reviewed):
    targets, scores = reviewed
    found = keep_evaluation(replace(targets, probability=np.full(8, np.nan)), scores, "m", ())
    assert not found.by_design
    assert found.weight[(found.group == 0) & (found.observed == 0)].tolist() == [1.0, 1.0]
