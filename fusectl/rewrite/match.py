"""One accepted match, as those see it who write it: pattern values, constants, parameters."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from fusectl.checks.parameters import parameter
from fusectl.decide import Ruling
from fusectl.graph.constants import Array, Unreadable
from fusectl.graph.types import TensorType
from fusectl.graph.view import Attribute, Node, default, schema
from fusectl.match import Role
from fusectl.rewrite.forms import NUMBERS, Form, Forms, NotNative


class Match:
    """A decision's match over what its parts are written as. Constants and casts pile up."""

    def __init__(self, forms: Forms, ruling: Ruling) -> None:
        self.forms = forms
        self.ruling = ruling
        self.found = ruling.candidate
        self.scope = forms.scope
        self.overlay = forms.scope.overlay
        self.constants: dict[str, Array] = {}
        self.casts: list[onnx.NodeProto] = []

    def role(self, value: str) -> Role:
        """Return what plays the node that makes a value of the pattern. Raises NotNative."""
        role = self.found.role_of(value)
        if role is None or role.held:
            raise NotNative(f"nothing of its own makes {value}")
        return role

    def form(self, value: str) -> Form:
        """Return what the maker of a value is written as. Raises NotNative."""
        form = self.forms.native(self.role(value).group)
        self._take(form)
        return form

    def _take(self, form: Form) -> None:
        self.constants.update(form.constants)
        self.casts += (c for c in form.casts if c not in self.casts)

    def bound(self, value: str) -> str:
        """Return the graph's value for one of the pattern, or an empty string."""
        return self.found.bound.get(value, "")

    def operand(self, value: str) -> str:
        """Return the name to write for a value of the pattern, or an empty string where it is none.

        What reads the value may be a fused group, with weights of its own by now.
        """
        bound = self.bound(value)
        if not bound:
            return ""
        for node, role in zip(self.found.pattern.nodes, self.found.roles, strict=True):
            if role is None or role.held or value not in node.inputs:
                continue
            slot = _slot(role.inputs, bound, node.inputs.index(value))
            written = self.forms.native(role.group)
            if 0 <= slot < len(written.node.input):
                self._take(written)
                return str(written.node.input[slot])
        return self.scope.name(bound)

    def coder(self, codes: str) -> onnx.NodeProto:
        """Return the (de)quantiser that reads or makes codes of the pattern. Raises NotNative."""
        for node, role in zip(self.found.pattern.nodes, self.found.roles, strict=True):
            if role is not None and codes in (*node.inputs[:1], *node.outputs[:1]):
                return self.forms.native(role.group).node
        raise NotNative(f"nothing says how {codes} is encoded")

    def type_of(self, value: str) -> TensorType:
        """Return the type of a value of the pattern, as the passes left it."""
        return self.overlay.type_of(self.bound(value))

    def array(self, name: str) -> Array:
        """Return the contents of a constant by the name to write. Raises NotNative."""
        if name in self.constants:
            return self.constants[name]
        try:
            return self.overlay.array(name)
        except KeyError:
            raise NotNative(f"{name} is not known before run time") from None
        except Unreadable as error:
            raise NotNative(str(error)) from None

    def contents(self, value: str) -> Array:
        """Return the contents of a constant of the pattern. Raises NotNative."""
        return self.array(self.operand(value))

    def scalar(self, value: str) -> float:
        """Return the one number that a constant of the pattern holds. Raises NotNative."""
        array = np.asarray(self.contents(value), np.float64)
        if array.size != 1:
            raise NotNative(f"{self.bound(value)} has {array.size} elements")
        return float(array.reshape(-1)[0])

    def parameter(self, name: str, of: str) -> Attribute:
        """Return an attribute or attribute-like input of the maker of a value. Raises NotNative."""
        role = self.role(of)
        if role.group.fused:
            return self._written(name, of)
        found = parameter(self.overlay, role, name)
        if found.runtime or found.trouble:
            raise NotNative(found.trouble or f"{name} of {of} is {found.runtime}, at run time")
        return found.value

    def _written(self, name: str, of: str) -> Attribute:
        """Return a parameter of a node that earlier decisions wrote."""
        proto = self.form(of).node
        node = Node(0, proto)
        if name in node.attrs:
            return node.attrs[name]
        opset = self.scope.view.opset(node.domain)
        known = schema(node.op_type, node.domain, opset)
        formal = [i.name for i in known.inputs] if known else []
        slot = formal.index(name) if name in formal else len(node.inputs)
        if slot < len(node.inputs) and node.inputs[slot]:
            array = self.array(node.inputs[slot])
            return array.item() if array.size == 1 else tuple(array.reshape(-1).tolist())
        return default(node.op_type, node.domain, opset, name)

    def has(self, name: str, of: str) -> bool:
        """Tell whether the maker of a value has an attribute or input of that name."""
        role = self.role(of)
        if role.group.fused:
            return self._written(name, of) is not None
        return parameter(self.overlay, role, name).exists

    def add(self, stem: str, array: Array) -> str:
        """Make a constant of a new name; returns the name."""
        name = self.forms.fresh(stem)
        self.constants[name] = np.asarray(array)
        return name

    def cast(self, value: str, name: str, dtype: str) -> str:
        """Return the name of a value of the pattern, written as ``name``, in another type."""
        known = self.type_of(value).dtype
        if not known:
            raise NotNative(f"the type of {self.bound(value)} is not known")
        if known == dtype:
            return name
        made = self.forms.fresh(f"{name}_{dtype}")
        self.casts.append(helper.make_node("Cast", [name], [made], made, to=NUMBERS[dtype]))
        return made

    def finished(self, node: onnx.NodeProto) -> Form:
        """Return a node with the new constants and the casts that it reads."""
        constants = {n: a for n, a in self.constants.items() if n in node.input}
        return Form(node, constants, [c for c in self.casts if c.output[0] in node.input])


def _slot(inputs: tuple[str, ...], bound: str, stated: int) -> int:
    """Return the input that reads a value: the stated one, or another where operands are turned."""
    if stated < len(inputs) and inputs[stated] == bound:
        return stated
    return inputs.index(bound) if bound in inputs else -1
