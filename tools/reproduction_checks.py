"""Small checks on the CPU behind the reasons given in docs/reproduction.

    python tools/reproduction_checks.py results/alignset.sqlite

checks.csv: as-released at places where it is further than one published SD from the published
mean, with one thing put back as the authors' code has it; and as-released on Adult and COMPAS, of
which the store has none. HM with the released AUEOC, 20 configs, five splits in place of ten.
spread.csv: how far apart the scores of the models chosen in the as-written runs are.
What is in the files already is not computed again. About 20 minutes on one core.
"""

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from pages import DOCS, ROOT
from torch import Tensor

from alignset.engine import draw_configs
from alignset.labels import UNREVIEWED
from alignset.methods import Alignment, FairGPL, Method, SLNFilter, Standard
from alignset.methods.base import Batch, Hyper, Nets, Stage
from alignset.methods.space import from_plain
from alignset.rows import Part, Problem
from alignset.rows.review import pick
from alignset.stack import cross_entropy
from alignset.study import Store, expand, load_experiment
from alignset.study.methods import build_method
from alignset.study.problems import build_problem
from alignset.study.records import Cell
from alignset.study.training import build_trainer, measure

PAGE = DOCS / "reproduction"
PAPER = ROOT / "paper/chil2023"
SPLITS = 5
GRIDS = {
    "noise_rate": "figure2a.toml",
    "noise_disparity": "figure2b.toml",
    "alignment_size": "figure3a.toml",
}


class UnweightedGPL(FairGPL):
    """Fair GPL as released: groups not weighted by 1/Delta_z, no warm-up."""

    needs_alignment: ClassVar[bool] = False

    def stages(self) -> tuple[Stage, ...]:
        """Return the peer loss alone."""
        return super().stages()[1:]

    def delta(self, b: Batch) -> Tensor:
        """Return one for every group."""
        return torch.ones_like(super().delta(b))


class MinorityFirst(Alignment):
    """Proposed as released in one point: step 1 sees the minority's reviewed rows only."""

    def step_1(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """L_theta + alpha_1 L_phi over the reviewed rows of the minority."""
        rows = replace(b, weight=b.weight * (b.group == 1))
        fit = b.mean(cross_entropy(nets.theta(rows.x), rows.y_true), rows.aligned)
        return fit + h.alpha_1 * self.loss_phi(self.logit_beta(nets, rows), rows)


def same(problem: Problem) -> Problem:
    """Change nothing."""
    return problem


def unreviewed(problem: Problem) -> Problem:
    """Hide the reviewed labels of the training rows; the validation rows keep theirs."""
    nobody = np.full_like(problem.train.y_true, UNREVIEWED)
    return replace(problem, train=replace(problem.train, y_true=nobody))


def stratified(problem: Problem, by: str = "y_seen") -> Problem:
    """Split by the observed label in place of the group, 76 / 4 / 20, as the released code."""
    assert problem.test is not None
    assert problem.truth is not None
    parts = (problem.train, problem.validation, problem.test)
    X, seen, group = (
        np.concatenate([getattr(p, name) for p in parts]) for name in ("X", "y_seen", "group")
    )
    strata = seen if by == "y_seen" else group
    truth = np.concatenate([problem.truth, problem.validation.y_true, problem.test.y_true])
    rng = np.random.default_rng(problem.seed)

    def part_of(rows: Any, by: Any, share: float) -> Any:
        sizes = np.bincount(by[rows])
        return rows[pick(by[rows], np.round(share * sizes).astype(int), rng)]

    every = np.arange(len(truth))
    test = part_of(every, strata, 0.20)
    rest = np.setdiff1d(every, test)
    held = part_of(rest, strata, 0.05)
    train = np.setdiff1d(rest, held)
    reviewed = part_of(train, group, 4 / 76)

    def cut(rows: Any, known: Any) -> Part:
        y = np.where(np.isin(rows, known), truth[rows], UNREVIEWED)
        return Part(X[rows], seen[rows], y, group[rows])

    return replace(
        problem, train=cut(train, reviewed), validation=cut(held, held), test=cut(test, test),
        truth=truth[train],
    )  # fmt: skip


def other_splits(problem: Problem) -> Problem:
    """Draw the split anew as ``stratified`` does, but by group: what chance alone does."""
    return stratified(problem, "group")


@dataclass(frozen=True)
class Check:
    """A method as released with one thing changed, at one place."""

    method: str
    change: str
    where: tuple[str, str, float]
    make: type[Method]
    alter: Callable[[Problem], Problem] = same
    ranges: dict[str, Any] = field(default_factory=dict)
    search_seed: int = 0


def disparity(x: float) -> tuple[str, str, float]:
    """Return a place in Figure 2b."""
    return "noise_disparity", "synthetic", x


def rate(x: float) -> tuple[str, str, float]:
    """Return a place in Figure 2a."""
    return "noise_rate", "synthetic", x


GPL = "groups not weighted, no warm-up, no reviewed labels"
QUIET = {"sigma": {"log_uniform": [1e-4, 1e-2]}}
CHECKS = [
    Check("standard", "another 20 configs", disparity(0.7), Standard, search_seed=1),
    Check("sln_filter", "the code's noise", disparity(0.7), SLNFilter, ranges=QUIET),
    Check("fair_gpl", GPL, disparity(0.9), UnweightedGPL, unreviewed),
    Check("proposed", "step 1 on the minority", disparity(0.9), MinorityFirst),
    Check("standard", "split by the observed label", disparity(0.7), Standard, stratified),
    Check("standard", "nothing, other splits", disparity(0.7), Standard, other_splits),
    Check("sln_filter", "split by the observed label", disparity(0.7), SLNFilter, stratified),
    Check("sln_filter", "nothing, other splits", disparity(0.7), SLNFilter, other_splits),
    Check("fair_gpl", GPL, disparity(0.5), UnweightedGPL, unreviewed),
    Check("sln_filter", "the code's noise", rate(0.65), SLNFilter, ranges=QUIET),
    Check("fair_gpl", GPL, rate(0.8), UnweightedGPL, unreviewed),
    *(
        Check(name, "none", ("alignment_size", dataset, 0.1), make, alter)
        for dataset in ("adult", "compas")
        for name, make, alter in (
            ("clean", Standard, same),  # the recipe reviews every row already
            ("standard", Standard, same),
            ("proposed", Alignment, same),
        )
    ),
]
SPREAD = [(m, x) for m in ("clean", "standard", "csidn", "js", "proposed") for x in (0.3, 0.6)]


def cells_at(where: tuple[str, str, float], method: str, protocol: str) -> list[Cell]:
    """Return the cells of the first splits."""
    experiment, dataset, x = where
    found = expand(load_experiment(PAPER / GRIDS[experiment], protocol=protocol))[0]
    return [c for c in found if (c.dataset, c.method, c.x) == (dataset, method, x)][:SPLITS]


def run(check: Check) -> float:
    """Return the mean HM, by the released AUEOC."""
    cells = cells_at(check.where, check.method, "as-released")
    recipe = cells[0].recipe
    ranges = {**recipe["search"]["space"], **check.ranges}
    space = {name: from_plain(plain) for name, plain in ranges.items()}
    configs = draw_configs(space, recipe["search"]["configs"], check.search_seed)
    problems = [check.alter(build_problem(cell.recipe)) for cell in cells]
    trainer = build_trainer(recipe["trainer"], "cpu", 1)
    fits = trainer.fit(check.make(**recipe["method"]["fields"]), problems, configs)
    best = fits.only(fits.best().tolist())
    found = []
    for i, problem in enumerate(problems):
        assert problem.test is not None
        prob = best.probability(problem.test.X, i)[0]
        found.append(measure(problem.test, prob)["hm_released"])
    return float(np.mean(found))


def spread(frame: pd.DataFrame, method: str, x: float) -> float:
    """Return the SD of the test scores of the chosen models, Figure 2a as written."""
    found = []
    for cell in cells_at(rate(x), method, "as-written"):
        config = json.loads(frame.set_index("key").loc[cell.key, "config"])
        problem = build_problem(cell.recipe)
        trainer = build_trainer(cell.recipe["trainer"], "cpu", 1)
        fits = trainer.fit(build_method(cell.recipe["method"], {}), [problem], [config])
        assert problem.test is not None
        found.append(fits.probability(problem.test.X)[0][:, 1].std())
    return float(np.mean(found))


def add(file: Path, rows: Iterable[tuple[dict[str, Any], Callable[[], dict[str, float]]]]) -> None:
    """Append to a CSV the rows whose key it does not have."""
    table = pd.read_csv(file) if file.exists() else pd.DataFrame()
    for key, compute in rows:
        if len(table) and (table[list(key)] == list(key.values())).all(axis=1).any():
            continue
        table = pd.concat([table, pd.DataFrame([{**key, **compute()}])], ignore_index=True)
        table.round(5).to_csv(file, index=False, lineterminator="\n")
        sys.stdout.write(f"{file.name}: {table.iloc[-1].to_dict()}\n")
        sys.stdout.flush()


def main(store: str) -> None:
    """Compute what checks.csv and spread.csv do not have yet."""
    frame = Store(store).frame()
    first = frame[(frame["protocol"] == "as-released") & (frame["seed"] < SPLITS)]

    def before(check: Check) -> float:
        columns = ["experiment", "dataset", "x", "method"]
        here = (first[columns] == [*check.where, check.method]).all(axis=1)
        return float(first.loc[here, "hm_released"].mean())

    def key(check: Check) -> dict[str, Any]:
        experiment, dataset, x = check.where
        names = {"experiment": experiment, "dataset": dataset, "method": check.method, "x": x}
        return {**names, "change": check.change}

    add(
        PAGE / "spread.csv",
        (({"method": m, "x": x}, lambda m=m, x=x: {"sd": spread(frame, m, x)}) for m, x in SPREAD),
    )
    add(
        PAGE / "checks.csv",
        ((key(c), lambda c=c: {"before": before(c), "after": run(c)}) for c in CHECKS),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
