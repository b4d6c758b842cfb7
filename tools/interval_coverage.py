"""Measure the coverage of ``alignset.evaluate.estimate``, and write docs/evaluation.

    python tools/interval_coverage.py         # all settings, 2 000 repetitions each, and the page
    python tools/interval_coverage.py --repetitions 200 --only srs-200

A setting is a way to review (design, rows reviewed), labels (noise, groups) and soft labels (good:
made by the estimator itself; useless: random numbers; wrong: the opposite of the truth, mostly). A
cell is a setting and an estimand. Every repetition draws fresh rows from a large pool whose metrics
are known, reviews some, and asks whether the interval has the truth. Settings already in
docs/evaluation/coverage.csv with enough repetitions are not run again; --again runs them.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import evaluation
import numpy as np
import pandas as pd
import torch

from alignset.evaluate.estimands import ESTIMANDS, ScoredRows
from alignset.evaluate.estimate_rows import EstimateRows
from alignset.evaluate.estimates import estimate_between, estimate_within
from alignset.evaluate.even_estimate import estimate_even
from alignset.evaluate.ranked import METRICS, rank
from alignset.evaluate.soft_labels import soft_labels

THRESHOLD = 0.3
POOL = 200_000
WITHIN = ("wrong", "auroc", "tpr")
"""Estimands that are also measured within the smallest group."""


@dataclass(frozen=True)
class Setting:
    """How rows were reviewed, and what their labels are like."""

    design: str = "srs"  # srs: simple random; strata: group x observed label; doubt: |y - score|
    reviewed: int = 200
    noise: float = 0.1
    groups: int = 2
    soft: str = "good"
    even: bool = False  # whether aueoc and hm are measured too: they take most of the time

    @property
    def name(self) -> str:
        """The setting in one word."""
        return f"{self.design}-{self.reviewed}-{self.noise:g}-{self.groups}-{self.soft}"

    @property
    def rows(self) -> int:
        """How many rows there are to review."""
        return 1000 if self.reviewed <= 400 else 2000


def settings() -> list[Setting]:
    """All settings, the most important first: along one axis at a time, for each design."""
    some = Setting
    found = [some(reviewed=n, even=n in (100, 400)) for n in (50, 100, 400, 200, 1000)]
    found += [some(design, 100, soft="useless") for design in ("srs", "doubt")]
    found += [some(design, 100, soft="wrong") for design in ("srs", "strata")]
    found += [some("doubt", 100, even=True), some("strata", 100)]
    found += [some(design, noise=0.01) for design in ("srs", "doubt", "strata")]
    found += [some(groups=6, reviewed=400, even=True), some(noise=0.4), some("doubt", noise=0.4)]
    found += [some("doubt", 400), some("strata", 400), some("strata", 400, groups=6)]
    found += [some(noise=0.01, reviewed=50), some(noise=0.03), some(noise=0.2)]
    found += [some(noise=0.01, reviewed=1000), some(groups=4, reviewed=400)]
    return found


@dataclass(frozen=True, eq=False)
class Rows:
    """Group, true and observed label, the score to judge, and another to compare it with."""

    group: np.ndarray
    true: np.ndarray
    observed: np.ndarray
    score: np.ndarray
    other: np.ndarray

    def take(self, rows: np.ndarray) -> Rows:
        """Return some of the rows."""
        return Rows(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def make_pool(setting: Setting, rng: np.random.Generator) -> Rows:
    """Make groups of unequal size, the first the smallest and with the fewest errors."""
    share = np.arange(1, setting.groups + 1) + 1.0
    group = rng.choice(setting.groups, POOL, p=share / share.sum())
    along = group / max(setting.groups - 1, 1)
    z = rng.normal(size=POOL)
    true = (rng.random(POOL) < _sigmoid(-1.6 + 0.5 * (along - 0.5) + 1.6 * z)).astype(np.int64)
    score = _sigmoid(-1.6 + 1.2 * z + 0.6 * rng.normal(size=POOL))
    other = _sigmoid(-1.6 + 1.2 * z + 0.9 * rng.normal(size=POOL))
    rate = (0.5 + along) * np.where(true == 1, 1.5, 1.0)
    rate = np.minimum(rate * setting.noise / rate.mean(), 0.9)
    observed = np.where(rng.random(POOL) < rate, 1 - true, true)
    return Rows(group, true, observed, score, other)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def review(setting: Setting, rows: Rows, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are reviewed, and with what probability each was."""
    n, m = len(rows.true), setting.reviewed
    seen = np.zeros(n, dtype=bool)
    if setting.design == "srs":
        seen[rng.permutation(n)[:m]] = True
        return seen, np.full(n, m / n)
    if setting.design == "strata":
        chance, cell = np.empty(n), rows.group * 2 + rows.observed
        present = np.unique(cell)
        for c in present:
            members = rng.permutation(np.flatnonzero(cell == c))
            k = min(len(members), max(2, round(m / len(present))))
            seen[members[:k]] = True
            chance[members] = k / len(members)
        return seen, chance
    chance = np.abs(rows.observed - rows.score) + 0.1
    chance *= m / chance.sum()
    while (chance > 1).any():
        chance = np.minimum(chance, 1)
        free = chance < 1
        chance[free] *= (m - (~free).sum()) / chance[free].sum()
    order = rng.permutation(n)  # systematic: a fixed number of rows, each with its probability
    ends = np.concatenate([[0.0], chance[order].cumsum()]) + rng.random()
    seen[order] = np.floor(ends[1:]) > np.floor(ends[:-1])
    return seen, chance


def true_values(setting: Setting, pool: Rows) -> dict[str, float]:
    """Compute every estimand in the pool."""
    found = {}
    scored, hot = scored_rows(pool), np.eye(2)[pool.true]
    for name, one in ESTIMANDS.items():
        found[name] = one.linearise(scored[0], hot, np.ones(POOL)).value
    for name in WITHIN:
        for g in (0, 1):
            member = pool.group == g
            part = scored[0].take(member)
            value = ESTIMANDS[name].linearise(part, hot[member], np.ones(member.sum())).value
            found[f"{name} in group {g}"] = value
    found["tpr, between groups"] = found["tpr in group 1"] - found["tpr in group 0"]
    area = ESTIMANDS["auroc"].linearise(scored[1], hot, np.ones(POOL)).value
    found["auroc, between scores"] = area - found["auroc"]
    tensors = (torch.from_numpy(x)[None] for x in (pool.score, pool.true, pool.group))
    ranked = rank(*tensors, torch.ones(1, POOL, dtype=torch.bool), setting.groups)
    return found | {name: float(METRICS[name](ranked)) for name in ("aueoc", "hm")}


def scored_rows(rows: Rows) -> tuple[ScoredRows, ScoredRows]:
    """Both scores, with the rows they flag."""
    return tuple(
        ScoredRows(np.stack([1 - s, s], axis=1), rows.observed, s >= THRESHOLD, THRESHOLD)
        for s in (rows.score, rows.other)
    )


def one_review(
    setting: Setting, pool: Rows, rng: np.random.Generator, only: tuple[str, ...] = ()
) -> dict[str, tuple]:
    """Estimate everything, or only some, from one review: estimand -> what came out."""
    rows = pool.take(rng.integers(0, POOL, setting.rows))
    seen, chance = review(setting, rows, rng)
    own = soft_labels(
        rows.score, rows.observed, rows.true, seen, n_classes=2, groups=(rows.group,), rng=rng
    )
    given = own
    if setting.soft != "good":
        q = rng.random(len(seen))
        q = q if setting.soft == "useless" else np.where(rows.true == 1, q**2, 1 - q**2)
        given = np.stack([1 - q, q], axis=1)
    scored, size = scored_rows(rows), np.ones(len(seen))
    cells = {g: rows.group == g for g in range(setting.groups)}
    true = np.where(seen, rows.true, -1)
    every = EstimateRows(scored[:1], true, seen, chance, size, given, own, cells, tuple(cells))
    pair, whole = replace(every, scored=scored), np.ones(len(seen), dtype=bool)
    settled = {"finite": False, "power": None}
    jobs = {name: (name, every, whole) for name in ESTIMANDS}
    jobs |= {f"{name} in group 0": (name, every, cells[0]) for name in WITHIN}
    jobs["auroc, between scores"] = "auroc", pair, whole
    found = {
        name: estimate_within(*job, "", 0.95, **settled)
        for name, job in jobs.items()
        if not only or name in only
    }
    if not only or "tpr, between groups" in only:
        found["tpr, between groups"] = estimate_between("tpr", every, 0, 1, 0.95, **settled)
    if setting.even:
        both = ("aueoc", "hm")
        evens = estimate_even(both, every, rng, level=0.95, **settled)
        found |= dict(zip(both, evens, strict=True))
    return {k: (e.estimate, e.low, e.high, *e.reviewed_only, e.worth) for k, e in found.items()}


def measure(
    setting: Setting, repetitions: int, seed: int = 0, only: tuple[str, ...] = ()
) -> pd.DataFrame:
    """Measure coverage, width and bias of every estimand, or only some, in one setting."""
    rng = np.random.default_rng([seed, *setting.name.encode()])
    pool = make_pool(setting, rng)
    truth = true_values(setting, pool)
    reviews = [one_review(setting, pool, rng, only) for _ in range(repetitions)]
    rows = []
    for name in reviews[0]:
        numbers = np.array([one[name] for one in reviews])
        value, low, high, alone, low_alone, high_alone, worth = numbers[~np.isnan(numbers[:, 0])].T
        t = truth[name]
        about = {k: v for k, v in asdict(setting).items() if k != "even"}
        rows.append(
            about
            | {
                "estimand": name,
                "truth": t,
                "repetitions": repetitions,
                "defined": len(value) / repetitions,
                "coverage": np.mean((low <= t) & (t <= high)),
                "too_high": np.mean(t < low),
                "too_low": np.mean(t > high),
                "width": np.mean(high - low),
                "coverage_alone": np.mean((low_alone <= t) & (t <= high_alone)),
                "width_alone": np.mean(high_alone - low_alone),
                "bias": np.mean(value) - t,
                "mse_ratio": np.mean((alone - t) ** 2) / np.mean((value - t) ** 2),
                "worth_ratio": np.median(worth) / setting.reviewed,
            }
        )
    return pd.DataFrame(rows)


def run(chosen: list[Setting], repetitions: int, out: Path, *, again: bool) -> pd.DataFrame:
    """Measure what is not there yet, one setting after another."""
    table = pd.read_csv(out) if out.exists() and not again else pd.DataFrame()
    for i, setting in enumerate(chosen):
        about = {k: v for k, v in asdict(setting).items() if k != "even"}
        if len(table):
            here = np.logical_and.reduce([table[k] == v for k, v in about.items()])
            if here.any() and table.repetitions[here].min() >= repetitions:
                continue
            table = table[~here]
        start = time.perf_counter()
        table = pd.concat([table, measure(setting, repetitions)], ignore_index=True)
        table.to_csv(out, index=False, float_format="%.5g")
        spent = time.perf_counter() - start
        print(f"{i + 1}/{len(chosen)} {setting.name}: {spent:.0f} s", flush=True)
    return table


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--only", default="", help="settings whose name starts with this")
    parser.add_argument("--out", type=Path, default=evaluation.FOLDER / "coverage.csv")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args(argv)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    chosen = [one for one in settings() if one.name.startswith(options.only)]
    run(chosen, options.repetitions, options.out, again=options.again)
    if options.out.parent == evaluation.FOLDER:
        evaluation.main()


if __name__ == "__main__":
    sys.exit(main())
