"""A model as an ONNX graph, from a table's columns to probabilities, checked before it is kept."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alignset.model.fitted import Model
from alignset.model.vectors import make_vectors
from alignset.tables.atomic import new_file
from alignset.tables.files import check_new_file
from alignset.tables.kinds import as_levels, as_numbers
from alignset.tables.preprocess import Category, Matrix, Number, Preprocessing

OPSET, ML_OPSET, IR = 17, 3, 8
"""Old enough for the runtimes of 2022."""

TOLERANCE = 1e-5
EPOCH = "1970-01-01"


def export_onnx(model: Model, path: str | os.PathLike[str], *, overwrite: bool = False) -> float:
    """Write a model as ONNX, if onnxruntime gives the same probabilities as alignset.

    The graph has one input per column of the table, (n, 1) each: numbers, booleans (0 or 1) and
    dates (days since 1970-01-01) as doubles, NaN if missing; text as strings, "" if missing. The
    output ``probability`` is (n, K), in the order of ``metadata["classes"]``. Returned is the
    largest difference found between the two, which is at most 1e-5.
    """
    place = Path(path)
    check_onnx(place, overwrite=overwrite)
    content = _Graph(model).serialized()
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
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError:
        raise ValueError("exporting needs onnx; run `pip install 'alignset[onnx]'`.") from None
    if path.suffix != ".onnx":
        raise ValueError(f"{path.name} is not the name of an ONNX file; it must end in .onnx.")
    check_new_file(path, overwrite=overwrite)


class _Graph:
    """Builds the graph node by node; it computes everything in double precision."""

    def __init__(self, model: Model) -> None:
        from onnx import TensorProto, helper, numpy_helper

        self.helper, self.to_array = helper, numpy_helper.from_array
        self.double, self.string = TensorProto.DOUBLE, TensorProto.STRING
        self.model = model
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.inputs: list[Any] = []

    def serialized(self) -> bytes:
        h, fits = self.helper, self.model.network.fits
        x = self._features(self.model.preprocessing)
        scale = self.model.network.scale
        x = self.add("Div", [self.add("Sub", [x, scale.centre]), scale.spread])
        nets = fits.method.predicting
        last = self._network(nets[0], x)
        for net in nets[1:]:
            last = self.add("Add", [last, self._network(net, x)])
        last = self.add("ReduceMean", [last], axes=[0], keepdims=0)  # over members
        last = self.add("Div", [last, float(len(nets))])
        self.nodes.append(h.make_node("Identity", [last], ["probability"]))
        out = h.make_tensor_value_info("probability", self.double, ["n", fits.kind.n_classes])
        graph = h.make_graph(
            self.nodes, "alignset", self.inputs, [out],
            [self.to_array(v, name) for name, v in self.constants.items()],
        )  # fmt: skip
        opsets = [h.make_opsetid("", OPSET), h.make_opsetid("ai.onnx.ml", ML_OPSET)]
        made = h.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="alignset")
        h.set_model_props(made, self._metadata())
        return bytes(made.SerializeToString())

    def _metadata(self) -> dict[str, str]:
        model = self.model
        return {
            "classes": json.dumps(model.classes.tolist()),
            "columns": json.dumps(model.preprocessing.columns),
            "method": str(model.network.to_data()[0]["method"]["name"]),
            "members": str(model.network.members),
            "model_sha256": str(model.manifest.get("sha256", "")),
        }

    def add(self, op: str, inputs: Sequence[Any], **attributes: Any) -> str:
        """Add a node; arrays among its inputs become constants."""
        names = [i if isinstance(i, str) else self._constant(i) for i in inputs]
        out = f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(op, names, [out], **attributes))
        return out

    def _constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def _input(self, name: str, kind: Any, width: int = 1) -> str:
        self.inputs.append(self.helper.make_tensor_value_info(name, kind, ["n", width]))
        return name

    def _features(self, prep: Preprocessing | Matrix) -> str:
        if isinstance(prep, Matrix):
            return self._input("features", self.double, prep.n_features)
        values = [self._input(c.name, self.double) for c in prep.numbers]
        gaps = [self.add("IsNaN", [value]) for value in values]
        parts = [self._number(*each) for each in zip(prep.numbers, values, gaps, strict=True)]
        for c, gap in zip(prep.numbers, gaps, strict=True):
            if c.missing:
                shifted = self.add("Sub", [self.add("Cast", [gap], to=self.double), c.missing[0]])
                parts.append(self.add("Div", [shifted, c.missing[1]]))
        parts += [self._one_hot(c) for c in prep.categories]
        return self.add("Concat", parts, axis=1)

    def _number(self, c: Number, value: str, gap: str) -> str:
        if c.kind == "date":
            start = np.datetime64(c.origin or EPOCH, "D").astype(np.float64)
            value = self.add("Sub", [value, start])
        filled = self.add("Where", [gap, c.median, value])
        return self.add("Div", [self.add("Sub", [filled, c.mean]), c.scale])

    def _one_hot(self, c: Category) -> str:
        """Look up a level's place; rare and unknown levels come last, where the row may be zero."""
        levels = ["" if level is None else level for level in c.levels]
        places = self.add(
            "LabelEncoder",
            [self._input(c.name, self.string)],
            domain="ai.onnx.ml",
            keys_strings=levels or [""],
            values_int64s=list(range(len(levels) or 1)),
            default_int64=len(levels),
        )
        flat = self.add("Reshape", [places, np.array([-1])])
        table = np.eye(len(levels) + 1, len(levels) + c.other)
        return self.add("Gather", [table, flat], axis=0)

    def _network(self, net: str, x: str) -> str:
        """Class probabilities (M, n, K) of every member: weights have a leading axis of members."""
        fits: Any = self.model.network.fits
        depth, last_relu = fits.backbone.depth, fits.backbone.last_relu
        params = {k: v[0].double().cpu().numpy() for k, v in fits.weights[net].items()}
        for layer in range(depth + 1):
            weight = params["w0.0" if layer == 0 else f"w{layer}"]
            x = self.add("MatMul", [x, np.ascontiguousarray(weight.mT)])
            x = self.add("Add", [x, np.ascontiguousarray(params[f"b{layer}"].mT)])
            if layer < depth - 1 or (layer == depth - 1 and last_relu):
                x = self.add("Relu", [x])
        return self.add("Softmax", [x], axis=2)


def onnx_inputs(model: Model, frame: Any) -> dict[str, Any]:
    """Return a table in the form that the exported graph takes."""
    prep = model.preprocessing
    if isinstance(prep, Matrix):
        return {"features": np.asarray(prep.transform(frame), dtype=np.float64)}
    columns: dict[str, Any] = {
        c.name: as_numbers(frame[c.name], c.kind, EPOCH)[:, None] for c in prep.numbers
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
