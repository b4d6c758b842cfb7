import pytest
import torch

from alignset.stack import StackedAdam, kernels
from alignset.stack.kernels import constants
from alignset.stack.kernels.torch import Torch
from alignset.stack.threads import team

Q, C = 2, 3
SHAPES = {"w": (4, 5), "b": (4, 1)}


def random(*shape, g):
    return torch.randn(*shape, generator=g, dtype=torch.float64)


def setting(seed=0):
    g = torch.Generator().manual_seed(seed)
    params = {k: random(Q, C, *s, g=g) for k, s in SHAPES.items()}
    lr = torch.tensor([[1e-3, 1e-2, 0.1], [3e-3, 0.0, 1.0]], dtype=torch.float64)
    l2 = torch.tensor([[0.0, 1e-2, 1e-4], [1.0, 0.1, 0.0]], dtype=torch.float64)
    return g, params, lr, l2


def reference(params, lr, l2, q, c):
    own = {k: v[q, c].clone().requires_grad_(True) for k, v in params.items()}
    adam = torch.optim.Adam(
        own.values(), lr=lr[q, c].item(), weight_decay=l2[q, c].item(), foreach=False
    )
    return own, adam


def step_reference(own, adam, grads):
    for key, param in own.items():
        param.grad = grads[key].clone()
    adam.step()


def test_every_replica_walks_as_torch_adam_does():
    g, params, lr, l2 = setting()
    references = {(q, c): reference(params, lr, l2, q, c) for q in range(Q) for c in range(C)}
    stacked = StackedAdam(params, lr, l2)
    for _ in range(60):
        grads = {k: random(*v.shape, g=g) for k, v in params.items()}
        for (q, c), (own, adam) in references.items():
            step_reference(own, adam, {k: v[q, c] for k, v in grads.items()})
        stacked.step(grads)
    for (q, c), (own, _) in references.items():
        for key in SHAPES:
            torch.testing.assert_close(params[key][q, c], own[key].detach())


def test_rearranging_the_stack_keeps_every_walk():
    g, params, lr, l2 = setting()
    kept = [(1, 2), (0, 1), (1, 0)]
    references = {at: reference(params, lr, l2, *at) for at in kept}
    stacked = StackedAdam(params, lr, l2)
    for _ in range(10):
        grads = {k: random(*v.shape, g=g) for k, v in params.items()}
        for (q, c), (own, adam) in references.items():
            step_reference(own, adam, {k: v[q, c] for k, v in grads.items()})
        stacked.step(grads)
    flat = torch.tensor([q * C + c for q, c in kept])

    def take(t):
        return t.flatten(0, 1)[flat].unsqueeze(1)

    fewer = {k: take(v) for k, v in params.items()}
    stacked = stacked.rearranged(fewer, take)
    for _ in range(10):
        grads = {k: random(*v.shape, g=g) for k, v in fewer.items()}
        for i, at in enumerate(kept):
            step_reference(*references[at], {k: v[i, 0] for k, v in grads.items()})
        stacked.step(grads)
    for i, at in enumerate(kept):
        for key in SHAPES:
            torch.testing.assert_close(fewer[key][i, 0], references[at][0][key].detach())


def test_the_parameters_are_updated_in_place():
    _, params, lr, l2 = setting()
    addresses = {k: v.data_ptr() for k, v in params.items()}
    StackedAdam(params, lr, l2).step({k: torch.ones_like(v) for k, v in params.items()})
    assert {k: v.data_ptr() for k, v in params.items()} == addresses


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_replica_with_a_broken_gradient_leaves_the_others_alone(bad):
    _, params, lr, l2 = setting()
    twin = {k: v.clone() for k, v in params.items()}
    grads = {k: torch.ones_like(v) for k, v in params.items()}
    broken = {k: v.clone() for k, v in grads.items()}
    broken["w"][0, 1] = bad
    StackedAdam(params, lr, l2).step(broken)
    StackedAdam(twin, lr, l2).step(grads)
    others = torch.ones(Q, C, dtype=torch.bool)
    others[0, 1] = False
    for key in SHAPES:
        assert torch.equal(params[key][others], twin[key][others])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_fused_step_on_a_gpu_equals_the_one_on_a_cpu():
    g = torch.Generator().manual_seed(0)
    start = {
        "w": torch.randn(2, 3, 40, 30, generator=g),
        "b": torch.randn(2, 3, 40, 1, generator=g),
    }
    lr, l2 = torch.rand(2, 3, generator=g) * 0.1, torch.rand(2, 3, generator=g) * 0.1
    results = []
    for device in ("cpu", "cuda"):
        params = {k: v.clone().to(device) for k, v in start.items()}
        adam = StackedAdam(params, lr.to(device), l2.to(device))
        noise = torch.Generator().manual_seed(1)
        for _ in range(20):
            grads = {k: torch.randn(v.shape, generator=noise) for k, v in start.items()}
            adam.step({k: v.to(device) for k, v in grads.items()})
        results.append({k: v.cpu() for k, v in params.items()})
    for key in start:
        torch.testing.assert_close(results[0][key], results[1][key], atol=1e-5, rtol=1e-4)


def by_feature(tensor):
    return tensor.permute(0, 3, 1, 2).contiguous().permute(0, 2, 3, 1)


def walk(make, threads, monkeypatch, native=True, piece=10):
    """Ten steps in single precision; returns the weights."""
    monkeypatch.setattr(constants, "PIECE", piece)
    if not native:
        monkeypatch.setattr(kernels, "_decided", Torch)
    g, params, lr, l2 = setting()
    params = {k: make(v.float()) for k, v in params.items()}
    stacked = StackedAdam(params, lr.float(), l2.float())
    with team(threads):
        for _ in range(10):
            stacked.step({k: make(random(*v.shape, g=g).float()) for k, v in params.items()})
    return params


@pytest.mark.parametrize("make", [torch.clone, by_feature], ids=["by unit", "by feature"])
def test_one_pass_in_c_agrees_with_torch_and_with_itself(make, monkeypatch):
    one = walk(make, 1, monkeypatch)
    for threads, piece in ((2, 10), (3, 7)):
        other = walk(make, threads, monkeypatch, piece=piece)
        assert all(torch.equal(one[k], other[k]) for k in one)
    plain = walk(make, 1, monkeypatch, native=False)
    for key, value in one.items():
        assert value.stride() == plain[key].stride()
        torch.testing.assert_close(value, plain[key], rtol=1e-5, atol=1e-6)


def test_a_gradient_laid_out_otherwise_is_not_misread(monkeypatch):
    g, params, lr, l2 = setting()
    ours = {"w": params["w"].float()}
    theirs = {"w": ours["w"].clone()}
    grad = random(*ours["w"].shape, g=g).float()
    StackedAdam(ours, lr.float(), l2.float()).step({"w": by_feature(grad)})
    StackedAdam(theirs, lr.float(), l2.float()).step({"w": grad})
    torch.testing.assert_close(ours["w"], theirs["w"])
