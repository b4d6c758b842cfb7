"""Expand an experiment into cells, each with its recipe, and group cells to train together."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict, replace

from alignset.study.datasets import absence, content_of
from alignset.study.recipe import NoiseSpec, Recipe, ReviewSpec, SearchSpec, TrainerSpec
from alignset.study.records import Cell, as_json
from alignset.study.spec import Experiment, Setting

REPLICAS = {"cpu": 200, "cuda": 2000}
"""Replicas per cohort: the most that is lost when a run is killed."""

WIDE = 100
"""Hidden width above which cohorts get smaller in proportion."""

Cohort = Sequence[Cell]
"""Cells of one method, one data set and one set of configs."""

_NOISE = NoiseSpec(kind="by_features", lowest=False)
_REVIEW = ReviewSpec(share=0.10, test=0.2, validation=0.5)


def expand(experiment: Experiment) -> tuple[list[Cell], dict[str, str]]:
    r"""Return the cells of an experiment, in a fixed order, and why data sets are skipped.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from alignset.study import load_experiment
    >>> rules = '[mine.datasets.toy]\nsource = "synthetic"\nhidden = 10\n'
    >>> text = 'name = "toy"\ndatasets = ["toy"]\nmethods = ["standard"]\n'
    >>> text += 'protocol = "rules.toml#mine"\nseeds = 2\n[noise]\nrate = 0.3\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rules.toml").write_text(rules)
    ...     _ = Path(folder, "toy.toml").write_text(text)
    ...     cells, skipped = expand(load_experiment(Path(folder, "toy.toml")))
    >>> [cell.seed for cell in cells], skipped
    ([0, 1], {})
    """
    cells: list[Cell] = []
    skipped: dict[str, str] = {}
    for dataset in experiment.datasets:
        source = experiment.protocol.datasets[dataset].source
        reason = absence(source)
        if reason is not None:
            skipped[dataset] = reason
            continue
        content = content_of(source)
        cells += [
            _cell(experiment, dataset, content, setting, method, seed)
            for setting in experiment.settings
            for method in setting.methods or experiment.methods
            for seed in range(experiment.seeds)
        ]
    return cells, skipped


def _cell(
    experiment: Experiment, dataset: str, content: str, setting: Setting, method: str, seed: int
) -> Cell:
    rules = experiment.protocol
    place, entry = rules.datasets[dataset], rules.method(method)
    layers = (rules, experiment, place, setting)  # the varied values win
    noise = _NOISE.over(*(layer.noise for layer in layers))
    if noise.rate is None and noise.kind != "observed":
        raise ValueError(
            f"{experiment.file}: [noise] rate is missing; set it there, vary it, or set it in the "
            "protocol."
        )
    training = {**asdict(rules.trainer), "hidden": place.hidden}
    recipe = Recipe(
        data=place.data(content),
        noise=noise,
        review=_REVIEW.over(*(layer.review for layer in layers)),
        method=entry.method,
        fitting=entry.fitting,
        trainer=TrainerSpec(**{**training, "stopping": entry.stopping or rules.trainer.stopping}),
        search=SearchSpec(
            space=experiment.ranges(dataset, method),
            configs=experiment.configs,
            seed=seed if rules.search == "own" else 0,
            fixed={**experiment.config, **setting.config},
        ),
        redraw=rules.redraw,
        seed=seed,
    )
    names = (experiment.name, rules.name, dataset, method, experiment.x_name)
    return Cell(*names, setting.x, seed, recipe)


def group_cells(cells: Sequence[Cell], *, limit: int) -> list[Cohort]:
    """Cut cells into cohorts of about ``limit`` replicas.

    Membership depends on the cells of the grid and the limit, never on what is already done: when
    a run that was killed is started again, it trains the same stacks it would have trained.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        # what the cells of one stack have in common: everything but noise, review and seed
        rest = replace(cell.recipe, noise=NoiseSpec(), review=ReviewSpec(), seed=0, redraw=True)
        kind = as_json([cell.experiment, cell.protocol, cell.dataset, cell.method, rest])
        groups.setdefault(kind, []).append(cell)
    cohorts: list[Cohort] = []
    for group in groups.values():
        narrow = min(1.0, WIDE / group[0].recipe.trainer.hidden)
        size = max(1, int(limit * narrow) // group[0].replicas)
        cohorts += [group[start : start + size] for start in range(0, len(group), size)]
    return cohorts
