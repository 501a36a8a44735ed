"""The value of one node whose inputs are constants, by ONNX's own reference evaluator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import onnx

from fusectl.errors import first_line
from fusectl.graph.constants import Array, Unreadable
from fusectl.graph.types import DTYPES

if TYPE_CHECKING:
    from fusectl.graph.view import GraphView, Node

_LARGEST = 1 << 24


def evaluate(node: Node, value: str, array: Callable[[str], Array], view: GraphView) -> Array:
    """Compute ``value``, an output of ``node``. Raises Unreadable where that cannot be done."""
    if node.op == "Shape":
        static = view.type_of(node.inputs[0]).static
        if static is not None:
            start, end = node.attrs.get("start", 0), node.attrs.get("end")
            stop = end if isinstance(end, int) else None
            return np.asarray(static, np.int64)[start if isinstance(start, int) else 0 : stop]
    if node.op == "CastLike":
        return _cast(array(node.inputs[0]), value, view.type_of(node.inputs[1]).dtype)
    size = view.type_of(value).static
    if size is not None and np.prod(size, dtype=np.float64) > _LARGEST:
        raise Unreadable(f"{value} is too large to be computed here")
    feeds = {name: array(name) for name in node.inputs if name}
    from onnx.reference import ReferenceEvaluator

    numbers = {name: number for number, name in DTYPES.items()}
    inputs = [
        onnx.helper.make_tensor_value_info(n, numbers.get(str(a.dtype), 1), a.shape)
        for n, a in feeds.items()
    ]
    outputs = [onnx.ValueInfoProto(name=o) for o in node.outputs if o]
    graph = onnx.helper.make_graph([node.proto], "fold", inputs, outputs)
    imports = [onnx.helper.make_opsetid(node.domain, view.opset(node.domain))]
    try:
        model = onnx.helper.make_model(graph, opset_imports=imports)
        with np.errstate(all="ignore"):  # infinity is a result like others
            made = list(ReferenceEvaluator(model).run([value], feeds))
    except Exception as error:  # an operator the evaluator lacks is no reason to stop explaining
        why = f"{value} cannot be computed from {node.label}: {first_line(error)}"
        raise Unreadable(why) from None
    return np.asarray(made[0])


def _cast(array: Array, value: str, dtype: str) -> Array:
    try:
        with np.errstate(all="ignore"):
            return array.astype(dtype)
    except TypeError:
        raise Unreadable(f"{value} is {dtype}, which cannot be computed here") from None


def node_model(node: Node, given: dict[str, Array], view: GraphView) -> onnx.ModelProto:
    """Return a node as a model of its own. Inputs are what it reads, its bodies included.

    The model has all functions of the node's model: a call can be run, too.
    """
    numbers = {name: number for number, name in DTYPES.items()}
    inputs = [
        onnx.helper.make_tensor_value_info(n, numbers.get(str(a.dtype), 1), a.shape)
        for n, a in given.items()
    ]
    outputs = [onnx.ValueInfoProto(name=o) for o in node.outputs if o]
    graph = onnx.helper.make_graph([node.proto], "node", inputs, outputs)
    # A domain that the model uses and does not import has a first version, whatever else it has.
    versions = {node.domain: view.opsets.get(node.domain, 1), "": view.opset("")}
    imports = [onnx.helper.make_opsetid(d, v) for d, v in sorted(versions.items())]
    version = max(view.model.ir_version, 8)
    return onnx.helper.make_model(
        graph, opset_imports=imports, functions=view.model.functions, ir_version=version
    )


def evaluate_node(node: Node, given: dict[str, Array], view: GraphView) -> dict[str, Array]:
    """Compute every output of a node from values by name, those that its bodies read included.

    Raises Unreadable where the reference evaluator cannot.
    """
    from onnx.reference import ReferenceEvaluator

    names = [o for o in node.outputs if o]
    try:
        model = node_model(node, given, view)
        with np.errstate(all="ignore"):  # overflow is a result like others
            made = ReferenceEvaluator(model).run(names, given)
    except Exception as error:  # any operator may fail in any way
        why = f"{node.label} ({node.op}) cannot be computed: {first_line(error)}"
        raise Unreadable(why) from None
    return {name: np.asarray(array) for name, array in zip(names, made, strict=True)}
