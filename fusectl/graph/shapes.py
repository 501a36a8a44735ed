"""Shape inference that never touches weights and survives operators that ONNX does not know."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import onnx
from onnx import shape_inference

from fusectl.errors import first_line
from fusectl.graph.types import INVENTED, UNKNOWN, TensorType, tensor_type
from fusectl.graph.view import schema


@dataclass(frozen=True, slots=True)
class StandIn:
    """The ONNX operator with the result shape of one that ONNX does not know.

    ``weight`` gives the dimensions of a second operand that is packed: names of attributes, or
    ``INPUT.AXIS`` or ``INPUT.AXIS/DIVISOR`` of a stored operand. ``also`` lists further outputs of
    the first input's shape.
    """

    op: str
    weight: tuple[str, ...] = ()
    also: tuple[int, ...] = ()


def infer(
    model: onnx.ModelProto, alike: Mapping[str, StandIn], *, follow: bool = True
) -> tuple[onnx.ModelProto, str]:
    """Return the model with inferred types and, where inference failed, why.

    ``alike`` names for an operator outside ONNX what stands in for it while shapes are inferred,
    so that inference does not stop there. ``follow``: also the contents of values that hold sizes.
    Nodes of the result are not those of the model.
    """
    broken = next((n for n in _nodes(model.graph) if _aborts(n)), None)
    if broken is not None:
        return model, f"{broken.name or broken.output[0]}: num_outputs is not its number of outputs"
    scratch = model
    alike = {op: how for op, how in alike.items() if not _known(op, model)}
    if any(_key(node) in alike for node in _nodes(model.graph)):
        scratch = onnx.ModelProto()
        scratch.CopyFrom(model)
        _replace(scratch.graph, alike)
    try:
        return shape_inference.infer_shapes(scratch, data_prop=follow), ""
    except Exception as error:  # the C++ side raises many types; none may end the explanation
        return model, first_line(error)


def _aborts(node: onnx.NodeProto) -> bool:
    """Tell whether a node would end the process inside onnx: it does not check this one itself."""
    if node.op_type != "Split":
        return False
    return any(a.name == "num_outputs" and a.i != len(node.output) for a in node.attribute)


def _known(op: str, model: onnx.ModelProto) -> bool:
    """Tell whether ONNX knows an operator at the version that a model imports."""
    domain, _, op_type = op.rpartition(".")
    versions = {o.domain if o.domain != "ai.onnx" else "": o.version for o in model.opset_import}
    version = versions.get(domain)
    return version is not None and schema(op_type, domain, version) is not None


def _key(node: onnx.NodeProto) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain else str(node.op_type)


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        if has_bodies(node):
            for _, body in bodies(node):
                yield from _nodes(body)


def _replace(graph: onnx.GraphProto, alike: Mapping[str, StandIn]) -> None:
    """Put stand-ins in place of operators, in a graph and its bodies.

    A stand-in has one output; a second one of the same shape is read from a copy of the first.
    """
    stored = {t.name: tuple(t.dims) for t in graph.initializer}
    renamed: dict[str, str] = {}
    for node in graph.node:
        for slot, value in enumerate(node.input):
            if value in renamed:
                node.input[slot] = renamed[value]
        how = alike.get(_key(node))
        if how is not None:
            for number in how.also:
                if number < len(node.output) and node.output[number]:
                    renamed[node.output[number]] = node.output[0]
            _stand_in(graph, node, how, stored)
        elif has_bodies(node):
            for _, body in bodies(node):
                _replace(body, alike)
    for gone, source in renamed.items():
        graph.node.append(onnx.helper.make_node("Identity", [source], [gone]))


def _stand_in(
    graph: onnx.GraphProto, node: onnx.NodeProto, how: StandIn, stored: dict[str, tuple[int, ...]]
) -> None:
    known = schema(how.op, "", onnx.defs.onnx_opset_version())
    allowed = set(known.attributes) if known else set()
    extra = [a for a in node.attribute if a.name not in allowed]
    if any(a.name.startswith("trans") and a.i for a in extra):
        return  # a transposed operand that the plain operator cannot say
    if how.weight and len(node.input) > 1:
        sizes = [_size(s, node, stored) for s in how.weight]
        name = f"{node.output[0]}_unpacked"
        dtype = onnx.TensorProto.FLOAT
        graph.input.append(onnx.helper.make_tensor_value_info(name, dtype, sizes))
        node.input[1] = name
        del node.input[2:]
    for attribute in extra:
        node.attribute.remove(attribute)
    node.op_type, node.domain = how.op, ""
    arity = known.max_input if known else len(node.input)
    del node.input[arity:]
    del node.output[1:]


def _size(text: str, node: onnx.NodeProto, stored: dict[str, tuple[int, ...]]) -> int | str:
    """Return a dimension of a packed operand; one that cannot be told gets a name of its own."""
    place, _, axis = text.partition(".")
    if not axis:
        stated = {a.name: int(a.i) for a in node.attribute}
        return stated.get(text) or f"{INVENTED}{node.output[0]}_{text}"
    number, _, divisor = axis.partition("/")
    value = node.input[int(place)] if int(place) < len(node.input) else ""
    dims = stored.get(value, ())
    if int(number) >= len(dims):
        return f"{INVENTED}{node.output[0]}_{text}"
    return dims[int(number)] // int(divisor or 1)


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


def invented(graph: onnx.GraphProto) -> frozenset[str]:
    """Return the symbols in a file that an earlier shape inference left there."""
    infos = (*graph.value_info, *graph.output, *graph.input)
    dims = (d.dim_param for info in infos for d in info.type.tensor_type.shape.dim)
    return frozenset(d for d in dims if d.startswith(INVENTED))


def types_of(graph: onnx.GraphProto, stated: Collection[str] = ()) -> dict[str, TensorType]:
    """Collect the types that one graph states or that inference found for it.

    ``stated``: symbols that count as they stand, though they look invented.
    """
    types: dict[str, TensorType] = {}
    for info in (*graph.value_info, *graph.output, *graph.input):
        found = tensor_type(info.type, stated)
        if found is not UNKNOWN and (found.dtype or found.dims is not None):
            types[info.name] = found
    return types
