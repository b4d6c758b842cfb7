"""A fitted blend as plain data: pieces of known kinds, their weights, and how they did."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.learners.blended import Blended
from alignset.learners.stacking import BlendWeights
from alignset.learners.standing import CandidateScore
from alignset.learners.table import Candidates
from alignset.model.checked import UNKNOWN, checked_array, checked_count
from alignset.model.foreign import ESTIMATORS, dump_estimators
from alignset.model.network import Arrays
from alignset.model.pieces import Packing, Piece, unpack
from alignset.rows.features import Scale

NAME = "blend"
OWN = ("weights", "intercept")
UNUSED = "offsets"
"""An array that folders held before models were recalibrated, and that nothing ever used."""


@dataclass(frozen=True, eq=False)
class BlendModel:
    """A fitted blend, and the scale of its inputs.

    Examples
    --------
    >>> from alignset.learners.base import Constant
    >>> said, scale = Constant(np.array([-0.5, 0.5])), Scale(np.zeros(3), np.ones(3))
    >>> weights = BlendWeights(np.ones(1), np.zeros(2), 10.0)
    >>> model = BlendModel(Blended((said,), weights, said, ()), scale)
    >>> model.probability(np.zeros((1, 3))).round(3)
    array([[0.269, 0.731]])
    """

    blended: Blended
    scale: Scale

    kind, schema = NAME, 3
    """What a folder calls it, and which version of the folder can hold it."""

    @property
    def members(self) -> int:
        """Number of candidates that count."""
        return int((self.blended.weights.v > 0).sum())

    @property
    def n_features(self) -> int:
        """Number of features it reads."""
        return len(self.scale.centre)

    @property
    def n_classes(self) -> int:
        """Number of classes it knows."""
        return len(self.blended.weights.intercept)

    @property
    def method_name(self) -> str:
        """Name of what was trained."""
        return NAME

    @property
    def candidates(self) -> Candidates:
        """How every candidate did, those of weight zero included."""
        return Candidates(self.blended.candidates, judged=self.blended.judged)

    def probability(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities (n, K)."""
        return self.blended.probability(self.scale(X))

    def confidence(self, X: Any, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """P(the observed label is right) (n,) for class codes."""
        return self.blended.confidence(self.scale(X), codes)

    def to_data(self) -> tuple[dict[str, Any], Arrays]:
        """Return a description that JSON can hold, and arrays; see :meth:`files` for the rest."""
        packing, models, right = self._packed()
        blend, used = self.blended, self.blended.weights.v > 0
        about = {
            "kind": NAME,
            "method": {"name": NAME, "settings": {}},
            "members": self.members,
            "n_features": self.n_features,
            "n_classes": self.n_classes,
            "candidates": [_plain(each) for each in blend.candidates],
            "shrinkage": float(blend.weights.shrinkage),
            "pieces": packing.about,
            "models": models,
            "right": right,
        }
        arrays = {f"scale/{name}": values for name, values in vars(self.scale).items()}
        own = blend.weights.v[used], blend.weights.intercept
        arrays |= {f"{NAME}/{name}": values for name, values in zip(OWN, own, strict=True)}
        arrays |= packing.arrays
        return about, {name: np.ascontiguousarray(values) for name, values in arrays.items()}

    def files(self) -> dict[str, bytes]:
        """Return further files by name: classifiers of the user's own, if there are any."""
        estimators = self._packed()[0].foreign
        return {ESTIMATORS: dump_estimators(estimators)} if estimators else {}

    def _packed(self) -> tuple[Packing, list[int], int]:
        """Collect the models that count, and the one of confidence."""
        packing, n, k = Packing(), self.n_features, self.n_classes
        each = zip(self.blended.weights.v, self.blended.models, strict=True)
        models = [packing.add(model, n, k) for v, model in each if v > 0]
        return packing, models, packing.add(self.blended.right, _evidence(k), 2)

    @classmethod
    def from_data(cls, about: Any, arrays: Arrays, foreign: Sequence[Any] = ()) -> BlendModel:
        """Rebuild the blend; refuse whatever :meth:`to_data` would not have written."""
        try:
            return cls._from_data(about, arrays, foreign)
        except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
            raise ValueError(f"manifest.json names an unknown model ({error!r})") from None

    @classmethod
    def _from_data(cls, about: Any, arrays: Arrays, foreign: Sequence[Any]) -> BlendModel:
        if about["kind"] != NAME or about["method"] != {"name": NAME, "settings": {}}:
            raise ValueError("manifest.json describes no blend")
        centre = checked_array(arrays, "scale/centre", (None,), np.float64)
        spread = checked_array(arrays, "scale/spread", (len(centre),), np.float64)
        intercept = checked_array(arrays, f"{NAME}/intercept", (None,), np.float64)
        n, k = len(centre), len(intercept)
        if k < 2 or (about["n_features"], about["n_classes"]) != (n, k) or (spread <= 0).any():
            raise ValueError(f"{UNKNOWN} ('scale')")
        pieces = unpack(about["pieces"], arrays, foreign, (n + 2 * k + 1, k))
        _check_all_used(about["pieces"], arrays, foreign)
        models = [_of(pieces, place, n, k) for place in about["models"]]
        v = checked_array(arrays, f"{NAME}/weights", (len(models),), np.float64)
        if (v <= 0).any() or about["members"] != len(models):
            raise ValueError(f"{UNKNOWN} ('{NAME}/weights')")
        weights = BlendWeights(v, intercept, _number(about["shrinkage"], "shrinkage"))
        right = _of(pieces, about["right"], _evidence(k), 2)
        told = tuple(_standing(each) for each in about["candidates"])
        return cls(Blended(tuple(models), weights, right, told), Scale(centre, spread))


def _evidence(k: int) -> int:
    """Features that the model of confidence reads: see ``learners.blended``."""
    return 1 + 2 * k


def _of(pieces: Sequence[Piece], place: Any, inputs: int, classes: int) -> Any:
    found = pieces[checked_count(place, len(pieces) - 1, "place")]
    if (found.inputs, found.classes) != (inputs, classes):
        raise ValueError("manifest.json lists a model that does not fit its blend")
    return found.model


def _check_all_used(about: Any, arrays: Arrays, foreign: Sequence[Any]) -> None:
    """Refuse arrays and classifiers that belong to nothing."""
    known = {"scale/centre", "scale/spread", *(f"{NAME}/{name}" for name in (*OWN, UNUSED))}
    places = set(map(str, range(len(about))))
    odd = [n for n in arrays if n not in known and n.partition("/")[0] not in places]
    if odd:
        raise ValueError(f"{UNKNOWN} ({sorted(odd)[0]!r})")
    if sum(each["kind"] == "foreign" for each in about) != len(foreign):
        raise ValueError(f"{ESTIMATORS} does not hold the classifiers that manifest.json lists")


def _plain(each: CandidateScore) -> dict[str, Any]:
    """Return a row of the table of candidates for JSON, which knows no NaN."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in asdict(each).items()
    }


def _standing(told: Any) -> CandidateScore:
    names = [each.name for each in fields(CandidateScore)]
    if set(told) != set(names) or not all(isinstance(told[n], str) for n in names[:2]):
        raise ValueError(f"manifest.json holds a candidate that is none ({told!r:.80})")
    numbers = (math.nan if told[n] is None else _number(told[n], n) for n in names[2:])
    return CandidateScore(told["labels"], told["learner"], *numbers)


def _number(value: Any, name: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"manifest.json holds {name} {value!r}, expected a number")
    return float(value)
