import torch

from alignset.stack import group_sums, mean_rows
from alignset.stack.reduce import sum_rows


def numbers(*shape):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def test_the_mean_over_rows_is_a_weighted_loop():
    values, weight = numbers(2, 3, 6), numbers(2, 1, 6)
    weight[..., 4] = 0.0
    got, total = mean_rows(values, weight), sum_rows(values, weight)
    for q in range(2):
        for c in range(3):
            top = sum(float(values[q, c, i] * weight[q, 0, i]) for i in range(6))
            bottom = sum(float(weight[q, 0, i]) for i in range(6))
            torch.testing.assert_close(float(total[q, c]), top)
            torch.testing.assert_close(float(got[q, c]), top / bottom)


def test_the_mean_of_nothing_is_zero_and_has_a_zero_gradient():
    values = numbers(2, 3, 6).requires_grad_(True)
    got = mean_rows(values, torch.zeros(2, 1, 6, dtype=torch.float64))
    assert (got == 0).all()
    assert (torch.autograd.grad(got.sum(), values)[0] == 0).all()


def test_group_sums_are_a_loop_over_groups():
    values, membership = numbers(2, 3, 6), numbers(2, 1, 6, 4)
    got = group_sums(values, membership)
    assert got.shape == (2, 3, 4)
    for q in range(2):
        for c in range(3):
            for k in range(4):
                expected = sum(float(values[q, c, i] * membership[q, 0, i, k]) for i in range(6))
                torch.testing.assert_close(float(got[q, c, k]), expected)
