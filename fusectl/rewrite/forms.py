"""What a fused group is written as: one native operator, or a function of its original nodes.

A group is written the way it was decided: each decision turns what its parts are written as into
what the whole is written as. Where a step cannot be written as an operator, the group becomes a
model-local function, which any runtime can run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import onnx

from fusectl.decide import Ruling
from fusectl.graph.constants import Array
from fusectl.graph.overlay import Group
from fusectl.graph.types import DTYPES
from fusectl.graph.view import Node, schema
from fusectl.rewrite.scopes import Scope

NUMBERS = {name: number for number, name in DTYPES.items()}


class NotNative(Exception):
    """The fused form cannot be written as one operator; the text says why."""


@dataclass(slots=True)
class Form:
    """One node, with what it needs and the model does not have yet: constants, casts in front."""

    node: onnx.NodeProto
    constants: dict[str, Array] = field(default_factory=dict)
    casts: list[onnx.NodeProto] = field(default_factory=list)

    def copy(self) -> Form:
        """Return a form that can be changed."""
        node = onnx.NodeProto()
        node.CopyFrom(self.node)
        return Form(node, dict(self.constants), list(self.casts))


Writer = Callable[["Forms", Ruling], Form]
"""Writes the fused form of one decision. Raises NotNative."""


class Forms:
    """The written forms of a scope's groups."""

    def __init__(self, scope: Scope, write: Writer, fresh: Callable[[str], str]) -> None:
        self.scope = scope
        self.fresh = fresh
        self._write = write
        self._rulings = {id(r.group): r for r in scope.run.rulings if r.group is not None}
        self._forms: dict[int, Form | NotNative] = {}
        self._retyped: dict[str, tuple[str, Array]] = {}

    def ruling(self, group: Group) -> Ruling:
        """Return the decision that made a fused group."""
        return self._rulings[id(group)]

    def native(self, group: Group) -> Form:
        """Return a group as one node. Raises NotNative."""
        known = self._forms.get(id(group))
        if known is None:
            try:
                known = self._build(group)
            except NotNative as error:
                known = error
            self._forms[id(group)] = known
        if isinstance(known, NotNative):
            raise known
        return known

    def _build(self, group: Group) -> Form:
        if not group.fused:
            return self.plain(group.last)
        return self._write(self, self.ruling(group))

    def final(self, group: Group) -> Form:
        """Return a fused group as the one node that is written. Raises NotNative."""
        form = self.native(group)
        node = form.node
        domain = "" if node.domain == "ai.onnx" else node.domain
        opset = self.scope.view.opset("")
        if not domain and schema(node.op_type, "", opset) is None:
            raise NotNative(f"ONNX has no {node.op_type} at opset {opset}")
        wanted = {self.scope.name(o) for o in group.outputs}
        if wanted - set(node.output):
            raise NotNative(f"{node.op_type} does not write {', '.join(sorted(wanted))}")
        return form

    def plain(self, node: Node) -> Form:
        """Return an original node with the names and codes that the passes left."""
        whole = self.scope.proto(node)
        names = [self.scope.name(v) if v else "" for v in whole.input]
        outputs = [self.scope.name(v) if v else "" for v in whole.output]
        codes = self._codes(node)
        if names == list(whole.input) and outputs == list(whole.output) and not codes:
            return Form(whole)
        proto = onnx.NodeProto()
        proto.CopyFrom(whole)
        del proto.input[:], proto.output[:]
        proto.input.extend(names)
        proto.output.extend(outputs)
        form = Form(proto)
        if codes:
            self._retype(form, codes)
        return form

    def _codes(self, node: Node) -> str:
        """Return the type to which a pass changed the codes that a node writes or reads."""
        retyped = self.scope.overlay.retyped
        for value in (*node.outputs[:1], *node.inputs[:1]):
            if value in retyped and len(node.inputs) > 2:
                return retyped[value]
        return ""

    def _retype(self, form: Form, to: str) -> None:
        """Move a quantiser's zero point by what its codes move."""
        value = form.node.input[2]
        known = self._retyped.get(value)
        if known is None:
            before = self.scope.overlay.array(value)
            shift = int(np.iinfo(to).min) - int(np.iinfo(str(before.dtype)).min)
            moved = (before.astype(np.int64) + shift).astype(to)
            known = self._retyped[value] = (self.fresh(f"{value}_{to}"), moved)
        form.node.input[2] = known[0]
        form.constants[known[0]] = known[1]
        for attribute in form.node.attribute:
            if attribute.name == "output_dtype" and attribute.i:
                attribute.i = NUMBERS[to]


def members(group: Group, scope: Scope) -> list[Node]:
    """Return the original nodes of a group in order, without those that were merged into others."""
    alias = scope.overlay.alias
    found = {id(m): m for m in group.members if not (m.outputs and m.outputs[0] in alias)}
    return sorted(found.values(), key=lambda n: n.index)


def reads(nodes: list[onnx.NodeProto]) -> Iterator[str]:
    """Yield what nodes read and do not make, each once, in order."""
    made = {o for n in nodes for o in n.output if o}
    yield from dict.fromkeys(v for n in nodes for v in n.input if v and v not in made)
