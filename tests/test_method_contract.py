"""The promises of ARCHITECTURE 4, for every method there is: a new method is tested by existing.

Each promise is a function that raises AssertionError where it is broken, so that the promises
can be shown to bite on methods that break them.
"""

import inspect
import random
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from problems import fingerprint, make_problem, without_review
from scripted import Scripted

import alignset.methods
from alignset.engine import FixedLength, Patience, Trainer
from alignset.engine.rows import Shuffler
from alignset.engine.stacked import Stacked
from alignset.engine.train import Schedule, Training
from alignset.methods import (
    GLC,
    Alignment,
    CoTeaching,
    LearningToReweight,
    Method,
    Stage,
    Standard,
    Step,
    ablations,
)
from alignset.stack import NetShape, cross_entropy

TRAINER = Trainer(hidden=8, max_epochs=5, stopping=Patience(3), n_jobs=1, chunk=100)


def every_method():
    """Concrete methods exported by alignset.methods, as they come, and switched variants."""
    exported = [getattr(alignset.methods, name) for name in alignset.methods.__all__]
    classes = [
        m for m in exported
        if inspect.isclass(m) and issubclass(m, Method) and not inspect.isabstract(m)
    ]  # fmt: skip
    found = {m.__name__: m() for m in classes}
    found |= {f"ablation {name}": m for name, m in ablations().items() if m != Alignment()}
    found |= {
        "Alignment, all switches": Alignment(
            rate_over_reviewed=False,
            rate_on_data=True,
            equal_groups=True,
            phi_first=True,
            alternate_batches=True,
        ),
        "Alignment, constant rate": Alignment(rate_gradient=False),
        "GLC, counts": GLC(counts=True),
        "GLC, per group": GLC(per_group=True),
        "LearningToReweight, per group": LearningToReweight(balanced=False, per_group=True),
        "CoTeaching, per group": CoTeaching(per_group=True, ramp_epochs=1),
    }
    return found


METHODS = every_method()
each_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())


def problems():
    return [make_problem(n, seed=i, n_validation=24) for i, n in enumerate((80, 120, 100))]


CONFIGS = [{"lr": 1e-3}, {"lr": 1e-2, "l2": 0.1}]


# the promises


def check_replicas_do_not_feel_their_neighbours(method):
    these = problems()
    stacked = TRAINER.fit(method, these, CONFIGS)
    for p, c in ((0, 1), (2, 0)):
        alone = TRAINER.fit(method, [these[p]], [CONFIGS[c]])
        assert torch.equal(stacked.epochs[p, c], alone.epochs[0, 0]), "it trains another time"
        X = these[p].validation.X
        apart = np.abs(stacked.probability(X, problem=p)[c] - alone.probability(X)[0]).max()
        assert apart < 1e-4, f"probabilities differ by {apart:.1e}"


def copied(weights):
    return {name: {k: t.clone() for k, t in params.items()} for name, params in weights.items()}


def unchanged(before, after):
    """One bool per replica: is every parameter bit-identical?"""
    same = [(before[k] == after[k]).flatten(2).all(-1) for k in before]
    return torch.stack(same).all(0)


def check_a_step_moves_exactly_the_networks_it_names(method, configs=CONFIGS):
    recipe = Schedule(
        TRAINER.network(), TRAINER.score, FixedLength(), max_epochs=1, n_batches=2, device="cpu"
    )
    training = Training(recipe, method, problems()[:2], configs)
    for stage in method.stages():
        rows = training._stage_rows(stage)
        shuffler = Shuffler(training.seeds, stage.name, recipe.n_batches)
        for step in stage.steps:
            stack = training._fresh_stack(stage, rows)
            before = copied(stack.params)
            alone = replace(stage, steps=(step,))
            if stage.each_epoch is not None:
                training._look(stage.each_epoch, stack, rows)
            training._train_epoch(alone, stack, rows, shuffler, torch.tensor(1), turn=0)
            for name, params in stack.params.items():
                frozen = unchanged(before[name], params)
                if name in step.trains:
                    assert not frozen.any(), f"{stage.name}: {name} is named but did not move"
                else:
                    assert frozen.all(), f"{stage.name}: {name} is not named but moved"
        results = {"best": torch.zeros(2, 2), "epochs": torch.zeros(2, 2)}
        training._run_stage(stage, results)


def check_a_stopped_replica_stays_put(method):
    """Replicas that keep epoch 2 and stop at different times all come back as of epoch 2."""
    these = problems()[:2]
    keep = ((2, 2), (2, 2))
    at_once = replace(TRAINER, stopping=Scripted(keep, stop=keep)).fit(method, these, CONFIGS)
    later = replace(TRAINER, stopping=Scripted(keep, stop=((2, 4), (3, 5))))
    fits = later.fit(method, these, CONFIGS)
    for name, params in fits.weights.items():
        for key, tensor in params.items():
            apart = (tensor - at_once.weights[name][key]).abs().max()
            assert apart < 1e-4, f"{name} moved by {apart:.1e} after it had stopped"
    free = [i for i, stage in enumerate(method.stages()) if stage.epochs is None]
    assert fits.epochs[..., free].unique(dim=-1).squeeze(-1).tolist() == [[2, 4], [3, 5]]


def global_states():
    return (
        random.getstate(),
        tuple(np.random.get_state()[1].tolist()),  # noqa: NPY002
        tuple(torch.get_rng_state().tolist()),
    )


def stir():
    """Move every global generator on."""
    random.random()
    np.random.random()  # noqa: NPY002
    torch.rand(1)


def check_the_same_seed_gives_the_same_bits(method):
    these = problems()[:2]
    hashes = [fingerprint(p) for p in these]
    first = TRAINER.fit(method, these, CONFIGS)
    # nobody may look at the truth of a row that was not reviewed
    lied = [replace(p, truth=(p.truth + 1) % 2) for p in these]
    stir()
    # the second fit is watched: in the first, cleanlab is imported, which draws from random
    before = global_states()
    second = TRAINER.fit(method, lied, CONFIGS)
    assert global_states() == before, "a global generator was used"
    assert [fingerprint(p) for p in these] == hashes, "an input array was written to"
    assert torch.equal(first.epochs, second.epochs)
    for name, params in first.weights.items():
        for key, tensor in params.items():
            assert torch.equal(tensor, second.weights[name][key]), f"{name}.{key} differs"


# every method keeps them


@each_method
def test_a_replica_does_not_feel_its_neighbours(method):
    check_replicas_do_not_feel_their_neighbours(method)


@each_method
def test_a_step_moves_exactly_the_networks_it_names(method):
    check_a_step_moves_exactly_the_networks_it_names(method)


@each_method
def test_a_stopped_replica_stays_put_and_its_best_weights_come_back(method):
    check_a_stopped_replica_stays_put(method)


@each_method
def test_the_same_seed_gives_the_same_bits_and_nothing_else_is_read_or_written(method):
    check_the_same_seed_gives_the_same_bits(method)


@each_method
def test_another_seed_gives_another_model(method):
    problem = make_problem(80)
    short = replace(TRAINER, max_epochs=1)
    fits = (short.fit(method, [replace(problem, seed=seed)]) for seed in (0, 1))
    one, two = (f.weights["theta"]["w1"] for f in fits)
    assert not torch.equal(one, two)


@each_method
def test_three_classes_and_three_groups_train(method):
    problem = make_problem(120, n_classes=3, n_groups=3)
    fits = replace(TRAINER, max_epochs=3).fit(method, [problem], CONFIGS)
    prob = fits.probability(problem.validation.X)
    assert prob.shape == (2, len(problem.validation), 3)
    np.testing.assert_allclose(prob.sum(-1), 1, atol=1e-5)
    confidence = fits.confidence(problem.train.X, problem.train.y_seen)
    assert ((confidence >= 0) & (confidence <= 1)).all()
    assert fits.score.isfinite().all()


@each_method
def test_without_reviewed_rows_a_method_trains_or_says_what_it_needs(method):
    problem = without_review(make_problem(80))
    short = replace(TRAINER, max_epochs=2)
    if method.needs_alignment:
        with pytest.raises(ValueError, match=r"needs reviewed rows .*; review some rows"):
            short.fit(method, [problem])
    else:
        assert short.fit(method, [problem]).score.isfinite().all()


@each_method
def test_a_method_says_what_it_is(method):
    for text in (method.title, method.reference, method.assumes):
        assert text
        assert isinstance(text, str)
    assert method.networks(4, 2)["theta"].inputs == (4,)
    assert set(CONFIGS[1]) <= set(method.hyperparameters())


def test_every_exported_method_is_here():
    assert {"Standard", "StandardPlus", "AlignmentOnly", "Alignment"} <= set(METHODS)


# the promises bite


@dataclass(frozen=True)
class Leaky(Standard):
    """Looks at the mean logit of all replicas."""

    def stages(self):
        def loss(nets, b, h):
            logits = nets.theta(b.x)
            ce = cross_entropy(logits + logits.mean((0, 1), keepdim=True), b.y_known)
            return b.mean(ce, b.weight)

        return (Stage("train", (Step(loss, ("theta",)),)),)


@dataclass(frozen=True)
class LeakyInBatch(Standard):
    """Divides by the padded number of rows, which depends on the neighbours' sizes."""

    def stages(self):
        def loss(nets, b, h):
            ce = cross_entropy(nets.theta(b.x), b.y_known)
            return (ce * b.weight).mean(-1)

        return (Stage("train", (Step(loss, ("theta",)),)),)


@dataclass(frozen=True)
class Unfrozen(Alignment):
    """Nudges phi in a step that names theta alone."""

    title: ClassVar[str] = "Unfrozen"

    def step_2a(self, nets, b, h):
        with torch.no_grad():
            nets.phi.params["b0"].add_(1e-6)
        return super().step_2a(nets, b, h)


@dataclass(frozen=True)
class Idle(Standard):
    """Names a network that its loss does not reach."""

    def networks(self, n_features, n_classes):
        shape = NetShape((n_features,), n_classes)
        return {"theta": shape, "spare": shape}

    def stages(self):
        (stage,) = super().stages()
        return (replace(stage, steps=(replace(stage.steps[0], trains=("theta", "spare")),)),)


@dataclass(frozen=True)
class Careless(Standard):
    """Draws from the global generator."""

    def stages(self):
        def loss(nets, b, h):
            ce = cross_entropy(nets.theta(b.x), b.y_known)
            return b.mean(ce * torch.rand_like(ce), b.weight)

        return (Stage("train", (Step(loss, ("theta",)),)),)


@pytest.mark.parametrize("method", [Leaky(), LeakyInBatch()])
def test_a_leaky_method_is_caught(method):
    with pytest.raises(AssertionError, match=r"probabilities differ|trains another time"):
        check_replicas_do_not_feel_their_neighbours(method)


def test_an_unfrozen_method_is_caught():
    with pytest.raises(AssertionError, match="step 2: phi is not named but moved"):
        check_a_step_moves_exactly_the_networks_it_names(Unfrozen())


def test_a_step_that_does_not_move_what_it_names_is_caught():
    with pytest.raises(AssertionError, match="spare is named but did not move"):
        check_a_step_moves_exactly_the_networks_it_names(Idle(), [{"l2": 0.0}, {"l2": 0.0}])


def test_an_engine_that_trains_on_after_the_stop_is_caught(monkeypatch):
    keep = Stacked.keep
    monkeypatch.setattr(Stacked, "keep", lambda self, where: keep(self, torch.ones_like(where)))
    with pytest.raises(AssertionError, match="after it had stopped"):
        check_a_stopped_replica_stays_put(Standard())


def test_a_careless_method_is_caught():
    with pytest.raises(AssertionError, match="a global generator was used"):
        check_the_same_seed_gives_the_same_bits(Careless())
