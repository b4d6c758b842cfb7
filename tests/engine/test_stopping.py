import math

import by_hand
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from alignset.engine import BlockMean, FixedLength, Patience

scores = st.lists(st.integers(0, 5) | st.just(math.nan), min_size=1, max_size=25)
stacks = st.integers(1, 25).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(0, 5) | st.just(math.nan), min_size=n, max_size=n),
        min_size=1,
        max_size=4,
    )
)


def run(rule, start, columns):
    """(epochs run, kept epoch, score that counts) of every replica."""
    columns = torch.tensor(columns, dtype=torch.float64)
    state = rule.begin(torch.tensor(start, dtype=torch.float64))
    epochs, kept = torch.zeros(len(columns)), torch.zeros(len(columns))
    for epoch in range(1, columns.shape[1] + 1):
        epochs += state["running"]
        improved = rule.update(state, epoch, columns[:, epoch - 1])
        kept[improved] = epoch
    return [(int(e), int(k), float(b)) for e, k, b in zip(epochs, kept, state["best"], strict=True)]


@given(st.data(), stacks, st.integers(1, 6))
def test_patience_is_the_rule_read_aloud(data, columns, epochs):
    start = [data.draw(st.integers(0, 5) | st.just(math.nan)) for _ in columns]
    expected = [by_hand.patience(s, c, epochs) for s, c in zip(start, columns, strict=True)]
    assert run(Patience(epochs), start, columns) == expected


@given(stacks, st.integers(1, 6), st.sampled_from([0.0, 1e-4, 0.3]))
def test_block_mean_is_the_released_rule_read_aloud(columns, length, tolerance):
    expected = [by_hand.block_mean(c, length, tolerance) for c in columns]
    start = [5.0] * len(columns)
    assert run(BlockMean(length, tolerance), start, columns) == expected


def test_a_constant_score_stops_after_exactly_patience_epochs_at_the_start():
    assert run(Patience(4), [0.5], [[0.5] * 20]) == [(4, 0, 0.5)]


def test_a_rising_score_never_stops():
    rising = [i / 100 for i in range(1, 31)]
    assert run(Patience(1), [0.0], [rising]) == [(30, 30, 0.3)]
    (epochs, kept, _), *_ = run(BlockMean(5), [0.0], [rising])
    assert (epochs, kept) == (30, 30)


def test_a_score_that_is_never_a_number_keeps_the_start():
    nan = [math.nan] * 10
    assert run(Patience(3), [math.nan], [nan]) == [(3, 0, -math.inf)]
    assert run(BlockMean(3), [math.nan], [nan]) == [(3, 0, -math.inf)]


def test_a_fixed_length_keeps_the_last_epoch_whatever_its_score():
    assert run(FixedLength(), [0.9], [[0.8, 0.95, 0.1]]) == [(3, 3, 0.1)]


def test_the_starting_scores_are_not_written_to():
    for rule in (Patience(1), BlockMean(1), FixedLength()):
        start = torch.tensor([0.5, math.nan])
        state = rule.begin(start)
        rule.update(state, 1, torch.tensor([0.7, 0.7]))
        rule.update(state, 2, torch.tensor([0.9, 0.9]))
        assert start[0] == 0.5
        assert start[1].isnan()


@pytest.mark.parametrize("rule", [Patience, BlockMean])
def test_a_rule_needs_at_least_one_epoch(rule):
    with pytest.raises(ValueError, match="at least 1 epoch, got 0"):
        rule(0)
