import numpy as np
import pytest
from evaluate.reviewed_scores import reviewed_scores

from alignset.evaluate import aueoc, estimate
from alignset.evaluate.difference import ReviewedSample
from alignset.evaluate.estimands import ScoredRows
from alignset.evaluate.evenness import GRID, _draw, _exact, _invert, _Rates, _uphill


def group_rates(data, member, power=None):
    """Rates of the rows of one group, with q made of the observed labels."""
    rows = ScoredRows(np.stack([1 - data.score, data.score], 1)[member], data.y[member])
    q = np.where(data.y == 1, 0.85, 0.15)[member]
    soft = np.stack([1 - q, q], axis=1)
    n = int(member.sum())
    seen = data.seen[member]
    chance, stratum = np.full(n, seen.mean()), np.zeros(n, dtype=int)
    sample = ReviewedSample(data.truth[member], seen, chance, np.ones(n), soft, soft, stratum)
    return _Rates.of(rows, sample, (np.arange(GRID) + 0.5) / GRID, power)


def test_rates_and_their_integral_are_those_of_the_metric():
    data = reviewed_scores(0, n=500, reviewed=500)
    parts = [group_rates(data, data.group == g, power=0.0) for g in (0, 1)]
    cuts = np.unique(data.score)
    found = _exact([part.at(cuts) for part in parts], cuts)
    assert found == pytest.approx(aueoc(data.truth, data.score, data.group), abs=1e-12)
    own = (data.group == 0) & (data.truth == 1)
    by_hand = (data.score[own][:, None] >= cuts[::50]).mean(0)
    np.testing.assert_allclose(parts[0].at(cuts)[1][::50], by_hand)


@pytest.mark.parametrize("power", [0.0, None])
def test_drawn_noise_has_the_variance_that_repeated_reviews_show(power):
    grid = (np.arange(GRID) + 0.5) / GRID
    found, believed = [], []
    for seed in range(150):
        data = reviewed_scores(seed, n=400, reviewed=120)
        rates = group_rates(data, data.group == 1, power)
        found.append(rates.at(grid))
        if seed < 20:
            nothing = np.zeros((int((data.group == 1).sum()), 1))
            noise, _, _ = _draw([rates], nothing, np.random.default_rng(seed), finite=False)
            believed.append(noise[:, 0].std(0))
    inner = np.std(found, axis=0) > 0.02
    assert inner.sum() > GRID / 2
    ratio = np.mean(believed, axis=0)[inner] / np.std(found, axis=0)[inner]
    assert 0.85 < ratio.mean() < 1.15


def test_noise_takes_evenness_away_and_the_estimate_gives_it_back():
    rng = np.random.default_rng(0)
    noise = 0.05 * rng.normal(size=(600, 2, 2, 1)) * np.ones(GRID)
    seen = np.full((2, 2, GRID), 0.5) + 0.02 * np.array([1, -1])[:, None, None]
    scale, deviation = _invert(seen, noise, noise, 0.95)
    assert scale[0] == 0  # equal groups are not ruled out
    assert scale[1] < 1 < scale[2]
    assert deviation.mean() < 0
    sure = _invert(seen, noise / 100, noise / 100, 0.95)[0]
    np.testing.assert_allclose(sure, 1, atol=0.05)


def test_uphill_widens_the_gap():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(600, 3, 2, GRID))
    seen = rng.random((3, 2, GRID))
    step = _uphill(seen, noise)
    gap = np.ptp(seen, axis=0).mean()
    assert np.ptp(seen + 0.1 * step, axis=0).mean() > gap


def test_a_group_without_a_class_is_named():
    data = reviewed_scores(2, n=300, reviewed=60)
    data.y_true[(data.group == 1) & (data.truth == 1)] = np.nan
    found = estimate("aueoc", data.score, data.y, data.y_true, groups=data.group)
    assert np.isnan(found.estimate)
    assert "of group 1 do not have both classes" in found.note
