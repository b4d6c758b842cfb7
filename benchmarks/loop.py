"""The baseline of the speed benchmarks: one model at a time, in plain PyTorch.

The same protocol as the engine: two hidden ReLU layers, He-uniform, Adam with coupled L2, five
mini-batches reshuffled every epoch, validation scored by the same metric every epoch, best weights
kept. Written the way a careful researcher writes it; nothing is slowed down on purpose.
Run as a script it trains its share of the replicas on one thread and prints the seconds it took.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from alignset.data import make_synthetic_released
from alignset.engine import draw_configs
from alignset.evaluate.validation import HarmonicMean
from alignset.methods import Alignment, Standard
from alignset.noise import flip_by_features
from alignset.rows import Problem, split

N_BATCHES = 5
METHODS = {"Standard": Standard(), "Alignment": Alignment()}


def make_problems(n: int) -> list[Problem]:
    data = make_synthetic_released()
    table = data.table
    noise = flip_by_features(
        table.y,
        table.X,
        table.group,
        rate=[0.3, 0.5],
        coefficients=data.noise_coefficients,
        lowest=True,
    )
    return [split(table, noise.y_seen, share=0.1, seed=seed) for seed in range(n)]


def make_configs(method: str, n: int) -> list[dict[str, float]]:
    return draw_configs(METHODS[method].search_space(), n, random_state=0)


def mlp(n_inputs: int, hidden: int, n_outputs: int) -> nn.Sequential:
    net = nn.Sequential(
        nn.Linear(n_inputs, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, n_outputs),
    )
    for layer in net:
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
    return net


class Rows:
    def __init__(self, part) -> None:
        self.x = torch.as_tensor(part.X)
        self.seen = torch.as_tensor(part.y_seen)
        self.true = torch.as_tensor(part.y_true)
        self.group = torch.as_tensor(part.group)


def noisy(ce: Tensor, beta: Tensor, outside: Tensor, group: Tensor) -> Tensor:
    total = ce.new_zeros(())
    for g in range(2):
        rate = beta[group == g].mean()
        rows = outside & (group == g)
        total = total + (beta[rows] * ce[rows]).sum() / rate
    return total / outside.sum()


def train(
    problem: Problem, method: str, config: dict[str, float], hidden: int, epochs: int
) -> float:
    rows, val = Rows(problem.train), Rows(problem.validation)
    generator = torch.Generator().manual_seed(problem.seed)
    score = HarmonicMean()
    theta = mlp(problem.n_features, hidden, 2)
    optim = {"lr": config["lr"], "weight_decay": config["l2"]}
    adam = torch.optim.Adam(theta.parameters(), **optim)
    best, kept = -np.inf, None

    def evaluate() -> None:
        nonlocal best, kept
        with torch.no_grad():
            prob = torch.softmax(theta(val.x), -1)
            now = float(score(prob, val.true, val.group, torch.ones(len(val.x)), 2))
        if now > best:
            best, kept = now, {k: v.clone() for k, v in theta.state_dict().items()}

    def batches(index: Tensor):
        return index[torch.randperm(len(index), generator=generator)].chunk(N_BATCHES)

    everyone = torch.arange(len(rows.x))
    if method == "Standard":
        known = torch.where(rows.true >= 0, rows.true, rows.seen)
        for _ in range(epochs):
            for i in batches(everyone):
                adam.zero_grad()
                F.cross_entropy(theta(rows.x[i]), known[i]).backward()
                adam.step()
            evaluate()
        theta.load_state_dict(kept)
        return best

    phi = mlp(problem.n_features + 2, hidden, 1)
    phi_x = torch.cat([rows.x, F.one_hot(rows.seen, 2).float()], 1)
    both = torch.optim.Adam([*theta.parameters(), *phi.parameters()], **optim)
    right = (rows.seen == rows.true).float()
    reviewed = rows.true >= 0
    for _ in range(epochs):
        for i in batches(everyone[reviewed]):
            both.zero_grad()
            loss = F.cross_entropy(theta(rows.x[i]), rows.true[i])
            logit = phi(phi_x[i]).squeeze(-1)
            loss = loss + config["alpha_1"] * F.binary_cross_entropy_with_logits(logit, right[i])
            loss.backward()
            both.step()
        evaluate()
    adam_phi = torch.optim.Adam(phi.parameters(), **optim)
    adam = torch.optim.Adam(theta.parameters(), **optim)
    for epoch in range(epochs):
        for i in batches(everyone):
            inside = reviewed[i]
            if epoch % 2 == 0:
                with torch.no_grad():
                    beta = torch.sigmoid(phi(phi_x[i]).squeeze(-1))
                logits = theta(rows.x[i])
                ce = F.cross_entropy(logits, rows.seen[i], reduction="none")
                clean = F.cross_entropy(logits[inside], rows.true[i][inside])
                loss = noisy(ce, beta, ~inside, rows.group[i]) + config["gamma"] * clean
                optimiser = adam
            else:
                with torch.no_grad():
                    ce = F.cross_entropy(theta(rows.x[i]), rows.seen[i], reduction="none")
                logit = phi(phi_x[i]).squeeze(-1)
                agree = F.binary_cross_entropy_with_logits(logit[inside], right[i][inside])
                loss = noisy(ce, torch.sigmoid(logit), ~inside, rows.group[i])
                loss = loss + config["alpha_2"] * agree
                optimiser = adam_phi
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        evaluate()
    theta.load_state_dict(kept)
    return best


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    problems = make_problems(job["problems"])
    configs = make_configs(job["method"], job["configs"])
    replicas = [(p, c) for p in problems for c in configs][job["share"] :: job["of"]]
    train(*_args(replicas[0], job, epochs=1))  # warm up
    sys.stdin.readline()  # the parent says go when both processes are ready
    start = time.perf_counter()
    for replica in replicas:
        train(*_args(replica, job, job["epochs"]))
    print(time.perf_counter() - start)


def _args(replica, job: dict, epochs: int):
    problem, config = replica
    return problem, job["method"], config, job["hidden"], epochs


if __name__ == "__main__":
    main()
