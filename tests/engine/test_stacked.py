import numpy as np
import torch

from alignset.engine.stacked import Stacked
from alignset.methods import Facts
from alignset.stack import MLP, Grid, NetShape

P, C = 3, 4
BACKBONE, SHAPE = MLP(hidden=3), NetShape((2,), 2)


def numbered(*shape):
    """A (P, C, ...) tensor whose entries say which replica they belong to."""
    replica = torch.arange(P * C, dtype=torch.float32).reshape(P, C, *(1,) * len(shape))
    return replica.expand(P, C, *shape).clone()


def fresh(trained=("theta",), averaged=False):
    template = BACKBONE.init(SHAPE, torch.arange(P), "theta")
    params = {
        name: {k: numbered(*v.shape[2:]) for k, v in template.items()} for name in ("theta", "phi")
    }
    stack = Stacked(
        Grid.full(P, C),
        C,
        BACKBONE,
        {"theta": SHAPE, "phi": SHAPE},
        params,
        {"lr": numbered() / 100, "l2": numbered() / 1000},
    )
    copy = {name: {k: t.clone() for k, t in p.items()} for name, p in params.items()}
    stack.start(set(trained), averaged, copy)
    stack.stop = {
        "best": numbered(),
        "running": torch.ones(P, C, dtype=torch.bool),
        "epochs": numbered(),
    }
    stack.learn(Facts(replica={"rate": numbered(2)}, row={"target": numbered(5, 2)}))
    return stack


def running():
    mask = np.zeros((P, C), dtype=bool)
    mask[0, [1, 3]] = mask[2, [0, 1, 2]] = True
    return mask


def everything(stack):
    """Every tensor with a slot axis."""
    yield from stack.hyper.values()
    yield from stack.stop.values()
    yield from stack.facts.replica.values()
    yield from stack.facts.row.values()
    for weights in (stack.params, stack.best, stack.average):
        for params in weights.values():
            yield from params.values()
    for adam in stack.adam.values():
        yield from (adam.lr, adam.l2, *adam.first.values(), *adam.second.values())


def test_repacking_moves_everything_of_a_replica_together():
    stack = fresh(averaged=True)
    stack.adam["theta"].first = {
        k: numbered(*v.shape[2:]) for k, v in stack.params["theta"].items()
    }
    grid = Grid.packed(running())
    small = stack.repacked(grid)
    replica = torch.as_tensor(grid.problem[:, None] * C + grid.config)
    assert small.hyper["lr"].shape == grid.shape
    for tensor in everything(small):
        assert tensor.shape[:2] == grid.shape
    for tensor in (
        *small.params["phi"].values(),
        *small.best["theta"].values(),
        *small.average["theta"].values(),
        *small.adam["theta"].first.values(),
        *small.facts.replica.values(),
        *small.facts.row.values(),
        small.stop["best"],
    ):
        own = tensor.reshape(*grid.shape, -1)
        assert torch.equal(own, replica[..., None].expand_as(own).float())
    assert torch.equal(small.stop["running"], torch.as_tensor(grid.used))
    assert torch.equal(small.problem, torch.as_tensor(grid.problem))
    assert small.adam["theta"].params is small.params["theta"]


def test_repacking_leaves_the_old_stack_alone():
    stack = fresh()
    before = [t.clone() for t in everything(stack)]
    small = stack.repacked(Grid.packed(running()))
    for tensor in everything(small):
        tensor.zero_()
    assert all(torch.equal(a, b) for a, b in zip(before, everything(stack), strict=True))


def test_the_best_weights_are_kept_where_improved_and_nowhere_else():
    stack = fresh()
    for tensor in stack.params["theta"].values():
        tensor.add_(100)
    improved = torch.as_tensor(running())
    stack.keep(improved)
    for tensor in stack.best["theta"].values():
        raised = (tensor >= 100).reshape(P, C, -1)
        assert torch.equal(raised, improved[..., None].expand_as(raised))
    assert "phi" not in stack.best


def test_saving_writes_each_used_slot_to_its_own_place():
    stack = fresh()
    small = stack.repacked(Grid.packed(running()))
    weights = {"theta": {k: torch.full_like(v, -1) for k, v in stack.params["theta"].items()}}
    results = {"best": torch.full((P, C), -1.0)}
    small.save(weights, results)
    expected = torch.where(torch.as_tensor(running()), numbered(), -1.0)
    assert torch.equal(results["best"], expected)
    for tensor in weights["theta"].values():
        own = tensor.reshape(P, C, -1)
        assert torch.equal(own, expected[..., None].expand_as(own))


def test_the_moving_average_is_what_is_shown_and_kept():
    stack = fresh(trained=("theta", "phi"), averaged=True)
    for tensor in stack.params["theta"].values():
        tensor.add_(10)
    stack.move_average(("theta",), 0.9)
    bias = stack.shown["theta"]["b0"]
    torch.testing.assert_close(bias, numbered(3, 1) + 1.0)
    torch.testing.assert_close(stack.shown["phi"]["b0"], numbered(3, 1))
    stack.keep(torch.ones(P, C, dtype=torch.bool))
    torch.testing.assert_close(stack.best["theta"]["b0"], bias)
    assert torch.equal(stack.shown_nets().theta.params["b0"], bias)


def test_best_weights_are_a_copy():
    stack = fresh()
    stack.params["theta"]["b0"].add_(1)
    assert torch.equal(stack.best["theta"]["b0"], numbered(3, 1))
