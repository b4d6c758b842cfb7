"""Expand an experiment into cells, each with a recipe of everything that decides its result."""

from __future__ import annotations

from typing import Any

from alignset.study.datasets import absence, content_of
from alignset.study.records import Cell
from alignset.study.spec import Experiment, Setting

RESULT_VERSION = 1
"""Part of every key; raise it when data, noise, split, engine or metrics change a result."""

_REVIEW = {"share": 0.10, "composition": None, "test": 0.2, "validation": 0.5}
_NOISE = {"kind": "by_features", "lowest": False}


def expand(experiment: Experiment) -> tuple[list[Cell], dict[str, str]]:
    r"""Return the cells of an experiment, in a fixed order.

    Returns
    -------
    cells : list of Cell
    skipped : dict
        Data set -> why it cannot be used here.

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
        source = experiment.protocol.datasets[dataset]["data"]["source"]
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
    recipe = {
        "version": RESULT_VERSION,
        "data": {**place["data"], "content": content},
        "redraw": rules.redraw,
        "noise": _merged(experiment, dataset, setting, "noise", _NOISE),
        "review": _merged(experiment, dataset, setting, "review", _REVIEW),
        "seed": seed,
        "method": entry["method"],
        **({"fitting": entry["fitting"]} if entry.get("fitting") else {}),
        "trainer": {
            **rules.trainer,
            "hidden": place["hidden"],
            **({"stopping": entry["stopping"]} if entry["stopping"] else {}),
        },
        "search": {
            "space": experiment.ranges(dataset, method),
            "configs": experiment.configs,
            "seed": seed if rules.search == "own" else 0,
            "fixed": {**experiment.config, **setting.config},
        },
    }
    names = (experiment.name, rules.name, dataset, method, experiment.x_name)
    return Cell(*names, setting.x, seed, recipe)


def _merged(
    experiment: Experiment, dataset: str, setting: Setting, part: str, default: dict[str, Any]
) -> dict[str, Any]:
    """Merge from the most general to the most special: what is varied wins."""
    rules = experiment.protocol
    layers = (getattr(rules, part), getattr(experiment, part), rules.datasets[dataset][part])
    merged = dict(default)
    for layer in (*layers, getattr(setting, part)):
        merged.update(layer)
    if part == "noise" and "rate" not in merged and merged["kind"] != "observed":
        raise ValueError(
            f"{experiment.file}: [noise] rate is missing; give it there, vary it, or let the "
            "protocol say it."
        )
    return merged
