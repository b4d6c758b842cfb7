import threading

import pytest
import torch

from alignset.stack.threads import alone, share, team


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_every_piece_is_done_once(size, n):
    done = []
    with team(size):
        share(done.append, n)
    assert sorted(done) == list(range(n))


def test_without_a_team_one_thread_does_it_all():
    seen = set()
    share(lambda i: seen.add(threading.get_ident()), 5)
    assert seen == {threading.get_ident()}
    assert not alone()


def test_two_threads_work_at_the_same_time():
    both = threading.Barrier(2, timeout=300)  # passed only if two are inside at once
    with team(2):
        share(lambda i: both.wait(), 2)


def test_a_failure_reaches_the_caller():
    def fail(i):
        if i == 3:
            raise KeyError(i)

    for size in (1, 2):
        with team(size), pytest.raises(KeyError):
            share(fail, 4)


def test_pieces_run_without_gradient_and_without_a_team_of_their_own():
    facts = []
    both = threading.Barrier(2, timeout=300)

    def look(i):
        both.wait()
        facts.append((torch.is_grad_enabled(), torch.get_num_threads()))

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with team(2):
            assert alone()
            share(look, 2)
    finally:
        torch.set_num_threads(before)
    assert facts == [(False, 1)] * 2
    assert not alone()
