import threading
import time

import pytest

from alignset.stack import wanted
from alignset.stack.wanted import Overdue, Unwanted, check_wanted, spread, within


@pytest.fixture(autouse=True)
def before():
    """Threads that other tests left behind: they are none of ours."""
    OTHERS[:] = threading.enumerate()


OTHERS: list[threading.Thread] = []


def ours():
    """Count the threads of this test."""
    return len(set(threading.enumerate()) - set(OTHERS))


def settled():
    """Wait for threads that were called off; return how many are left."""
    last = time.monotonic() + 30
    while ours() and time.monotonic() < last:
        time.sleep(0.01)
    return ours()


@pytest.mark.parametrize("n", [1, 2, 9])
def test_answers_come_in_order(n):
    assert list(spread(lambda i: (time.sleep(0.01 * (5 - i)), i)[1], range(5), n)) == list(range(5))
    assert settled() == 0
    assert list(spread(str, [], n)) == []


def test_one_thread_is_the_callers_own():
    assert set(spread(lambda i: threading.get_ident(), range(3), 1)) == {threading.get_ident()}


def test_a_failure_reaches_the_caller_and_calls_off_the_rest():
    begun = []

    def fail(i):
        begun.append(i)
        if i == 0:
            raise KeyError(i)
        while True:
            check_wanted()
            time.sleep(0.01)

    with pytest.raises(KeyError):
        list(spread(fail, range(100), 2))
    assert settled() == 0
    assert len(begun) <= 4


def test_a_caller_that_leaves_does_not_wait_for_threads_that_do_not_listen(monkeypatch):
    monkeypatch.setattr(wanted, "GRACE", 0.1)
    end = threading.Event()
    answers = spread(lambda i: i if i == 0 else end.wait(60), range(3), 3)
    assert next(answers) == 0
    begun = time.monotonic()
    answers.close()
    assert time.monotonic() - begun < 5
    assert ours()
    end.set()
    assert settled() == 0


def test_work_within_work_is_called_off_with_the_whole():
    inner_begun, ended = threading.Barrier(3, timeout=60), []

    def inner(i):
        inner_begun.wait()
        try:
            while True:
                check_wanted()
                time.sleep(0.01)
        except Unwanted:
            ended.append(i)
            raise

    def outer(i):
        return i if i == 0 else list(spread(inner, range(2), 2))

    answers = spread(outer, range(2), 2)
    assert next(answers) == 0
    inner_begun.wait()
    answers.close()
    assert settled() == 0
    assert sorted(ended) == [0, 1]


def test_work_that_takes_too_long_ends_in_every_thread():
    def work(i):
        while True:
            check_wanted()
            time.sleep(0.001)

    with pytest.raises(Overdue), within(0.1):
        list(spread(work, range(4), 2))
    assert settled() == 0
    check_wanted()  # what comes after has all the time


def test_the_shortest_time_counts():
    def work(i):
        with within(0.0):
            time.sleep(0.05)
            check_wanted()

    with pytest.raises(Overdue):
        list(spread(work, range(2), 2))
    with within(60), within(0.0), pytest.raises(Overdue):
        check_wanted()
