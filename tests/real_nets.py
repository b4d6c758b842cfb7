"""Small networks in double precision, stacked and one at a time."""

from __future__ import annotations

import by_hand
import torch

from alignset.methods.base import Nets
from alignset.stack import MLP, Net, NetShape


def make_net(b, c=3, *, n_inputs=None, n_outputs=None, hidden=4, stream="theta", seed=0):
    """A network for batch ``b`` whose replicas (q, c) all differ."""
    shape = NetShape((n_inputs or b.x.shape[-1],), n_outputs or b.n_classes)
    mlp, q = MLP(hidden=hidden), b.x.shape[0]
    first = mlp.init(shape, torch.arange(seed, seed + q * c), stream)
    g = torch.Generator().manual_seed(seed)
    params = {
        k: v.double().reshape(q, c, *v.shape[2:])
        + 0.1 * torch.randn(q, c, *v.shape[2:], generator=g).double()
        for k, v in first.items()
    }
    return Net(mlp, shape, params)


def one_of(net, q, c):
    """Replica (q, c) as an nn.Sequential."""
    return by_hand.sequential(net.params, q, c, 1, net.backbone.depth)


def flat_gradient(loss, model):
    """Gradient of a number by all parameters of a model, as one vector."""
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))])


def row_gradients(model, x, y):
    """Gradient of each row's cross entropy, one vector a row."""
    return [
        flat_gradient(torch.nn.functional.cross_entropy(model(x[[i]]), y[[i]]), model)
        for i in range(len(x))
    ]


__all__ = ["Nets", "flat_gradient", "make_net", "one_of", "row_gradients"]
