import pytest
import torch

from alignset.stack import MLP, Backbone, Net, NetShape


def test_a_net_is_its_backbone_bound_to_parameters():
    backbone, shape = MLP(hidden=5), NetShape((3, 2), 2)
    params = backbone.init(shape, torch.tensor([0, 1]), "phi")
    net = Net(backbone, shape, params)
    blocks = (torch.randn(2, 1, 4, 3), torch.randn(2, 1, 4, 2))
    direction = {k: torch.randn_like(v) for k, v in params.items()}
    assert torch.equal(net(*blocks), backbone.apply(shape, params, blocks))
    assert torch.equal(net.features(*blocks), backbone.features(shape, params, blocks))
    expected = backbone.tangent(shape, params, direction, blocks)
    assert torch.equal(net.tangent(direction, *blocks), expected)


def test_a_backbone_is_an_interface():
    with pytest.raises(TypeError, match="abstract"):
        Backbone()


def test_gradient_is_autograd_on_the_parameters_and_leaves_them_alone():
    backbone, shape = MLP(hidden=5), NetShape((3,), 2)
    params = {
        k: v.double().expand(2, 4, *v.shape[2:]).clone()
        for k, v in backbone.init(shape, torch.tensor([0, 1]), "theta").items()
    }
    x = torch.randn(2, 1, 6, 3, dtype=torch.float64)
    net = Net(backbone, shape, params)
    with torch.no_grad():
        got = net.gradient(lambda out: out.square().mean((-1, -2)), x)
    assert not any(v.requires_grad for v in params.values())
    for v in params.values():
        v.requires_grad_(True)
    total = net(x).square().mean((-1, -2)).sum()
    expected = torch.autograd.grad(total, list(params.values()))
    for mine, theirs in zip(got.values(), expected, strict=True):
        torch.testing.assert_close(mine, theirs)
