import threading

import pytest
import torch
from torch import nn

from alignset.stack import MLP, Module, NetShape

Q, C, B = 2, 3, 7


def two_layers(n_inputs, n_outputs):
    return nn.Sequential(
        nn.Linear(n_inputs, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, n_outputs)
    )


def spread(params):
    """Give every replica weights of its own."""
    g = torch.Generator().manual_seed(0)
    return {k: torch.randn(Q, C, *v.shape[2:], generator=g) for k, v in params.items()}


def as_mlp(params, widths):
    """The same weights under the names of the MLP backbone."""
    out = {}
    for layer, number in enumerate((0, 2, 4)):
        weight = params[f"{number}.weight"]
        out[f"b{layer}"] = params[f"{number}.bias"].unsqueeze(-1)
        if layer == 0:
            blocks = weight.split(widths, dim=-1)
            out |= {f"w0.{i}": block.contiguous() for i, block in enumerate(blocks)}
        else:
            out[f"w{layer}"] = weight
    return out


@pytest.mark.parametrize("inputs", [(4,), (3, 2)])
@pytest.mark.parametrize("own", [False, True])
def test_an_mlp_written_as_a_module_equals_the_mlp(inputs, own):
    shape = NetShape(inputs, 2)
    module, mlp = Module(two_layers), MLP(hidden=6)
    params = spread(module.init(shape, torch.arange(Q), "theta"))
    twin = as_mlp(params, inputs)
    leading = (Q, C if own else 1, B)
    blocks = tuple(torch.randn(*leading, d) for d in inputs)
    torch.testing.assert_close(
        module.apply(shape, params, blocks), mlp.apply(shape, twin, blocks), rtol=1e-5, atol=1e-5
    )
    direction = spread(params)
    torch.testing.assert_close(
        module.tangent(shape, params, direction, blocks),
        mlp.tangent(shape, twin, as_mlp(direction, inputs), blocks),
        rtol=1e-4,
        atol=1e-4,
    )


def test_gradients_reach_every_replica_of_a_module():
    shape, module = NetShape((4,), 2), Module(two_layers)
    params = spread(module.init(shape, torch.arange(Q), "theta"))
    twin = as_mlp(params, (4,))
    x = (torch.randn(Q, 1, B, 4),)

    def slope(backbone, weights, name):
        leaf = weights[name].requires_grad_(True)
        return torch.autograd.grad((backbone.apply(shape, weights, x) ** 2).sum(), leaf)[0]

    torch.testing.assert_close(
        slope(module, params, "2.weight"), slope(MLP(hidden=6), twin, "w1"), rtol=1e-4, atol=1e-4
    )


def test_a_module_starts_from_its_own_rules_and_the_seed():
    shape, module = NetShape((4,), 2), Module(two_layers)
    alone = module.init(shape, torch.tensor([5]), "theta")
    stacked = module.init(shape, torch.tensor([8, 5]), "theta")
    assert all(torch.equal(alone[k][0], stacked[k][1]) for k in alone)
    assert not (alone["2.weight"][0] == stacked["2.weight"][0]).any()
    assert alone["0.weight"].abs().max() <= 0.5  # nn.Linear: 1 / sqrt(4)


def test_two_networks_of_one_shape_start_apart():
    shape, module = NetShape((4,), 2), Module(two_layers)
    one = module.init(shape, torch.tensor([5]), "theta")
    two = module.init(shape, torch.tensor([5]), "second")
    assert not (one["2.weight"] == two["2.weight"]).any()


@pytest.mark.parametrize(
    "layer", [nn.Dropout(), nn.AlphaDropout(), nn.BatchNorm1d(6), nn.InstanceNorm1d(6)]
)
def test_layers_that_tie_replicas_together_are_refused(layer):
    module = Module(lambda d, k: nn.Sequential(nn.Linear(d, 6), layer, nn.Linear(6, k)))
    with pytest.raises(ValueError, match=rf"{type(layer).__name__} cannot be stacked"):
        module.init(NetShape((4,), 2), torch.tensor([0]), "theta")


def test_layer_norm_is_welcome():
    shape = NetShape((4,), 2)
    module = Module(lambda d, k: nn.Sequential(nn.Linear(d, 6), nn.LayerNorm(6), nn.Linear(6, k)))
    params = module.init(shape, torch.tensor([0, 1]), "theta")
    assert module.apply(shape, params, (torch.randn(2, 1, B, 4),)).shape == (2, 1, B, 2)


def test_building_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    shape, module = NetShape((4,), 2), Module(two_layers)
    params = module.init(shape, torch.tensor([1, 2]), "theta")
    module.apply(shape, params, (torch.zeros(2, 1, B, 4),))
    module.working_set(shape)
    assert torch.equal(torch.get_rng_state(), before)


def test_building_in_several_threads_at_once_gives_the_same_weights():
    shape, module = NetShape((4,), 2), Module(two_layers)
    seeds = torch.arange(40)
    expected = module.init(shape, seeds, "theta")["2.weight"]
    before, found = torch.get_rng_state(), {}

    def build(i):
        found[i] = module.init(shape, seeds, "theta")["2.weight"]

    threads = [threading.Thread(target=build, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(found[i], expected) for i in range(4))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_module_does_not_say_which_layer_is_hidden():
    module = Module(two_layers)
    with pytest.raises(ValueError, match="use the default MLP backbone"):
        module.features(NetShape((4,), 2), {}, ())
