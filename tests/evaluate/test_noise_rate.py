import numpy as np
import pandas as pd
import pytest

from alignset.evaluate.noise_rate import ReviewDesign, noise_rates
from alignset.evaluate.proportion import clopper_pearson, effective_size, wilson
from alignset.review.design import (
    allocate,
    draw_stratified,
    draw_systematic,
    even,
    inclusion_probabilities,
    proportional,
)
from alignset.review.waves import read_design

NONE = -1


def noise_rate(name, member, wrong, reviewed, design=None, **options):
    """The rate of one group."""
    (found,) = noise_rates(np.where(member, 0, 1), [name], wrong, reviewed, design, **options)
    return found


def population(rng, n=1200, minority=0.3):
    """Groups, observed labels, and labels that are wrong more often in the minority."""
    group = (rng.random(n) < minority).astype(int)
    label = (rng.random(n) < 0.2).astype(int)
    x = rng.normal(size=n)
    base = np.array([[0.1, 0.3], [0.2, 0.4]])[group, label]
    chance = 1 / (1 + np.exp(-(np.log(base / (1 - base)) + 1.5 * x - 0.8)))
    return group, label, chance, rng.random(n) < chance


class Study:
    """Rows drawn so far, in waves."""

    def __init__(self, n):
        self.probability = np.full(n, np.nan)
        self.wave = np.full(n, NONE)
        self.stratum = np.full(n, NONE)
        self.reviewed = np.zeros(n, dtype=bool)

    def add(self, rows, probability, stratum, answered=True):
        self.probability[rows], self.stratum[rows] = probability, stratum
        self.wave[rows] = self.wave.max() + 1 if self.wave.max() > 0 else 1
        self.reviewed[rows] = answered

    @property
    def design(self):
        return ReviewDesign(self.probability, self.wave, self.stratum)


def first_wave(rng, group, label, n, allocation, answered=1.0):
    cell = group * 2 + label
    sizes = np.bincount(cell, minlength=4)
    weights = allocation(sizes.reshape(2, 2), np.full((2, 2), 0.2)).reshape(-1)
    counts = allocate(sizes, weights, n)
    rows = draw_stratified(cell, counts, rng)
    study = Study(len(group))
    study.add(rows, (counts / sizes)[cell[rows]], cell[rows], rng.random(len(rows)) < answered)
    return study


def second_wave(rng, study, chance, n, floor=0.25):
    pool = np.flatnonzero(study.wave < 0)
    doubt = np.sqrt(chance[pool] * (1 - chance[pool]))
    pi = inclusion_probabilities(floor / len(pool) + (1 - floor) * doubt / doubt.sum(), n)
    rows = draw_systematic(pi, rng)
    study.add(pool[rows], pi[rows], 99)


def simulate(seed, reps, draw, rule=wilson):
    """Coverage and standardised bias of the estimates of both groups over repeated studies."""
    rng = np.random.default_rng(seed)
    group, label, chance, wrong = population(rng)
    covered, errors = [], []
    for _ in range(reps):
        study = draw(rng, group, label, chance)
        for g in (0, 1):
            found = noise_rate(g, group == g, wrong, study.reviewed, study.design, rule=rule)
            truth = wrong[group == g].mean()
            covered.append(found.low - 1e-9 <= truth <= found.high + 1e-9)
            errors.append(found.rate - truth)
    errors = np.array(errors).reshape(reps, 2)
    return np.mean(covered), errors.mean(0) / (errors.std(0) / np.sqrt(reps))


def one_wave(rng, group, label, chance):
    return first_wave(rng, group, label, 120, proportional)


def uneven(rng, group, label, chance):
    return first_wave(rng, group, label, 120, even)


def half_answered(rng, group, label, chance):
    return first_wave(rng, group, label, 160, even, answered=0.6)


def two_waves(rng, group, label, chance):
    study = first_wave(rng, group, label, 80, proportional)
    guessed = np.clip(chance * rng.uniform(0.6, 1.4, len(chance)), 0.01, 0.99)
    second_wave(rng, study, guessed, 60)
    return study


def targeted_only(rng, group, label, chance):
    study = Study(len(group))
    second_wave(rng, study, np.clip(chance, 0.01, 0.99), 120)
    return study


@pytest.mark.parametrize("draw", [one_wave, uneven, half_answered, two_waves, targeted_only])
def test_estimates_are_unbiased_and_intervals_cover(draw):
    coverage, bias = simulate(0, 250, draw)
    assert coverage >= 0.92
    assert abs(bias).max() < 4


@pytest.mark.slow
@pytest.mark.parametrize("rule", [wilson, clopper_pearson])
@pytest.mark.parametrize("draw", [one_wave, uneven, half_answered, two_waves, targeted_only])
def test_coverage_over_many_studies(draw, rule):
    coverage, bias = simulate(1, 500, draw, rule)
    assert coverage >= (0.945 if rule is clopper_pearson else 0.93)
    assert abs(bias).max() < 4


def test_ignoring_the_probabilities_of_targeted_rows_would_mislead():
    rng = np.random.default_rng(3)
    group, label, chance, wrong = population(rng)
    study = targeted_only(rng, group, label, chance)
    truth = wrong.mean()
    all_rows = np.ones(len(wrong), dtype=bool)
    naive = wrong[study.reviewed].mean()
    found = noise_rate("all", all_rows, wrong, study.reviewed, study.design)
    assert naive > truth + 0.08
    assert abs(found.rate - truth) < 0.08
    assert found.weighted


def test_a_stratified_sample_gives_the_textbook_estimate_and_variance():
    rng = np.random.default_rng(4)
    group, label, _, wrong = population(rng)
    study = first_wave(rng, group, label, 120, even)
    cell = group * 2 + label
    rate = variance = 0.0
    sizes = np.bincount(cell)[:2]
    for h in (0, 1):
        e = wrong[study.reviewed & (cell == h)]
        share, n = sizes[h] / sizes.sum(), len(e)
        rate += share * e.mean()
        variance += share**2 * (1 - n / sizes[h]) * e.var(ddof=1) / n
    found = noise_rate("f", group == 0, wrong, study.reviewed, study.design)
    assert found.rate == pytest.approx(rate)
    assert found.effective_size == pytest.approx(
        min(rate * (1 - rate) / variance, float(effective_size(found.reviewed, sizes.sum())))
    )


def test_unweighted_rows_count_as_a_random_sample():
    rows = np.arange(50)
    none = read_design(pd.DataFrame({"row": rows}))
    found = noise_rate("all", rows >= 0, rows % 5 == 0, rows < 20, none)
    assert (found.rate, found.reviewed, found.wrong, found.weighted) == (0.2, 20, 4, False)
    assert found.effective_size == pytest.approx(20 * 49 / 30)


def test_no_wrong_row_leaves_an_interval():
    rng = np.random.default_rng(5)
    group, label, _, _ = population(rng)
    study = first_wave(rng, group, label, 120, even)
    found = noise_rate("f", group == 0, np.zeros(1200, bool), study.reviewed, study.design)
    assert (found.rate, found.low) == (0, 0)
    assert 0.02 < found.high < 0.12


def test_all_reviewed_is_certain_and_none_reviewed_says_nothing():
    rows = np.arange(10)
    none = read_design(pd.DataFrame({"row": rows}))
    certain = noise_rate("all", rows >= 0, rows < 3, rows >= 0, none)
    assert (certain.rate, certain.low, certain.high) == (0.3, 0.3, 0.3)
    assert np.isinf(certain.effective_size)
    nothing = noise_rate("all", rows >= 0, rows < 3, rows < 0, none)
    assert np.isnan(nothing.rate)
    assert (nothing.low, nothing.high, nothing.effective_size) == (0, 1, 0)


def test_a_group_of_one_row():
    rows = np.arange(10)
    none = read_design(pd.DataFrame({"row": rows}))
    seen = noise_rate("one", rows == 0, rows < 3, rows < 5, none)
    assert (seen.rate, seen.low, seen.high) == (1, 1, 1)
    unseen = noise_rate("one", rows == 0, rows < 3, rows > 5, none)
    assert (unseen.low, unseen.high) == (0, 1)


def test_rows_without_an_answer_are_counted():
    table = pd.DataFrame({"probability": [0.5, 0.5, 0.5, None, None]})
    reviewed = np.array([True, True, False, False, False])
    found = noise_rate("all", np.ones(5, bool), np.zeros(5, bool), reviewed, read_design(table))
    assert (found.reviewed, found.unresolved) == (2, 1)


def test_a_row_of_weight_three_is_three_rows():
    rng = np.random.default_rng(6)
    group, label, chance, wrong = population(rng, n=300)
    study = two_waves(rng, group, label, chance)
    copies = rng.integers(1, 4, 300)
    again = np.repeat(np.arange(300), copies)
    design = ReviewDesign(*(v[again] for v in vars(study.design).values()))
    written = noise_rates(group[again], "fm", wrong[again], study.reviewed[again], design)
    weighted = noise_rates(
        group, "fm", wrong, study.reviewed, study.design, sample_weight=copies.astype(float)
    )
    for one, other in zip(written, weighted, strict=True):
        assert vars(one) == pytest.approx(vars(other), nan_ok=True)


def test_probabilities_alone_are_a_design_of_one_sheet():
    chance = np.array([0.5, 0.25, np.nan, 1.0])
    read = read_design(pd.DataFrame({"probability": chance}))
    design = ReviewDesign.one_sheet(chance)
    for name in ("probability", "wave", "stratum"):
        np.testing.assert_array_equal(getattr(design, name), getattr(read, name))
