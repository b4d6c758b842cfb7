"""Grids of problems: spec, cells, run, store.

Names are imported when they are first asked for: reading a store loads no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "Cell": "alignset.experiment.records",
    "Dask": "alignset.experiment.engines",
    "Experiment": "alignset.experiment.spec",
    "Local": "alignset.experiment.engines",
    "Outcome": "alignset.experiment.run",
    "Store": "alignset.experiment.store",
    "expand": "alignset.experiment.cells",
    "load_experiment": "alignset.experiment.spec",
    "load_experiments": "alignset.experiment.spec",
}
"""Public name -> the module it is imported from when first asked for; run is ``run.run``."""

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'alignset.experiment' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


if TYPE_CHECKING:
    from alignset.experiment.cells import expand as expand
    from alignset.experiment.engines import Dask as Dask
    from alignset.experiment.engines import Local as Local
    from alignset.experiment.records import Cell as Cell
    from alignset.experiment.run import Outcome as Outcome
    from alignset.experiment.spec import Experiment as Experiment
    from alignset.experiment.spec import load_experiment as load_experiment
    from alignset.experiment.spec import load_experiments as load_experiments
    from alignset.experiment.store import Store as Store
