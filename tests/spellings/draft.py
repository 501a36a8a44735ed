"""A small model that is easy to change, and the ONNX models that it can be written as."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]
Attr = int | float | str | tuple[int, ...]
Dims = tuple[int | str, ...]
DTYPES = {
    "float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "float64": TensorProto.DOUBLE,
    "int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int32": TensorProto.INT32,
    "int64": TensorProto.INT64, "bool": TensorProto.BOOL,
}  # fmt: skip


@dataclass(slots=True)
class Op:
    """One node. ``axes`` becomes an attribute or an input, as the opset has it."""

    name: str
    op_type: str
    inputs: list[str]
    outputs: list[str]
    attrs: dict[str, Attr] = field(default_factory=dict)


@dataclass(slots=True)
class Draft:
    """A graph: constants and inputs by name, nodes in order, the values that are returned."""

    opset: int
    nodes: list[Op] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    inputs: dict[str, tuple[str, Dims]] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)

    def copy(self) -> "Draft":
        return deepcopy(self)

    def maker(self, value: str) -> Op:
        """The node that makes a value."""
        return next(op for op in self.nodes if value in op.outputs)

    def insert_before(self, reader: Op, op: Op) -> None:
        self.nodes.insert(self.nodes.index(reader), op)


def _axes(op: Op, opset: int) -> tuple[Op, Array | None]:
    """Axes as an attribute, or taken out to be an input."""
    schema = onnx.defs.get_schema(op.op_type, opset)
    if "axes" not in op.attrs or "axes" in schema.attributes:
        return op, None
    stated = op.attrs["axes"]
    assert isinstance(stated, tuple)
    rest = {k: v for k, v in op.attrs.items() if k != "axes"}
    moved = Op(op.name, op.op_type, [*op.inputs, f"{op.name}_axes"], op.outputs, rest)
    return moved, np.asarray(stated, np.int64)


def protos(
    draft: Draft, constants_as_nodes: bool
) -> tuple[list[onnx.NodeProto], list[TensorProto]]:
    """The nodes and the initializers."""
    nodes: list[onnx.NodeProto] = []
    tensors: list[TensorProto] = []

    def store(name: str, array: Array) -> None:
        tensor = numpy_helper.from_array(np.asarray(array), name)
        if constants_as_nodes:
            nodes.append(helper.make_node("Constant", [], [name], name=f"c_{name}", value=tensor))
        else:
            tensors.append(tensor)

    for name, array in draft.constants.items():
        store(name, array)
    for op in draft.nodes:
        made, axes = _axes(op, draft.opset)
        if axes is not None:
            store(made.inputs[-1], axes)
        node = helper.make_node(made.op_type, made.inputs, made.outputs, made.name)
        node.attribute.extend(helper.make_attribute(k, v) for k, v in made.attrs.items())
        nodes.append(node)
    return nodes, tensors


def _infos(draft: Draft) -> list[onnx.ValueInfoProto]:
    return [
        helper.make_tensor_value_info(name, DTYPES[dtype], dims)
        for name, (dtype, dims) in draft.inputs.items()
    ]


def _ir_version(opset: int) -> int:
    return 10 if opset > 18 else 8


def _typed(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the types of its outputs, as shape inference finds them."""
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    for output, found in zip(model.graph.output, inferred.graph.output, strict=True):
        output.CopyFrom(found)
        if not found.type.tensor_type.HasField("shape"):
            # A graph has to state the rank of what it returns; all that is open here has rank 2.
            for _ in range(2):
                output.type.tensor_type.shape.dim.add()
    return model


def plain(draft: Draft, constants_as_nodes: bool = False) -> onnx.ModelProto:
    """The draft as a model."""
    nodes, tensors = protos(draft, constants_as_nodes)
    outputs = [onnx.ValueInfoProto(name=name) for name in draft.outputs]
    graph = helper.make_graph(nodes, "g", _infos(draft), outputs, tensors)
    imports = [helper.make_opsetid("", draft.opset)]
    version = _ir_version(draft.opset)
    return _typed(helper.make_model(graph, opset_imports=imports, ir_version=version))


def in_body(draft: Draft) -> onnx.ModelProto:
    """The draft as the branch of an If; weights and inputs lie outside, scalars inside."""
    known = {o.name: o.type for o in plain(draft).graph.output}
    inside = draft.copy()
    outer = {n: a for n, a in draft.constants.items() if a.size > 1}
    inside.constants = {n: a for n, a in draft.constants.items() if n not in outer}
    nodes, _ = protos(inside, constants_as_nodes=True)
    results = [onnx.ValueInfoProto(name=n, type=known[n]) for n in draft.outputs]
    others = [onnx.ValueInfoProto(name=f"{n}_else", type=known[n]) for n in draft.outputs]
    given = [onnx.ValueInfoProto(name=f"{n}_given", type=known[n]) for n in draft.outputs]
    made = [onnx.ValueInfoProto(name=f"{n}_out", type=known[n]) for n in draft.outputs]
    copies = [
        helper.make_node("Identity", [g.name], [o.name]) for g, o in zip(given, others, strict=True)
    ]
    choice = helper.make_node(
        "If", ["choice"], [m.name for m in made], "choose",
        then_branch=helper.make_graph(nodes, "yes", [], results),
        else_branch=helper.make_graph(copies, "no", [], others),
    )  # fmt: skip
    asked = helper.make_tensor_value_info("choice", TensorProto.BOOL, [])
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in outer.items()]
    graph = helper.make_graph([choice], "g", [asked, *_infos(draft), *given], made, tensors)
    imports = [helper.make_opsetid("", draft.opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=_ir_version(draft.opset))


def in_function(draft: Draft) -> onnx.ModelProto:
    """The draft as a function of the model, called once."""
    known = list(plain(draft).graph.output)
    nodes, _ = protos(draft, constants_as_nodes=True)
    imports = [helper.make_opsetid("", draft.opset)]
    function = helper.make_function(
        "local", "Block", list(draft.inputs), draft.outputs, nodes, imports
    )
    call = helper.make_node("Block", list(draft.inputs), draft.outputs, "call", domain="local")
    graph = helper.make_graph([call], "g", _infos(draft), known)
    both = [*imports, helper.make_opsetid("local", 1)]
    version = _ir_version(draft.opset)
    return helper.make_model(graph, opset_imports=both, ir_version=version, functions=[function])


def read_by(draft: Draft, value: str) -> Iterable[tuple[Op, int]]:
    """Every place where a value is read."""
    return [(op, i) for op in draft.nodes for i, name in enumerate(op.inputs) if name == value]
