from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
import torch
from problems import make_problem, without_review
from torch import nn

from alignset.engine import BlockMean, Patience, Trainer
from alignset.methods import Alignment, Standard
from alignset.stack import MLP, Module
from alignset.stack.sparse import SparseRows
from alignset.stack.wanted import spread

TRAINER = Trainer(hidden=6, max_epochs=8, stopping=Patience(3), n_jobs=1, chunk=100)
CONFIGS = [{"lr": 1e-3}, {"lr": 1e-2}, {"l2": 0.1}]


def problems():
    return [make_problem(n, seed=i) for i, n in enumerate((60, 100, 80))]


def probabilities(fits, these):
    return np.stack([fits.probability(p.validation.X, problem=i) for i, p in enumerate(these)])


def assert_same_fits(a, b, these, atol=1e-4):
    np.testing.assert_allclose(probabilities(a, these), probabilities(b, these), atol=atol)
    assert torch.equal(a.epochs, b.epochs)


@pytest.mark.parametrize("method", [Standard(), Alignment()])
@pytest.mark.parametrize("chunk", [1, 2, 4, 6])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_size_of_stacks_and_the_number_of_threads_change_nothing(method, chunk, n_jobs):
    these = problems()
    whole = TRAINER.fit(method, these, CONFIGS)
    cut = replace(TRAINER, chunk=chunk, n_jobs=n_jobs).fit(method, these, CONFIGS)
    assert_same_fits(whole, cut, these)


def test_more_threads_give_the_same_bits():
    cut = replace(TRAINER, chunk=2)
    one = cut.fit(Alignment(), problems(), CONFIGS)
    two = replace(cut, n_jobs=2).fit(Alignment(), problems(), CONFIGS)
    for name, params in one.weights.items():
        assert all(torch.equal(t, two.weights[name][k]) for k, t in params.items())


def test_sparse_rows_train_as_dense_ones():
    def sparse(part):
        return replace(part, X=scipy.sparse.csr_matrix(part.X))

    these = problems()
    stored = [replace(p, train=sparse(p.train), validation=sparse(p.validation)) for p in these]
    dense = TRAINER.fit(Alignment(), these, CONFIGS)
    thin = TRAINER.fit(Alignment(), stored, CONFIGS)
    assert_same_fits(dense, thin, these, atol=1e-6)
    np.testing.assert_allclose(
        thin.probability(stored[0].validation.X),
        dense.probability(these[0].validation.X),
        atol=1e-6,
    )


def test_rows_of_weight_zero_do_not_exist():
    problem = make_problem(60)
    extra = make_problem(20, seed=9).train
    names = ("X", "y_seen", "y_true", "group")
    both = {n: np.concatenate([getattr(problem.train, n), getattr(extra, n)]) for n in names}
    padded = replace(problem.train, **both, weight=np.concatenate([np.ones(60), np.zeros(20)]))
    plain = TRAINER.fit(Alignment(rate_on_data=True), [problem])
    heavier = TRAINER.fit(Alignment(rate_on_data=True), [replace(problem, train=padded)])
    assert_same_fits(plain, heavier, [problem], atol=1e-5)


def test_weights_change_what_is_learned():
    problem = make_problem(60)
    weight = np.where(problem.train.y_seen == 1, 20.0, 1.0)
    heavy = replace(problem, train=replace(problem.train, weight=weight))
    trainer = replace(TRAINER, stopping=Patience(50), max_epochs=30)
    config = [{"lr": 1e-2}]
    plain, leaning = (
        trainer.fit(Standard(), [p], config).probability(problem.train.X)[0, :, 1].mean()
        for p in (problem, heavy)
    )
    assert leaning > plain + 0.05


def small_net(n_inputs, n_outputs):
    return nn.Sequential(nn.Linear(n_inputs, 6), nn.Tanh(), nn.Linear(6, n_outputs))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_module_trains_like_any_backbone(n_jobs):
    these = problems()
    trainer = replace(TRAINER, backbone=Module(small_net), n_jobs=n_jobs)
    before = torch.get_rng_state()
    fits = trainer.fit(Alignment(), these, CONFIGS)
    assert torch.equal(torch.get_rng_state(), before)
    cut = replace(trainer, chunk=2).fit(Alignment(), these, CONFIGS)
    assert_same_fits(fits, cut, these)


def test_a_module_equal_to_the_mlp_trains_to_the_same_place():
    """The MLP's own start, trained through the module's path."""

    def as_module(d, k):
        return nn.Sequential(
            nn.Linear(d, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, k)
        )

    class Started(Module):
        def init(self, shape, seeds, stream):
            start = MLP(hidden=6).init(shape, seeds, stream)
            n = len(shape.inputs)
            weights = [
                torch.cat([start[f"w0.{i}"] for i in range(n)], -1),
                start["w1"],
                start["w2"],
            ]
            out = {}
            for layer, weight in enumerate(weights):
                out[f"{2 * layer}.weight"] = weight
                out[f"{2 * layer}.bias"] = start[f"b{layer}"].squeeze(-1)
            return out

    these = problems()
    plain = TRAINER.fit(Alignment(), these, CONFIGS)
    mapped = replace(TRAINER, backbone=Started(as_module)).fit(Alignment(), these, CONFIGS)
    assert_same_fits(plain, mapped, these)


def test_progress_counts_up_to_all_replicas():
    told = []
    trainer = replace(TRAINER, chunk=2, n_jobs=2)
    trainer.fit(Standard(), problems(), CONFIGS, progress=lambda *n: told.append(n))
    assert told[-1] == ("training", 9, 9)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_fitting_leaves_the_number_of_torch_threads_as_it_was():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        TRAINER.fit(Standard(), problems())
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_the_default_stack_fits_its_budget():
    wide = Trainer(hidden=100)
    assert wide._chunk(Standard(), problems()) > Trainer(hidden=1000)._chunk(Standard(), problems())
    assert Trainer(hidden=10_000_000)._chunk(Standard(), problems()) == 1


def test_the_default_config_is_the_methods_own():
    these = problems()
    default = TRAINER.fit(Standard(lr=1e-2), these)
    named = TRAINER.fit(Standard(), these, [{"lr": 1e-2}])
    assert_same_fits(default, named, these, atol=0)


def test_nothing_to_train_is_an_error():
    with pytest.raises(ValueError, match="nothing to train: got 0 problems and 1 configs"):
        TRAINER.fit(Standard(), [])
    with pytest.raises(ValueError, match="nothing to train: got 3 problems and 0 configs"):
        TRAINER.fit(Standard(), problems(), [])


def test_an_unknown_hyperparameter_is_named_with_the_known_ones():
    expected = "no stackable hyperparameter 'gama'; it has alpha_1, alpha_2, gamma, l2, lr; "
    with pytest.raises(ValueError, match=expected):
        TRAINER.fit(Alignment(), problems(), [{"gamma": 1.0}, {"gama": 1.0}])


def test_problems_of_different_kinds_are_not_stacked():
    with pytest.raises(ValueError, match="same number of features, classes and groups"):
        TRAINER.fit(Standard(), [make_problem(), make_problem(n_classes=3)])


def test_a_problem_the_method_cannot_use_is_refused_before_training():
    with pytest.raises(ValueError, match="Alignment needs reviewed rows"):
        TRAINER.fit(Alignment(), [make_problem(), without_review(make_problem())])


def test_validation_rows_without_a_true_label_are_refused():
    problem = make_problem()
    hidden = replace(problem, validation=problem.train, name="mine")
    with pytest.raises(ValueError, match="problem 'mine' has validation rows without a true label"):
        TRAINER.fit(Standard(), [hidden])


@pytest.mark.parametrize("setting", ["max_epochs", "n_batches", "chunk", "n_jobs"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_setting_below_one_is_refused(setting, value):
    with pytest.raises(ValueError, match=f"{setting} must be at least 1, got {value}"):
        Trainer(**{setting: value})


def test_a_block_longer_than_training_is_refused():
    with pytest.raises(ValueError, match=r"BlockMean\(10\) never completes a block in 9 epochs"):
        Trainer(max_epochs=9, stopping=BlockMean(10))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("method", [Standard(), Alignment(rate_on_data=True)])
def test_a_gpu_trains_to_the_same_place(method):
    these = problems()
    trainer = replace(TRAINER, max_epochs=25)
    cpu = trainer.fit(method, these, CONFIGS)
    gpu = replace(trainer, device="cuda").fit(method, these, CONFIGS)
    assert_same_fits(cpu, gpu, these, atol=1e-3)


def test_progress_moves_with_every_epoch_and_ends_at_all_trainings():
    told = []
    these, trainer = problems(), replace(TRAINER, max_epochs=8, n_jobs=1)
    trainer.fit(Standard(), these, CONFIGS, progress=lambda *report: told.append(report))
    done = [at for _, at, _ in told]
    assert done == sorted(done)
    assert len(done) > 8
    assert done[-1] == pytest.approx(told[-1][2])
    assert told[-1][2] == len(these) * len(CONFIGS)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_threads_record_their_epochs_at_the_same_time():
    these, trainer = problems(), replace(TRAINER, max_epochs=40, device="cuda", n_jobs=1)
    alone = trainer.fit(Standard(), these, CONFIGS)
    for fits in spread(lambda _: trainer.fit(Standard(), these, CONFIGS), range(12), 6):
        assert_same_fits(alone, fits, these, atol=0)


def widened(part, kind):
    """The same rows with their features spread over 400 columns, most entries zero."""
    wide = np.zeros((len(part), 400), dtype=np.float32)
    kept = np.random.default_rng(len(part)).random(part.X.shape) < 0.3
    wide[:, : 3 * part.X.shape[1] : 3] = part.X * kept
    return replace(part, X=kind(wide))


def test_wide_sparse_features_are_never_densified_and_change_nothing(monkeypatch):
    problem, fits = make_problem(), []
    for kind in (np.asarray, scipy.sparse.csr_matrix):
        train, validation = widened(problem.train, kind), widened(problem.validation, kind)
        wide = replace(problem, train=train, validation=validation, test=None)
        if kind is scipy.sparse.csr_matrix:
            monkeypatch.setattr(SparseRows, "dense", None)  # calling it would fail
        trainer = Trainer(hidden=8, max_epochs=6)
        fits.append(trainer.fit(Alignment(), [wide], [{"lr": 1e-3}, {"lr": 1e-2}]))
    dense, sparse = fits
    assert torch.equal(dense.epochs, sparse.epochs)
    torch.testing.assert_close(dense.score, sparse.score, atol=1e-4, rtol=0)


@pytest.mark.parametrize("tf32", [False, True])
def test_tf32_holds_while_training_and_no_longer(tf32):
    seen = []

    def score(prob, y, group, where, n_groups):
        seen.append(torch.backends.cuda.matmul.allow_tf32)
        return prob[..., 0, 0]

    before = torch.backends.cuda.matmul.allow_tf32
    Trainer(hidden=4, max_epochs=1, score=score, tf32=tf32).fit(Standard(), [make_problem()])
    assert set(seen) == {tf32}
    assert torch.backends.cuda.matmul.allow_tf32 == before
