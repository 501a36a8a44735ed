"""The scopes of a model beside the decisions about them: each view with the graph to be edited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import onnx

from fusectl.decide import Run
from fusectl.errors import UsageError
from fusectl.graph.functions import FUSED
from fusectl.graph.overlay import Overlay
from fusectl.graph.shapes import bodies, has_bodies
from fusectl.graph.view import GraphView, Node

Holder = onnx.GraphProto | onnx.FunctionProto


@dataclass(slots=True, eq=False)
class Scope:
    """One scope: what was decided, and the part of the model that it was decided about.

    ``nodes`` are the nodes of the whole model in the order of the view; those of a function have
    the attributes of its call. ``renamed`` maps a value to the name of the graph output that it
    is returned as, where a no-op between the two is gone.
    """

    run: Run
    holder: Holder
    nodes: tuple[onnx.NodeProto, ...]
    outer: Scope | None
    renamed: dict[str, str] = field(default_factory=dict)
    _own: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        view = self.run.view
        self._own = {*view.producers, *view.inputs}
        if isinstance(self.holder, onnx.GraphProto):
            self._own.update(t.name for t in self.holder.initializer)
            self._own.update(t.values.name for t in self.holder.sparse_initializer)
        for output in view.outputs:
            source = self._aliased(output)
            if source != output:
                self.renamed[source] = output

    @property
    def view(self) -> GraphView:
        """The view of the scope."""
        return self.run.view

    @property
    def overlay(self) -> Overlay:
        """The overlay as the passes left it."""
        return self.run.overlay

    @property
    def in_function(self) -> bool:
        """Whether the scope is a function's body, or a body in one."""
        return bool(self.view.scope) and bool(self.view.scope[0].function)

    def _aliased(self, value: str) -> str:
        alias = self.overlay.alias
        while value in alias:
            value = alias[value]
        return value

    def name(self, value: str) -> str:
        """Return what a value of the view is called in the model that is written."""
        scope: Scope | None = self
        while scope is not None:
            if value in scope._own:
                source = scope._aliased(value)
                if source in scope._own or scope.outer is None:
                    return scope.renamed.get(source, source)
                value = source
            scope = scope.outer
        return value

    def proto(self, node: Node) -> onnx.NodeProto:
        """Return a node of the view, whole."""
        return self.nodes[node.index]


def pair(model: onnx.ModelProto, runs: Iterable[Run]) -> list[Scope]:
    """Pair the runs on a model with its graphs; outer scopes stand before inner ones.

    A function has one scope for each kind of call, all with the same holder.
    """
    return _Pairing(model, list(runs)).scopes


class _Pairing:
    def __init__(self, model: onnx.ModelProto, runs: list[Run]) -> None:
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.scopes: list[Scope] = []
        self.inner: dict[int, list[Run]] = {}
        for run in runs:
            self.inner.setdefault(id(run.view.parent), []).append(run)
        for run in self.inner.get(id(None), []):
            if not run.view.scope:
                self._add(run, model.graph, tuple(model.graph.node), None)
            else:
                name = run.view.scope[-1].function
                held = next(f for (d, n), f in self.functions.items() if _called(d, n) == name)
                self._add(run, held, tuple(n.proto for n in run.view.nodes), None)

    def _add(
        self, run: Run, holder: Holder, nodes: tuple[onnx.NodeProto, ...], outer: Scope | None
    ) -> None:
        if len(nodes) != len(run.view.nodes):
            raise UsageError("the model changed while it was rewritten")
        scope = Scope(run, holder, nodes, outer)
        self.scopes.append(scope)
        children = iter(self.inner.get(id(run.view), []))
        for node, proto in zip(run.view.nodes, nodes, strict=True):
            for body in self._bodies(node, proto):
                self._add(next(children), body, tuple(body.node), scope)

    def _bodies(self, node: Node, proto: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
        key = (node.proto.domain, node.op_type)
        if node.domain != FUSED and key not in self.functions and has_bodies(node.proto):
            yield from (body for _, body in bodies(proto))


def _called(domain: str, name: str) -> str:
    return f"{domain}.{name}" if domain else name
