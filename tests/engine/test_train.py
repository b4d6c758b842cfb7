import math
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
import torch
from problems import make_problem
from scripted import Scripted

from alignset.engine import BlockMean, FixedLength, Patience, Trainer, train
from alignset.methods import Alignment, Facts, Method, Stage, Standard, Step
from alignset.methods.standard import loss_known
from alignset.stack import NetShape

TRAINER = Trainer(hidden=6, max_epochs=6, stopping=FixedLength(), n_jobs=1)


def constant_score(prob, y, group, where, n_groups):
    return torch.full(prob.shape[:2], 0.5)


@dataclass
class Rising:
    """A score that rises every time it is asked."""

    asked: int = 0

    def __call__(self, prob, y, group, where, n_groups):
        self.asked += 1
        return torch.full(prob.shape[:2], float(self.asked))


def start_of(problem, name="theta"):
    return TRAINER.network().init(NetShape((4,), 2), torch.tensor([problem.seed]), name)


def same(a, b):
    return all(torch.equal(a[k], b[k]) for k in a)


def close(a, b, atol=1e-5):
    for name, params in a.weights.items():
        for key, tensor in params.items():
            torch.testing.assert_close(tensor, b.weights[name][key], rtol=0, atol=atol)


# early stopping


@pytest.mark.parametrize("patience", [1, 3])
def test_a_constant_score_stops_after_exactly_patience_epochs_with_the_starting_weights(patience):
    trainer = replace(TRAINER, score=constant_score, stopping=Patience(patience), max_epochs=20)
    problem = make_problem()
    fits = trainer.fit(Standard(), [problem])
    assert fits.epochs.tolist() == [[[patience]]]
    assert fits.score.tolist() == [[0.5]]
    assert same(fits.weights["theta"], start_of(problem))


def test_a_rising_score_never_stops_early():
    trainer = replace(TRAINER, score=Rising(), stopping=Patience(1))
    fits = trainer.fit(Standard(), [make_problem()])
    assert fits.epochs.tolist() == [[[6]]]
    assert same(fits.weights["theta"], TRAINER.fit(Standard(), [make_problem()]).weights["theta"])


def test_every_stage_stops_on_its_own():
    trainer = replace(TRAINER, score=constant_score, stopping=Patience(2), max_epochs=20)
    assert trainer.fit(Alignment(), [make_problem()]).epochs.tolist() == [[[2, 2]]]


def test_without_validation_rows_the_last_epoch_is_kept():
    problem = make_problem()
    nobody = replace(problem, validation=make_problem(n_validation=0).validation)
    fits = replace(TRAINER, stopping=Patience(1)).fit(Standard(), [nobody])
    assert fits.epochs.tolist() == [[[6]]]
    close(fits, TRAINER.fit(Standard(), [problem]), atol=0)


def test_the_block_rule_keeps_the_end_of_the_best_block():
    trainer = replace(TRAINER, score=Rising(), stopping=BlockMean(2), max_epochs=5)
    fits = trainer.fit(Standard(), [make_problem()])
    four = replace(TRAINER, max_epochs=4).fit(Standard(), [make_problem()])
    assert fits.epochs.tolist() == [[[5]]]
    close(fits, four, atol=0)


# repacking

SIZES = (60, 100, 80)
CONFIGS = [{"lr": 1e-3}, {"lr": 1e-2}, {"l2": 0.1}, {"lr": 3e-3}]
KEEP = ((1, 2, 6, 1), (3, 1, 1, 1), (2, 6, 5, 4))
STOP = ((2, 2, 6, 1), (3, 1, 2, 1), (2, 6, 6, 4))


def scripted_fit(method, keep=KEEP, stop=STOP, trainer=TRAINER):
    problems = [make_problem(n, seed=i) for i, n in enumerate(SIZES)]
    rule = Scripted(keep, stop)
    return replace(trainer, stopping=rule, chunk=100).fit(method, problems, CONFIGS)


@pytest.mark.parametrize("method", [Standard(), Alignment(rate_on_data=True)])
def test_dropping_finished_replicas_changes_nothing(method, monkeypatch):
    fits = {}
    for below in (0.0, 0.8, 1.0):
        monkeypatch.setattr(train, "REPACK_BELOW", below)
        fits[below] = scripted_fit(method)
    for below in (0.8, 1.0):
        close(fits[below], fits[0.0])
        assert torch.equal(fits[below].epochs, fits[0.0].epochs)
        torch.testing.assert_close(fits[below].score, fits[0.0].score)
    expected = torch.tensor(STOP).unsqueeze(-1).expand_as(fits[0.0].epochs)
    assert torch.equal(fits[0.0].epochs, expected)


def test_finished_replicas_are_really_dropped(monkeypatch):
    shapes = []

    class Watched(Standard):
        def stages(self):
            def loss(nets, b, h):
                shapes.append(tuple(nets.theta.params["b0"].shape[:2]))
                return loss_known(nets, b, h)

            return (Stage("train", (Step(loss, ("theta",)),)),)

    scripted_fit(Watched())
    assert shapes[0] == (3, 4)
    assert math.prod(shapes[-1]) == 3


def test_the_kept_epoch_comes_back_and_later_training_does_not_touch_it():
    fits = scripted_fit(Standard())
    for epochs in (1, 2, 6):
        short = replace(TRAINER, max_epochs=epochs, chunk=100).fit(
            Standard(), [make_problem(n, seed=i) for i, n in enumerate(SIZES)], CONFIGS
        )
        for p in range(3):
            for c in range(4):
                if KEEP[p][c] == epochs:
                    for key, tensor in fits.weights["theta"].items():
                        torch.testing.assert_close(
                            tensor[p, c], short.weights["theta"][key][p, c], rtol=0, atol=1e-5
                        )


# divergence


@pytest.mark.parametrize("method", [Standard(), Alignment()])
def test_a_diverged_replica_keeps_finite_weights_and_leaves_its_neighbours_alone(method):
    trainer = replace(TRAINER, stopping=Patience(2), max_epochs=8, chunk=100)
    problems = [make_problem(n, seed=i) for i, n in enumerate((60, 80))]
    sane = [{"lr": 1e-2}, {"lr": 1e-3}]
    calm = trainer.fit(method, problems, sane)
    wild = trainer.fit(method, problems, [sane[0], {"lr": 1e30}, sane[1]])
    assert torch.equal(wild.epochs[:, [0, 2]], calm.epochs)
    for name, params in wild.weights.items():
        for key, tensor in params.items():
            assert tensor.isfinite().all()
            torch.testing.assert_close(
                tensor[:, [0, 2]], calm.weights[name][key], rtol=0, atol=1e-5
            )
    assert wild.best().tolist() != [1, 1]


def test_a_replica_that_diverges_under_a_fixed_length_has_no_score():
    fits = TRAINER.fit(Standard(), [make_problem()], [{"lr": 1e30}, {"lr": 1e-2}])
    assert fits.score[0].isnan().tolist() == [True, False]
    assert fits.best().tolist() == [1]


# what a stage can ask for


@dataclass(frozen=True)
class Toy(Method):
    """Theta, and a second network of the same shape, trained as a stage says."""

    title: ClassVar[str] = "Toy"
    reference: ClassVar[str] = "none"
    assumes: ClassVar[str] = "nothing"
    made: tuple[Stage, ...] = ()

    def networks(self, n_features, n_classes):
        shape = NetShape((n_features,), n_classes)
        return {"theta": shape, "other": shape}

    def stages(self):
        return self.made


STEP = Step(loss_known, ("theta",))
OTHER = Step(lambda nets, b, h: b.mean((nets.other(b.x) ** 2).sum(-1), b.weight), ("other",))


def fit_toy(*stages, trainer=TRAINER, configs=({},)):
    return trainer.fit(Toy(made=stages), [make_problem(60, seed=3)], configs)


def test_a_stage_without_theta_must_say_what_to_watch():
    with pytest.raises(ValueError, match="stage 'warm' does not train theta"):
        fit_toy(Stage("warm", (OTHER,)))


def test_a_stage_may_watch_something_of_its_own():
    def watch(nets, b, h):
        return -(nets.other(b.x) ** 2).sum((-1, -2))

    trainer = replace(TRAINER, stopping=Patience(2), score=constant_score)
    fits = fit_toy(Stage("warm", (OTHER,), watch=watch), trainer=trainer)
    assert fits.epochs.tolist() == [[[6]]]
    assert fits.score.item() < 0


def test_a_stage_of_fixed_length_runs_it_and_keeps_the_end():
    trainer = replace(TRAINER, stopping=Patience(1), score=constant_score)
    fits = fit_toy(Stage("train", (STEP,), epochs=4), trainer=trainer)
    assert fits.epochs.tolist() == [[[4]]]
    close(fits, fit_toy(Stage("train", (STEP,)), trainer=replace(TRAINER, max_epochs=4)), atol=0)


def test_steps_take_turns_epoch_by_epoch_or_batch_by_batch():
    calls = []

    def noting(step, name):
        def loss(nets, b, h):
            calls.append((int(b.epoch), name))
            return step.loss(nets, b, h)

        return replace(step, loss=loss)

    turns = (noting(STEP, "theta"), noting(OTHER, "other"))
    trainer = replace(TRAINER, max_epochs=3, n_batches=3)
    fit_toy(Stage("train", turns), trainer=trainer)
    by_epoch = [(1, "theta")] * 3 + [(2, "other")] * 3 + [(3, "theta")] * 3
    assert calls == by_epoch
    calls.clear()
    fit_toy(Stage("train", turns, per_batch=True), trainer=trainer)
    names = ["theta", "other"] * 5
    assert calls == [(1 + i // 3, names[i]) for i in range(9)]


def test_facts_reach_the_losses_and_hooks_see_the_training_rows_without_gradient():
    seen = {"begin": [], "each": [], "loss": []}

    def begin(nets, b, h):
        seen["begin"].append((b.epoch, b.weight.sum().item(), torch.is_grad_enabled()))
        return Facts(replica={"start": h.lr * 2}, row={"order": b.draw.row.double()})

    def each_epoch(nets, b, h):
        seen["each"].append((b.epoch, torch.is_grad_enabled()))
        return Facts(replica={"epoch": torch.full_like(h.lr, b.epoch)})

    def loss(nets, b, h):
        assert torch.equal(b.facts["start"], h.lr * 2)
        assert torch.equal(b.facts["order"], b.draw.row.double().expand_as(b.facts["order"]))
        seen["loss"].append(b.facts["epoch"].unique().item())
        return loss_known(nets, b, h)

    stage = Stage("train", (Step(loss, ("theta",)),), begin=begin, each_epoch=each_epoch)
    trainer = replace(TRAINER, max_epochs=2, n_batches=2)
    fit_toy(stage, trainer=trainer, configs=({"lr": 0.1}, {"lr": 0.2}))
    assert seen["begin"] == [(0, 60.0, False)]
    assert seen["each"] == [(1, False), (2, False)]
    assert seen["loss"] == [1, 1, 2, 2]


def test_a_loss_may_remember_something_about_its_rows():
    def begin(nets, b, h):
        return Facts(row={"visits": torch.zeros(*h.lr.shape, b.weight.shape[-1])})

    finals = []

    def loss(nets, b, h):
        b.remember("visits", b.facts["visits"] + 1)
        finals.append((int(b.epoch), b.facts["visits"].unique().tolist()))
        return loss_known(nets, b, h)

    stage = Stage("train", (Step(loss, ("theta",)),), begin=begin)
    fit_toy(stage, trainer=replace(TRAINER, max_epochs=3), configs=({}, {"lr": 0.1}))
    assert finals == [(e, [e - 1]) for e in (1, 2, 3) for _ in range(5)]


def test_facts_of_one_stage_are_known_in_the_next():
    def begin(nets, b, h):
        return Facts(replica={"twice": 2 * h.lr})

    def loss(nets, b, h):
        assert torch.equal(b.facts["twice"], 2 * h.lr)
        return loss_known(nets, b, h)

    first = Stage("first", (STEP,), begin=begin, epochs=1)
    assert fit_toy(first, Stage("second", (Step(loss, ("theta",)),))).epochs.tolist() == [[[1, 6]]]


def test_averaged_weights_are_scored_and_returned_and_do_not_steer():
    one_batch = replace(TRAINER, n_batches=1)
    walk = [start_of(make_problem(60, seed=3))]
    walk += [
        fit_toy(Stage("train", (STEP,), epochs=n), trainer=one_batch).weights["theta"]
        for n in (1, 2, 3)
    ]
    stage = Stage("train", (STEP,), epochs=3, average=0.8)
    fits = fit_toy(stage, trainer=one_batch)
    for key, average in walk[0].items():
        for step in walk[1:]:
            average = 0.8 * average + 0.2 * step[key]
        torch.testing.assert_close(fits.weights["theta"][key], average)


def test_networks_that_no_step_names_stay_at_their_start():
    fits = fit_toy(Stage("train", (STEP,)))
    assert same(fits.weights["other"], start_of(make_problem(60, seed=3), name="other"))


def test_what_a_stage_changes_epoch_by_epoch_does_not_reach_the_next_stage():
    seen = []

    def begin(nets, b, h):
        return Facts(replica={"rate": torch.ones_like(h.lr)})

    def each_epoch(nets, b, h):
        return Facts(replica={"rate": torch.zeros_like(h.lr) + b.epoch})

    def loss(nets, b, h):
        seen.append(b.facts["rate"].item())
        return loss_known(nets, b, h)

    first = Stage("first", (STEP,), begin=begin, each_epoch=each_epoch, epochs=3)
    second = Stage("second", (Step(loss, ("theta",)),), epochs=1)
    fit_toy(first, second)
    assert set(seen) == {1.0}


def test_stages_on_reviewed_rows_can_have_batches_of_their_own():
    seen = {"first": [], "second": []}

    def loss_of(name):
        def loss(nets, b, h):
            seen[name].append(int((b.weight > 0).sum()))
            return loss_known(nets, b, h)

        return Step(loss, ("theta",))

    stages = (
        Stage("first", (loss_of("first"),), rows="alignment", epochs=1),
        Stage("second", (loss_of("second"),), epochs=1),
    )
    fit_toy(*stages, trainer=replace(TRAINER, n_batches=6, n_batches_reviewed=2))
    assert [len(sizes) for sizes in seen.values()] == [2, 6]
    assert sum(seen["first"]) == int(make_problem(60, seed=3).train.reviewed.sum())
