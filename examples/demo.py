"""The whole idea in one run: labels that are wrong more often in one group, 10 % of them reviewed.

    make demo        or        python examples/demo.py [--out out]

Trains Standard, the paper's method, the joint model and the clean-label bound on the published data
(30 % of the majority's and 50 % of the minority's labels flipped), prints what they reach on test
data, and draws how well the learned confidence tells wrong labels from right ones.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table as RichTable

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from alignset.data import make_synthetic_released
from alignset.engine import Fits, Trainer, draw_configs
from alignset.evaluate import Summary, auroc, equalized_odds, summarize
from alignset.methods import Alignment, JointAlignment, Standard
from alignset.noise import flip_by_features
from alignset.rows import Problem, split

SEEDS, CONFIGS, RATES = 3, 10, (0.3, 0.5)


def make_problems() -> list[Problem]:
    data = make_synthetic_released()
    table, w = data.table, data.noise_coefficients
    noise = flip_by_features(table.y, table.X, table.group, rate=RATES, coefficients=w, lowest=True)
    return [split(table, noise.y_seen, share=0.10, seed=seed) for seed in range(SEEDS)]


def test_score(fits: Fits, problem: Problem, p: int) -> np.ndarray:
    assert problem.test is not None
    return fits.probability(problem.test.X, p)[fits.best()[p]][:, 1]


def test_summaries(fits: Fits, problems: list[Problem]) -> list[Summary]:
    return [
        summarize(problem.test.y_true, test_score(fits, problem, p), problem.test.group)
        for p, problem in enumerate(problems)
    ]


def draw(fits: dict[str, Fits], problems: list[Problem], path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    problem = problems[0]
    for name, one in fits.items():
        curve = equalized_odds(problem.test.y_true, test_score(one, problem, 0), problem.test.group)
        tau = np.linspace(0, 1, 401)
        left.plot(tau, curve.at(tau), label=name)
    left.set(xlabel="threshold τ", ylabel="equalized odds EO(τ)", ylim=(0.75, 1.005))
    left.set_title("How even: the same error rates in both groups = 1")
    left.legend(frameon=False)
    train, best = problem.train, fits["Joint"].best()[0]
    beta = fits["Joint"].confidence(train.X, train.y_seen)[best]
    wrong = train.y_seen != problem.truth
    hidden = ~train.reviewed
    bins = np.linspace(0, 1, 31)
    right.hist(beta[hidden & ~wrong], bins, alpha=0.6, label="observed label right")
    right.hist(beta[hidden & wrong], bins, alpha=0.6, label="observed label wrong")
    area = auroc(~wrong[hidden], beta[hidden])
    right.set(xlabel="learned confidence β̂ in the observed label", ylabel="unreviewed rows")
    right.set_title(f"Who is mislabelled? (AUROC {area:.2f}, truth never seen)")
    right.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args()
    console = Console()
    problems = make_problems()
    plans = {
        "Standard": (Standard(), problems),
        "Alignment": (Alignment(), problems),
        "Joint": (JointAlignment(), problems),
        "Clean labels": (Standard(), [p.fully_reviewed() for p in problems]),
    }
    trainer, fits = Trainer(hidden=100), {}
    with Progress(console=console) as bar:
        for name, (method, some) in plans.items():
            task = bar.add_task(name, total=SEEDS * CONFIGS)
            configs = draw_configs(method.search_space(), CONFIGS, random_state=0)
            fits[name] = trainer.fit(
                method, some, configs, lambda _, done, __, t=task: bar.update(t, completed=done)
            )
    table = RichTable(title=f"Test set, mean of {SEEDS} splits; labels 30 % / 50 % wrong")
    for column in ("method", "AUROC", "AUEOC", "harmonic mean", "AUROC of the worse group"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for name, one in fits.items():
        all_of = test_summaries(one, problems)
        means = [np.mean([getattr(s, k) for s in all_of]) for k in ("auroc", "aueoc", "hm")]
        means.append(np.mean([s.worst_group_auroc for s in all_of]))
        table.add_row(name, *(f"{m:.3f}" for m in means))
    console.print(table)
    picture = args.out / "demo.png"
    draw(fits, problems, picture)
    console.print(f"picture: {picture.resolve()}")


if __name__ == "__main__":
    main()
