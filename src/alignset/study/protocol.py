"""A protocol: what all experiments of a study share, read from a table of a TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alignset.methods.registry import METHODS
from alignset.rows.selection import HOW
from alignset.study.datasets import FEATURES, GENERATED, SOURCE_NAMES
from alignset.study.methods import describe_made, describe_method, method_classes
from alignset.study.problems import NOISE_KINDS
from alignset.study.section import Section, is_number, read_toml

Plain = dict[str, Any]

SCORES = ("paper", "fpr", "released", "likelihood")
STOPPING = {"patience": "epochs", "block_mean": "length", "fixed_length": None}
"""Stopping rule -> its whole-number setting."""


@dataclass(frozen=True)
class Protocol:
    """How data sets are drawn and methods are trained, as plain data.

    Parameters
    ----------
    name : str
    redraw : bool
        Replications redraw data and noise; otherwise only the split.
    search : {"shared", "own"}
        All replications try the same configs, or each draws its own.
    trainer : mapping
        ``score``, ``stopping``, ``max_epochs``, ``n_batches``, ``last_relu``.
    noise, review : mapping
        Defaults under what an experiment says.
    datasets : mapping of str to mapping
        ``data``, ``hidden``, and ``noise`` and ``review`` that go before the experiment's.
    methods : mapping of str to mapping
        ``method``, the method's own ``stopping``, if it has one, and ``fitting``: ``folds`` to
        cross-fit over A, ``ensemble`` of the best configs, ``review_weights``; empty by default.
    file : Path
    """

    name: str
    redraw: bool
    search: str
    trainer: Mapping[str, Any]
    noise: Mapping[str, Any]
    review: Mapping[str, Any]
    datasets: Mapping[str, Mapping[str, Any]]
    methods: Mapping[str, Mapping[str, Any]]
    file: Path

    def method(self, name: str) -> Mapping[str, Any]:
        """Return a method by its name here, or else by the library's."""
        if name in self.methods:
            return self.methods[name]
        if name not in METHODS:
            accepted = ", ".join(sorted({*self.methods, *METHODS}))
            raise ValueError(f"no method {name!r}; there are {accepted}.")
        return {"method": describe_made(METHODS[name]()), "stopping": None}


def read_protocol(path: Path, name: str) -> Protocol:
    """Read the protocol ``name`` of a file; every table at its top is a protocol."""
    top = read_toml(path)
    if name not in top:
        raise ValueError(f"{path} has no protocol {name!r}; it has {', '.join(top)}.")
    table = Section(top, path).section(name)
    datasets, methods = table.section("datasets"), table.section("methods")
    protocol = Protocol(
        name=name,
        redraw=table.flag("redraw", True),
        search=table.text("search", "shared", among=("shared", "own")),
        trainer=_read_trainer(table.section("trainer")),
        noise=read_noise(table.section("noise")),
        review=read_review(table.section("review")),
        datasets={key: _read_dataset(datasets.section(key)) for key in datasets.values},
        methods={key: _read_method(methods.section(key)) for key in methods.values},
        file=path,
    )
    table.close()
    return protocol


def read_noise(table: Section) -> Plain:
    """Read ``[noise]``; keys that are not there are not in the result either."""
    found: Plain = {}
    if "kind" in table.values:
        found["kind"] = table.text("kind", among=NOISE_KINDS)
    if "rate" in table.values:
        found["rate"] = table.share("rate")
    if "lowest" in table.values:
        found["lowest"] = table.flag("lowest")
    table.asked += ["kind", "rate", "lowest"]
    table.close()
    return found


def read_review(table: Section) -> Plain:
    """Read ``[review]``; keys that are not there are not in the result either."""
    keys = ("share", "composition", "test", "validation")
    found = {key: table.share(key) for key in keys if key in table.values}
    composition = found.get("composition")
    if composition is not None and (
        not isinstance(composition, list) or abs(sum(composition) - 1) > 1e-6
    ):
        raise table.refuse("composition", "one share per group that sum to 1")
    table.asked += keys
    table.close()
    return found


def _read_trainer(table: Section) -> Plain:
    plain = {
        "score": table.text("score", "paper", among=SCORES),
        "stopping": _read_stopping(table.section("stopping")) or {"rule": "patience", "epochs": 10},
        "max_epochs": table.whole("max_epochs", 200),
        "n_batches": table.whole("n_batches", 5),
        "last_relu": table.flag("last_relu", True),
    }
    table.close()
    return plain


def _read_stopping(table: Section) -> Plain | None:
    if not table.values:
        return None
    rule = table.text("rule", among=STOPPING)
    size = STOPPING[rule]
    plain = {"rule": rule, **({size: table.whole(size, 10)} if size else {})}
    table.close()
    return plain


def _read_dataset(table: Section) -> Plain:
    source = table.text("source", among=SOURCE_NAMES)
    data: Plain = {"source": source}
    if source in GENERATED:
        data["rows"] = table.whole("rows", 5000, least=10)
    if source in FEATURES:
        data["features"] = table.text("features", "paper", among=FEATURES[source])
    if source == "adult":
        data["n_train"] = table.whole("n_train", 1000)
    plain = {
        "data": data,
        "hidden": table.whole("hidden"),
        "noise": read_noise(table.section("noise")),
        "review": read_review(table.section("review")),
    }
    table.close()
    return plain


def _read_method(table: Section) -> Plain:
    name = table.text("class", among=sorted(method_classes()))
    fully_reviewed = table.flag("fully_reviewed", False)
    stopping = _read_stopping(table.section("stopping"))
    fitting = _read_fitting(table)
    own = {k: v for k, v in table.values.items() if k not in table.asked}
    try:
        method = describe_method(name, own, fully_reviewed=fully_reviewed)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{table.file}: [{table.name}] {error}") from None
    if fitting and fully_reviewed:
        raise ValueError(f"{table.file}: [{table.name}] clean labels take no {min(fitting)}.")
    return {"method": method, "stopping": stopping, "fitting": fitting}


def _read_fitting(table: Section) -> Plain:
    """Read how a method is fitted beyond one search; what is not there is not in the result."""
    found: Plain = {}
    if "folds" in table.values:
        found["folds"] = table.whole("folds", least=2)
    if "ensemble" in table.values:
        found["ensemble"] = table.whole("ensemble", least=2)
    if "review_weights" in table.values:
        found["review_weights"] = table.text("review_weights", among=HOW)
    return found


def read_config(table: Section) -> dict[str, float]:
    """Read ``[config]``: hyperparameters that are fixed instead of searched."""
    for key, value in table.values.items():
        if not is_number(value):
            raise table.refuse(key, "a number")
    return {key: float(value) for key, value in table.values.items()}
