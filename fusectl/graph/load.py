"""A model file to a ModelView: scopes, functions per call site, constants, types, notes."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from functools import cache, partial
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from fusectl.errors import ModelError
from fusectl.graph import functions, order
from fusectl.graph.constants import SMALL, Array, Constants, Weights
from fusectl.graph.dtypes import complete
from fusectl.graph.opsets import imported, tell_unknown
from fusectl.graph.plain import computes_sizes, plain_types
from fusectl.graph.read import parse, read_bytes
from fusectl.graph.refine import refine
from fusectl.graph.repeat import shorten
from fusectl.graph.shapes import StandIn, bodies, has_bodies, infer, invented, types_of
from fusectl.graph.types import DTYPES, TensorType
from fusectl.graph.view import GraphView, ModelView, Node, Step


def load_model(
    source: str | Path | onnx.ModelProto,
    alike: Mapping[str, StandIn],
    like_first: Collection[str] = (),
    *,
    short: bool = False,
    inline: bool = False,
    folder: Path | None = None,
) -> ModelView:
    """Load a model from a file, from standard input (``-``) or from a ModelProto.

    ``folder`` is where the external data of a ModelProto lie.

    ``alike`` maps operators outside ONNX to the ONNX operator of the same result shape;
    ``like_first`` lists those whose result has at least the type of their first input.
    ``short`` takes equal layers out of a large graph (see ``graph.repeat``); ``whole()`` of the
    result loads all of it. ``inline`` puts the bodies of model-local functions in the place of
    their calls. Raises ModelError where no graph can be made of it.
    """
    given = isinstance(source, onnx.ModelProto)
    if isinstance(source, onnx.ModelProto):
        # Big initializers are dropped below; the caller's own object stays whole.
        data, name = source.SerializeToString(), "<model>"
    else:
        name, data = read_bytes(str(source))
        folder = None if name == "<stdin>" else Path(name).resolve().parent
    sha256 = hashlib.sha256(data).hexdigest()

    def fresh() -> onnx.ModelProto:
        model = onnx.ModelProto.FromString(data) if given else parse(name, data)
        return functions.inlined(model) if inline else model

    def load(short: bool) -> ModelView:
        loader = _Loader(name, sha256, fresh(), Weights(folder, fresh), alike, like_first, short)
        view = loader.load()
        view.whole = partial(load, False)
        return view

    try:
        return load(short)
    except ModelError:
        if not short:
            raise
        return load(False)  # which tells what is wrong in the user's names


class _Loader:
    def __init__(
        self,
        name: str,
        sha256: str,
        model: onnx.ModelProto,
        weights: Weights,
        alike: Mapping[str, StandIn],
        like_first: Collection[str],
        short: bool,
    ) -> None:
        self.name = name
        self.model = model
        self.weights = weights
        self.alike = alike
        self.like_first = like_first
        self.short = short
        self.functions = {functions.identity(f): f for f in model.functions}
        self.seen_calls: dict[object, GraphView] = {}
        self.view = ModelView(name, sha256, model.ir_version, {}, external=weights.asked)
        self.view.functions = tuple(model.functions)

    def load(self) -> ModelView:
        view, model = self.view, self.model
        view.opsets = imported(view, model.opset_import, model.graph.node)
        self._drop_weights(model.graph, ())
        if order.sort(model.graph, self.name):
            view.note("warning", "the nodes are not in topological order; sorted for this report")
        if self.short:
            view.repeat = shorten(model)
        inferred, trouble = infer(model, self.alike)
        if trouble:
            view.note("warning", f"shape inference failed: {trouble}; explained with what is known")
        # Before IR version 4 every initializer also had to be an input; since then such an
        # initializer is a default that the caller may override, hence not constant.
        overridable = model.ir_version >= 4
        main = self._graph(model.graph, inferred.graph, (), None, view.opsets, overridable)
        if view.repeat is not None:
            for node in main.nodes[view.repeat.cut - view.repeat.period : view.repeat.cut]:
                node.copies += view.repeat.removed
        self._inner(main, inferred.graph)
        return view

    def _drop_weights(self, graph: onnx.GraphProto, place: tuple[int, ...]) -> None:
        for number, tensor in enumerate(graph.initializer):
            if tensor.HasField("raw_data") and _big(tensor):
                self.weights.drop(tensor, (*place, number))
        for number, node in enumerate(graph.node):
            if has_bodies(node):
                for attribute, body in bodies(node):
                    self._drop_weights(body, (*place, number, attribute))

    def _graph(
        self,
        graph: onnx.GraphProto,
        typed: onnx.GraphProto,
        scope: tuple[Step, ...],
        parent: GraphView | None,
        opsets: Mapping[str, int],
        overridable: bool,
        constants: Constants | None = None,
    ) -> GraphView:
        constants = constants or Constants(self.weights, parent.constants if parent else None)
        try:
            nodes = tuple(Node(i, proto) for i, proto in enumerate(graph.node))
        except ModelError as error:
            raise ModelError(f"{self.name}: {error}") from None
        inputs = tuple(i.name for i in graph.input)
        types = types_of(typed)
        self._constants(graph, nodes, constants, types, set(inputs) if overridable else set())
        view = GraphView(
            self.view,
            scope,
            nodes,
            inputs,
            tuple(o.name for o in graph.output),
            opsets,
            constants,
            types,
            parent,
        )
        stored = {i.name for i in graph.initializer}
        stored |= {s.values.name for s in graph.sparse_initializer}
        order.arrange(view, stored, self.name)
        self.view.graphs.append(view)
        tell_unknown(view, self.functions)
        complete(view, self.like_first)
        if parent is None and not scope:
            refine(view, self.model, self._types)
            if computes_sizes(view) or invented(self.model.graph):
                args = view, self.model, self.alike, self.like_first
                view.plain = cache(partial(plain_types, *args))
        return view

    def _types(self, model: onnx.ModelProto) -> dict[str, TensorType]:
        return types_of(infer(model, self.alike)[0].graph)

    def _constants(
        self,
        graph: onnx.GraphProto,
        nodes: tuple[Node, ...],
        constants: Constants,
        types: dict[str, TensorType],
        overridable: set[str],
    ) -> None:
        for tensor in graph.initializer:
            if tensor.name in overridable:
                self.view.note(
                    "info",
                    "initializers that are also graph inputs can be overridden by the caller "
                    "(IR version 4 and later), so they count as run-time values",
                )
                constants.default(tensor.name, tensor)
            else:
                constants.add(tensor.name, tensor)
            types[tensor.name] = _stored_type(tensor)
        for sparse in graph.sparse_initializer:
            constants.compute(sparse.values.name, partial(_dense, sparse))
            types[sparse.values.name] = _sparse_type(sparse)
        for node in nodes:
            if node.op == "Constant" and node.outputs:
                self._constant_node(node, constants, types)

    def _constant_node(
        self, node: Node, constants: Constants, types: dict[str, TensorType]
    ) -> None:
        sparse = next(
            (a.sparse_tensor for a in node.proto.attribute if a.name == "sparse_value"), None
        )
        if sparse is not None:
            constants.compute(node.outputs[0], partial(_dense, sparse))
            types[node.outputs[0]] = _sparse_type(sparse)
            return
        tensor = _constant_tensor(node)
        if tensor is not None:
            constants.add(node.outputs[0], tensor)
            types.setdefault(node.outputs[0], _stored_type(tensor))

    def _inner(self, view: GraphView, typed: onnx.GraphProto) -> None:
        """Go into the bodies and functions of a scope's nodes."""
        for node in view.nodes:
            function = self.functions.get(functions.called(node.proto))
            if function is not None:
                # What stands in a fused group is decided; it is one operator now.
                if node.domain != functions.FUSED:
                    self._call(view, node, function)
            elif has_bodies(node.proto):
                for attribute, body in bodies(node.proto):
                    name = node.proto.attribute[attribute].name
                    step = Step(node=node.label, attr=name)
                    inner_typed = typed.node[node.index].attribute
                    inferred = inner_typed[attribute].g if attribute < len(inner_typed) else body
                    scope = (*view.scope, step)
                    made = self._graph(body, inferred, scope, view, view.opsets, False)
                    self._inner(made, inferred)

    def _call(self, view: GraphView, node: Node, function: onnx.FunctionProto) -> None:
        name = f"{function.domain}.{function.name}" if function.domain else function.name
        if any(step.function == name for step in view.scope) or len(view.scope) > 32:
            raise ModelError(f"{self.name}: the function {name} calls itself")
        key = functions.call_key(view, node, name)
        known = self.seen_calls.get(key)
        if known is not None:
            known.calls += 1
            return
        body = functions.body_model(self.model, view, node, function)
        inferred, _ = infer(body, self.alike)
        constants = Constants(self.weights)
        for formal, actual in zip(function.input, node.inputs, strict=False):
            if actual in view.constants:
                constants.renamed[formal] = (view.constants, actual)
        scope = (*view.scope, Step(function=name, call=node.label))
        opsets = imported(self.view, function.opset_import, function.node)
        made = self._graph(body.graph, inferred.graph, scope, None, opsets, False, constants)
        self.seen_calls[key] = made
        self._inner(made, inferred.graph)


def _big(tensor: onnx.TensorProto) -> bool:
    size = 1
    for dim in tensor.dims:
        size *= dim
    return size > SMALL // 4


def _stored_type(tensor: onnx.TensorProto) -> TensorType:
    return TensorType(DTYPES.get(tensor.data_type, ""), tuple(tensor.dims))


def _sparse_type(sparse: onnx.SparseTensorProto) -> TensorType:
    return TensorType(DTYPES.get(sparse.values.data_type, ""), tuple(sparse.dims))


def _constant_tensor(node: Node) -> onnx.TensorProto | None:
    for attribute in node.proto.attribute:
        if attribute.name == "value":
            tensor: onnx.TensorProto = attribute.t
            return tensor
        value = node.attrs.get(attribute.name)
        if attribute.name in ("value_float", "value_floats"):
            return numpy_helper.from_array(np.asarray(value, np.float32))
        if attribute.name in ("value_int", "value_ints"):
            return numpy_helper.from_array(np.asarray(value, np.int64))
    return None


def _dense(sparse: onnx.SparseTensorProto) -> Array:
    values = numpy_helper.to_array(sparse.values)
    dense = np.zeros(tuple(sparse.dims), values.dtype)
    indices = numpy_helper.to_array(sparse.indices)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    return dense
