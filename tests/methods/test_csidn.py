from dataclasses import replace
from types import SimpleNamespace

import batches
import pytest
import torch
from problems import make_problem

from alignset.engine import Trainer
from alignset.methods import CSIDN
from alignset.stack import cross_entropy

CLASSES = pytest.mark.parametrize("n_classes", [2, 5])
METHODS = pytest.mark.parametrize("posterior", [False, True])
H = {"epsilon": 0.01, "cap": 0.99}


def uniform(*shape, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, generator=g, dtype=torch.float64)


def setting(n_classes=2):
    """A batch with made-up facts, and logits."""
    b = batches.make_batch(n_classes=n_classes)
    logits = batches.make_outputs(b)[0]
    facts = {
        "r": uniform(2, 3, 14, seed=1),
        "n": uniform(2, 3, 14, seed=2),
        "mu": 0.5 + 0.4 * uniform(2, 3, n_classes, seed=3),
        "alpha": CSIDN.alpha(b).expand(2, 3, -1, -1),
    }
    return replace(b, facts=facts), logits


def with_facts(b, **facts):
    return replace(b, facts={**b.facts, **facts})


def plain(b, logits):
    return b.mean(cross_entropy(logits, b.y_known), b.weight)


@CLASSES
def test_exact_posteriors_return_the_diagonal_of_T(n_classes):
    """r P(y~ = i | x) / P(y = i | x) is T_ii(x) where r, p and T belong together."""
    b, _ = setting(n_classes)
    p = torch.softmax(2 + uniform(2, 3, 14, n_classes), -1)
    T = torch.softmax(
        uniform(2, 3, 14, n_classes, n_classes, seed=4) + 2 * torch.eye(n_classes), -1
    )
    noisy = (p.unsqueeze(-2) @ T).squeeze(-2)
    diagonal = T.diagonal(dim1=-2, dim2=-1)

    def of_seen(values):
        return (values * b.seen_onehot).sum(-1)

    n = of_seen(noisy)
    r = of_seen(p * diagonal) / n  # Bayes
    exact = with_facts(b, r=r, n=n)
    beta = CSIDN().beta(p.log(), exact, batches.hyper(epsilon=0.0))
    got = CSIDN().capped(r * beta, batches.hyper(**H))
    torch.testing.assert_close(got, of_seen(diagonal), rtol=1e-9, atol=1e-12)


@CLASSES
def test_full_confidence_is_cross_entropy_but_for_the_cap(n_classes):
    b, logits = setting(n_classes)
    # moderate predictions: where f_y~ is tiny, even 1 % of the others is much
    logits = logits.detach() * 0.2
    b = with_facts(
        b,
        r=torch.ones(2, 3, 14, dtype=torch.float64),
        mu=torch.full((2, 3, n_classes), 0.99, dtype=torch.float64),
    )
    loss = CSIDN().loss_beta_1(batches.given(logits), b, batches.hyper(**H))
    assert (loss - plain(b, logits)).abs().max() < 0.01
    b = with_facts(b, mu=torch.ones(2, 3, n_classes, dtype=torch.float64))
    exact = CSIDN().loss_beta_1(batches.given(logits), b, batches.hyper(epsilon=0.01, cap=1.0))
    torch.testing.assert_close(exact, plain(b, logits), rtol=1e-6, atol=1e-6)


def test_two_classes_have_alpha_one():
    b, _ = setting(2)
    torch.testing.assert_close(CSIDN.alpha(b), 1 - torch.eye(2).double().expand(2, 1, 2, 2))


@CLASSES
def test_alpha_is_the_smoothed_table_of_wrong_labels(n_classes):
    b, _ = setting(n_classes)
    got = CSIDN.alpha(b)
    for q in range(2):
        table = 1 - torch.eye(n_classes, dtype=torch.float64)
        for i in range(14):
            y, seen = b.y_true[q, 0, i], b.y_seen[q, 0, i]
            if b.aligned[q, 0, i] > 0 and y != seen:
                table[y, seen] += b.weight[q, 0, i]
        torch.testing.assert_close(got[q, 0], table / table.sum(-1, keepdim=True))


@CLASSES
def test_the_column_belongs_to_a_row_stochastic_T(n_classes):
    """Built entry by entry, T has rows that sum to one, and column y~ is what the loss uses."""
    b, _ = setting(n_classes)
    h = batches.hyper(**H)
    diagonal = 1.2 * uniform(2, 3, 14, seed=6)
    column = CSIDN().column(diagonal, b, h)
    for q in range(2):
        for c in range(3):
            for i in range(14):
                seen = b.y_seen[q, 0, i]
                own = b.facts["mu"][q, c].clone()
                own[seen] = diagonal[q, c, i].clamp(1e-3, 0.99)
                T = b.facts["alpha"][q, c] * (1 - own).unsqueeze(-1) + torch.diag(own)
                torch.testing.assert_close(T.sum(-1), torch.ones_like(own))
                assert T.min() >= 0
                torch.testing.assert_close(column[q, c, i], T[:, seen])


@CLASSES
def test_the_loss_is_minus_log_of_the_mixed_prediction(n_classes):
    b, logits = setting(n_classes)
    h = batches.hyper(**H)
    method = CSIDN()
    f = torch.softmax(logits, -1)
    beta = b.facts["n"] / (0.01 + (f * b.seen_onehot).sum(-1))
    column = method.column(b.facts["r"] * beta.clamp(0.1, 10), b, h).detach()
    own = -(f * column).sum(-1).log()
    rows = torch.where(b.aligned > 0, cross_entropy(logits, b.y_known), own)
    torch.testing.assert_close(
        method.loss(batches.given(logits), b, h), b.mean(rows, b.weight), rtol=1e-6, atol=1e-6
    )


@CLASSES
def test_T_has_no_gradient(n_classes):
    """The gradient is that of a constant T: none through beta, and so none to naive or phi."""
    b, logits = setting(n_classes)
    h = batches.hyper(**H)
    method = CSIDN()
    with torch.no_grad():
        diagonal = b.facts["r"] * method.beta(logits, b, h)
    (got,) = torch.autograd.grad(method.loss(batches.given(logits), b, h).sum(), logits)
    (fixed,) = torch.autograd.grad(method.corrected(logits, diagonal, b, h).sum(), logits)
    torch.testing.assert_close(got, fixed)


@METHODS
def test_the_confidences_are_facts_without_gradient(posterior):
    b, logits = setting(2)
    answer = batches.make_outputs(b, seed=9)[0]
    phi = (lambda _: answer) if posterior else (lambda _x, _seen: answer[..., :1])
    nets = SimpleNamespace(theta=lambda _: logits, naive=lambda _: answer, phi=phi)
    method = CSIDN(posterior=posterior)
    with torch.no_grad():
        facts = method.scores(nets, b, batches.hyper(**H))
    b = replace(b, facts={**facts.replica, **facts.row})
    loss = method.loss(nets, b, batches.hyper(**H)).sum()
    assert torch.autograd.grad(loss, answer, allow_unused=True) == (None,)
    n = (torch.softmax(answer, -1) * b.seen_onehot).sum(-1)
    torch.testing.assert_close(facts.row["n"], n)
    expected = n if posterior else torch.sigmoid(answer[..., 0])
    torch.testing.assert_close(facts.row["r"], expected)


@CLASSES
def test_mu_is_the_mean_diagonal_of_each_observed_class(n_classes):
    b, _ = setting(n_classes)
    diagonal = 1.2 * uniform(2, 3, 14, seed=6)
    got = CSIDN().mu(diagonal, b, batches.hyper(**H))
    for q in range(2):
        for c in range(3):
            for k in range(n_classes):
                rows = [i for i in range(12) if b.y_seen[q, 0, i] == k]
                weight = sum(b.weight[q, 0, i].item() for i in rows)
                total = sum(
                    b.weight[q, 0, i].item() * min(0.99, max(1e-3, diagonal[q, c, i].item()))
                    for i in rows
                )
                assert got[q, c, k].item() == pytest.approx(total / weight if rows else 1e-3)


def test_beta_is_naive_over_clean_and_held_in_its_range():
    b, logits = setting(2)
    b = with_facts(b, n=torch.full((2, 3, 14), 0.4, dtype=torch.float64))
    even = torch.zeros_like(logits)
    beta = CSIDN().beta(even, b, batches.hyper(**H))
    torch.testing.assert_close(beta, torch.full_like(beta, 0.4 / 0.51))
    sure = torch.where(b.seen_onehot > 0, 50.0, -50.0).expand_as(logits)
    assert CSIDN().beta(-sure, b, batches.hyper(**H)).max().item() == 10.0
    b = with_facts(b, n=torch.full((2, 3, 14), 1e-6, dtype=torch.float64))
    assert CSIDN().beta(sure, b, batches.hyper(**H)).min().item() == 0.1


def test_the_naive_network_sees_the_observed_labels_of_A_too():
    b, logits = setting(2)
    nets = SimpleNamespace(naive=lambda _: logits)
    expected = b.mean(cross_entropy(logits, b.y_seen), b.weight)
    torch.testing.assert_close(CSIDN().loss_naive(nets, b, batches.hyper()), expected)


@CLASSES
def test_gradients_are_finite_for_extreme_logits(n_classes):
    b, logits = setting(n_classes)
    extreme = (50 * logits.detach().sign()).requires_grad_(True)
    loss = CSIDN().loss(batches.given(extreme), b, batches.hyper(**H))
    assert torch.autograd.grad(loss.sum(), extreme)[0].isfinite().all()


def test_the_first_two_stages_watch_what_they_train():
    naive, confidence, warm_start, train = CSIDN(warm_start=4).stages()
    assert naive.watch is not None
    assert (confidence.watch is not None, confidence.rows) == (True, "alignment")
    assert (warm_start.epochs, train.epochs, train.watch) == (4, None, None)
    b, logits = setting(2)
    nets = SimpleNamespace(naive=lambda _: logits)
    torch.testing.assert_close(
        naive.watch(nets, b, batches.hyper()), -CSIDN().loss_naive(nets, b, batches.hyper())
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@METHODS
def test_all_stages_train(n_classes, posterior):
    problem = make_problem(60, n_classes=n_classes, n_groups=1)
    method = CSIDN(posterior=posterior, warm_start=2)
    fits = Trainer(hidden=4, max_epochs=3, n_jobs=1).fit(method, [problem])
    assert fits.epochs[0, 0].tolist() == [3, 3, 2, 3]
    part = problem.validation
    r = fits.confidence(part.X, part.y_seen)
    assert r.shape == (1, len(part))
    assert ((r >= 0) & (r <= 1)).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epsilon": -0.1}, "epsilon must be 0 or more, got -0.1"),
        ({"cap": 1.5}, r"cap must lie in \(0.001, 1\], got 1.5"),
        ({"warm_start": -1}, "warm_start must be 0 or more, got -1"),
    ],
)
def test_impossible_settings_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        CSIDN(**values)
