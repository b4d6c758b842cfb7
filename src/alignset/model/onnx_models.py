"""Networks and blends as nodes of an ONNX graph, from features to probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from alignset.learners.base import CERTAIN, Constant, Predictor
from alignset.learners.blended import Blended
from alignset.learners.foreign import ForeignPredictor
from alignset.learners.linear import LinearPredictor
from alignset.learners.network import NetworkPredictor
from alignset.learners.strategies.base import Chained
from alignset.learners.trees import TreesPredictor
from alignset.model.blend import BlendModel
from alignset.model.network import Network
from alignset.model.onnx_graph import Graph
from alignset.model.onnx_trees import add_trees
from alignset.rows.features import no_scale


def add_probability(graph: Graph, predictor: Network | BlendModel, x: str) -> str:
    """Add what turns features into class probabilities (n, K)."""
    scale = predictor.scale
    x = graph.add("Div", [graph.add("Sub", [x, scale.centre]), scale.spread])
    if isinstance(predictor, Network):
        return add_network(graph, predictor, x)
    # as Blended does: a threshold of a tree may lie between a number and its rounding
    x = graph.add("Cast", [graph.add("Cast", [x], to=graph.float)], to=graph.double)
    return graph.add("Softmax", [_OddsNodes(graph).blend(predictor.blended, x)], axis=1)


def add_network(graph: Graph, network: Network, x: str) -> str:
    """Add networks whose probabilities are averaged."""
    nets = network.fits.method.predicting
    last = _add_net(graph, network, nets[0], x)
    for net in nets[1:]:
        last = graph.add("Add", [last, _add_net(graph, network, net, x)])
    last = graph.add("ReduceMean", [last], axes=[0], keepdims=0)  # over members
    return graph.add("Div", [last, float(len(nets))])


def _add_net(graph: Graph, network: Network, net: str, x: str) -> str:
    """Class probabilities (M, n, K) of every member: weights have a leading axis of members."""
    fits: Any = network.fits
    depth, last_relu = fits.backbone.depth, fits.backbone.last_relu
    params = {k: v[0].double().cpu().numpy() for k, v in fits.weights[net].items()}
    for layer in range(depth + 1):
        weight = params["w0.0" if layer == 0 else f"w{layer}"]
        x = graph.add("MatMul", [x, np.ascontiguousarray(weight.mT)])
        x = graph.add("Add", [x, np.ascontiguousarray(params[f"b{layer}"].mT)])
        if layer < depth - 1 or (layer == depth - 1 and last_relu):
            x = graph.add("Relu", [x])
    return graph.add("Softmax", [x], axis=2)


class _OddsNodes:
    """Adds models that answer with log-odds (n, K), each once however many candidates read it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.known: dict[tuple[int, str], str] = {}

    def blend(self, blended: Blended, x: str) -> str:
        """Add the weighted sum of the candidates."""
        g, odds = self.graph, self._rows(blended.weights.intercept, x)
        for v, model in zip(blended.weights.v.tolist(), blended.models, strict=True):
            if v > 0:
                odds = g.add("Add", [odds, g.add("Mul", [self.of(model, x), v])])
        return odds

    def of(self, model: Predictor, x: str) -> str:
        """Add one model, unless it is there."""
        key = id(model), x
        if key not in self.known:
            self.known[key] = self._new(model, x)
        return self.known[key]

    def _new(self, model: Predictor, x: str) -> str:
        g = self.graph
        if isinstance(model, LinearPredictor):
            product = g.add("MatMul", [x, np.ascontiguousarray(model.coef.T)])
            return g.add("Add", [product, model.intercept])
        if isinstance(model, TreesPredictor):
            return self._trees(model, x)
        if isinstance(model, Chained):
            return self._chained(model, x)
        if isinstance(model, Constant):
            return self._rows(model.odds, x)
        if isinstance(model, NetworkPredictor):
            network = Network.of(model.ensemble, no_scale(0), model.method)
            return self._log_odds(add_network(g, network, x))
        foreign = isinstance(model, ForeignPredictor)
        name = type(model.model if isinstance(model, ForeignPredictor) else model).__name__
        raise ValueError(
            f"a blend with {name} cannot be exported: alignset only knows how to write its own "
            f"models as ONNX{'; fit without estimator=' if foreign else ''}."
        )

    def _chained(self, model: Chained, x: str) -> str:
        g, base = self.graph, self.of(model.base, x)
        one, end = np.array([1]), np.array([np.iinfo(np.int64).max])
        odds = g.add("Slice", [base, one, end, one])  # all classes but the first
        if model.with_features:
            odds = g.add("Concat", [x, odds], axis=1)
        return self.of(model.head, odds)

    def _trees(self, model: TreesPredictor, x: str) -> str:
        g, raw = self.graph, add_trees(self.graph, model, x)
        if len(model.base) == 1:
            raw = g.add("MatMul", [raw, np.array([[-0.5, 0.5]])])
        odds = self._log_odds(g.add("Softmax", [raw], axis=1))
        if len(model.present) == model.n_classes:
            return odds
        # as learners.base.spread_classes does
        never = 0.5 / (model.n_rows + 1)
        place = np.eye(model.n_classes)[model.present]
        p = g.add("MatMul", [g.add("Softmax", [odds], axis=1), place])
        p = g.add("Add", [p, never * (1.0 - place.sum(axis=0))])
        total = g.add("ReduceSum", [p, np.array([1])], keepdims=1)
        return self._log_odds(g.add("Div", [p, total]))

    def _log_odds(self, probability: str) -> str:
        g = self.graph
        logs = g.add("Log", [g.add("Max", [probability, CERTAIN])])
        return g.add("Sub", [logs, g.add("ReduceMean", [logs], axes=[1], keepdims=1)])

    def _rows(self, values: Any, x: str) -> str:
        """Repeat (K,) for every row."""
        g = self.graph
        n = g.add("Shape", [x], end=1)
        shape = g.add("Concat", [n, np.array([len(values)])], axis=0)
        return g.add("Expand", [values[None], shape])
