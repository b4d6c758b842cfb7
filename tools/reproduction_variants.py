"""Run the paper's as-released cells with one thing changed: docs/reproduction/variants.csv.

    python tools/reproduction_variants.py --device cuda      # what the file does not have yet
    python tools/reproduction_variants.py --question compas  # one question; --list shows them
    python tools/reproduction_variants.py --spread           # spread.csv instead

A row is one change at one place of a figure, for one method: the mean over ten splits with 20
configs. "nothing" is the place unchanged; where only chance differs (other splits, configs, noise
coefficients or rows), there are several draws of it. What is changed: reproduction_runs.py.
spread.csv: how far apart the scores of the models chosen in the as-written Figure 2a are.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec.structs import replace as with_
from pages import DOCS, ROOT, save_csv

from alignset.data import Table
from alignset.data.synthetic import RELEASED_SEED
from alignset.engine.search import search, trainable
from alignset.methods import Method
from alignset.rows import Problem, split
from alignset.rows.divide import Division, distinct
from alignset.study import expand, load_experiment
from alignset.study.datasets import draw_table
from alignset.study.methods import draw_variants
from alignset.study.problems import _stream, flip
from alignset.study.recipe import Recipe
from alignset.study.records import Cell
from alignset.study.training import build_trainer, measure

FILE = DOCS / "reproduction" / "variants.csv"
PAPER = ROOT / "paper/chil2023"
GRIDS = {
    "noise_rate": "figure2a.toml", "noise_disparity": "figure2b.toml",
    "alignment_size": "figure3a.toml", "alignment_bias": "figure3b.toml",
    "ablation": "ablation.toml",
}  # fmt: skip
KEYS = ["question", "experiment", "dataset", "x", "method", "change", "draw"]
METRICS = ["hm_released", "auroc", "aueoc_released", "hm", "auroc_minority"]

Place = tuple[str, str, float]


def undivided(whole: Problem, recipe: Recipe) -> Problem:
    """Set aside half of the reviewed rows, as the study does."""
    clean = recipe.method.fully_reviewed
    rows = whole.train
    if clean:
        assert whole.truth is not None
        rows = replace(rows, y_seen=whole.truth)
    assert recipe.review.validation is not None
    division = Division(None, recipe.review.validation, None)
    (found,) = division.problems(
        distinct(rows), whole.n_classes, whole.n_groups, seed=whole.seed, clean=clean
    )
    return replace(found, test=whole.test)


@dataclass(frozen=True)
class Change:
    """One thing that is different; what is left out is as the protocol has it."""

    name: str
    recipe: Callable[[Recipe], Recipe] = lambda recipe: recipe
    table: Callable[[Table], Table] = lambda table: table
    coefficients: Callable[[Any], Any] = lambda coefficients: coefficients
    whole: Callable[[Problem], Problem] = lambda whole: whole
    divide: Callable[[Problem, Recipe], Problem] = undivided
    method: Callable[[Method], Method] = lambda method: method
    noise: int = 0  # which draw of the noise coefficients
    splits: int = 0  # which ten splits
    drawn: int = 0  # which rows of Adult train
    draw: int = 0  # which of several draws this is


@dataclass(frozen=True)
class Run:
    """A change at a place, for a method."""

    question: str
    place: Place
    method: str
    change: Change

    @property
    def key(self) -> list[Any]:
        """Return the first columns of its line."""
        return [self.question, *self.place, self.method, self.change.name, self.change.draw]


@cache
def cells_of(experiment: str, protocol: str) -> list[Cell]:
    """Return all cells of a figure."""
    return expand(load_experiment(PAPER / GRIDS[experiment], protocol=protocol))[0]


def cells_at(place: Place, method: str, protocol: str = "as-released") -> list[Cell]:
    """Return the ten cells of a place."""
    experiment, dataset, x = place
    cells = cells_of(experiment, protocol)
    return [c for c in cells if (c.dataset, c.method, c.x) == (dataset, method, x)]


def whole_of(recipe: Recipe, change: Change) -> Problem:
    """Draw, flip, review and split as ``build_problem`` does, with what the change asks for."""
    redraw, seed = recipe.redraw, recipe.seed
    first = RELEASED_SEED if recipe.data.source == "synthetic_released" else change.drawn
    table, coefficients = draw_table(recipe.data, _stream(seed, 0) if redraw else first)
    table, coefficients = change.table(table), change.coefficients(coefficients)
    if change.noise and coefficients is not None:
        rng = np.random.default_rng(change.noise)
        coefficients = np.r_[coefficients[0], rng.normal(0, 0.33, len(coefficients) - 1)]
    y_seen = flip(
        table, recipe.noise, coefficients, seed=_stream(seed if redraw else change.noise, 1)
    )
    how = {name: getattr(recipe.review, name) for name in ("share", "composition", "test")}
    return change.whole(split(table, y_seen, seed=seed, validation=None, **how))


def spread(method: str, x: float) -> float:
    """Return the SD of the test scores of the chosen models, Figure 2a as written, 5 splits."""
    recipes = [c.recipe for c in cells_at(("noise_rate", "synthetic", x), method, "as-written")[:5]]
    variants = draw_variants(recipes[0])
    problems = [undivided(whole_of(recipe, Change("nothing")), recipe) for recipe in recipes]
    folds = [trainable(variants[0].method, [problem]) for problem in problems]
    found = []
    trainer = build_trainer(recipes[0].trainer, "cpu", 1)
    for problem, kept in zip(problems, search(trainer, variants, folds), strict=True):
        assert problem.test is not None
        found.append(kept.ensemble.probability(problem.test.X)[:, 1].std())
    return float(np.mean(found))


def save_spread() -> None:
    """Write spread.csv."""
    places = [(m, x) for m in ("clean", "standard", "csidn", "js", "proposed") for x in (0.3, 0.6)]
    rows = [(method, x, round(spread(method, x), 5)) for method, x in places]
    save_csv(FILE.parent / "spread.csv", pd.DataFrame(rows, columns=["method", "x", "sd"]))


def run(asked: Run, device: str) -> list[dict[str, float]]:
    """Return the metrics of the ten splits."""
    change, cells = asked.change, cells_at(asked.place, asked.method)
    recipes = [
        change.recipe(with_(c.recipe, seed=c.seed + len(cells) * change.splits)) for c in cells
    ]
    stacks: dict[int, list[Recipe]] = {}
    for recipe in recipes:
        stacks.setdefault(recipe.search.seed, []).append(recipe)
    found = []
    for stack in stacks.values():
        variants = [replace(v, method=change.method(v.method)) for v in draw_variants(stack[0])]
        problems = [change.divide(whole_of(recipe, change), recipe) for recipe in stack]
        folds = [trainable(variants[0].method, [problem]) for problem in problems]
        trainer = build_trainer(stack[0].trainer, device, None)
        for problem, kept in zip(problems, search(trainer, variants, folds), strict=True):
            assert problem.test is not None
            found.append(measure(problem.test, kept.ensemble.probability(problem.test.X)))
    return found


def row_of(asked: Run, device: str) -> dict[str, Any]:
    """Return a line of the file."""
    found = pd.DataFrame(run(asked, device))[METRICS]
    sd = found["hm_released"].std()
    return {**dict(zip(KEYS, asked.key, strict=True)), **found.mean(), "sd": sd, "n": len(found)}


def main() -> None:
    """Run what the file does not have."""
    from reproduction_runs import RUNS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--question", action="append", help="By default all.")
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--part", default="0/1", help="I/N: every N-th run, from the I-th on.")
    parser.add_argument("--spread", action="store_true", help="Make spread.csv instead.")
    options = parser.parse_args()
    if options.spread:
        save_spread()
        return
    part, parts = map(int, options.part.split("/"))
    chosen = [r for r in RUNS if not options.question or r.question in options.question]
    table = pd.read_csv(options.out) if options.out.exists() else pd.DataFrame(columns=KEYS)
    had = {tuple(map(str, key)) for key in table[KEYS].itertuples(index=False)}
    for asked in chosen[part::parts]:
        if options.list:
            sys.stdout.write(f"{asked.key}\n")
        if options.list or tuple(map(str, asked.key)) in had:
            continue
        try:
            row = row_of(asked, options.device)
        except ValueError as error:
            sys.stdout.write(f"{asked.key}: {error}\n")
            continue
        table = pd.DataFrame([*table.to_dict("records"), row])
        save_csv(options.out, table.round(5))
        sys.stdout.write(f"{asked.key}: {row['hm_released']:.3f}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
