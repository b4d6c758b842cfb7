import numpy as np
import pytest

from alignset.review.proposal import propose


def test_chances_mix_doubt_with_a_floor():
    confidence = np.array([0.5, 0.9, 1.0, 0.0] * 10)
    drawn, chance = propose(confidence, 4, floor=0.4, random_state=0)
    doubt = np.sqrt(confidence * (1 - confidence))
    assert chance == pytest.approx(4 * (0.4 / 40 + 0.6 * doubt / doubt.sum()))
    assert len(np.unique(drawn)) == 4


def test_chances_are_kept_over_many_draws():
    rng = np.random.default_rng(0)
    confidence = rng.random(25)
    counts = np.zeros(25)
    for _ in range(4000):
        drawn, chance = propose(confidence, 6, random_state=rng)
        counts[drawn] += 1
    z = (counts / 4000 - chance) / np.sqrt(chance * (1 - chance) / 4000)
    assert abs(z).max() < 4


def test_no_doubt_at_all_is_a_random_sample():
    _, chance = propose(np.array([1.0, 0.0, 1.0, 1.0]), 2, random_state=0)
    assert chance.tolist() == [0.5] * 4


def test_all_rows_can_be_asked_for():
    drawn, chance = propose(np.array([0.5, 0.99, 1.0]), 3, random_state=0)
    assert sorted(drawn.tolist()) == [0, 1, 2]
    assert chance.tolist() == [1.0] * 3


@pytest.mark.parametrize(("n", "floor", "said"), [(0, 0.2, "next must"), (2, 0, "floor must")])
def test_impossible_wishes_are_refused(n, floor, said):
    with pytest.raises(ValueError, match=said):
        propose(np.array([0.5, 0.6]), n, floor=floor, random_state=0)
