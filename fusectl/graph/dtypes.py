"""What operators tell of types where shape inference found none."""

from __future__ import annotations

from collections.abc import Collection

from fusectl.graph.types import UNKNOWN, Dim, TensorType
from fusectl.graph.view import GraphView, Node, schema

_BROADCASTING = ("Add", "Sub", "Mul", "Div")


def complete(view: GraphView, like_first: Collection[str]) -> None:
    """Fill in element types and ranks in place, walking the nodes once in order.

    ``like_first`` lists operators outside ONNX whose result has the type of their first input.
    """
    for node in view.nodes:
        if node.op in ("Conv", "ConvTranspose") and len(node.inputs) > 1:
            _rank(view, node)
        elif node.op in _BROADCASTING and len(node.inputs) == 2:
            _broadcast(view, node)
        if all(view.type_of(o).dtype for o in node.outputs if o):
            continue
        if node.op in like_first:
            _set(view, node.outputs[0], view.type_of(node.inputs[0]).dtype)
            continue
        known = _shared(view, node)
        found = schema(node.op_type, node.domain, view.opset(node.domain))
        for formal, output in zip(found.outputs if found else (), node.outputs, strict=False):
            if output:
                _set(view, output, known.get(formal.type_str, ""))


def _rank(view: GraphView, node: Node) -> None:
    """A convolution's result has its weight's rank, and as many channels as the weight says."""
    made = view.type_of(node.outputs[0])
    weight = view.type_of(node.inputs[1]).dims
    if made.dims is not None or not weight or len(weight) < 3:
        return
    groups = view.attr(node, "group")
    channels = weight[0]
    if node.op == "ConvTranspose":
        known = isinstance(weight[1], int) and isinstance(groups, int)
        channels = int(str(weight[1])) * int(str(groups)) if known else None
    dims = (None, channels, *(None for _ in weight[2:]))
    view.types[node.outputs[0]] = TensorType(made.dtype, dims)


def _broadcast(view: GraphView, node: Node) -> None:
    """Arithmetic on two shapes that are known, of which one became known only here."""
    made = view.type_of(node.outputs[0])
    a, b = (view.type_of(v).dims for v in node.inputs)
    if made.dims is not None or a is None or b is None:
        return
    rank = max(len(a), len(b))
    left, right = ((1,) * (rank - len(d)) + tuple(d) for d in (a, b))
    view.types[node.outputs[0]] = TensorType(made.dtype, tuple(map(_joined, left, right)))


def _joined(a: Dim, b: Dim) -> Dim:
    if a == 1 or a == b:
        return b
    if b == 1:
        return a
    # A size above 1 is the result's, whatever the other one is.
    return next((d for d in (a, b) if isinstance(d, int)), None)


def _shared(view: GraphView, node: Node) -> dict[str, str]:
    """Return the element type of each type variable of a node's schema that some input tells."""
    found = schema(node.op_type, node.domain, view.opset(node.domain))
    known: dict[str, str] = {}
    for formal, value in zip(found.inputs if found else (), node.inputs, strict=False):
        dtype = view.type_of(value).dtype if value else ""
        if dtype:
            known.setdefault(formal.type_str, dtype)
    for formal, value in zip(found.inputs if found else (), node.inputs, strict=False):
        if value and not view.type_of(value).dtype:
            _set(view, value, known.get(formal.type_str, ""))
    return known


def _set(view: GraphView, value: str, dtype: str) -> None:
    old = view.types.get(value, UNKNOWN)
    if dtype and not old.dtype:
        view.types[value] = TensorType(dtype, old.dims)
