"""Data sets by name: whether they are available, what identifies their content, their tables."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from alignset.data import (
    Table,
    draw_train,
    load_adult,
    load_compas,
    load_mimic,
    load_nhanes,
    make_synthetic,
    make_synthetic_released,
)
from alignset.data.adult import ADULT_ALL, ADULT_PAPER, ADULT_RELEASED
from alignset.data.cache import cache_folder, inspect
from alignset.data.compas import COMPAS_PAPER, COMPAS_RELEASED
from alignset.data.mimic import find_files
from alignset.data.nhanes_tasks import DEFAULT, TaskName
from alignset.data.sources import SOURCES
from alignset.study.recipe import DataSpec

Coefficients = NDArray[np.float64] | None
Drawn = tuple[Table, Coefficients]
"""A table and, if its generator gives them, the coefficients of the noise."""

FEATURES: dict[str, dict[str, tuple[str, ...]]] = {
    "adult": {"paper": ADULT_PAPER, "released": ADULT_RELEASED, "all": ADULT_ALL},
    "compas": {"paper": COMPAS_PAPER, "released": COMPAS_RELEASED},
}
"""Source -> name of a set of columns -> columns."""

GENERATED: dict[str, Callable[..., Any]] = {
    "synthetic": make_synthetic,
    "synthetic_released": make_synthetic_released,
}
MIMIC: dict[str, Literal["ARF", "shock"]] = {"mimic_arf": "ARF", "mimic_shock": "shock"}


def mimic_folder() -> Path:
    """Return the folder of MIMIC-III's files: ``ALIGNSET_MIMIC``, or ``mimic`` in the cache."""
    named = os.environ.get("ALIGNSET_MIMIC")
    return Path(named).expanduser() if named else cache_folder() / "mimic"


def absence(source: str) -> str | None:
    """Return why a data set cannot be used here, and what to do about it; None if it can."""
    if source in SOURCES and {found.state for found in inspect(source)} != {"intact"}:
        return f"its files are not in {cache_folder()}; run `alignset data get {source}`"
    if source in MIMIC:
        try:
            content_of(source)
        except FileNotFoundError as error:
            return f"{error} Set ALIGNSET_MIMIC to the folder that has it"
    return None


def content_of(source: str) -> str:
    """Return what identifies the content: a hash of the files, or the name of a generator."""
    if source in GENERATED:
        return f"generator:{source}"
    if source in SOURCES:
        return "sha256:" + "+".join(file.sha256 for file in SOURCES[source].files)
    return _hash_mimic(mimic_folder(), MIMIC[source])


@lru_cache
def _hash_mimic(folder: Path, task: Literal["ARF", "shock"]) -> str:
    files, digest = find_files(folder, task), hashlib.sha256()
    population = sorted((folder / "population").glob(f"{files.label.removesuffix('_LABEL')}_4*"))
    stays = [files.stays] if files.stays.is_file() else []
    for path in (*sorted(files.features.iterdir()), *population, *stays):
        with path.open("rb") as stream:
            digest.update(f"{path.name}:".encode())
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return f"sha256:{digest.hexdigest()}"


def draw_table(data: DataSpec, seed: int) -> Drawn:
    """Make or load the table that ``data`` describes; the seed decides its rows, or which train."""
    if data.source in GENERATED:
        return _generated(data.source, data.rows, seed)
    here = content_of(data.source)
    if here != data.content:
        raise ValueError(
            f"{data.source} has the content {here[:24]}... on this machine, but the cell was made "
            f"for {data.content[:24]}...; put the same files on every machine."
        )
    table = _loaded(data.source, data.features, data.task)
    if data.n_train is not None:
        table = draw_train(table, data.n_train, random_state=seed)
    return table, None


@lru_cache(maxsize=16)
def _generated(source: str, rows: int | None, seed: int) -> Drawn:
    made = GENERATED[source](rows, random_state=seed)
    return made.table, made.noise_coefficients


@lru_cache(maxsize=2)
def _loaded(source: str, features: str | None, task: TaskName | None) -> Table:
    if source in MIMIC:
        return load_mimic(mimic_folder(), task=MIMIC[source])
    if source == "nhanes":
        return load_nhanes(task=task or DEFAULT, group="sex")
    load = {"adult": load_adult, "compas": load_compas}[source]
    return load(features=FEATURES[source][features or "paper"])
