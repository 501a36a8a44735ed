"""Shape inference that never touches weights and survives operators that ONNX does not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx
from onnx import shape_inference

from fusectl.graph.types import UNKNOWN, TensorType, tensor_type
from fusectl.graph.view import schema


def infer(
    model: onnx.ModelProto, alike: Mapping[str, tuple[str, ...]]
) -> tuple[onnx.ModelProto, str]:
    """Return the model with inferred types and, where inference failed, why.

    ``alike`` names for an operator outside ONNX the ONNX operator with the same result shape; it
    stands in for it while shapes are inferred, so that inference does not stop there.
    """
    scratch = model
    if any(
        node.domain and f"{node.domain}.{node.op_type}" in alike for node in _nodes(model.graph)
    ):
        scratch = onnx.ModelProto()
        scratch.CopyFrom(model)
        for node in _nodes(scratch.graph):
            _stand_in(scratch.graph, node, alike.get(f"{node.domain}.{node.op_type}", ()))
    try:
        return shape_inference.infer_shapes(scratch, data_prop=True), ""
    except Exception as error:  # the C++ side raises many types; none may end the explanation
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        return model, first


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        if has_bodies(node):
            for _, body in bodies(node):
                yield from _nodes(body)


def _stand_in(graph: onnx.GraphProto, node: onnx.NodeProto, how: tuple[str, ...]) -> None:
    if not how:
        return
    op_type, *sizes = how
    if sizes:
        # The second operand holds packed codes; one of the shape they stand for takes its place.
        stated = {a.name: a.i for a in node.attribute}
        name = f"{node.output[0]}_unpacked"
        weight = onnx.helper.make_tensor_value_info(
            name, onnx.TensorProto.FLOAT, [stated.get(s, 0) for s in sizes]
        )
        graph.input.append(weight)
        node.input[1] = name
        del node.input[2:]
    known = schema(op_type, "", onnx.defs.onnx_opset_version())
    allowed = set(known.attributes) if known else set()
    extra = [a for a in node.attribute if a.name not in allowed]
    if any(a.name.startswith("trans") and a.i for a in extra):
        return  # a transposed operand that the plain operator cannot say
    for attribute in extra:
        node.attribute.remove(attribute)
    node.op_type, node.domain = op_type, ""
    arity = known.max_input if known else len(node.input)
    del node.input[arity:]
    del node.output[1:]


_BODIES: dict[tuple[str, str], bool] = {}


def has_bodies(node: onnx.NodeProto) -> bool:
    """Tell whether a node may have graphs as attributes; cheap for operators that ONNX knows."""
    key = (node.domain, node.op_type)
    known = _BODIES.get(key)
    if known is None:
        found = schema(node.op_type, node.domain, onnx.defs.onnx_opset_version())
        kinds = (onnx.defs.OpSchema.AttrType.GRAPH, onnx.defs.OpSchema.AttrType.GRAPHS)
        known = found is None or any(a.type in kinds for a in found.attributes.values())
        _BODIES[key] = known
    return known


def bodies(node: onnx.NodeProto) -> Iterator[tuple[int, onnx.GraphProto]]:
    """Yield the graphs of a node with the number of their attribute."""
    for index, attribute in enumerate(node.attribute):
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield index, attribute.g


def types_of(graph: onnx.GraphProto) -> dict[str, TensorType]:
    """Collect the types that one graph states or that inference found for it."""
    types: dict[str, TensorType] = {}
    for info in (*graph.value_info, *graph.output, *graph.input):
        found = tensor_type(info.type)
        if found is not UNKNOWN and (found.dtype or found.dims is not None):
            types[info.name] = found
    return types
