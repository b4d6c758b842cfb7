from dataclasses import dataclass

import torch
from problems import make_problem

from alignset.engine import Trainer
from alignset.methods import Method, Stage, Step
from alignset.stack import NetShape, cross_entropy


def loss_theta(nets, b, h):
    return b.mean(cross_entropy(nets.theta(b.x), b.y_known), b.weight)


def loss_peer(nets, b, h):
    """Depends on theta, so that it matters which of the two steps comes first."""
    gap = nets.peer(b.x) - nets.theta(b.x).detach()
    return b.mean(gap.square().sum(-1), b.weight)


@dataclass(frozen=True)
class Pair(Method):
    """Two networks; the second imitates the first."""

    together: bool = True
    reverse: bool = False

    def networks(self, n_features, n_classes):
        shape = NetShape((n_features,), n_classes)
        return {"theta": shape, "peer": shape}

    def stages(self):
        steps = Step(loss_theta, ("theta",)), Step(loss_peer, ("peer",))
        steps = steps[::-1] if self.reverse else steps
        return (Stage("train", steps, together=self.together, epochs=2),)


def fit(**options):
    trainer = Trainer(hidden=4, max_epochs=2, n_jobs=1, n_batches=2)
    return trainer.fit(Pair(**options), [make_problem(40)]).weights


def same(a, b):
    return all(torch.equal(a[k], b[k]) for k in a)


def test_together_every_batch_sees_every_step():
    both, turns = fit(), fit(together=False)
    assert not same(both["theta"], turns["theta"]), "in turn, theta trains every other epoch"
    assert not same(both["peer"], turns["peer"])


def test_together_the_later_step_sees_what_the_earlier_one_did():
    forth, back = fit(), fit(reverse=True)
    assert same(forth["theta"], back["theta"]), "theta does not depend on its peer"
    assert not same(forth["peer"], back["peer"])
