"""Studies of the paper's results: grids of problems, runs, stores, claims and result pages.

Names are imported when they are first used, so that reading a store does not load torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from alignset.extras import need

if TYPE_CHECKING:
    from alignset.study.cells import expand
    from alignset.study.claims import Claim, Verdict
    from alignset.study.displays import Bars, Curves, Panels
    from alignset.study.engines import Dask, Local
    from alignset.study.publication import FigureSpec, Publication
    from alignset.study.records import Cell
    from alignset.study.reproduction import Reproduction
    from alignset.study.run import Outcome
    from alignset.study.spec import Experiment, load_experiment, load_experiments
    from alignset.study.store import Store

__all__ = [
    "Bars", "Cell", "Claim", "Curves", "Dask", "Experiment", "FigureSpec", "Local", "Outcome",
    "Panels", "Publication", "Reproduction", "Store", "Verdict", "expand", "load_experiment",
    "load_experiments",
]  # fmt: skip

_HOME = {
    "cells": "expand", "claims": "Claim Verdict", "displays": "Bars Curves Panels",
    "engines": "Dask Local", "publication": "FigureSpec Publication", "records": "Cell",
    "reproduction": "Reproduction", "run": "Outcome", "store": "Store",
    "spec": "Experiment load_experiment load_experiments",
}  # fmt: skip
"""Module -> its public names; run is ``run.run``."""

need("a study", "msgspec")


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names.split():
            return getattr(import_module(f"alignset.study.{module}"), name)
    raise AttributeError(f"module 'alignset.study' has no attribute {name!r}")
