"""Shapes that depend on constants which are computed: fold, infer again, until nothing is new.

Shape inference sees stored constants. Exporters compute many (Shape, Gather, Concat into Reshape),
and where inference gives up on one of them, every shape behind it is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np
import onnx
from onnx import numpy_helper

from fusectl.graph.constants import Array, Unreadable
from fusectl.graph.copied import copied_shapes
from fusectl.graph.fold import fold
from fusectl.graph.overlay import Overlay
from fusectl.graph.sizes import Sizes, computed_sizes, expanded, reshaped
from fusectl.graph.types import DTYPES, INVENTED, TensorType
from fusectl.graph.view import GraphView, Node

_ROUNDS = 10
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
    *,
    follow: bool = True,
) -> None:
    """Improve the types of the main graph in place; ``infer`` returns the types of a model.

    ``follow``: follow all sizes through the graph, not only those that a Reshape copies.
    """
    scratch = model
    for _ in range(_ROUNDS):
        found, shapes = _computed(view, follow), _reshaped(view, follow)
        if not found and not shapes:
            return
        if scratch is model:
            scratch = onnx.ModelProto()
            scratch.CopyFrom(model)
            if follow:
                _forget(scratch.graph)
        for number, (node, slot, tensor) in enumerate(found):
            tensor.name = f"fusectl_computed_{len(scratch.graph.initializer)}_{number}"
            scratch.graph.initializer.append(tensor)
            scratch.graph.node[node.index].input[slot] = tensor.name
        _state(scratch.graph, shapes)
        before = len(view.types)
        types = infer(scratch)
        better = {n: t for n, t in types.items() if view.types.get(n) != t}
        view.types.update(better)
        if not better and len(view.types) == before:
            return


def _reshaped(view: GraphView, follow: bool) -> dict[str, TensorType]:
    """Shapes of reshaped values that sizes computed in the graph tell, better than is known."""
    steps = {"Reshape": reshaped, "Expand": expanded} if follow else {"Reshape": reshaped}
    nodes = [n for n in view.nodes if n.op in steps and not _settled(view, n)]
    if not nodes:
        return {}
    known = computed_sizes(view) if follow else copied_shapes(view)
    better = {}
    for node in nodes:
        value, dims = node.outputs[0], steps[node.op](view, node, known)
        stated = view.type_of(value)
        if dims is None or (stated.dims is not None and len(stated.dims) != len(dims)):
            continue
        old = stated.dims or (None,) * len(dims)
        merged = tuple(o if o is not None else n for o, n in zip(old, dims, strict=True))
        if merged != stated.dims and stated.dtype:
            better[value] = TensorType(stated.dtype, merged)
    return better


def _forget(graph: onnx.GraphProto) -> None:
    """Drop the symbols that an earlier shape inference invented: they would stay for ever."""
    for info in graph.value_info:
        for dim in info.type.tensor_type.shape.dim:
            if dim.dim_param.startswith(INVENTED):
                dim.ClearField("dim_param")


def _state(graph: onnx.GraphProto, shapes: dict[str, TensorType]) -> None:
    """Write shapes into a graph, so that inference goes on from them."""
    stated = {info.name: info for info in (*graph.value_info, *graph.output)}
    numbers = {name: number for number, name in DTYPES.items()}
    for name, known in shapes.items():
        info = onnx.helper.make_tensor_value_info(name, numbers[known.dtype], known.dims)
        if name in stated:
            stated[name].CopyFrom(info)
        else:
            graph.value_info.append(info)


def _computed(view: GraphView, follow: bool) -> list[tuple[Node, int, onnx.TensorProto]]:
    """Deciding inputs that are computed constants, of nodes whose result's shape is not known.

    ``follow``: also sizes that are computed from shapes of which other dimensions are open.
    """
    open_nodes = [node for node in view.nodes if node.op in _DECIDING and not _settled(view, node)]
    if not open_nodes:
        return []
    overlay = Overlay(view)
    fold(overlay, ("QuantizeLinear", "DequantizeLinear"))
    sizes = computed_sizes(view) if follow else {}
    found = []
    for node in open_nodes:
        for slot in _DECIDING[node.op]:
            value = node.inputs[slot] if slot < len(node.inputs) else ""
            array = _array(overlay, value, sizes)
            if array is not None and array.size <= _LARGEST:
                found.append((node, slot, numpy_helper.from_array(array)))
    return found


def _array(overlay: Overlay, value: str, sizes: Mapping[str, Sizes]) -> Array | None:
    """Return what a value that decides a shape holds, where all of it is known."""
    known = overlay.type_of(value)
    size = known.static
    if value in overlay.folded and (size is None or len(size) < 2):
        try:
            return overlay.array(value)
        except Unreadable:
            return None
    held = sizes.get(value)
    if held is None or size is None or not all(isinstance(d, int) for d in held):
        return None
    return np.array(held, known.dtype).reshape(size) if len(held) == prod(size) else None


def _settled(view: GraphView, node: Node) -> bool:
    dims = view.type_of(node.outputs[0]).dims
    return dims is not None and None not in dims
