"""A model as an ONNX graph, from a table's columns to probabilities, checked before it is kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alignset.extras import need
from alignset.model.fitted import Model
from alignset.model.onnx_graph import Graph
from alignset.model.onnx_models import add_probability
from alignset.model.recalibration import calibration_to_data
from alignset.model.thresholds import thresholds_to_data
from alignset.model.vectors import make_vectors
from alignset.tables.atomic import new_file
from alignset.tables.files import check_new_file
from alignset.tables.kinds import as_levels, as_numbers
from alignset.tables.preprocess import EPOCH, Matrix

TOLERANCE = 1e-5


def export_onnx(model: Model, path: str | os.PathLike[str], *, overwrite: bool = False) -> float:
    """Write a model as ONNX, if onnxruntime gives the same probabilities as alignset.

    The graph has one input per column of the table, (n, 1) each: numbers, booleans (0 or 1) and
    dates (days since 1970-01-01) as doubles, NaN if missing, numbers with units without these;
    text as strings, "" if missing. A model that reads codes or hashed words is refused. The
    output ``probability`` is (n, K), in the order of ``metadata["classes"]``; thresholds, if the
    model has any, are in ``metadata["thresholds"]`` as JSON: class ``of_class`` (its place in
    classes) is predicted where its probability reaches the threshold. The graph knows no groups:
    where the model recalibrates some, its probabilities are those before that, and
    ``metadata["recalibration"]`` says how to go on. Returned is the largest difference found
    between the two, which is at most 1e-5.
    """
    place = Path(path)
    check_onnx(place, overwrite=overwrite)
    content = _graph_of(model)
    off = _largest_difference(model, content)
    if not off <= TOLERANCE:
        raise ValueError(
            f"the probabilities from onnxruntime are off by {off:.2g}, more than {TOLERANCE}; "
            f"{place} was not written."
        )
    with new_file(place) as part:
        part.write_bytes(content)
    return off


def check_onnx(path: Path, *, overwrite: bool) -> None:
    """Refuse a file that cannot be written, or a missing package, before any work is done."""
    need("exporting a model", "onnx", "onnxruntime")
    if path.suffix != ".onnx":
        raise ValueError(f"{path.name} is not the name of an ONNX file; it must end in .onnx.")
    check_new_file(path, overwrite=overwrite)


def _graph_of(model: Model) -> bytes:
    """Return the graph from the table's columns to probabilities."""
    graph = Graph()
    x = graph.features(model.preprocessing)
    out = add_probability(graph, model.predictor, x)
    return graph.serialized(out, len(model.classes), _metadata(model))


def _metadata(model: Model) -> dict[str, str]:
    return {
        "classes": json.dumps(model.classes.tolist()),
        "columns": json.dumps(model.preprocessing.columns),
        "method": model.predictor.method_name,
        "members": str(model.predictor.members),
        "thresholds": json.dumps(_thresholds(model)),
        "recalibration": json.dumps(_recalibration(model)),
        "model_sha256": str(model.manifest.get("sha256", "")),
    }


def _thresholds(model: Model) -> dict[str, Any] | None:
    """Return what decides between the two classes: the graph itself only gives probabilities."""
    found = model.thresholds
    if found is None:
        return None
    told = thresholds_to_data(found)
    names = ("target", "value", "threshold", "by_group", "of_class")
    return {name: told[name] for name in names} | {"class": str(model.classes[found.of_class])}


def _recalibration(model: Model) -> dict[str, Any] | None:
    """Return what to do with the graph's probabilities where the group of a row is known.

    Log-odds log p - mean log p become slope * log-odds + offset, whose softmax is the answer.
    """
    found = model.recalibration
    if found is None:
        return None
    names, told = model.groups.tolist(), calibration_to_data(found)
    return {
        str(names[g]): {"slope": told["slope"][g], "offset": told["offset"][g]}
        for g in found.changed
    }


def onnx_inputs(model: Model, frame: Any) -> dict[str, Any]:
    """Return a table in the form that the exported graph takes."""
    prep = model.preprocessing
    if isinstance(prep, Matrix):
        return {"features": np.asarray(prep.transform(frame), dtype=np.float64)}
    columns: dict[str, Any] = {
        c.name: as_numbers(frame[c.name], c.kind, EPOCH, form=c.form)[:, None] for c in prep.numbers
    }
    for c in prep.categories:
        levels = as_levels(frame[c.name])
        columns[c.name] = np.where([v is None for v in levels], "", levels)[:, None]
    return columns


def _largest_difference(model: Model, content: bytes) -> float:
    """Run the graph on the made-up rows of the test vectors."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    rows = make_vectors(model)["rows"]
    frame = np.array(rows) if isinstance(model.preprocessing, Matrix) else pd.DataFrame(rows)
    (found,) = session.run(["probability"], onnx_inputs(model, frame))
    return float(np.abs(found - model.predict_proba(frame)).max())
