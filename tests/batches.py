"""Made-up batches in double precision, and networks whose outputs are given."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from alignset.labels import UNREVIEWED
from alignset.methods import Batch
from alignset.stack import Draws


def make_batch(seed=0, *, q=2, n=14, n_features=3, n_classes=2, n_groups=2, weighted=True):
    """A batch (q, 1, n) with reviewed, unreviewed and two padding rows."""
    g = torch.Generator().manual_seed(seed)
    shape = (q, 1, n)
    group = torch.arange(n).remainder(n_groups).expand(shape)
    y_seen = torch.randint(n_classes, shape, generator=g)
    y_true = torch.randint(n_classes, shape, generator=g)
    reviewed = torch.arange(n).div(n_groups, rounding_mode="floor").remainder(3).eq(0)
    weight = torch.rand(shape, generator=g, dtype=torch.float64) + 0.5
    weight = weight if weighted else torch.ones_like(weight)
    weight[..., -2:] = 0.0
    return Batch(
        x=torch.randn(*shape, n_features, generator=g, dtype=torch.float64),
        y_seen=y_seen,
        y_true=torch.where(reviewed, y_true, UNREVIEWED),
        group=group,
        weight=weight,
        n_classes=n_classes,
        n_groups=n_groups,
        epoch=1,
        draw=Draws(torch.zeros(q, 1, 1, dtype=torch.int64), torch.arange(n).expand(shape)),
    )


def make_outputs(batch, c=3, seed=1):
    """Logits (q, c, n, K) and logit of beta (q, c, n), ready to be differentiated."""
    g = torch.Generator().manual_seed(seed)
    q, _, n = batch.y_seen.shape
    logits = torch.randn(q, c, n, batch.n_classes, generator=g, dtype=torch.float64)
    logit_beta = torch.randn(q, c, n, generator=g, dtype=torch.float64)
    return logits.requires_grad_(True), logit_beta.requires_grad_(True)


def given(logits, logit_beta=None):
    """Networks that answer what they were told to."""
    return SimpleNamespace(
        theta=lambda _: logits,
        phi=None if logit_beta is None else lambda _x, _seen: logit_beta.unsqueeze(-1),
    )


def hyper(q=2, c=3, **values):
    """Hyperparameters as (q, c) tensors; a number stands for all replicas."""
    return SimpleNamespace(
        **{
            name: torch.as_tensor(value, dtype=torch.float64).expand(q, c)
            for name, value in values.items()
        }
    )
