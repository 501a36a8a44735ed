"""One scope's graph, written anew where decisions changed it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper

from fusectl.graph import order
from fusectl.graph.constants import Array
from fusectl.graph.overlay import Group
from fusectl.graph.types import TensorType
from fusectl.graph.view import Node
from fusectl.rewrite.forms import NUMBERS, Forms, NotNative, members
from fusectl.rewrite.local import function
from fusectl.rewrite.marks import mark
from fusectl.rewrite.native import write
from fusectl.rewrite.scopes import Scope
from fusectl.rewrite.source import reads as reads_with_bodies


@dataclass(frozen=True, slots=True)
class Edit:
    """A fused group and what is written in its place.

    ``node`` is one node, behind ``casts`` of what it reads; ``native`` is False where it calls
    ``function``, and ``why`` says why.
    ``replaced`` are the original nodes, with the names that the fused model has. ``constants``
    are new ones that the node reads, ``moved`` those that the replaced nodes read.
    """

    scope: Scope
    group: Group
    replaced: tuple[onnx.NodeProto, ...]
    node: onnx.NodeProto
    constants: dict[str, Array]
    moved: dict[str, Array]
    native: bool
    why: str = ""
    function: onnx.FunctionProto | None = None
    casts: tuple[onnx.NodeProto, ...] = ()


@dataclass(slots=True)
class Written:
    """What a scope becomes: nodes in order, new constants, and the edits behind them."""

    scope: Scope
    nodes: list[onnx.NodeProto]
    constants: dict[str, Array]
    edits: list[Edit]
    gone: set[str]
    functions: list[onnx.FunctionProto] = field(default_factory=list)
    left: list[tuple[Group, str]] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether anything differs from the scope as it was."""
        before = self.scope.nodes
        return len(self.nodes) != len(before) or any(
            new is not old for new, old in zip(self.nodes, before, strict=True)
        )


def plan_scope(scope: Scope, fresh: Callable[[str], str]) -> Written:
    """Return what a scope becomes; the model stays as it is."""
    return _Planner(scope, Forms(scope, write, fresh)).run()


class _Planner:
    def __init__(self, scope: Scope, forms: Forms) -> None:
        self.scope = scope
        self.forms = forms
        self.written = Written(scope, [], {}, [], set())

    def run(self) -> Written:
        scope, overlay = self.scope, self.scope.overlay
        groups = {g.last.index: g for g in overlay.groups if g.alive}
        kept: list[tuple[int, onnx.NodeProto]] = []
        gone: list[Node] = []
        for node in scope.view.nodes:
            group = groups.get(node.index)
            if node.op == "Constant" and overlay.alias.keys() & set(node.outputs):
                # An equal one is read in its place; swept below where nobody else reads it.
                kept.append((node.index, scope.proto(node)))
                continue
            constant = node.op == "Constant" or any(o in overlay.folded for o in node.outputs if o)
            if constant or (group is not None and not group.fused):
                kept.append((node.index, self._plain(node)))
            elif group is None:
                gone.append(node)
        for group in sorted(groups.values(), key=lambda g: g.order):
            if group.fused:
                kept += ((group.last.index, n) for n in self._fused(group))
        kept.sort(key=lambda entry: entry[0])
        self.written.nodes = [n for _, n in kept]
        made = {o for n in self.written.nodes for o in n.output if o}
        names = (scope.name(o) for n in scope.view.nodes for o in n.outputs if o)
        self.written.gone = {o for o in names if o not in made}
        self.written.gone |= {o for n in gone for o in n.outputs if o and o not in made}
        self._sweep()
        return self.written

    def _plain(self, node: Node) -> onnx.NodeProto:
        form = self.forms.plain(node)
        self.written.constants.update(form.constants)
        return form.node

    def _fused(self, group: Group) -> list[onnx.NodeProto]:
        scope = self.scope
        originals = [self.forms.plain(m) for m in members(group, scope)]
        nodes = [f.node for f in originals]
        constants = {n: a for f in originals for n, a in f.constants.items()}
        replaced = tuple(nodes)
        try:
            form = self.forms.final(group)
            if form.constants and scope.in_function:
                raise NotNative("a function cannot hold new weights")
            new = _copy(form.node)
            casts = tuple(form.casts)
            edit = Edit(scope, group, replaced, new, form.constants, constants, True, casts=casts)
        except NotNative as error:
            why = str(error)
            outputs = [scope.name(o) for o in group.outputs]
            try:
                rule = self.forms.ruling(group).candidate.rule.id
                held, call = function(scope, nodes, outputs, rule)
            except NotNative as trouble:
                self.written.left.append((group, str(trouble)))
                self.written.constants.update(constants)
                return nodes
            call.name = group.last.name
            edit = Edit(scope, group, replaced, call, constants, constants, False, why, held)
        mark(edit.node, group, scope)
        self.written.edits.append(edit)
        self.written.constants.update(edit.constants)
        return [*edit.casts, edit.node]

    def _sweep(self) -> None:
        """Drop constants, and what is computed of constants, that only served what is gone now."""
        served = {v for e in self.written.edits for n in e.replaced for v in n.input if v}
        served |= {
            v
            for n in self.scope.view.nodes
            if set(n.outputs) & self.written.gone
            for v in n.inputs
            if v
        }
        returned = {self.scope.name(o) for o in self.scope.view.outputs}
        while True:
            read = {v for n in self.written.nodes for v in reads_with_bodies(n)} | returned
            dead = [
                n
                for n in self.written.nodes
                if n.output
                and set(n.output) & served
                and not set(n.output) & read
                and self._constant(n)
            ]
            if not dead:
                return
            for node in dead:
                served.update(v for v in node.input if v)
                self.written.gone.update(o for o in node.output if o)
            doomed = {id(n) for n in dead}
            self.written.nodes = [n for n in self.written.nodes if id(n) not in doomed]

    def _constant(self, node: onnx.NodeProto) -> bool:
        return node.op_type == "Constant" or node.output[0] in self.scope.overlay.folded


def put(written: Written) -> None:
    """Write a scope's nodes, types and constants into its graph or function."""
    scope, holder = written.scope, written.scope.holder
    if not written.changed:
        return
    nodes = [_copy(n) for n in written.nodes]
    del holder.node[:]
    holder.node.extend(nodes)
    if isinstance(holder, onnx.FunctionProto):
        _order_function(holder)
        return
    order.sort(holder, "the fused model")
    for output in holder.output:
        output.name = scope.name(output.name) if output.name not in scope._own else output.name
    _put_types(written, holder)


def _order_function(holder: onnx.FunctionProto) -> None:
    graph = onnx.GraphProto()
    graph.node.extend(holder.node)
    if order.sort(graph, holder.name):
        del holder.node[:]
        holder.node.extend(graph.node)


def _copy(node: onnx.NodeProto) -> onnx.NodeProto:
    copied = onnx.NodeProto()
    copied.CopyFrom(node)
    return copied


def _put_types(written: Written, graph: onnx.GraphProto) -> None:
    made = {o for n in graph.node for o in n.output if o}
    stays = made | {i.name for i in graph.input} | {t.name for t in graph.initializer}
    scope = written.scope
    for info in [i for i in graph.value_info if i.name in written.gone and i.name not in stays]:
        graph.value_info.remove(info)
    _retype(scope, graph)
    told = {i.name for i in (*graph.value_info, *graph.output, *graph.input)}
    for edit in written.edits:
        for old, new in ((o, scope.name(o)) for o in edit.group.outputs):
            info = info_of(new, scope.overlay.type_of(old))
            if new not in told and info is not None:
                graph.value_info.append(info)
                told.add(new)


def _retype(scope: Scope, graph: onnx.GraphProto) -> None:
    names = {scope.name(v): t for v, t in scope.overlay.retyped.items()}
    for info in graph.value_info:
        if info.name in names:
            info.type.tensor_type.elem_type = NUMBERS[names[info.name]]


def info_of(name: str, known: TensorType) -> onnx.ValueInfoProto | None:
    """Return the type of a value as ONNX writes it, or None where nothing is known."""
    if not known.dtype:
        return None
    return helper.make_tensor_value_info(name, NUMBERS[known.dtype], known.dims)


def tensors(constants: dict[str, Array]) -> Iterable[onnx.TensorProto]:
    """Yield new constants as tensors."""
    for name, array in constants.items():
        yield numpy_helper.from_array(np.asarray(array), name)
