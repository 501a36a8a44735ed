"""A fused node and what it replaces, each as a model of its own, to be run against each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper, numpy_helper

from fusectl.graph.constants import Array, Unreadable
from fusectl.graph.functions import FUSED
from fusectl.rewrite.emit import Edit, info_of
from fusectl.rewrite.forms import members, reads


@dataclass(frozen=True, slots=True)
class Parts:
    """Two models with the same inputs and outputs, as bytes."""

    original: bytes
    fused: bytes


def parts(edit: Edit, model: onnx.ModelProto) -> Parts:
    """Return the replaced nodes and the written one; ``model`` is the fused model around them."""
    return _Builder(edit, model).build()


class _Builder:
    def __init__(self, edit: Edit, model: onnx.ModelProto) -> None:
        self.edit = edit
        self.model = model
        scope = edit.scope
        self.olds: dict[str, str] = {}
        for node in members(edit.group, scope):
            for value in (*node.inputs, *node.outputs):
                if value:
                    self.olds.setdefault(scope.name(value), value)
        self.constants = {**edit.moved, **edit.constants}

    def build(self) -> Parts:
        made = {o for n in self.edit.replaced for o in n.output if o}
        outputs = [o for o in self.edit.node.output if o in made]
        return Parts(
            self._model(list(self.edit.replaced), outputs),
            self._model([*self.edit.casts, self.edit.node], outputs),
        )

    def _model(self, nodes: list[onnx.NodeProto], outputs: list[str]) -> bytes:
        model = onnx.ModelProto(ir_version=max(self.model.ir_version, 8))
        model.opset_import.extend(self._imports())
        graph = model.graph
        graph.name = "part"
        graph.node.extend(nodes)
        for value in reads(nodes):
            array = self._constant(value)
            if array is None:
                graph.input.append(self._info(value))
            else:
                graph.initializer.append(numpy_helper.from_array(np.asarray(array), value))
        graph.output.extend(self._info(o) for o in outputs)
        held = self.edit.function
        called = {(n.domain, n.op_type) for n in nodes}
        if held is not None:
            model.functions.append(held)
            called |= {(n.domain, n.op_type) for n in held.node}
        known = [f for f in self.model.functions if f.domain != FUSED]
        if any((f.domain, f.name) in called for f in known):
            model.functions.extend(known)
        return bytes(model.SerializeToString(deterministic=True))

    def _imports(self) -> list[onnx.OperatorSetIdProto]:
        """Return the opsets of the scope, which a function has its own of, and of what is new."""
        found = {o.domain: o.version for o in self.model.opset_import}
        found.update(self.edit.scope.view.opsets)
        found.pop("ai.onnx", None)
        return [helper.make_opsetid(d, v) for d, v in found.items()]

    def _constant(self, value: str) -> Array | None:
        if value in self.constants:
            return self.constants[value]
        old = self.olds.get(value, value)
        overlay = self.edit.scope.overlay
        if not overlay.is_constant(old):
            return None
        try:
            return overlay.array(old)
        except (Unreadable, KeyError):
            return None

    def _info(self, value: str) -> onnx.ValueInfoProto:
        old = self.olds.get(value, value)
        known = info_of(value, self.edit.scope.overlay.type_of(old))
        return known if known is not None else onnx.ValueInfoProto(name=value)
