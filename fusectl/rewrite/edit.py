"""Small changes to nodes."""

from __future__ import annotations

import onnx
from onnx import helper


def stated(node: onnx.NodeProto, name: str, otherwise: object) -> object:
    """Return an attribute of a node as it states it."""
    for attribute in node.attribute:
        if attribute.name == name:
            return helper.get_attribute_value(attribute)
    return otherwise


def int_of(node: onnx.NodeProto, name: str, otherwise: int = 0) -> int:
    """Return a whole number that a node states."""
    value = stated(node, name, otherwise)
    assert isinstance(value, int)
    return value


def float_of(node: onnx.NodeProto, name: str, otherwise: float) -> float:
    """Return a number that a node states."""
    value = stated(node, name, otherwise)
    assert isinstance(value, int | float)
    return float(value)


def set_to(node: onnx.NodeProto, name: str, value: object) -> None:
    """State an attribute."""
    for attribute in list(node.attribute):
        if attribute.name == name:
            node.attribute.remove(attribute)
    node.attribute.append(helper.make_attribute(name, value))


def input_of(node: onnx.NodeProto, slot: int) -> str:
    """Return an input of a node, or an empty string."""
    return node.input[slot] if slot < len(node.input) else ""


def put(node: onnx.NodeProto, slot: int, name: str) -> None:
    """Put a value into an input."""
    while len(node.input) <= slot:
        node.input.append("")
    node.input[slot] = name
