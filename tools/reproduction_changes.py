"""What reproduction_variants.py can change: methods, rows, recipes and the table of COMPAS."""

import io
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from msgspec.structs import replace as with_
from reproduction_variants import Change, Place, cells_at
from torch import Tensor

from alignset.data import Table, sources
from alignset.data.cache import read
from alignset.data.compas import COMPAS_RELEASED, _column, _filter
from alignset.labels import UNREVIEWED
from alignset.methods import Alignment, FairGPL, Method, SLNFilter
from alignset.methods.base import Batch, Hyper, Nets, Stage
from alignset.rows import Part, Problem
from alignset.rows.review import pick
from alignset.stack import cross_entropy
from alignset.study.recipe import RangeSpec, Recipe

DRAWS = 5
"""Draws of what only chance decides."""

MOST_EPOCHS = 199
PAPER_METHODS = ("clean", "standard", "sln_filter", "js", "transition", "csidn", "fair_gpl")
NOTHING = Change("nothing")


# ---- methods with one thing put back as the authors' code has it


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


class StoppedInBurnIn(SLNFilter):
    """SLN + Filter as released in one point: early stopping looks at the burn-in, too."""

    def stages(self) -> tuple[Stage, ...]:
        """Return one stage: the steps of the burn-in, then those of the filter."""
        first, then = (stage.steps for stage in super().stages())
        return (Stage("all", first * self.burn_in + then * (MOST_EPOCHS - self.burn_in)),)


def as_class(kind: type[Method], method: Method) -> Method:
    """Return the method with its fields, of another class."""
    return kind(**{f.name: getattr(method, f.name) for f in fields(method)})


# ---- rows


def unreviewed(whole: Problem, recipe: Recipe, divide: Any = NOTHING.divide) -> Problem:
    """Hide the reviewed labels of the training rows; the validation rows keep theirs."""
    problem = divide(whole, recipe)
    nobody = np.full_like(problem.train.y_true, UNREVIEWED)
    return replace(problem, train=replace(problem.train, y_true=nobody))


def same_start(whole: Problem, recipe: Recipe, divide: Any = NOTHING.divide) -> Problem:
    """Start every replication from the same weights."""
    return replace(divide(whole, recipe), seed=0)


def _draw(rows: Any, by: Any, share: float, rng: np.random.Generator) -> Any:
    sizes = np.bincount(by[rows])
    return rows[pick(by[rows], np.round(share * sizes).astype(int), rng)]


def _cut(parts: tuple[Any, Any, Any, Any], rows: Any, known: Any, clean: bool) -> Part:
    X, seen, truth, group = parts
    y = np.where(np.isin(rows, known), truth[rows], UNREVIEWED)
    return Part(X[rows], truth[rows] if clean else seen[rows], truth[rows] if clean else y,
                group[rows])  # fmt: skip


def by_observed(whole: Problem, recipe: Recipe) -> Problem:
    """Split by the observed label, 76 / 4 / 20, and review by group: the released way."""
    assert whole.test is not None
    assert whole.truth is not None
    X, seen, group = (
        np.concatenate([getattr(p, name) for p in (whole.train, whole.test)])
        for name in ("X", "y_seen", "group")
    )
    truth = np.concatenate([whole.truth, whole.test.y_true])
    share = recipe.review.share
    assert isinstance(share, float)
    rng, parts = np.random.default_rng(whole.seed), (X, seen, truth, group)
    every = np.arange(len(truth))
    test = _draw(every, seen, 0.20, rng)
    rest = np.setdiff1d(every, test)
    held = _draw(rest, seen, share / 2, rng)
    train = np.setdiff1d(rest, held)
    known = _draw(train, group, share / 2 / (1 - share / 2), rng)
    clean = recipe.method.fully_reviewed
    return replace(
        whole, train=_cut(parts, train, known, clean), validation=_cut(parts, held, held, False),
        test=_cut(parts, test, test, False), truth=truth[train],
    )  # fmt: skip


def adult_validation(whole: Problem, recipe: Recipe) -> Problem:
    """Validate on 200 of the 1 000 rows, all with true labels, and train on 760."""
    assert whole.truth is not None
    rows, share = whole.train, recipe.review.share
    assert isinstance(share, float)
    rng = np.random.default_rng(whole.seed)
    parts = (rows.X, rows.y_seen, whole.truth, rows.group)
    every = np.arange(len(rows))
    held = _draw(every, rows.y_seen, 0.20, rng)
    train = np.setdiff1d(every, held)
    train = np.setdiff1d(train, _draw(train, rows.y_seen, 0.05, rng))
    known = _draw(train, rows.group, share / 2 * len(rows) / len(train), rng)
    clean = recipe.method.fully_reviewed
    return replace(
        whole, train=_cut(parts, train, known, clean), validation=_cut(parts, held, held, False),
        truth=whole.truth[train],
    )  # fmt: skip


def unbiased_validation(whole: Problem, recipe: Recipe) -> Problem:
    """Validate on as many rows as before, drawn from all groups alike."""
    problem = NOTHING.divide(whole, recipe)
    assert whole.truth is not None
    rows = whole.train
    share = len(problem.validation) / len(rows)
    rng = np.random.default_rng(whole.seed)
    held = _draw(np.arange(len(rows)), rows.group, share, rng)
    return replace(problem, validation=replace(rows.take(held), y_true=whole.truth[held]))


def fewer(n: int) -> Callable[[Problem], Problem]:
    """Train and validate on n rows."""

    def cut(whole: Problem) -> Problem:
        assert whole.truth is not None
        rows = np.random.default_rng(whole.seed).permutation(len(whole.train))[:n]
        return replace(whole, train=whole.train.take(rows), truth=whole.truth[rows])

    return cut


def reviewed_only(whole: Problem) -> Problem:
    """Train on the reviewed rows alone."""
    assert whole.truth is not None
    rows = np.flatnonzero(whole.train.reviewed)
    return replace(whole, train=whole.train.take(rows), truth=whole.truth[rows])


# ---- recipes


def set_trainer(**values: Any) -> Callable[[Recipe], Recipe]:
    """Change how all methods are trained."""
    return lambda r: with_(r, trainer=with_(r.trainer, **values))


def set_search(**values: Any) -> Callable[[Recipe], Recipe]:
    """Change the random search."""
    return lambda r: with_(r, search=with_(r.search, **values))


def set_range(**ranges: RangeSpec) -> Callable[[Recipe], Recipe]:
    """Change ranges of the search."""
    return lambda r: with_(r, search=with_(r.search, space={**r.search.space, **ranges}))


def set_noise(**values: Any) -> Callable[[Recipe], Recipe]:
    """Change the noise."""
    return lambda r: with_(r, noise=with_(r.noise, **values))


def set_data(**values: Any) -> Callable[[Recipe], Recipe]:
    """Change the table."""
    return lambda r: with_(r, data=with_(r.data, **values))


def set_review(**values: Any) -> Callable[[Recipe], Recipe]:
    """Change the review."""
    return lambda r: with_(r, review=with_(r.review, **values))


def set_field(**values: Any) -> Callable[[Method], Method]:
    """Change fields of the method."""
    return lambda method: replace(method, **values)


def written_ranges(place: Place, method: str) -> Callable[[Recipe], Recipe]:
    """Search where the table of Appendix C says."""

    def change(recipe: Recipe) -> Recipe:
        space = cells_at(place, method, "as-written")[0].recipe.search.space
        return with_(recipe, search=with_(recipe.search, space=space))

    return change


def own_configs(recipe: Recipe) -> Recipe:
    """Draw other configs in every replication."""
    return with_(recipe, search=with_(recipe.search, seed=recipe.seed))


# ---- COMPAS, as its public variants have it


@cache
def compas_file() -> pd.DataFrame:
    """Return the rows of the public file."""
    return pd.read_csv(io.BytesIO(read(sources.COMPAS)["compas-scores-two-years.csv"]))


def compas(
    columns: Sequence[str] = COMPAS_RELEASED, *, label: str = "two_year_recid",
    group: Callable[[pd.DataFrame], Any] = lambda rows: rows["race"] != "Caucasian",
    keep: Callable[[pd.DataFrame], pd.DataFrame] = _filter, scale: str = "range",
) -> Callable[[Table], Table]:  # fmt: skip
    """Return the table with other columns, label, groups, rows or scaling."""

    def make(table: Table) -> Table:
        rows = keep(compas_file())
        X = np.column_stack([_any_column(rows, name, scale) for name in columns])
        if scale == "sd":
            X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-6)
        return replace(
            table, X=X.astype(np.float32), y=rows[label].to_numpy(dtype=np.int64),
            group=np.asarray(group(rows)).astype(np.int64), feature_names=tuple(columns),
            individuals=rows["id"].to_numpy(),
        )  # fmt: skip

    return make


def _any_column(rows: pd.DataFrame, name: str, scale: str) -> Any:
    if name == "score_factor":  # ProPublica's: medium or high risk
        return (rows["score_text"] != "Low").to_numpy(dtype=float)
    if name in ("decile_score", "age"):
        values = rows[name].to_numpy(dtype=float)
        return (values - values.min()) / np.ptp(values)
    if name == "Number_of_Priors" and scale == "none":
        return rows["priors_count"].to_numpy(dtype=float)
    return _column(rows, name)


def two_races(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep what many papers keep."""
    rows = _filter(rows)
    return rows[rows["race"].isin(["African-American", "Caucasian"])]


def is_of(name: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return ProPublica's rows with one of the indicators as a column, to be the label."""
    return lambda rows: _filter(rows).pipe(lambda kept: kept.assign(**{name: _column(kept, name)}))


def known_charge(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep everyone whose outcome is known."""
    return rows[rows["is_recid"] != -1]


def is_race(name: str) -> Callable[[pd.DataFrame], Any]:
    """Return a rule that tells who has a race."""
    return lambda rows: rows["race"] == name
