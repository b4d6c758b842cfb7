import by_hand
import numpy as np
import pytest
import torch
from problems import make_problem

from alignset.engine import FixedLength, Trainer, fits
from alignset.methods import Alignment, Standard

CONFIGS = [{"lr": 1e-3}, {"lr": 1e-2}, {"lr": 3e-2}]


@pytest.fixture(scope="module")
def problems():
    return [make_problem(60, seed=0), make_problem(80, seed=1)]


@pytest.fixture(scope="module")
def trained(problems):
    return Trainer(hidden=6, max_epochs=4, stopping=FixedLength(), n_jobs=1).fit(
        Alignment(), problems, CONFIGS
    )


def test_results_have_a_problem_and_a_config_axis(trained):
    assert trained.score.shape == (2, 3)
    assert trained.epochs.tolist() == [[[4, 4]] * 3] * 2
    for params in trained.weights.values():
        assert all(t.shape[:2] == (2, 3) for t in params.values())


def test_probabilities_are_those_of_the_network_by_hand(trained, problems):
    X = problems[1].validation.X
    prob = trained.probability(X, problem=1)
    assert prob.shape == (3, len(X), 2)
    for c in range(3):
        net = by_hand.sequential(trained.weights["theta"], 1, c, n_blocks=1, depth=2)
        expected = torch.softmax(net(torch.from_numpy(X)), -1).detach().numpy()
        np.testing.assert_allclose(prob[c], expected, atol=1e-6)


def test_confidence_is_phi_on_x_and_the_observed_label(trained, problems):
    part = problems[0].train
    beta = trained.confidence(part.X, part.y_seen)
    assert beta.shape == (3, len(part))
    rows = torch.from_numpy(np.hstack([part.X, np.eye(2, dtype=np.float32)[part.y_seen]]))
    for c in range(3):
        net = by_hand.sequential(trained.weights["phi"], 0, c, n_blocks=2, depth=2)
        np.testing.assert_allclose(
            beta[c], torch.sigmoid(net(rows)).detach().numpy()[:, 0], atol=1e-6
        )


def test_predicting_in_blocks_changes_nothing(trained, problems, monkeypatch):
    part = problems[0].train
    whole = trained.probability(part.X), trained.confidence(part.X, part.y_seen)
    monkeypatch.setattr(fits, "BLOCK_FLOATS", 400)
    cut = trained.probability(part.X), trained.confidence(part.X, part.y_seen)
    for a, b in zip(whole, cut, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_predicting_no_rows_gives_no_rows(trained, problems):
    nothing = problems[0].train.X[:0]
    assert trained.probability(nothing).shape == (3, 0, 2)
    assert trained.confidence(nothing, np.zeros(0, dtype=int)).shape == (3, 0)


def test_double_precision_is_close_to_single(trained, problems):
    X = problems[0].train.X
    single, double = trained.probability(X), trained.probability(X, dtype=torch.float64)
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, atol=1e-6)


def test_the_best_config_is_the_first_of_the_highest_scores(trained):
    nan, low = float("nan"), float("-inf")
    for scores, expected in (
        ([[0.1, 0.3, 0.3], [0.5, 0.2, 0.1]], [1, 0]),
        ([[nan, 0.3, 0.2], [nan, low, -2.0]], [1, 2]),
    ):
        other = fits.Fits(**{**vars(trained), "score": torch.tensor(scores)})
        assert other.best().tolist() == expected


def test_one_config_per_problem_can_be_picked(trained, problems):
    picked = trained.only([2, 0])
    assert picked.score.tolist() == [[trained.score[0, 2]], [trained.score[1, 0]]]
    for p, c in ((0, 2), (1, 0)):
        X = problems[p].train.X
        np.testing.assert_allclose(
            picked.probability(X, problem=p)[0], trained.probability(X, problem=p)[c], atol=1e-6
        )


def test_probabilities_carry_no_gradient_and_sum_to_one(problems):
    fit = Trainer(hidden=6, max_epochs=1, n_jobs=1).fit(Standard(), problems)
    prob = fit.probability(problems[0].train.X)
    np.testing.assert_allclose(prob.sum(-1), 1, atol=1e-6)
