"""The model folder: JSON and safetensors, hashed, checked on loading; nothing in it is executed."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from alignset.evaluate import ThresholdChoice
from alignset.extras import MissingExtraError, installed
from alignset.learners.recalibration import GroupCalibration
from alignset.model.blend import BlendModel
from alignset.model.evaluation import Evaluation
from alignset.model.fitted import Model
from alignset.model.foreign import ESTIMATORS, load_estimators
from alignset.model.network import Network
from alignset.model.nodes import reads_raw
from alignset.model.recalibration import calibration_from_data, calibration_to_data
from alignset.model.thresholds import thresholds_from_data, thresholds_to_data
from alignset.model.vectors import check_vectors, make_vectors
from alignset.tables.atomic import new_file, new_folder, recover
from alignset.tables.columns import Columns
from alignset.tables.preprocess import Matrix, from_data
from alignset.tables.profile import Profile

FORMAT, SCHEMA = "alignset model", 6
"""1 is one network, 2 several members of one, 3 a blend, 4 any of them with thresholds or
recalibration by group, 5 any that reads codes, words, units, other dates than ISO, or ranges as
groups, 6 a blend with trees that read categories or gaps: each the oldest that can hold a model."""
MANIFEST = "manifest.json"
WEIGHTS, PREPROCESSING, VECTORS = "weights.safetensors", "preprocessing.json", "vectors.json"
FILES = (WEIGHTS, PREPROCESSING, VECTORS)
EVALUATION = "evaluation.json"
"""If models were compared: held-out predictions for reviewed rows, without id or features."""
PROFILE = "profile.json"
"""If a table was fitted: what its columns held, to compare later tables with."""
MAX_JSON_BYTES = 1 << 28


def load_model(folder: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Model:
    """Load a model folder, after checking that it is whole and predicts as it did when saved.

    ``alignset fit`` and ``NoisyLabelClassifier.save`` write such folders. Nothing in them is
    executed: no pickle, no code, no name that is imported.

    Parameters
    ----------
    folder : path
    trusted : sequence of str, optional
        Types that may be built besides those that skops knows, such as
        ``["lightgbm.sklearn.LGBMClassifier"]``; only a blend with a classifier of your own
        (``estimator=``) has any. The error that names them comes before anything is built.

    Returns
    -------
    Model

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such folder, or if it is damaged, changed, not one of alignset's, or too new.

    Examples
    --------
    >>> import tempfile
    >>> from alignset.estimator import NoisyLabelClassifier
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> y, reviewed = np.where(X[:, 0] > 0, "yes", "no").astype(object), np.arange(80) < 40
    >>> clf = NoisyLabelClassifier("observed", random_state=0)
    >>> clf = clf.fit(X, y, y_true=np.where(reviewed, y, None))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(f"{folder}/model")
    ...     model = load_model(f"{folder}/model")
    >>> model.classes.tolist(), model.noise_rates, len(model.candidates)
    (['no', 'yes'], {'all': 0.0}, 3)
    >>> bool(model.score(X, y) == clf.score(X, y))
    True
    """
    if isinstance(trusted, str):
        raise ValueError(f"trusted must be a list of types, got {trusted!r}; pass [{trusted!r}].")
    if not isinstance(trusted, Sequence) or not all(isinstance(one, str) for one in trusted):
        raise ValueError(
            f"trusted must be a list of names of types, got {trusted!r}; pass [] to see which a "
            "folder asks for."
        )
    place = Path(folder)
    recover(place)
    manifest = read_manifest(place)
    try:
        names = (*FILES, *({EVALUATION, ESTIMATORS, PROFILE} & set(manifest["files"])))
        contents = {name: _read_hashed(place, name, manifest) for name in names}
        model = _build(manifest, contents, trusted)
        check_vectors(model, _parse(contents[VECTORS], VECTORS))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        kind = MissingExtraError if isinstance(error, MissingExtraError) else ValueError
        reason = (
            str(error)
            if type(error) is kind
            else f"{MANIFEST} is not what alignset writes ({error!r})"
        )
        raise kind(f"{place} cannot be loaded: {reason.rstrip('.')}.") from None
    return model


def save_model(
    model: Model,
    folder: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    option: str = "--overwrite",
) -> None:
    """Write a model folder, whole or not at all; only a model folder is ever overwritten.

    The model's ``manifest`` may hold more than what is written for every model.
    """
    place = Path(folder)
    check_folder(place, overwrite=overwrite, option=option)
    about, arrays = model.predictor.to_data()
    contents = {
        **model.predictor.files(),
        WEIGHTS: save_arrays(arrays),
        PREPROCESSING: _dump(model.preprocessing.to_data()),
        VECTORS: _dump(make_vectors(model)),
    }
    if model.evaluation is not None:
        contents[EVALUATION] = json.dumps(model.evaluation.to_data(), allow_nan=False).encode()
    if model.profile is not None:
        contents[PROFILE] = _dump(model.profile.to_data())
    manifest = {
        **{key: value for key, value in model.manifest.items() if key != "sha256"},
        "format": FORMAT,
        "schema": _schema(about, model.thresholds, model.recalibration, plain=_is_plain(model)),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "network": about,
        "classes": _labels_to_data(model.classes),
        "groups": [_plain_name(name) for name in model.groups.tolist()],
        "columns": {k: v for k, v in asdict(model.columns).items() if k != "person" or v},
        **_after(model.thresholds, model.recalibration),
        "files": {
            name: {"sha256": _hash(content), "bytes": len(content)}
            for name, content in contents.items()
        },
    }
    manifest["sha256"] = _hash(_dump(manifest))
    with new_folder(place, own=_own_files(place)) as part:
        for name, content in {**contents, MANIFEST: _dump(manifest)}.items():
            (part / name).write_bytes(content)


def store_thresholds(folder: str | os.PathLike[str], found: ThresholdChoice | None) -> None:
    """Write thresholds into a model folder, or take them out; nothing else in it changes."""
    place = Path(folder)
    manifest = read_manifest(place)
    again, plain = manifest.get("recalibration"), manifest["schema"] < SCHEMA
    manifest["schema"] = _schema(manifest["network"], found, again, plain=plain)
    manifest["thresholds"] = None if found is None else thresholds_to_data(found)
    del manifest["sha256"]
    manifest["sha256"] = _hash(_dump(manifest))
    with new_file(place.absolute() / MANIFEST) as part:
        part.write_bytes(_dump(manifest))


def _plain_name(name: Any) -> Any:
    """Return the name of a group as what JSON can hold: an interval or a date as its text."""
    return name if isinstance(name, str | int | float | bool) else str(name)


def check_folder(folder: Path, *, overwrite: bool, option: str = "--overwrite") -> None:
    """Refuse a folder that a model cannot be written to, before any work is done."""
    if not folder.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {folder.absolute().parent} to write {folder} to.")
    recover(folder)
    if not folder.exists() and not folder.is_symlink():
        return
    if not overwrite:
        raise ValueError(f"{folder} exists; name another folder, or pass {option}.")
    own = _own_files(folder)
    if folder.is_symlink() or not folder.is_dir() or (not own and any(folder.iterdir())):
        raise ValueError(
            f"{folder} exists and is not a model folder, so it is not overwritten; name "
            "another folder."
        )
    others = sorted(file.name for file in folder.iterdir() if file.name not in own)
    if others:
        raise ValueError(
            f"{folder} holds files that alignset did not write ({', '.join(others[:3])}"
            f"{', ...' if len(others) > 3 else ''}), so it is not overwritten; move them, or name "
            "another folder."
        )


def _own_files(folder: Path) -> set[str]:
    """Return the files that alignset wrote to a model folder: those that its manifest names."""
    try:
        return {MANIFEST, *read_manifest(folder)["files"]}
    except (ValueError, OSError, KeyError, TypeError):
        return set()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return a model folder's manifest, if this version of alignset can read it."""
    if not folder.exists():
        raise FileNotFoundError(f"there is no folder {folder}.")
    path = folder / MANIFEST
    if not path.is_file():
        raise ValueError(f"{folder} is not a model folder: it has no {MANIFEST}.")
    if path.stat().st_size > MAX_JSON_BYTES:
        raise ValueError(f"{folder} is not a model folder: its {MANIFEST} is too large.")
    try:
        manifest = _parse(path.read_bytes(), MANIFEST)
    except ValueError as error:
        raise ValueError(f"{folder} cannot be loaded: {error}.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"{folder} is not a model folder: its {MANIFEST} describes no model.")
    schema = manifest.get("schema")
    if not isinstance(schema, int) or not 1 <= schema <= SCHEMA:
        versions = manifest.get("versions")
        wrote = versions.get("alignset") if isinstance(versions, dict) else "unknown"
        raise ValueError(
            f"{folder} cannot be loaded: it has schema {schema}, written by alignset {wrote}, and "
            f"this alignset ({version('alignset')}) reads up to {SCHEMA}; upgrade alignset."
        )
    said = manifest.get("sha256")
    found = _hash(_dump({k: v for k, v in manifest.items() if k != "sha256"}))
    if said != found:
        raise ValueError(f"{folder} cannot be loaded: {MANIFEST} was changed after it was saved.")
    return manifest


def _build(manifest: dict[str, Any], contents: dict[str, bytes], trusted: Sequence[str]) -> Model:
    try:
        arrays = load_arrays(contents[WEIGHTS])
    except SafetensorError as error:
        raise ValueError(f"{WEIGHTS} is damaged ({error})") from None
    prep = from_data(_parse(contents[PREPROCESSING], PREPROCESSING))
    classes, groups = _labels_from_data(manifest["classes"]), np.array(manifest["groups"])
    found: Network | BlendModel
    if manifest["schema"] != BlendModel.schema and "kind" not in manifest["network"]:
        found = Network.from_data(manifest["network"], arrays)
    else:
        own = contents.get(ESTIMATORS)
        estimators = [] if own is None else load_estimators(own, trusted)
        found = BlendModel.from_data(manifest["network"], arrays, estimators)
    if (len(prep.feature_names), len(classes)) != (found.n_features, found.n_classes):
        raise ValueError("its preprocessing and classes do not match its network")
    roles = manifest["columns"]
    several = {name: tuple(roles[name]) for name in ("features", "groups")}
    kept, described = contents.get(EVALUATION), contents.get(PROFILE)
    seen = None if kept is None else Evaluation.from_data(_parse(kept, EVALUATION))
    cuts, again = manifest.get("thresholds"), manifest.get("recalibration")
    return Model(
        found, prep, classes, groups, Columns(**{**roles, **several}), manifest, seen,
        None if cuts is None else thresholds_from_data(cuts),
        None if again is None else calibration_from_data(again, (len(groups), len(classes))),
        None if described is None else Profile.from_data(_parse(described, PROFILE)),
    )  # fmt: skip


def _read_hashed(folder: Path, name: str, manifest: dict[str, Any]) -> bytes:
    expected, path = manifest["files"][name], folder / name
    if not path.is_file():
        raise ValueError(f"{name} is missing")
    size = path.stat().st_size
    if size != expected["bytes"]:
        raise ValueError(
            f"{name} has {size} bytes, expected {expected['bytes']}; the folder was not copied "
            "whole"
        )
    content = path.read_bytes()
    found = _hash(content)
    if found != expected["sha256"]:
        raise ValueError(
            f"sha256 of {name} is {found[:8]}…, expected {str(expected['sha256'])[:8]}…; the file "
            "was changed after it was saved"
        )
    return content


def _after(found: ThresholdChoice | None, recalibration: GroupCalibration | None) -> dict[str, Any]:
    """Return what is done with probabilities once they are there."""
    return {
        "thresholds": None if found is None else thresholds_to_data(found),
        "recalibration": None if recalibration is None else calibration_to_data(recalibration),
    }


def _is_plain(model: Model) -> bool:
    """Tell whether a model reads tables as those of schema 4 did."""
    how = any(model.manifest.get(name) for name in ("bins", "missing_group", "texts"))
    return not how and (isinstance(model.preprocessing, Matrix) or model.preprocessing.is_plain)


def _schema(about: Any, *after: Any, plain: bool) -> int:
    """Return the oldest schema that can hold a model, and what is done with its probabilities."""
    if any(map(reads_raw, about.get("pieces", ()))):
        return SCHEMA
    if not plain:
        return 5
    if any(each is not None for each in after):
        return 4
    if about.get("kind") == BlendModel.kind:
        return BlendModel.schema
    return 1 if about.get("members", 1) == 1 else 2


def _labels_to_data(classes: NDArray[Any]) -> dict[str, Any]:
    kinds = {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}
    return {"kind": kinds.get(classes.dtype.kind, "text"), "values": classes.tolist()}


def _labels_from_data(data: Any) -> NDArray[Any]:
    kinds: dict[str, Any] = {"boolean": bool, "integer": np.int64, "number": float, "text": object}
    return np.array(data["values"], dtype=kinds[data["kind"]])


def _versions() -> dict[str, str]:
    names = ["alignset", "numpy", "pandas", "scikit-learn", "safetensors"]
    if installed("torch"):
        names.append("torch")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _dump(data: Any) -> bytes:
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False).encode()


def _parse(content: bytes, name: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not JSON ({error})") from None
