"""A fused group as a model-local function whose body is the original nodes."""

from __future__ import annotations

import hashlib

import onnx

from fusectl.graph.functions import FUSED
from fusectl.graph.shapes import has_bodies
from fusectl.graph.view import schema
from fusectl.rewrite.forms import NotNative, reads
from fusectl.rewrite.scopes import Scope

VERSION = 1
"""Version of the domain of fused functions."""


def function(
    scope: Scope, nodes: list[onnx.NodeProto], outputs: list[str], name: str
) -> tuple[onnx.FunctionProto, onnx.NodeProto]:
    """Return a function that holds nodes, and the node that calls it.

    Names in the body are made up, so that equal groups share one function; its own name ends in
    a hash of the body. Raises NotNative where a node cannot stand in a function.
    """
    opset = scope.view.opset("")
    for node in nodes:
        if node.domain in ("", "ai.onnx") and schema(node.op_type, "", opset) is None:
            # Runtimes may know it all the same, but not where it stands in a function.
            raise NotNative(f"ONNX has no {node.op_type} at opset {opset} to stand in a function")
    inputs = list(reads(nodes))
    names = {value: f"x{number}" for number, value in enumerate(inputs)}
    names |= {value: f"y{number}" for number, value in enumerate(outputs)}
    made = onnx.FunctionProto(domain=FUSED)
    for node in nodes:
        made.node.append(_local(node, names))
    made.input.extend(names[v] for v in inputs)
    made.output.extend(names[v] for v in outputs)
    for domain in sorted({"" if n.domain == "ai.onnx" else n.domain for n in nodes}):
        version = scope.view.opsets.get(domain)
        if version is None:
            raise NotNative(f"no opset of {domain or 'ai.onnx'} is imported")
        made.opset_import.add(domain=domain, version=version)
    digest = hashlib.blake2b(made.SerializeToString(deterministic=True), digest_size=6)
    made.name = f"{name.replace('-', '_')}_{digest.hexdigest()}"
    call = onnx.NodeProto(domain=FUSED, op_type=made.name)
    call.input.extend(inputs)
    call.output.extend(outputs)
    return made, call


def _local(node: onnx.NodeProto, names: dict[str, str]) -> onnx.NodeProto:
    if has_bodies(node) and any(
        a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in node.attribute
    ):
        raise NotNative(f"{node.op_type} has a body, which a function cannot hold")
    if any(a.ref_attr_name for a in node.attribute):
        raise NotNative("it reads attributes of the function that it stands in")
    inner = onnx.NodeProto(domain=node.domain, op_type=node.op_type)
    for value in node.output:
        if value and value not in names:
            names[value] = f"t{sum(n.startswith('t') for n in names.values())}"
    inner.input.extend(names[v] if v else "" for v in node.input)
    inner.output.extend(names[v] if v else "" for v in node.output)
    for attribute in sorted(node.attribute, key=lambda a: str(a.name)):
        inner.attribute.add().CopyFrom(attribute)
    return inner
