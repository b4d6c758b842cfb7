import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from alignset.stack import Draws
from alignset.stack.random import mix, stream_key, uniform_like


def draws(seeds, n, step=0):
    key = mix(stream_key(torch.tensor(seeds), "stage.draws") ^ step)
    return Draws(key.reshape(-1, 1, 1), torch.arange(n).expand(len(seeds), 1, n))


def python_mix(value):
    """The finaliser of SplitMix64 as published, on Python's unbounded integers."""
    mask = (1 << 64) - 1
    value = (value + 0x9E3779B97F4A7C15) & mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)


@given(st.integers(-(2**63), 2**63 - 1))
@settings(max_examples=50, deadline=None)
def test_mixing_is_splitmix64(value):
    mixed = int(mix(torch.tensor(value)))
    assert mixed % 2**64 == python_mix(value % 2**64)


def test_uniform_numbers_are_uniform():
    numbers = draws([3], 20_000).uniform(1).flatten().double()
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert stats.kstest(numbers.numpy(), "uniform").pvalue > 1e-3


def test_initial_weights_are_uniform_over_neighbouring_seeds():
    numbers = uniform_like(torch.arange(5000), "theta.w1", (2,)).flatten().double()
    assert stats.kstest(numbers.numpy(), "uniform").pvalue > 1e-3


def test_normal_numbers_have_the_moments_of_a_normal():
    numbers = draws([3], 20_000).normal(1).flatten().double()
    assert numbers.isfinite().all()
    assert stats.kstest(numbers.numpy(), "norm").pvalue > 1e-3
    assert numbers.mean().abs() < 0.03
    assert (numbers.var() - 1).abs() < 0.04


def correlation(a, b):
    return float(torch.corrcoef(torch.stack([a.flatten(), b.flatten()]).double())[0, 1])


@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_rows_columns_seeds_steps_and_streams_are_unrelated(kind):
    n = 20_000
    one = getattr(draws([1], n), kind)(2)
    assert abs(correlation(one[..., 0], one[..., 1])) < 0.03
    assert abs(correlation(one[:, :, 1:], one[:, :, :-1])) < 0.03
    assert abs(correlation(one, getattr(draws([2], n), kind)(2))) < 0.03
    assert abs(correlation(one, getattr(draws([1], n, step=1), kind)(2))) < 0.03
    assert abs(correlation(one, getattr(draws([1], n), kind)(2, "other"))) < 0.03


def test_a_number_depends_on_its_own_problem_and_row_alone():
    alone = draws([5], 7).normal(3)
    stacked = draws([9, 5, 2], 7).normal(3)
    padded = draws([5], 12).normal(3)
    assert torch.equal(stacked[1], alone[0])
    assert torch.equal(padded[:, :, :7], alone)
    shuffled = Draws(draws([5], 7).key, torch.tensor([[[6, 0, 3]]]))
    assert torch.equal(shuffled.normal(3), alone[:, :, [6, 0, 3]])


@pytest.mark.parametrize("piece", [1, 7, 40])
def test_drawing_in_pieces_changes_no_number(piece, monkeypatch):
    whole = draws([5, 9], 13).uniform(3)
    monkeypatch.setattr("alignset.stack.random.PIECE", piece)
    assert torch.equal(draws([5, 9], 13).uniform(3), whole)


def test_asking_twice_gives_the_same_numbers_and_another_stream_gives_others():
    draw = draws([5], 7)
    assert torch.equal(draw.uniform(2), draw.uniform(2))
    assert not (draw.uniform(2) == draw.uniform(2, "second")).any()


def test_drawing_neither_reads_nor_writes_the_global_generator():
    before = torch.get_rng_state()
    draws([5], 7).normal(3)
    uniform_like(torch.tensor([1]), "w", (3,))
    assert torch.equal(torch.get_rng_state(), before)
