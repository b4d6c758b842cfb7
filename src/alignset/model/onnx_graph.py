"""An ONNX graph, built node by node, that reads the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alignset.tables.preprocess import EPOCH, Category, Matrix, Number, Preprocessing

OPSET, ML_OPSET, IR = 17, 3, 8
"""Old enough for the runtimes of 2022."""

OWN, OUT = "alignset:", "probability"
"""How the graph's own names begin, and what its output is called; no column may have such one."""


class Graph:
    """Builds the graph node by node; it computes everything in double precision."""

    def __init__(self) -> None:
        from onnx import TensorProto, helper, numpy_helper

        self.helper, self.to_array = helper, numpy_helper.from_array
        self.float, self.double, self.string = (
            TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.STRING
        )  # fmt: skip
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.inputs: list[Any] = []

    def serialized(self, out: str, n_classes: int, metadata: Mapping[str, str]) -> bytes:
        """Return the graph whose output ``probability``, (n, K), is the value ``out``."""
        h = self.helper
        nodes = [*self.nodes, h.make_node("Identity", [out], [OUT])]
        told = h.make_tensor_value_info(OUT, self.double, ["n", n_classes])
        graph = h.make_graph(
            nodes, "alignset", self.inputs, [told],
            [self.to_array(v, name) for name, v in self.constants.items()],
        )  # fmt: skip
        opsets = [h.make_opsetid("", OPSET), h.make_opsetid("ai.onnx.ml", ML_OPSET)]
        made = h.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="alignset")
        h.set_model_props(made, dict(metadata))
        return bytes(made.SerializeToString())

    def add(self, op: str, inputs: Sequence[Any], **attributes: Any) -> str:
        """Add a node; arrays among its inputs become constants."""
        names = [i if isinstance(i, str) else self._constant(i) for i in inputs]
        out = f"{OWN}v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(op, names, [out], **attributes))
        return out

    def doubles(self, name: str, values: Any) -> Any:
        """Return numbers as an attribute of a node, in double precision."""
        return self.to_array(np.asarray(values, dtype=np.float64), name)

    def features(self, prep: Preprocessing | Matrix) -> str:
        """Add the inputs, and what turns them into a matrix."""
        if isinstance(prep, Matrix):
            return self._input("features", self.double, prep.n_features)
        for several in prep.several:
            raise ValueError(
                f"column {several.name!r} is read as codes or words, which ONNX graphs cannot do; "
                f"fit again with --categorical {several.name} or --ignore {several.name}."
            )
        values = [self._input(c.name, self.double) for c in prep.numbers]
        gaps = [self.add("IsNaN", [value]) for value in values]
        parts = [self._number(*each) for each in zip(prep.numbers, values, gaps, strict=True)]
        for c, gap in zip(prep.numbers, gaps, strict=True):
            if c.missing:
                shifted = self.add("Sub", [self.add("Cast", [gap], to=self.double), c.missing[0]])
                parts.append(self.add("Div", [shifted, c.missing[1]]))
        parts += [self._one_hot(c) for c in prep.categories]
        return self.add("Concat", parts, axis=1)

    def _constant(self, value: Any) -> str:
        name = f"{OWN}c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def _input(self, name: str, kind: Any, width: int = 1) -> str:
        if name == OUT or name.startswith(OWN):
            raise ValueError(
                f"column {name!r} has a name that the ONNX graph needs for itself; give it another "
                "name in the table and fit again."
            )
        self.inputs.append(self.helper.make_tensor_value_info(name, kind, ["n", width]))
        return name

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
