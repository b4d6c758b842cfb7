"""The paper's side: grids of problems, runs, stores, claims, pages of results.

Names are imported when they are first asked for: reading a store loads no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "Bars": "alignset.study.displays",
    "Cell": "alignset.study.records",
    "Claim": "alignset.study.claims",
    "Curves": "alignset.study.displays",
    "Dask": "alignset.study.engines",
    "Experiment": "alignset.study.spec",
    "FigureSpec": "alignset.study.publication",
    "Local": "alignset.study.engines",
    "Outcome": "alignset.study.run",
    "Panels": "alignset.study.displays",
    "Publication": "alignset.study.publication",
    "Reproduction": "alignset.study.reproduction",
    "Store": "alignset.study.store",
    "Verdict": "alignset.study.claims",
    "expand": "alignset.study.cells",
    "load_experiment": "alignset.study.spec",
    "load_experiments": "alignset.study.spec",
}
"""Public name -> the module it is imported from when first asked for; run is ``run.run``."""

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'alignset.study' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


if TYPE_CHECKING:
    from alignset.study.cells import expand as expand
    from alignset.study.claims import Claim as Claim
    from alignset.study.claims import Verdict as Verdict
    from alignset.study.displays import Bars as Bars
    from alignset.study.displays import Curves as Curves
    from alignset.study.displays import Panels as Panels
    from alignset.study.engines import Dask as Dask
    from alignset.study.engines import Local as Local
    from alignset.study.publication import FigureSpec as FigureSpec
    from alignset.study.publication import Publication as Publication
    from alignset.study.records import Cell as Cell
    from alignset.study.reproduction import Reproduction as Reproduction
    from alignset.study.run import Outcome as Outcome
    from alignset.study.spec import Experiment as Experiment
    from alignset.study.spec import load_experiment as load_experiment
    from alignset.study.spec import load_experiments as load_experiments
    from alignset.study.store import Store as Store
