"""Shapes that depend on constants which are computed: fold, infer again, until nothing is new.

Shape inference sees stored constants. Exporters compute many (Shape, Gather, Concat into Reshape),
and where inference gives up on one of them, every shape behind it is lost.
"""

from __future__ import annotations

from collections.abc import Callable

import onnx
from onnx import numpy_helper

from fusectl.graph.constants import Unreadable
from fusectl.graph.fold import fold
from fusectl.graph.overlay import Overlay
from fusectl.graph.types import TensorType
from fusectl.graph.view import GraphView, Node

_ROUNDS = 4
_LARGEST = 64
# Inputs that decide the result's shape, by operator.
_DECIDING = {
    "Reshape": (1,), "Expand": (1,), "ConstantOfShape": (0,), "Tile": (1,), "Slice": (1, 2, 3, 4),
    "Range": (0, 1, 2), "Pad": (1, 3), "Unsqueeze": (1,), "Squeeze": (1,), "Resize": (2, 3),
    "ReduceMean": (1,), "ReduceSum": (1,), "ReduceMax": (1,), "Split": (1,), "TopK": (1,),
    "OneHot": (1,), "Upsample": (1,),
}  # fmt: skip


def refine(
    view: GraphView,
    model: onnx.ModelProto,
    infer: Callable[[onnx.ModelProto], dict[str, TensorType]],
) -> None:
    """Improve the types of the main graph in place; ``infer`` returns the types of a model."""
    scratch = model
    for _ in range(_ROUNDS):
        found = _computed(view)
        if not found:
            return
        if scratch is model:
            scratch = onnx.ModelProto()
            scratch.CopyFrom(model)
        for number, (node, slot, tensor) in enumerate(found):
            tensor.name = f"fusectl_computed_{len(scratch.graph.initializer)}_{number}"
            scratch.graph.initializer.append(tensor)
            scratch.graph.node[node.index].input[slot] = tensor.name
        before = len(view.types)
        types = infer(scratch)
        better = {n: t for n, t in types.items() if view.types.get(n) != t}
        view.types.update(better)
        if not better and len(view.types) == before:
            return


def _computed(view: GraphView) -> list[tuple[Node, int, onnx.TensorProto]]:
    """Deciding inputs that are computed constants, of nodes whose result's shape is not known."""
    open_nodes = [node for node in view.nodes if node.op in _DECIDING and not _settled(view, node)]
    if not open_nodes:
        return []
    overlay = Overlay(view)
    fold(overlay, ("QuantizeLinear", "DequantizeLinear"))
    found = []
    for node in open_nodes:
        for slot in _DECIDING[node.op]:
            value = node.inputs[slot] if slot < len(node.inputs) else ""
            if value not in overlay.folded:
                continue
            size = view.type_of(value).static
            if size is not None and len(size) > 1:
                continue
            try:
                array = overlay.array(value)
            except Unreadable:
                continue
            if array.size <= _LARGEST:
                found.append((node, slot, numpy_helper.from_array(array)))
    return found


def _settled(view: GraphView, node: Node) -> bool:
    dims = view.type_of(node.outputs[0]).dims
    return dims is not None and None not in dims
