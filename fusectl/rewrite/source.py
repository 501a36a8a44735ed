"""One scope of a model with everything that is needed to write a part of it as a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import onnx
from onnx import numpy_helper

from fusectl.errors import UsageError
from fusectl.graph.constants import Unreadable
from fusectl.graph.load import load_model
from fusectl.graph.read import parse, read_bytes
from fusectl.graph.shapes import bodies, has_bodies
from fusectl.graph.view import GraphView, Step
from fusectl.tables.operators import Operators

Model: TypeAlias = onnx.ModelProto
"""For callers that do not touch ONNX themselves."""
SMALL = 1024
"""Elements up to which a constant is worth keeping without being asked for."""


class Source:
    """A scope: its nodes in order, whole, and who makes and reads each value.

    Nodes are known by their place in the order of the scope.
    """

    def __init__(self, model: onnx.ModelProto, view: GraphView) -> None:
        """Take a whole model and the view of one of its scopes."""
        self.model = model
        self.view = view
        self.nodes = tuple(_whole(view, model))
        self.makers = {o: p for p, n in enumerate(self.nodes) for o in n.output if o}
        self.readers: dict[str, list[int]] = {}
        for place, node in enumerate(self.nodes):
            for value in reads(node):
                self.readers.setdefault(value, []).append(place)
        self._tensors: dict[str, onnx.TensorProto | None] = {}
        self._fixed: dict[int, bool] = {}

    def tensor(self, value: str) -> onnx.TensorProto | None:
        """Return a constant with its contents, or None where they cannot be had."""
        if value not in self._tensors:
            try:
                array = self.view.constants.array(value)
                self._tensors[value] = numpy_helper.from_array(np.asarray(array), value)
            except (Unreadable, KeyError, ValueError, TypeError):
                self._tensors[value] = None
        return self._tensors[value]

    def small(self, value: str) -> bool:
        """Tell whether a constant has few elements."""
        static = self.view.type_of(value).static
        return static is None or int(np.prod(static, dtype=np.float64)) <= SMALL

    def around(self, place: int) -> Iterator[int]:
        """Yield the makers of what a node reads and the readers of what it makes."""
        node = self.nodes[place]
        yield from (self.makers[v] for v in reads(node) if v in self.makers)
        for output in node.output:
            yield from self.readers.get(output, ())

    def fixed(self, place: int) -> bool:
        """Tell whether a node computes from constants alone."""
        known = self._fixed.get(place)
        if known is None:
            self._fixed[place] = False
            node = self.nodes[place]
            known = bool(node.input) and not has_bodies(node)
            known = known and all(self._known(v) for v in node.input if v)
            self._fixed[place] = known
        return known

    def _known(self, value: str) -> bool:
        if value in self.view.constants:
            return True
        maker = self.makers.get(value)
        return maker is not None and self.fixed(maker)


def open_source(path: str, operators: Operators, scope: tuple[Step, ...], output: str) -> Source:
    """Read a model once more, and find the scope in which a node makes ``output``."""
    name, data = read_bytes(path)
    view = load_model(path, operators.alike())
    for graph in view.graphs:
        if graph.scope == scope and output in graph.producers:
            return Source(parse(name, data), graph)
    raise UsageError(f"{path}: the graph that makes {output!r} cannot be found again")


def reads(node: onnx.NodeProto) -> dict[str, None]:
    """Return the values that a node reads, those read in its bodies after its own."""
    found = {value: None for value in node.input if value}
    if has_bodies(node):
        for _, body in bodies(node):
            found.update(_captures(body))
    return found


def _captures(body: onnx.GraphProto) -> dict[str, None]:
    inner = {i.name for i in body.input} | {t.name for t in body.initializer}
    inner |= {t.values.name for t in body.sparse_initializer}
    inner |= {o for node in body.node for o in node.output}
    wanted = [v for node in body.node for v in reads(node)] + [o.name for o in body.output]
    return {value: None for value in wanted if value not in inner}


def _whole(view: GraphView, model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """Return the nodes of a scope in its order, with all their weights.

    They are found again by their outputs: the view may have sorted them.
    """
    known = {tuple(n.output): n for n in _protos(view, model)}
    return [known.get(n.outputs, n.proto) for n in view.nodes]


def _protos(view: GraphView, model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """Return the nodes of a scope in the order of the file."""
    if not view.scope:
        return list(model.graph.node)
    if view.parent is None:  # a function: the view made the body, and bodies have no initializers
        return [n.proto for n in view.nodes]
    step = view.scope[-1]
    mine = {n.outputs for n in view.nodes}
    outer = zip(view.parent.nodes, _whole(view.parent, model), strict=True)
    for proto in (p for n, p in outer if n.label == step.node):
        for attribute in proto.attribute:
            inner = list(attribute.g.node)
            if attribute.name == step.attr and {tuple(n.output) for n in inner} == mine:
                return inner
    raise UsageError(f"the body {step.attr} of {step.node} cannot be found again")
