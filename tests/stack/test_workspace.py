import signal
import sys
import threading

import torch

from alignset.stack import MLP, NetShape
from alignset.stack.workspace import LARGE, SMALL, borrow, workspace

SHAPE, MLP_3 = NetShape((3,), 2), MLP(hidden=6, depth=3)
ROWS = SMALL  # enough for their layers to be kept


def setting(seed=0):
    g = torch.Generator().manual_seed(seed)
    start = MLP_3.init(SHAPE, torch.arange(2), "theta")
    params = {k: torch.randn(v.shape, generator=g).requires_grad_(True) for k, v in start.items()}
    return params, torch.randn(2, 1, ROWS, 3, generator=g)


def outputs_and_gradients(params, x):
    out = MLP_3.apply(SHAPE, params, (x,))
    return out.detach(), torch.autograd.grad((out**2).sum(), list(params.values()))


def assert_same(a, b):
    assert torch.equal(a[0], b[0])
    assert all(torch.equal(u, v) for u, v in zip(a[1], b[1], strict=True))


def test_a_workspace_changes_no_bit():
    cases = [setting(seed) for seed in range(3)]
    expected = [outputs_and_gradients(*case) for case in cases]
    with workspace():
        for _ in range(3):
            for case, plain in zip(cases, expected, strict=True):
                assert_same(outputs_and_gradients(*case), plain)


def test_two_graphs_alive_at_once_do_not_share_memory():
    first, second = setting(0), setting(1)
    expected = [outputs_and_gradients(*case)[1] for case in (first, second)]
    with workspace():
        outputs_and_gradients(*first)  # leaves buffers behind to be taken again
        outs = [MLP_3.apply(SHAPE, params, (x,)) for params, x in (first, second)]
        for out, case, plain in reversed(list(zip(outs, (first, second), expected, strict=True))):
            grads = torch.autograd.grad((out**2).sum(), list(case[0].values()))
            assert all(torch.equal(a, b) for a, b in zip(grads, plain, strict=True))


def test_features_outlive_later_passes():
    params, x = setting()
    with workspace():
        outputs_and_gradients(params, x)
        hidden = MLP_3.features(SHAPE, params, (x,))
        before = hidden.clone()
        for _ in range(3):
            outputs_and_gradients(*setting(1))
        assert torch.equal(hidden, before)


def test_a_buffer_serves_again_for_somewhat_less():
    with workspace():
        address = borrow(8, SMALL).data_ptr()  # dropped at once
        smaller = borrow(2, 3, SMALL)
        assert smaller.shape == (2, 3, SMALL)
        assert smaller.data_ptr() == address
        kept = borrow(8, SMALL)
        assert kept.data_ptr() != address
        address = kept.data_ptr()
        del kept
        assert borrow(SMALL).data_ptr() != address  # little does not take room for much
        assert borrow(8, SMALL).data_ptr() == address


def test_outside_a_workspace_and_in_double_precision_nothing_is_kept():
    double = torch.zeros(1, dtype=torch.float64)
    kept = [borrow(SMALL), borrow(SMALL), borrow(SMALL, like=torch.zeros(1))]
    with workspace():
        kept += [borrow(SMALL, like=double), borrow(SMALL, like=double)]
        assert [t.dtype for t in kept[-2:]] == [torch.float64] * 2
    assert len({t.data_ptr() for t in kept}) == 5


def test_every_thread_has_its_own_workspace():
    expected = outputs_and_gradients(*setting())
    found = []

    def work():
        with workspace():
            for _ in range(20):
                result = outputs_and_gradients(*setting())
            found.append(result)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    for result in found:
        assert_same(result, expected)


def test_borrowed_memory_comes_back_when_its_last_view_is_gone():
    with workspace():
        first = borrow(LARGE - 1)
        view, address = first.view(3, -1)[1:].T, first.data_ptr()
        del first
        other = borrow(LARGE)
        assert other.data_ptr() != address  # a view is still there
        del view
        assert borrow(LARGE // 2).data_ptr() == address


def test_borrowed_memory_is_not_shared_between_threads():
    with workspace():
        mine = borrow(SMALL)
        addresses = []

        def take():
            addresses.append(borrow(SMALL).data_ptr())

        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
        assert addresses != [mine.data_ptr()]
    assert borrow(5).shape == (5,)


class Pressed(Exception):
    """What a signal raises here."""


def test_an_interrupt_while_memory_comes_back_is_not_lost():
    """Python drops exceptions of finalizers; a signal every 50 us meets one if there are any."""

    def press(number, frame):
        raise Pressed

    lost, heard, before = [], 0, (signal.signal(signal.SIGALRM, press), sys.unraisablehook)
    sys.unraisablehook = lost.append
    try:
        with workspace():
            for _ in range(2000):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 50e-6)
                    for _ in range(10_000):
                        borrow(SMALL)
                except Pressed:
                    heard += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before[0])
        sys.unraisablehook = before[1]
    assert (heard, lost) == (2000, [])
