"""The fitted models of a blend as plain data: a list in which a model may only name earlier ones.

A piece says what kind it is, how many features it reads and how many classes it knows; its numbers
are arrays named ``i/name``, i its place in the list. A chain of models names its two parts by their
place, so that a model that several candidates share is kept once, and no list can loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from alignset.learners.base import Constant, Predictor
from alignset.learners.foreign import ForeignPredictor
from alignset.learners.linear import LinearPredictor
from alignset.learners.network import NetworkPredictor
from alignset.learners.strategies.base import Chained
from alignset.learners.trees import TreesPredictor
from alignset.model.checked import checked_array, checked_count, checked_names, checked_present
from alignset.model.network import Arrays, Network
from alignset.model.nodes import arrays_of_trees, checked_raw, told_raw, trees_of_arrays
from alignset.rows.features import no_scale

MAX_DEPTH = 4
"""Chains inside chains; a chain asks both of its models, so that each level may double the work."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A model, the number of features it reads, and how deep its chains go."""

    model: Predictor
    inputs: int
    classes: int
    depth: int = 0


@dataclass(eq=False)
class Packing:
    """Pieces as they are collected: descriptions, arrays, and classifiers of the user's own."""

    about: list[dict[str, Any]] = field(default_factory=list)
    arrays: Arrays = field(default_factory=dict)
    foreign: list[Any] = field(default_factory=list)
    places: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, model: Predictor, inputs: int, classes: int) -> int:
        """Add a model that reads ``inputs`` features, unless it is there; return its place."""
        key = id(model), inputs
        if key not in self.places:
            kind, told, arrays = self._describe(model, inputs, classes)
            place = self.places[key] = len(self.about)
            self.about.append({"kind": kind, "inputs": inputs, "classes": classes, **told})
            self.arrays |= {f"{place}/{name}": values for name, values in arrays.items()}
        return self.places[key]

    def _describe(
        self, model: Any, inputs: int, classes: int
    ) -> tuple[str, dict[str, Any], Arrays]:
        """Return a model's kind, what JSON can say of it, and its arrays."""
        kind = type(model)  # a class that inherits from ours may predict otherwise
        if kind is LinearPredictor:
            return "linear", {}, {"coef": model.coef, "intercept": model.intercept}
        if kind is TreesPredictor:
            told = {"n_rows": int(model.n_rows)}
            return "trees", {**told, **told_raw(model.raw)}, arrays_of_trees(model)
        if kind is Constant:
            return "constant", {}, {"odds": model.odds}
        if kind is Chained:
            return "chained", self._chain(model, inputs, classes), {}
        if kind is NetworkPredictor:
            network = Network.of(model.ensemble, no_scale(inputs), model.method)
            told, arrays = network.to_data()
            own = {name: v for name, v in arrays.items() if not name.startswith("scale/")}
            return "network", {"network": told}, own
        if kind is ForeignPredictor:
            return "foreign", self._own(model), {"present": model.present.astype(np.int64)}
        raise ValueError(
            f"a blend with a {kind.__name__} cannot be saved: its code is not part of alignset, "
            "and a model folder holds no code; use alignset's learners, or pass a scikit-learn "
            "classifier as estimator=."
        )

    def _chain(self, model: Chained, inputs: int, classes: int) -> dict[str, Any]:
        features = bool(model.with_features)
        base = self.add(model.base, inputs, classes)
        head = self.add(model.head, inputs * features + classes - 1, classes)
        return {"base": base, "head": head, "with_features": features}

    def _own(self, model: ForeignPredictor) -> dict[str, Any]:
        self.foreign.append(model.model)
        kind = type(model.model)
        return {
            "place": len(self.foreign) - 1,
            "type": f"{kind.__module__}.{kind.__qualname__}",
            "n_rows": int(model.n_rows),
        }


@dataclass(frozen=True, eq=False)
class Unpacking:
    """What pieces are rebuilt from: earlier pieces, and classifiers of the user's own."""

    about: dict[str, Any]
    arrays: Arrays  # the piece's own
    before: Sequence[Piece]
    foreign: Sequence[Any]
    inputs: int
    classes: int

    def array(self, name: str, shape: tuple[int | None, ...], dtype: Any = np.float64) -> Any:
        """Return an array of the piece; None in a shape is any length."""
        return checked_array(self.arrays, name, shape, dtype)

    def names(self, *names: str) -> None:
        """Refuse arrays that the piece does not have."""
        checked_names(self.arrays, set(names))

    def earlier(self, name: str, inputs: int) -> Piece:
        """Return an earlier piece that reads so many features and knows the same classes."""
        place = checked_count(self.about[name], len(self.before) - 1, name)
        found = self.before[place]
        if (found.inputs, found.classes) != (inputs, self.classes):
            raise ValueError(f"manifest.json chains models that do not fit ({name} of a chain)")
        return found


def unpack(
    about: Any, arrays: Arrays, foreign: Sequence[Any], most: tuple[int, int]
) -> list[Piece]:
    """Rebuild pieces; refuse whatever :class:`Packing` would not have written.

    No piece may read more features or know more classes than ``most`` says.
    """
    if not isinstance(about, list):
        raise ValueError("manifest.json must list the models of a blend")
    found: list[Piece] = []
    for place, each in enumerate(about):
        rebuild = KINDS.get(each["kind"])
        if rebuild is None:
            raise ValueError(f"manifest.json names an unknown model ({each['kind']!r})")
        own = {
            name.removeprefix(f"{place}/"): values
            for name, values in arrays.items()
            if name.startswith(f"{place}/")
        }
        inputs = checked_count(each["inputs"], most[0], "inputs")
        classes = checked_count(each["classes"], most[1], "classes")
        model, depth = rebuild(Unpacking(each, own, found, foreign, inputs, classes))
        if depth > MAX_DEPTH:
            raise ValueError(f"manifest.json chains more than {MAX_DEPTH} models")
        found.append(Piece(model, inputs, classes, depth))
    return found


def _linear(at: Unpacking) -> tuple[Predictor, int]:
    at.names("coef", "intercept")
    coef = at.array("coef", (at.classes, at.inputs))
    return LinearPredictor(coef, at.array("intercept", (at.classes,))), 0


def _constant(at: Unpacking) -> tuple[Predictor, int]:
    at.names("odds")
    return Constant(at.array("odds", (at.classes,))), 0


def _trees(at: Unpacking) -> tuple[Predictor, int]:
    n_rows = checked_count(at.about["n_rows"], 1 << 53, "n_rows")
    raw = checked_raw(at.about, at.inputs)
    return trees_of_arrays(at.arrays, at.inputs, at.classes, n_rows, raw), 0


def _chained(at: Unpacking) -> tuple[Predictor, int]:
    at.names()
    features = at.about["with_features"]
    if not isinstance(features, bool):
        raise ValueError(f"with_features must be true or false, got {features!r}")
    base = at.earlier("base", at.inputs)
    head = at.earlier("head", at.inputs * features + at.classes - 1)
    return Chained(base.model, head.model, features), 1 + max(base.depth, head.depth)


def _network(at: Unpacking) -> tuple[Predictor, int]:
    if [name for name in at.arrays if name.startswith("scale/")]:
        raise ValueError("weights.safetensors does not match the described model ('scale')")
    told = at.about["network"]
    if (told["n_features"], told["n_classes"]) != (at.inputs, at.classes):
        raise ValueError("manifest.json describes a network that does not fit its blend")
    scale = {f"scale/{name}": values for name, values in vars(no_scale(at.inputs)).items()}
    network = Network.from_data(told, {**at.arrays, **scale})
    return NetworkPredictor(network.ensemble, network.fits.method), 0


def _foreign(at: Unpacking) -> tuple[Predictor, int]:
    at.names("present")
    place = checked_count(at.about["place"], len(at.foreign) - 1, "place")
    n_rows = checked_count(at.about["n_rows"], 1 << 53, "n_rows")
    present = checked_present(at.array("present", (None,), np.int64), at.classes)
    model = at.foreign[place]
    _check_answers(model, at.inputs, len(present))
    return ForeignPredictor(model, present, at.classes, n_rows), 0


def _check_answers(model: Any, inputs: int, classes: int) -> None:
    """Ask a classifier that is not ours about one row: whatever it does wrong, it is refused."""
    try:
        said = np.asarray(model.predict_proba(np.zeros((1, inputs))), dtype=np.float64)
    except Exception as error:
        raise ValueError(f"its {type(model).__name__} cannot predict ({error!r})") from None
    if said.shape != (1, classes):
        raise ValueError(
            f"its {type(model).__name__} answers in the shape {said.shape}, expected {(1, classes)}"
        )


KINDS: dict[str, Callable[[Unpacking], tuple[Predictor, int]]] = {
    "linear": _linear,
    "trees": _trees,
    "constant": _constant,
    "chained": _chained,
    "network": _network,
    "foreign": _foreign,
}
"""Kind of a piece -> what checks and rebuilds it, with its depth; nothing else is ever built."""
