import by_hand
import pytest
import torch

from alignset.stack import MLP, NetShape, kernels

CASES = [
    pytest.param(depth, last_relu, inputs, outputs, id=f"depth{depth}-{last_relu}-{inputs}")
    for depth, last_relu, inputs, outputs in [
        (1, True, (3,), 2),
        (1, False, (3,), 2),
        (2, True, (4,), 5),
        (2, False, (4, 2), 1),
        (2, True, (3, 2, 1), 3),
        (3, True, (3, 2), 2),
        (3, False, (3,), 1),
    ]
]
Q, C, B = 2, 3, 9


def random_params(mlp, shape, seed=0):
    """Weights and biases that differ in every replica, in double precision."""
    g = torch.Generator().manual_seed(seed)
    start = mlp.init(shape, torch.arange(Q), "theta")
    return {
        k: torch.randn(Q, C, *v.shape[2:], generator=g, dtype=torch.float64).requires_grad_(True)
        for k, v in start.items()
    }


def random_blocks(inputs, own=()):
    """Input blocks (Q, 1, B, D), or (Q, C, B, D) for the block numbers in ``own``."""
    g = torch.Generator().manual_seed(1)
    return tuple(
        torch.randn(Q, C if i in own else 1, B, d, generator=g, dtype=torch.float64)
        for i, d in enumerate(inputs)
    )


def joined(blocks, q, c):
    return torch.cat([b[q, c if b.shape[1] > 1 else 0] for b in blocks], dim=-1)


@pytest.mark.parametrize("own", [(), (0,), (1,)], ids=["shared", "own first", "own second"])
@pytest.mark.parametrize(("depth", "last_relu", "inputs", "outputs"), CASES)
def test_outputs_and_gradients_equal_torch_nn_replica_by_replica(
    depth, last_relu, inputs, outputs, own
):
    mlp = MLP(hidden=6, depth=depth, last_relu=last_relu)
    shape = NetShape(inputs, outputs)
    params, blocks = random_params(mlp, shape), random_blocks(inputs, own)
    out = mlp.apply(shape, params, blocks)
    assert out.shape == (Q, C, B, outputs)
    names = sorted(params)
    grads = dict(
        zip(names, torch.autograd.grad((out**2).sum(), [params[k] for k in names]), strict=True)
    )
    for q in range(Q):
        for c in range(C):
            net = by_hand.sequential(params, q, c, len(inputs), depth, last_relu)
            expected = net(joined(blocks, q, c))
            torch.testing.assert_close(out[q, c], expected)
            (expected**2).sum().backward()
            layers = by_hand.linears(net)
            first = torch.cat([grads[f"w0.{i}"][q, c] for i in range(len(inputs))], dim=1)
            torch.testing.assert_close(first, layers[0].weight.grad)
            for layer, linear in enumerate(layers):
                torch.testing.assert_close(grads[f"b{layer}"][q, c, :, 0], linear.bias.grad)
                if layer:
                    torch.testing.assert_close(grads[f"w{layer}"][q, c], linear.weight.grad)


def test_two_losses_of_one_output_may_be_differentiated():
    mlp, shape = MLP(hidden=6), NetShape((3,), 2)
    params = random_params(mlp, shape)
    out = mlp.apply(shape, params, random_blocks((3,)))
    first = torch.autograd.grad(out.sum(), params["w1"], retain_graph=True)[0]
    second = torch.autograd.grad(out.sum(), params["w1"])[0]
    torch.testing.assert_close(first, second)


def test_a_second_derivative_is_refused_not_wrong():
    mlp, shape = MLP(hidden=6), NetShape((3,), 2)
    params = random_params(mlp, shape)
    out = mlp.apply(shape, params, random_blocks((3,)))
    with pytest.raises(RuntimeError, match="have no second derivative"):
        torch.autograd.grad((out**2).sum(), list(params.values()), create_graph=True)


@pytest.mark.parametrize(("depth", "last_relu", "inputs", "outputs"), CASES)
def test_features_are_the_layer_under_the_outputs(depth, last_relu, inputs, outputs):
    mlp = MLP(hidden=6, depth=depth, last_relu=last_relu)
    shape = NetShape(inputs, outputs)
    params, blocks = random_params(mlp, shape), random_blocks(inputs)
    hidden = mlp.features(shape, params, blocks)
    assert not hidden.requires_grad
    assert hidden.shape == (Q, C, B, 6)
    for q in range(Q):
        for c in range(C):
            net = by_hand.sequential(params, q, c, len(inputs), depth, last_relu)
            torch.testing.assert_close(hidden[q, c], net[:-1](joined(blocks, q, c)).detach())


@pytest.mark.parametrize("own", [(), (0,)], ids=["shared", "own"])
@pytest.mark.parametrize(("depth", "last_relu", "inputs", "outputs"), CASES)
def test_the_tangent_is_the_derivative_along_a_direction(depth, last_relu, inputs, outputs, own):
    mlp = MLP(hidden=6, depth=depth, last_relu=last_relu)
    shape = NetShape(inputs, outputs)
    params, blocks = random_params(mlp, shape), random_blocks(inputs, own)
    direction = {k: v.detach() for k, v in random_params(mlp, shape, seed=5).items()}
    moved = mlp.tangent(shape, params, direction, blocks)
    assert not moved.requires_grad
    eps = 1e-7

    def at(sign):
        nudged = {k: v.detach() + sign * eps * direction[k] for k, v in params.items()}
        return mlp.apply(shape, nudged, blocks)

    torch.testing.assert_close(moved, (at(1) - at(-1)) / (2 * eps), rtol=1e-5, atol=1e-5)


def test_neither_pass_writes_to_inputs_or_weights():
    mlp, shape = MLP(hidden=6), NetShape((3,), 2)
    params, blocks = random_params(mlp, shape), random_blocks((3,))
    before = [t.detach().clone() for t in (*params.values(), *blocks)]
    out = mlp.apply(shape, params, blocks)
    torch.autograd.grad(out.sum(), list(params.values()))
    mlp.features(shape, params, blocks)
    mlp.tangent(shape, params, {k: torch.ones_like(v) for k, v in params.items()}, blocks)
    for old, new in zip(before, (*params.values(), *blocks), strict=True):
        assert torch.equal(old, new)


def test_initial_weights_are_he_uniform_with_zero_biases():
    mlp, shape = MLP(hidden=200), NetShape((30, 20), 2)
    params = mlp.init(shape, torch.tensor([4]), "theta")
    both = torch.cat([params["w0.0"], params["w0.1"]], dim=-1)
    for weight, fan_in in ((both, 50), (params["w1"], 200)):
        bound = (6 / fan_in) ** 0.5  # kaiming_uniform_ with gain sqrt(2)
        assert weight.abs().max() <= bound
        assert weight.abs().max() > 0.99 * bound
        assert weight.var().item() == pytest.approx(2 / fan_in, rel=0.05)
    assert all((params[f"b{layer}"] == 0).all() for layer in range(3))


def test_initial_weights_depend_on_seed_and_network_name_alone():
    mlp, shape = MLP(hidden=6), NetShape((3,), 2)
    alone = mlp.init(shape, torch.tensor([5]), "theta")
    stacked = mlp.init(shape, torch.tensor([8, 5]), "theta")
    other = mlp.init(shape, torch.tensor([5]), "phi")
    assert all(torch.equal(alone[k][0], stacked[k][1]) for k in alone)
    assert not (alone["w1"] == stacked["w1"][:1]).any()
    assert not (alone["w1"] == other["w1"]).any()


@pytest.mark.parametrize("bad", [{"hidden": 0}, {"hidden": 4, "depth": 0}])
def test_an_empty_network_is_refused(bad):
    with pytest.raises(ValueError, match="hidden >= 1 and depth >= 1, got"):
        MLP(**bad)


def test_the_working_set_counts_hidden_units_and_outputs():
    assert MLP(hidden=10, depth=3).working_set(NetShape((4,), 2)) == 32


@pytest.mark.parametrize("own", [(), (0,)], ids=["shared", "own"])
def test_the_gradient_reaches_inputs_that_ask_for_it(own):
    mlp, shape = MLP(hidden=5), NetShape((4, 2), 3)
    params = {k: v.detach() for k, v in random_params(mlp, shape).items()}
    blocks = tuple(b.requires_grad_(True) for b in random_blocks(shape.inputs, own))
    mine = torch.autograd.grad((mlp.apply(shape, params, blocks) ** 2).sum(), blocks)
    total = 0
    for q in range(Q):
        for c in range(C):
            net = by_hand.sequential(params, q, c, 2, 2, True)
            total = total + (net(joined(blocks, q, c)) ** 2).sum()
    for got, expected in zip(mine, torch.autograd.grad(total, blocks), strict=True):
        torch.testing.assert_close(got, expected)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("last_relu", [True, False])
def test_a_gpu_gives_the_outputs_and_gradients_of_a_cpu(last_relu):
    mlp, shape = MLP(hidden=16, last_relu=last_relu), NetShape((4, 2), 3)
    params = {k: v.detach().float() for k, v in random_params(mlp, shape).items()}
    blocks = tuple(b.float() for b in random_blocks(shape.inputs))
    results = []
    for device in ("cpu", "cuda"):
        leaves = {k: v.clone().to(device).requires_grad_(True) for k, v in params.items()}
        out = mlp.apply(shape, leaves, tuple(b.to(device) for b in blocks))
        grads = torch.autograd.grad((out**2).sum(), list(leaves.values()))
        results.append([out.cpu(), *(g.cpu() for g in grads)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, atol=1e-3, rtol=1e-3)


def test_a_network_that_does_not_learn_keeps_no_layers(monkeypatch):
    kept, mlp, shape = [], MLP(hidden=5), NetShape((4,), 3)
    params = {k: v.detach().float() for k, v in random_params(mlp, shape).items()}
    x = random_blocks((4,))[0].float()
    computing = type(kernels.on(x.device))
    plain = computing.mlp

    def watched(self, last_relu, blocks, flat, keep=True):
        kept.append(keep)
        return plain(self, last_relu, blocks, flat, keep)

    monkeypatch.setattr(computing, "mlp", watched)
    frozen = mlp.apply(shape, params, (x,))
    learnt = mlp.apply(shape, {k: v.requires_grad_(True) for k, v in params.items()}, (x,))
    with torch.no_grad():
        mlp.apply(shape, params, (x,))
    assert kept == [False, True, False]
    assert torch.equal(frozen, learnt)
