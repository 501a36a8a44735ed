"""ONNX's own checker on a model, without its weights: it needs no data to judge a graph."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import checker, helper

from fusectl.graph.shapes import bodies, has_bodies

_SMALL = 1024
"""Bytes up to which a constant stays: the checker looks at none, and other code may."""


def bare(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of a model in which big and external weights are inputs."""
    copy = onnx.ModelProto()
    for field, value in model.ListFields():
        if field.name != "graph":
            _copy(copy, field.name, value)
    moved: dict[str, onnx.ValueInfoProto] = {}
    _graph(model.graph, copy.graph, moved)
    listed = {i.name for i in copy.graph.input}
    copy.graph.input.extend(i for n, i in moved.items() if n not in listed)
    return copy


def trouble(model: onnx.ModelProto) -> str:
    """Return what the checker finds wrong with a bare model, in one line, or an empty string."""
    try:
        checker.check_model(model)
    except Exception as error:  # it raises several kinds
        return (str(error).strip() or type(error).__name__).splitlines()[0]
    return ""


def _copy(into: object, name: str, value: object) -> None:
    if hasattr(value, "__len__") and not isinstance(value, str | bytes):
        getattr(into, name).extend(value)
    else:
        setattr(into, name, value)


def _graph(
    graph: onnx.GraphProto, into: onnx.GraphProto, moved: dict[str, onnx.ValueInfoProto]
) -> None:
    """Copy a graph; weights that are left behind go to ``moved``."""
    for field, value in graph.ListFields():
        if field.name not in ("initializer", "node"):
            _copy(into, field.name, value)
    for tensor in graph.initializer:
        external = tensor.data_location == onnx.TensorProto.EXTERNAL
        if external or tensor.ByteSize() > _SMALL:
            info = helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            moved.setdefault(tensor.name, info)
        else:
            into.initializer.add().CopyFrom(tensor)
    for node in graph.node:
        held = list(_bodies(node))
        copied = into.node.add()
        if not held:
            copied.CopyFrom(node)
            continue
        _node(node, copied, moved)


def _node(
    node: onnx.NodeProto, into: onnx.NodeProto, moved: dict[str, onnx.ValueInfoProto]
) -> None:
    for field, value in node.ListFields():
        if field.name != "attribute":
            _copy(into, field.name, value)
    for attribute in node.attribute:
        copied = into.attribute.add()
        if attribute.type == onnx.AttributeProto.GRAPH:
            copied.name, copied.type = attribute.name, attribute.type
            _graph(attribute.g, copied.g, moved)
        else:
            copied.CopyFrom(attribute)


def _bodies(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    if has_bodies(node):
        yield from (body for _, body in bodies(node))
