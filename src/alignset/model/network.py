"""Trained networks as plain data: names from a fixed registry, numbers as arrays."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.engine import Fits
from alignset.engine.ensemble import Ensemble
from alignset.engine.rows import Sizes
from alignset.extras import torch
from alignset.methods import Method
from alignset.methods.registry import METHODS
from alignset.rows.features import Scale
from alignset.stack import MLP, NetShape

Arrays = dict[str, NDArray[Any]]

MAX_COUNT, MAX_WIDTH = 10_000, 1 << 31
"""The largest depth or count, and the largest width, that a model folder may have."""


@dataclass(frozen=True, eq=False)
class Network:
    """Trained replicas that predict as one model, by their mean, and the scale of their inputs."""

    fits: Fits  # of one problem: members side by side, (1, M)
    scale: Scale

    @property
    def members(self) -> int:
        """Number of replicas that are averaged."""
        return int(self.fits.score.shape[1])

    @property
    def schema(self) -> int:
        """Which version of the folder can hold it; one member fits into the first."""
        return 1 if self.members == 1 else 2

    @property
    def n_features(self) -> int:
        """Number of features it reads."""
        return self.fits.kind.n_features

    @property
    def n_classes(self) -> int:
        """Number of classes it knows."""
        return self.fits.kind.n_classes

    @property
    def method_name(self) -> str:
        """Name of what was trained."""
        return _name(self.fits.method)

    @property
    def candidates(self) -> None:
        """Nothing was blended."""
        return None

    def files(self) -> dict[str, bytes]:
        """Return further files by name: there are none."""
        return {}

    def probability(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities (n, K)."""
        return self.ensemble.probability(self.scale(X))

    def confidence(self, X: Any, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """P(the observed label is right) (n,) for class codes."""
        return self.ensemble.confidence(self.scale(X), codes)

    @property
    def ensemble(self) -> Ensemble:
        """The replicas as the engine knows them."""
        return Ensemble((self.fits,), (np.zeros(self.members, dtype=np.int64),))

    @classmethod
    def of(cls, ensemble: Ensemble, scale: Scale, method: Method) -> Network:
        """Make a network from trained members, the scale of their inputs and the tuned method."""
        if len(ensemble.parts) > 1:
            raise ValueError(
                f"{len(ensemble.parts)} methods of different shapes were averaged, which a model "
                "folder cannot hold; search no settings that shape a network, or use ensemble=1."
            )
        return cls(replace(ensemble.parts[0], method=method), scale)

    def to_data(self) -> tuple[dict[str, Any], Arrays]:
        """Return a description that JSON can hold, and arrays.

        With several members, arrays have a leading axis of members; with one they have none, as
        in folders written before there could be several.
        """
        mlp, kind = self.fits.backbone, self.fits.kind
        if not isinstance(mlp, MLP):
            raise ValueError(
                f"a model with the backbone {type(mlp).__name__} cannot be saved: its code is not "
                "part of alignset, and a model folder holds no code; use the default MLP."
            )
        about = {
            "method": {"name": _name(self.fits.method), "settings": asdict(self.fits.method)},
            "backbone": {"name": "mlp", **asdict(mlp)},
            "members": self.members,
            **asdict(kind),
        }
        arrays: Arrays = {f"scale/{name}": values for name, values in vars(self.scale).items()}
        for net, params in self.fits.weights.items():
            for key, values in params.items():
                own = values[0, 0] if self.members == 1 else values[0]
                arrays[f"{net}/{key}"] = np.ascontiguousarray(own.cpu().numpy())
        return about, arrays

    @classmethod
    def from_data(cls, about: Any, arrays: Arrays) -> Network:
        """Rebuild the network; refuse anything the fixed registry does not know."""
        try:
            method = _method(about["method"])
            backbone = dict(about["backbone"])
            if backbone.pop("name") != "mlp":
                raise ValueError(f"no backbone {about['backbone']['name']!r}")
            mlp = MLP(**backbone)
            kind = Sizes(**{f.name: about[f.name] for f in fields(Sizes)})
            _check_sizes(MAX_COUNT, mlp.depth)
            _check_sizes(MAX_WIDTH, mlp.hidden, *asdict(kind).values())
            members = about.get("members", 1)
            _check_sizes(MAX_COUNT, members)
            if members < 1:
                raise ValueError("no members")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"manifest.json names an unknown model ({error!r})") from None
        _check_arrays(method, mlp, kind, members, arrays)
        weights: dict[str, dict[str, torch.Tensor]] = {}
        for name, values in arrays.items():
            net, _, key = name.partition("/")
            if net != "scale":
                own = values[None] if members == 1 else values
                weights.setdefault(net, {})[key] = torch.from_numpy(own.copy())[None]
        nothing = torch.zeros(1, members)
        epochs = nothing.to(torch.int64)[..., None]
        configs: list[dict[str, float]] = [{} for _ in range(members)]
        fits = Fits(method, mlp, kind, configs, weights, nothing, epochs)
        return cls(fits, Scale(arrays["scale/centre"], arrays["scale/spread"]))


def _name(method: Method) -> str:
    if METHODS.get(method.name) is type(method):
        return method.name
    raise ValueError(
        f"a model of the method {type(method).__name__} cannot be saved: its code is not part of "
        "alignset, and a model folder holds no code; use one of alignset's methods."
    )


def _method(about: Any) -> Method:
    kind, settings = METHODS[about["name"]], about["settings"]
    parts = {f.name for f in fields(kind) if is_dataclass(f.default)}
    plain = [v for name, v in settings.items() if name not in parts]
    if not all(isinstance(v, bool | int | float | str | None) for v in plain):
        raise ValueError("settings must be numbers, names or switches")
    _check_sizes(MAX_COUNT, *(v for v in plain if isinstance(v, int)))
    return kind.make(settings)


def _check_sizes(most: int, *sizes: Any) -> None:
    """Refuse numbers that would make the reader build something huge."""
    for size in sizes:
        if not isinstance(size, int) or not 0 <= size <= most:
            raise ValueError(f"a size of {size!r}")


def _shapes(mlp: MLP, shape: NetShape) -> dict[str, tuple[int, ...]]:
    """Shapes of a network's parameters, without making any."""
    wanted: dict[str, tuple[int, ...]] = {
        f"w0.{i}": (mlp.hidden, width) for i, width in enumerate(shape.inputs)
    }
    for layer in range(mlp.depth + 1):
        width = shape.outputs if layer == mlp.depth else mlp.hidden
        if layer > 0:
            wanted[f"w{layer}"] = (width, mlp.hidden)
        wanted[f"b{layer}"] = (width, 1)
    return wanted


def _check_arrays(method: Method, mlp: MLP, kind: Sizes, members: int, arrays: Arrays) -> None:
    """Refuse arrays whose names, shapes or types are not those of the described networks."""
    expected: dict[str, tuple[int, ...]] = {
        f"scale/{f.name}": (kind.n_features,) for f in fields(Scale)
    }
    for net, shape in method.networks(kind.n_features, kind.n_classes).items():
        for key, size in _shapes(mlp, shape).items():
            expected[f"{net}/{key}"] = size if members == 1 else (members, *size)
    found = {name: values.shape for name, values in arrays.items()}
    if found != expected:
        odd = sorted(set(found.items()) ^ set(expected.items()))[0][0]
        raise ValueError(f"weights.safetensors does not match the described network ({odd!r})")
    for name, values in arrays.items():
        if values.dtype.kind != "f" or not np.isfinite(values).all():
            raise ValueError(f"weights.safetensors must hold finite floats in {name!r}")
