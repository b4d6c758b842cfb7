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
