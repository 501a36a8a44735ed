"""Model-local functions: a body has no types of its own, so it is read once per kind of call."""

from __future__ import annotations

import onnx

from fusectl.graph.shapes import bodies, has_bodies
from fusectl.graph.types import DTYPES, TensorType
from fusectl.graph.view import GraphView, Node

FUSED = "fusectl"
"""The domain of functions that are fused groups: written by ``fusectl.rewrite``."""
_NUMBERS = {name: number for number, name in DTYPES.items()}


Identity = tuple[str, str, str]


def identity(function: onnx.FunctionProto) -> Identity:
    """Return what tells a function from others: domain, name and overload."""
    return function.domain, function.name, function.overload


def called(node: onnx.NodeProto) -> Identity:
    """Return the identity of the function that a node calls, if it calls one."""
    return node.domain, node.op_type, node.overload


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model with function bodies in the place of their calls; fused groups stay.

    It is the model itself where there is nothing to do, or where it cannot be done.
    """
    if all(f.domain == FUSED for f in model.functions):
        return model
    from onnx import inliner

    fused = [(f.domain, f.name) for f in model.functions if f.domain == FUSED]
    try:
        return inliner.inline_selected_functions(model, fused, exclude=True)
    except Exception:  # the C++ side raises many types; bodies are then explained by themselves
        return model


def call_key(view: GraphView, node: Node, name: str) -> tuple[object, ...]:
    """What a call's explanation depends on: function, attributes, input types, constants.

    A constant is known by its name and the scope that stores it: two bodies may store different
    ones under one name.
    """
    attributes = tuple(a.SerializeToString(deterministic=True) for a in node.proto.attribute)
    inputs = tuple((view.type_of(v), view.constants.origin(v), bool(v)) for v in node.inputs)
    return (name, node.proto.overload, attributes, inputs, len(node.outputs))


def body_model(
    model: onnx.ModelProto, view: GraphView, node: Node, function: onnx.FunctionProto
) -> onnx.ModelProto:
    """Make a model of a function's body with the types and attributes of one call."""
    body = onnx.ModelProto(ir_version=model.ir_version)
    body.opset_import.extend(function.opset_import)
    body.functions.extend(model.functions)
    graph = body.graph
    graph.name = function.name
    graph.node.extend(function.node)
    actuals = list(node.inputs) + [""] * len(function.input)
    absent = set()
    for formal, actual in zip(function.input, actuals, strict=False):
        info = graph.input.add(name=formal)
        if actual:
            _set_type(info.type, view.type_of(actual))
        else:
            absent.add(formal)
    for formal in function.output:
        graph.output.add(name=formal)
    stated = {a.name: a for a in function.attribute_proto}
    stated.update({a.name: a for a in node.proto.attribute})
    for inner in graph.node:
        _substitute(inner, stated)
        _leave_out(inner, absent)
    return body


def _leave_out(node: onnx.NodeProto, absent: set[str]) -> None:
    """Leave out operands of a node that the call did not give, also in bodies."""
    if not absent:
        return
    for number, value in enumerate(node.input):
        if value in absent:
            node.input[number] = ""
    if has_bodies(node):
        for _, body in bodies(node):
            for inner in body.node:
                _leave_out(inner, absent)


def _substitute(node: onnx.NodeProto, stated: dict[str, onnx.AttributeProto]) -> None:
    """Replace references to the function's attributes by the call's values."""
    for attribute in list(node.attribute):
        if not attribute.ref_attr_name:
            continue
        actual = stated.get(attribute.ref_attr_name)
        if actual is None:
            node.attribute.remove(attribute)
            continue
        name = attribute.name
        attribute.CopyFrom(actual)
        attribute.name = name
    if has_bodies(node):
        for _, body in bodies(node):
            for inner in body.node:
                _substitute(inner, stated)


def _set_type(proto: onnx.TypeProto, known: TensorType) -> None:
    if not known.dtype:
        return
    proto.tensor_type.elem_type = _NUMBERS[known.dtype]
    if known.dims is None:
        return
    shape = proto.tensor_type.shape
    shape.SetInParent()
    for dim in known.dims:
        entry = shape.dim.add()
        if isinstance(dim, int):
            entry.dim_value = dim
        elif dim is not None:
            entry.dim_param = dim
