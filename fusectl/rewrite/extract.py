"""A part of a scope as a model of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import helper, printer

from fusectl.errors import UsageError
from fusectl.graph.shapes import bodies, has_bodies
from fusectl.graph.types import DTYPES
from fusectl.rewrite.source import Source, reads

_NUMBERS = {name: number for number, name in DTYPES.items()}
_ENDINGS = (".onnx", ".onnxtxt")


@dataclass(frozen=True, slots=True)
class Plan:
    """What of a scope is kept.

    ``returned``: values that the scope returns and the part returns too. ``data``: constants
    that keep their contents; the others become inputs. ``hollow``: If nodes whose branches are
    reduced to reading what they capture. ``types``: whether inner values keep their types.
    """

    nodes: frozenset[int]
    returned: frozenset[str]
    data: frozenset[str]
    hollow: frozenset[int] = frozenset()
    types: bool = True


def build(source: Source, plan: Plan) -> onnx.ModelProto:
    """Make a model of a part; what it reads from elsewhere becomes inputs of known types."""
    model = onnx.ModelProto(ir_version=source.model.ir_version)
    for domain, version in source.view.opsets.items():
        model.opset_import.append(helper.make_opsetid(domain, version))
    graph = model.graph
    graph.name = "extract"
    nodes = [_node(source, place, plan) for place in sorted(plan.nodes)]
    graph.node.extend(nodes)
    made = {o for node in nodes for o in node.output if o}
    read = dict.fromkeys(v for node in nodes for v in reads(node))
    for value in read:
        if value not in made:
            _supply(source, graph, value, plan)
    returned = list(_outputs(source, nodes, read, plan)) or nodes[-1].output[:1]
    for value in returned:
        graph.output.append(_info(source, value))
    if plan.types:
        given = {o.name for o in graph.output}
        typed = (_info(source, o) for node in nodes for o in node.output if o and o not in given)
        graph.value_info.extend(info for info in typed if info.HasField("type"))
    model.functions.extend(_functions(source.model, nodes))
    return model


def _supply(source: Source, graph: onnx.GraphProto, value: str, plan: Plan) -> None:
    tensor = source.tensor(value) if value in plan.data else None
    if tensor is not None:
        graph.initializer.append(tensor)
    # Before IR version 4 initializers are inputs as well; later that would make them defaults.
    both = source.model.ir_version < 4 and value in source.view.inputs
    if tensor is None or both:
        graph.input.append(_info(source, value))


def _outputs(
    source: Source, nodes: Iterable[onnx.NodeProto], read: dict[str, None], plan: Plan
) -> Iterator[str]:
    """Yield what the part returns: what is to be returned, and what only others read."""
    wanted = set(source.view.outputs)
    for output in (o for node in nodes for o in node.output if o):
        used = output in source.readers or output in wanted
        if output in plan.returned or (used and output not in read):
            yield output


def _info(source: Source, value: str) -> onnx.ValueInfoProto:
    known = source.view.type_of(value)
    if not known.dtype:
        return onnx.ValueInfoProto(name=value)
    return helper.make_tensor_value_info(value, _NUMBERS[known.dtype], known.dims)


def captured(source: Source, place: int, values: Iterable[str]) -> list[str]:
    """Return which of some values a node reads in its bodies only."""
    node = source.nodes[place]
    inside = set(reads(node)) - set(node.input)
    return [v for v in values if v in inside]


def _node(source: Source, place: int, plan: Plan) -> onnx.NodeProto:
    node = source.nodes[place]
    if place not in plan.hollow:
        return node
    made = {o for p in plan.nodes for o in source.nodes[p].output if o}
    hollow = onnx.NodeProto()
    hollow.CopyFrom(node)
    del hollow.output[1:]
    values = captured(source, place, sorted(made))
    for attribute, _ in bodies(node):
        name = hollow.attribute[attribute].name
        inner = [f"{name}_{number}" for number in range(len(values))]
        copies = [
            helper.make_node("Identity", [v], [o]) for v, o in zip(values, inner, strict=True)
        ]
        known = _info(source, values[0])
        known.name = inner[0]
        hollow.attribute[attribute].g.CopyFrom(helper.make_graph(copies, name, [], [known]))
    return hollow


def _functions(
    model: onnx.ModelProto, nodes: Iterable[onnx.NodeProto]
) -> Iterator[onnx.FunctionProto]:
    """Yield the model-local functions that nodes call, directly or through each other."""
    known = {(f.domain, f.name): f for f in model.functions}
    called: dict[tuple[str, str], None] = {}
    pending = list(_calls(nodes))
    while pending:
        key = pending.pop()
        if key in known and key not in called:
            called[key] = None
            pending += _calls(known[key].node)
    return (f for key, f in known.items() if key in called)


def _calls(nodes: Iterable[onnx.NodeProto]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        yield node.domain, node.op_type
        if has_bodies(node):
            for _, body in bodies(node):
                yield from _calls(body.node)


def check_ending(path: str) -> None:
    """Raise UsageError unless a path has the ending of a format in which a model is written."""
    if Path(path).suffix not in _ENDINGS:
        raise UsageError(f"{path}: a model is written as {' or '.join(_ENDINGS)}")


def encode(model: onnx.ModelProto, path: str) -> bytes:
    """Return the bytes of a model for a path: binary, or ONNX text."""
    if Path(path).suffix == ".onnxtxt":
        text: str = printer.to_text(model)
        return text.encode("utf-8") + b"\n"
    data: bytes = model.SerializeToString(deterministic=True)
    return data
