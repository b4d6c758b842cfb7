import by_hand
import pytest
import torch
from problems import make_problem
from test_method_contract import check_replicas_do_not_feel_their_neighbours

from alignset.engine import Patience, Trainer
from alignset.methods import Alignment, CoTeaching, Standard
from alignset.stack import MLP, NetShape, kernels
from alignset.stack.kernels import c as compiled
from alignset.stack.threads import team

Q, C = 2, 3

needs_c = pytest.mark.skipif(kernels.which() != "c", reason="needs the kernels in C")


@pytest.fixture
def switch_off(monkeypatch):
    """A function after whose call torch does everything."""

    def switch():
        monkeypatch.setenv("ALIGNSET_NATIVE", "0")
        kernels._decided.cache_clear()

    yield switch
    monkeypatch.undo()
    kernels._decided.cache_clear()


def random_net(mlp, inputs, outputs, n_rows, own=(), seed=0):
    """Shape, weights that differ in every replica, and blocks (Q, 1, B, D), (Q, C, B, D) if own."""
    g = torch.Generator().manual_seed(seed)
    shape = NetShape(inputs, outputs)
    params = {
        k: torch.randn(Q, C, *v.shape[2:], generator=g)
        for k, v in mlp.init(shape, torch.arange(Q), "theta").items()
    }
    blocks = tuple(
        torch.randn(Q, C if i in own else 1, n_rows, d, generator=g) for i, d in enumerate(inputs)
    )
    return shape, params, blocks


def outputs_and_gradients(mlp, shape, params, blocks):
    leaves = {k: v.clone().requires_grad_(True) for k, v in params.items()}
    out = mlp.apply(shape, leaves, blocks)
    wave = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).sin().reshape(out.shape)
    grads = torch.autograd.grad((out * wave).sum(), list(leaves.values()))
    return {"logits": out.detach(), **dict(zip(leaves, grads, strict=True))}


def assert_close(got, expected):
    assert got.keys() == expected.keys()
    for name, tensor in expected.items():
        scale = tensor.abs().max().clamp_min(1e-6)
        torch.testing.assert_close(
            got[name] / scale, tensor.to(got[name].dtype) / scale, atol=2e-5, rtol=0
        )


ODD = [
    # hidden, depth, last_relu, inputs, outputs, rows, own
    (10, 2, True, (30,), 2, 76, ()),
    (10, 2, False, (30, 2), 1, 200, ()),
    (1, 2, True, (3,), 1, 65, ()),
    (7, 1, True, (5,), 3, 1, ()),
    (7, 1, False, (5,), 4, 15, (0,)),
    (13, 3, True, (1, 4, 2), 5, 129, (1,)),
    (6, 4, False, (9,), 2, 64, (0,)),
    (37, 2, True, (11,), 7, 17, ()),
    (100, 2, True, (30,), 2, 80, ()),
    (5, 2, True, (3, 1), 2, 1501, ()),
]


@needs_c
@pytest.mark.parametrize(("hidden", "depth", "last_relu", "inputs", "outputs", "rows", "own"), ODD)
def test_outputs_and_gradients_equal_torch_in_double_precision(
    hidden, depth, last_relu, inputs, outputs, rows, own, switch_off
):
    mlp = MLP(hidden, depth, last_relu)
    shape, params, blocks = random_net(mlp, inputs, outputs, rows, own)
    assert compiled._can_run(blocks, tuple(params.values()))
    got = outputs_and_gradients(mlp, shape, params, blocks)
    double = {k: v.double() for k, v in params.items()}
    expected = outputs_and_gradients(mlp, shape, double, tuple(b.double() for b in blocks))
    assert_close(got, expected)
    switch_off()
    assert kernels.which() == "torch"
    assert_close(outputs_and_gradients(mlp, shape, params, blocks), got)


@needs_c
def test_outputs_equal_torch_nn():
    mlp = MLP(9, 2, last_relu=False)
    shape, params, blocks = random_net(mlp, (4, 3), 2, 21, own=(1,))
    out = mlp.apply(shape, params, blocks)
    for q in range(Q):
        for c in range(C):
            net = by_hand.sequential(params, q, c, 2, 2, last_relu=False)
            x = torch.cat([blocks[0][q, 0], blocks[1][q, c]], -1)
            torch.testing.assert_close(out[q, c], net(x).detach(), atol=1e-4, rtol=1e-5)


@needs_c
def test_inputs_and_weights_may_lie_in_memory_as_they_like():
    mlp = MLP(8)
    shape, params, blocks = random_net(mlp, (5,), 2, 70)
    got = outputs_and_gradients(mlp, shape, params, (blocks[0].mT.contiguous().mT,))
    assert_close(got, outputs_and_gradients(mlp, shape, params, blocks))
    turned = {k: v.mT.contiguous().mT for k, v in params.items()}
    assert_close(outputs_and_gradients(mlp, shape, turned, blocks), got)
    wide = torch.randn(Q, 1, 70, 9)
    wide[..., 2:7] = blocks[0]
    assert_close(outputs_and_gradients(mlp, shape, params, (wide[..., 2:7],)), got)


@needs_c
def test_a_replica_has_the_same_bits_alone_and_stacked():
    mlp = MLP(10)
    shape, params, blocks = random_net(mlp, (6, 2), 2, 90)
    stacked = outputs_and_gradients(mlp, shape, params, blocks)["logits"]
    for q in range(Q):
        for c in range(C):
            own = {k: v[q : q + 1, c : c + 1] for k, v in params.items()}
            alone = mlp.apply(shape, own, tuple(b[q : q + 1] for b in blocks))
            assert torch.equal(alone[0, 0], stacked[q, c])


@needs_c
def test_a_team_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(compiled, "MIN_WORK", 1)
    mlp = MLP(10)
    net = random_net(mlp, (6,), 2, 1100)
    expected = outputs_and_gradients(mlp, *net)
    for size in (1, 3):
        with team(size):
            got = outputs_and_gradients(mlp, *net)
        assert all(torch.equal(got[name], tensor) for name, tensor in expected.items())


@needs_c
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_broken_replica_stays_broken_and_alone(bad):
    mlp = MLP(10)
    shape, params, blocks = random_net(mlp, (6,), 2, 90)
    whole = outputs_and_gradients(mlp, shape, params, blocks)
    params["b1"][1, 2] = bad
    broken = outputs_and_gradients(mlp, shape, params, blocks)
    others = torch.ones(Q, C, dtype=torch.bool)
    others[1, 2] = False
    for name, tensor in broken.items():
        assert torch.equal(tensor[others], whole[name][others])
    assert not broken["logits"][1, 2].isfinite().any()


@needs_c
def test_what_it_cannot_do_is_left_to_torch():
    mlp = MLP(4)
    _, params, blocks = random_net(mlp, (5,), 2, 9)
    flat = tuple(params.values())
    assert compiled._can_run(blocks, flat)
    assert not compiled._can_run((blocks[0].clone().requires_grad_(True),), flat)
    assert not compiled._can_run((blocks[0].double(),), tuple(t.double() for t in flat))
    assert not compiled._can_run((blocks[0][:, :, :0],), flat)
    assert not compiled._can_run((torch.zeros(Q, 1, 3, compiled.MAX_INPUTS),), flat)


@needs_c
@pytest.mark.parametrize("method", [Standard(), Alignment()])
def test_both_paths_train_to_the_same_place(method, switch_off):
    these = [make_problem(n, seed=i) for i, n in enumerate((60, 100))]
    trainer = Trainer(hidden=10, max_epochs=6, stopping=Patience(6), n_jobs=1)
    configs = [{"lr": 1e-3}, {"lr": 1e-2}]
    fast = trainer.fit(method, these, configs)
    switch_off()
    plain = trainer.fit(method, these, configs)
    assert torch.equal(fast.epochs, plain.epochs)
    for p, problem in enumerate(these):
        a, b = (f.probability(problem.validation.X, problem=p) for f in (fast, plain))
        assert abs(a - b).max() < 1e-4


@pytest.mark.parametrize("method", [Standard(), Alignment(), CoTeaching()], ids=str)
def test_the_contract_holds_with_everything_switched_off(method, switch_off):
    switch_off()
    assert kernels.which() == "torch"
    check_replicas_do_not_feel_their_neighbours(method)
